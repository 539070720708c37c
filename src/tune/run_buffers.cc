// Guarded memory by mmap and mprotect.
#include "tune/run_buffers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/tensor.h"

namespace hc::tune {
namespace {

constexpr int64_t kAlignment = 64;
constexpr unsigned char kMark = 0xa5;

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// The pattern that no kernel leaves by chance, as TensorBuffer has it.
void poison(const ir::Storage& storage, void* data) {
  TensorBuffer one(TensorSpec{storage.dtype, {1}, {}, {}});
  one.poison();
  const int64_t total = storage.numel * dtype_bytes(storage.dtype);
  int64_t filled = std::min<int64_t>(dtype_bytes(storage.dtype), total);
  std::memcpy(data, one.data(), static_cast<size_t>(filled));
  while (filled < total) {
    const int64_t more = std::min(filled, total - filled);
    std::memcpy(static_cast<char*>(data) + filled, data, static_cast<size_t>(more));
    filled += more;
  }
}

}  // namespace

GuardedBytes::GuardedBytes(int64_t bytes) : bytes_(bytes) {
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  const int64_t room = round_up(round_up(bytes, kAlignment), page);
  mapped_ = room + page;
  mapping_ = ::mmap(nullptr, static_cast<size_t>(mapped_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  HC_CHECK(mapping_ != MAP_FAILED, "out of memory");
  char* const end = static_cast<char*>(mapping_) + room;
  ::mprotect(end, static_cast<size_t>(page), PROT_NONE);
  data_ = end - round_up(bytes, kAlignment);
  std::memset(static_cast<char*>(data_) + bytes, kMark, static_cast<size_t>(round_up(bytes, kAlignment) - bytes));
}

GuardedBytes::GuardedBytes(GuardedBytes&& other) noexcept { *this = std::move(other); }

GuardedBytes& GuardedBytes::operator=(GuardedBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_, other.mapped_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

GuardedBytes::~GuardedBytes() {
  if (mapping_) ::munmap(mapping_, static_cast<size_t>(mapped_));
}

bool GuardedBytes::whole() const {
  const auto* bytes = static_cast<const unsigned char*>(data_);
  for (int64_t i = bytes_; i < round_up(bytes_, kAlignment); ++i) {
    if (bytes[i] != kMark) return false;
  }
  return true;
}

std::string RunBuffers::overrun(const ir::Program& program) const {
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i].data() && !own[i].whole()) return program.storages[i].name;
  }
  return "";
}

RunBuffers make_run_buffers(const ir::Program& program, const std::vector<const void*>& params,
                            const std::vector<runtime::StorageInfo>& infos) {
  RunBuffers buffers;
  buffers.own.resize(program.storages.size());
  for (size_t i = 0; i < program.storages.size(); ++i) {
    const ir::Storage& storage = program.storages[i];
    if (params[i] && !infos[i].written) {
      buffers.storages.push_back(const_cast<void*>(params[i]));
      continue;
    }
    const int64_t bytes = storage.numel * dtype_bytes(storage.dtype);
    buffers.own[i] = GuardedBytes(bytes);
    if (params[i]) {
      std::memcpy(buffers.own[i].data(), params[i], static_cast<size_t>(bytes));
    } else {
      poison(storage, buffers.own[i].data());
    }
    buffers.storages.push_back(buffers.own[i].data());
  }
  return buffers;
}

}  // namespace hc::tune
