// A oneDNN primitive as a subject: operands by position of the candidate's arguments, so that both get the same bits.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/numeric.h"
#include "bench/onednn.h"
#include "bench/refusal.h"
#include "bench/subject.h"

namespace hc::bench {
namespace {

/// An operation by name: its operands in order are the tensor arguments.
struct Row {
  const char* name;
  DnnOp op;
  const char* algorithm;
  int least;  ///< tensor arguments needed
  int most;
};
constexpr Row kRows[] = {
    {"softmax", DnnOp::softmax, "", 1, 1},
    {"log_softmax", DnnOp::log_softmax, "", 1, 1},
    {"softmax_backward", DnnOp::softmax_backward, "", 2, 2},
    {"log_softmax_backward", DnnOp::log_softmax_backward, "", 2, 2},
    {"layer_norm", DnnOp::layer_norm, "", 1, 3},
    {"layer_norm_training", DnnOp::layer_norm_training, "", 1, 3},
    {"layer_norm_backward", DnnOp::layer_norm_backward, "", 4, 5},
    {"rms_norm", DnnOp::rms_norm, "", 1, 2},
    {"eltwise_exp", DnnOp::eltwise, "exp", 1, 1},
    {"eltwise_relu", DnnOp::eltwise, "relu", 1, 1},
    {"eltwise_tanh", DnnOp::eltwise, "tanh", 1, 1},
    {"eltwise_logistic", DnnOp::eltwise, "logistic", 1, 1},
    {"eltwise_swish", DnnOp::eltwise, "swish", 1, 1},
    {"eltwise_gelu_erf", DnnOp::eltwise, "gelu_erf", 1, 1},
    {"eltwise_gelu_tanh", DnnOp::eltwise, "gelu_tanh", 1, 1},
    {"binary_add", DnnOp::binary, "add", 2, 2},
    {"binary_mul", DnnOp::binary, "mul", 2, 2},
    {"reduction_sum", DnnOp::reduction, "sum", 1, 1},
    {"reduction_max", DnnOp::reduction, "max", 1, 1},
    {"reduction_mean", DnnOp::reduction, "mean", 1, 1},
};

const Row* find_row(const std::string& name) {
  for (const Row& row : kRows) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

/// The request's arguments taken apart: tensors with their position, and the last fraction among the scalars.
struct Operands {
  std::vector<TensorSpec> specs;
  std::vector<std::shared_ptr<TensorBuffer>> buffers;
  std::string inputs_sha256;
  double epsilon = 1e-5;
};

Result<Operands> read_operands(const PrepareRequest& request, const Row& row, InputCache& inputs) {
  Operands operands;
  const InputCache::Drawn drawn = HC_TRY(inputs.draw(request.args, request.seed));
  operands.inputs_sha256 = drawn.sha256;
  for (size_t i = 0; i < request.args.size(); ++i) {
    const std::string& text = request.args[i];
    if (drawn.buffers[i] && static_cast<int>(operands.specs.size()) < row.most) {
      operands.specs.push_back(drawn.buffers[i]->spec());
      operands.buffers.push_back(drawn.buffers[i]);
    }
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const bool fraction = text.find_first_of(".eE") != std::string::npos;
    if (fraction && end == text.c_str() + text.size()) operands.epsilon = number;
  }
  for (const TensorSpec& spec : operands.specs) {
    if (onednn_takes(spec.dtype)) continue;
    return Diagnostic{.code = Code::not_available, .message = "oneDNN has no tensors of " + to_text(spec)};
  }
  if (static_cast<int>(operands.specs.size()) < row.least) {
    return refusal("the operation " + request.operation + " needs " + std::to_string(row.least) +
                   " tensor arguments, but has " + std::to_string(operands.specs.size()));
  }
  return operands;
}

class OneDnnSubject : public Subject {
 public:
  static Result<std::unique_ptr<Subject>> make(const PrepareRequest& request, InputCache& inputs);
  int launch() override { return primitive_->run(); }
  void reset() override {
    for (TensorBuffer& buffer : results_) buffer.poison();
  }
  std::vector<Output> outputs() const override {
    std::vector<Output> list;
    for (size_t i = 0; i < results_.size(); ++i) {
      const TensorSpec& spec = results_[i].spec();
      list.push_back({static_cast<int>(i), names_[i], spec.dtype, spec.span(), results_[i].data()});
    }
    return list;
  }

 private:
  void input(int argument, size_t at) { bind_.push_back({argument, in_.specs[at], in_.buffers[at]->data()}); }
  void weight(int argument, size_t at);
  void variance_from_rstd(size_t at);
  void unused_shift();
  void output(int argument, const char* name, TensorSpec spec);
  Status lay_out(const Row& row);
  void lay_out_norm(const Row& row);
  void lay_out_norm_backward();
  void describe(const PrepareRequest& request, const OneDnn& library);

  Operands in_;
  DnnProblem problem_;
  std::vector<DnnOperand> bind_;
  std::vector<TensorBuffer> converted_;  ///< weights in f32, variance
  std::vector<TensorBuffer> results_;
  std::vector<std::string> names_;
  std::unique_ptr<OneDnn::Primitive> primitive_;
};

TensorSpec plain(DType dtype, std::vector<int64_t> shape) { return TensorSpec{dtype, std::move(shape), {}, {}}; }

/// oneDNN takes scale and shift in f32: conversion happens here, outside of the timed unit.
void OneDnnSubject::weight(int argument, size_t at) {
  if (in_.specs[at].dtype == DType::f32) return input(argument, at);
  TensorBuffer wide(plain(DType::f32, in_.specs[at].shape));
  for (int64_t i = 0; i < wide.spec().span(); ++i) {
    const double value = load_double(in_.buffers[at]->data(), in_.specs[at].dtype, i);
    static_cast<float*>(wide.data())[i] = static_cast<float>(value);
  }
  bind_.push_back({argument, wide.spec(), wide.data()});
  converted_.push_back(std::move(wide));
}

/// Kernels keep 1/sqrt(variance + epsilon), oneDNN the variance.
void OneDnnSubject::variance_from_rstd(size_t at) {
  TensorBuffer variance(problem_.stats);
  for (int64_t i = 0; i < variance.spec().span(); ++i) {
    const double rstd = load_double(in_.buffers[at]->data(), in_.specs[at].dtype, i);
    static_cast<float*>(variance.data())[i] = static_cast<float>(1 / (rstd * rstd) - problem_.epsilon);
  }
  bind_.push_back({kDnnVariance, variance.spec(), variance.data()});
  converted_.push_back(std::move(variance));
}

/// The shift has to be bound in backward as well, though no formula reads it.
void OneDnnSubject::unused_shift() {
  converted_.emplace_back(plain(DType::f32, {in_.specs[1].shape.back()}));
  std::memset(converted_.back().data(), 0, static_cast<size_t>(converted_.back().bytes()));
  bind_.push_back({kDnnShift, converted_.back().spec(), converted_.back().data()});
}

void OneDnnSubject::output(int argument, const char* name, TensorSpec spec) {
  spec.distribution = {};
  results_.emplace_back(spec);
  names_.emplace_back(name);
  bind_.push_back({argument, spec, results_.back().data()});
}

void OneDnnSubject::lay_out_norm(const Row& row) {
  const TensorSpec& src = in_.specs[0];
  problem_.dst = plain(src.dtype, src.shape);
  problem_.stats = plain(DType::f32, {src.shape.begin(), src.shape.end() - 1});
  problem_.scale = in_.specs.size() > 1;
  problem_.shift = in_.specs.size() > 2;
  input(kDnnSrc, 0);
  if (problem_.scale) weight(kDnnScale, 1);
  if (problem_.shift) weight(kDnnShift, 2);
  output(kDnnDst, "dst", problem_.dst);
  if (row.op != DnnOp::layer_norm_training) return;
  output(kDnnMean, "mean", problem_.stats);
  output(kDnnVariance, "variance", problem_.stats);
}

/// Operands: incoming gradient, source, mean, rstd, and the weight if there is one.
void OneDnnSubject::lay_out_norm_backward() {
  const TensorSpec& src = in_.specs[1];
  problem_.src1 = src;
  problem_.dst = plain(src.dtype, src.shape);
  problem_.stats = plain(DType::f32, {src.shape.begin(), src.shape.end() - 1});
  problem_.scale = problem_.shift = in_.specs.size() > 4;
  input(kDnnDiffDst, 0);
  input(kDnnSrc, 1);
  bind_.push_back({kDnnMean, problem_.stats, in_.buffers[2]->data()});
  variance_from_rstd(3);
  if (problem_.scale) weight(kDnnScale, 4);
  output(kDnnDiffSrc, "diff_src", problem_.dst);
  if (!problem_.scale) return;
  output(kDnnDiffScale, "diff_scale", plain(DType::f32, {src.shape.back()}));
  output(kDnnDiffShift, "diff_shift", plain(DType::f32, {src.shape.back()}));
}

Status OneDnnSubject::lay_out(const Row& row) {
  const TensorSpec& src = in_.specs[0];
  if (src.shape.empty()) return refusal("a tensor without dimensions is nothing that oneDNN takes");
  problem_.op = row.op;
  problem_.src = src;
  problem_.epsilon = in_.epsilon;
  problem_.alpha = std::string_view(row.algorithm) == "swish" ? 1 : 0;
  problem_.dst = plain(src.dtype, src.shape);
  results_.reserve(3);
  switch (row.op) {
    case DnnOp::layer_norm:
    case DnnOp::layer_norm_training:
    case DnnOp::rms_norm:
      lay_out_norm(row);
      return success();
    case DnnOp::layer_norm_backward:
      if (in_.specs[2].dtype != DType::f32) return refusal("layer_norm_backward takes its mean in f32");
      lay_out_norm_backward();
      return success();
    case DnnOp::softmax_backward:
    case DnnOp::log_softmax_backward:
      problem_.src1 = in_.specs[1];
      input(kDnnDiffDst, 0);
      input(kDnnDst, 1);
      output(kDnnDiffSrc, "diff_src", problem_.dst);
      return success();
    case DnnOp::binary:
      problem_.src1 = in_.specs[1];
      input(kDnnSrc, 0);
      input(kDnnSrc1, 1);
      break;
    case DnnOp::reduction:
      problem_.dst.shape.back() = 1;
      [[fallthrough]];
    default:
      input(kDnnSrc, 0);
  }
  output(kDnnDst, "dst", problem_.dst);
  return success();
}

void OneDnnSubject::describe(const PrepareRequest& request, const OneDnn& library) {
  reply_.implementation = "onednn";
  reply_.version = library.version();
  reply_.library = library.path();
  reply_.detail = request.operation + " " + primitive_->implementation();
  reply_.threads = request.threads > 0 ? request.threads : omp_get_num_procs();
  reply_.inputs_sha256 = in_.inputs_sha256;
  plain_threads_ = !library.uses_openmp();
  for (const auto& buffer : in_.buffers) reply_.bytes += buffer->bytes();
  for (const TensorBuffer& buffer : results_) reply_.bytes += buffer.bytes();
}

Result<std::unique_ptr<Subject>> OneDnnSubject::make(const PrepareRequest& request, InputCache& inputs) {
  const Row* row = find_row(request.operation);
  if (!row) {
    std::string known;
    for (const Row& each : kRows) known += (known.empty() ? "" : ", ") + std::string(each.name);
    return refusal("`" + request.operation + "` is no oneDNN operation known here; known are " + known);
  }
  const std::shared_ptr<OneDnn> library = HC_TRY(OneDnn::open(request.library));
  auto subject = std::make_unique<OneDnnSubject>();
  subject->in_ = HC_TRY(read_operands(request, *row, inputs));
  HC_TRY(subject->lay_out(*row));
  // Version 2 describes source and result by one layout, and the results here are contiguous.
  if (library->major() == 2 && !subject->problem_.src.strides.empty()) {
    return Diagnostic{.code = Code::not_available, .message = "oneDNN 2 is not given strided tensors here"};
  }
  if (row->op == DnnOp::layer_norm_backward && subject->problem_.shift) subject->unused_shift();
  subject->problem_.algorithm = library->algorithm(row->op, row->algorithm);
  subject->reset();
  subject->primitive_ = HC_TRY(OneDnn::make(library, subject->problem_, subject->bind_));
  subject->describe(request, *library);
  return std::unique_ptr<Subject>(std::move(subject));
}

}  // namespace

Result<std::unique_ptr<Subject>> make_onednn_subject(const PrepareRequest& request, InputCache& inputs) {
  return OneDnnSubject::make(request, inputs);
}

std::vector<Offer> onednn_offers(const std::vector<std::string>& paths, std::vector<Missing>* missing) {
  std::vector<std::string> names = {"libdnnl.so.3", "libdnnl.so.2"};
  names.insert(names.end(), paths.begin(), paths.end());
  std::vector<Offer> offers;
  Diagnostic last;
  for (const std::string& name : names) {
    const Result<std::shared_ptr<OneDnn>> library = OneDnn::open(name);
    if (!library.ok()) {
      last = library.error();
      continue;
    }
    const std::string& path = library.value()->path();
    const auto same = [&](const Offer& offer) { return offer.library == path; };
    if (std::none_of(offers.begin(), offers.end(), same)) {
      offers.push_back({"onednn", path, library.value()->version()});
    }
  }
  if (missing && offers.empty()) missing->push_back({"onednn", last.message, last.help});
  return offers;
}

}  // namespace hc::bench
