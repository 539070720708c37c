// Help for tests: a program from text with buffers for its parameters, and its elements as the oracle sees them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/numeric.h"
#include "base/tensor.h"
#include "interp/oracle.h"
#include "ir/tile_ir.h"

namespace hc::interp {

/// A parsed and verified program with one buffer per parameter storage, filled by `fill` or at random.
class Fixture {
 public:
  explicit Fixture(const std::string& text, uint64_t seed = 1) {
    auto parsed = ir::parse(std::make_shared<diag::Source>("test.ir", text));
    EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : diag::render(parsed.error()));
    program_ = std::move(parsed).value();
    const Status valid = ir::verify(program_);
    EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : diag::render(valid.error()));
    for (size_t s = 0; s < program_.storages.size(); ++s) {
      const ir::Storage& storage = program_.storages[s];
      TensorSpec spec;
      spec.dtype = storage.dtype;
      spec.shape = {storage.numel};
      buffers_.emplace_back(spec);
      if (storage.role == ir::StorageRole::param) buffers_.back().fill_random(seed, static_cast<uint32_t>(s));
    }
  }

  ir::Program& program() { return program_; }
  TensorBuffer& buffer(size_t storage) { return buffers_[storage]; }
  double at(size_t storage, int64_t i) {
    return load_double(buffers_[storage].data(), buffers_[storage].spec().dtype, i);
  }
  void set(size_t storage, int64_t i, double v) {
    store_double(buffers_[storage].data(), buffers_[storage].spec().dtype, i, v);
  }

  std::vector<const void*> params() const {
    std::vector<const void*> out;
    for (size_t s = 0; s < buffers_.size(); ++s) {
      out.push_back(program_.storages[s].role == ir::StorageRole::param ? buffers_[s].data() : nullptr);
    }
    return out;
  }

  Result<std::vector<Element>> try_elements(ir::TensorId t) {
    std::vector<int64_t> numbers(static_cast<size_t>(program_.tensor(t).numel()));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
    return Oracle(program_, params()).elements(t, numbers);
  }

  std::vector<Element> elements(ir::TensorId t) {
    auto got = try_elements(t);
    EXPECT_TRUE(got.ok()) << (got.ok() ? "" : diag::render(got.error()));
    return got.ok() ? std::move(got).value() : std::vector<Element>(static_cast<size_t>(program_.tensor(t).numel()));
  }

  /// What the program leaves in memory, element by element from the oracle; unwritten elements are poison.
  std::vector<TensorBuffer> ideal_run() {
    std::vector<TensorBuffer> out;
    for (size_t s = 0; s < buffers_.size(); ++s) {
      out.emplace_back(buffers_[s].spec());
      out.back().poison();
      ir::Tensor all{"all", static_cast<ir::StorageId>(s), buffers_[s].spec().dtype, {program_.storages[s].numel}, {1},
                     0};
      program_.tensors.push_back(all);
      const auto values = elements(static_cast<ir::TensorId>(program_.tensors.size() - 1));
      program_.tensors.pop_back();
      for (size_t i = 0; i < values.size(); ++i) {
        if (!values[i].written && program_.storages[s].role == ir::StorageRole::alloc) continue;
        if (is_floating(all.dtype)) {
          store_double(out.back().data(), all.dtype, static_cast<int64_t>(i), values[i].value);
        } else {
          store_int(out.back().data(), all.dtype, static_cast<int64_t>(i), values[i].exact);
        }
      }
    }
    return out;
  }

 private:
  ir::Program program_;
  std::vector<TensorBuffer> buffers_;
};

inline std::vector<const void*> pointers(const std::vector<TensorBuffer>& buffers) {
  std::vector<const void*> out;
  for (const TensorBuffer& b : buffers) out.push_back(b.data());
  return out;
}

/// The element lies within its bound of an independently computed value, and the bound is small in itself.
inline void expect_close(const Element& got, double want, double relative, const std::string& where) {
  EXPECT_TRUE(got.written) << where;
  EXPECT_LE(std::fabs(got.value - want), got.bound + 1e-7 * std::fabs(want) + 1e-30)
      << where << " want " << want << " got " << got.value;
  EXPECT_LE(got.bound, relative * std::fabs(want) + 1e-6 * relative) << where;
}

}  // namespace hc::interp
