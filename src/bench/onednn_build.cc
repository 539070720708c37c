// oneDNN primitives: descriptors for versions 2 and 3, bound to operands.
#include <fmt/format.h>

#include "bench/onednn.h"

namespace hc::bench {
namespace {

constexpr int kForwardTraining = 64;
constexpr int kForwardInference = 96;
constexpr int kBackward = 128;
constexpr int kBackwardData = 160;
constexpr int kSoftmaxAccurate = 0x30000;
constexpr int kSoftmaxLog = 0x30001;
constexpr int kQueryImplementation = 8;
constexpr int kNotImplemented = 3;
constexpr unsigned kRmsNorm = 32;

int data_type(DType type) {
  switch (type) {
    case DType::f16:
      return 1;
    case DType::bf16:
      return 2;
    case DType::f32:
      return 3;
    case DType::i32:
      return 4;
    case DType::i8:
      return 5;
    case DType::u8:
      return 6;
    default:
      return 0;
  }
}

}  // namespace

bool onednn_takes(DType type) { return data_type(type) != 0; }

/// Builds the descriptors of one primitive; version 2 fills structures of its own, which are opaque storage here.
struct DnnBuilder {
  static constexpr size_t kMemoryDescriptorBytes = 4096;  // version 2 needs under 1 KiB
  static constexpr size_t kOperationDescriptorBytes = 32768;

  explicit DnnBuilder(OneDnn& opened) : library(opened) {}
  ~DnnBuilder() {
    for (void* descriptor : owned) library.find<int(void*)>("dnnl_memory_desc_destroy")(descriptor);
  }
  DnnBuilder(const DnnBuilder&) = delete;
  DnnBuilder& operator=(const DnnBuilder&) = delete;

  OneDnn& library;
  std::vector<std::unique_ptr<std::max_align_t[]>> storage;
  std::vector<void*> owned;  ///< memory descriptors of version 3
  std::string missing;

  void* opaque(size_t bytes) {
    storage.push_back(std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t)));
    return storage.back().get();
  }

  template <typename F, typename... Arguments>
  int call(const char* name, Arguments... arguments) {
    auto* function = library.find<F>(name);
    if (!function) {
      missing = name;
      return kNotImplemented;
    }
    return function(arguments...);
  }

  /// The descriptor of a layout, or null for one without dimensions.
  const void* layout(const TensorSpec& spec) {
    if (spec.shape.empty()) return nullptr;
    const int dimensions = static_cast<int>(spec.shape.size());
    const std::vector<int64_t> strides = spec.full_strides();
    void* descriptor = nullptr;
    int status = 0;
    using Dims = const int64_t*;
    if (library.major_ == 2) {
      descriptor = opaque(kMemoryDescriptorBytes);
      status = call<int(void*, int, Dims, int, Dims)>("dnnl_memory_desc_init_by_strides", descriptor, dimensions,
                                                      spec.shape.data(), data_type(spec.dtype), strides.data());
    } else {
      status = call<int(void**, int, Dims, int, Dims)>("dnnl_memory_desc_create_with_strides", &descriptor, dimensions,
                                                       spec.shape.data(), data_type(spec.dtype), strides.data());
      if (status == 0) owned.push_back(descriptor);
    }
    return status == 0 ? descriptor : nullptr;
  }

  int from_operation(void** out, const void* operation, void* hint) {
    return call<int(void**, const void*, void*, void*, void*)>("dnnl_primitive_desc_create", out, operation, nullptr,
                                                               library.engine_, hint);
  }

  int forward(const DnnProblem& problem, bool training, const TensorSpec& src, const TensorSpec& dst, void** out);
  int backward(const DnnProblem& problem, void* hint, void** out);
  int softmax(bool log, bool training, const TensorSpec& src, const TensorSpec& dst, void** out);
  int layer_norm(const DnnProblem& problem, int kind, const TensorSpec& src, const TensorSpec& dst, void** out);
  unsigned norm_flags(const DnnProblem& problem) const;
};

using Md = const void*;  // a memory descriptor

int DnnBuilder::softmax(bool log, bool training, const TensorSpec& src, const TensorSpec& dst, void** out) {
  const int algorithm = log ? kSoftmaxLog : kSoftmaxAccurate;
  const int kind = training ? kForwardTraining : kForwardInference;
  const int axis = static_cast<int>(src.shape.size()) - 1;
  if (library.major_ == 2) {
    void* operation = opaque(kOperationDescriptorBytes);
    const int status = call<int(void*, int, int, Md, Md, int)>("dnnl_softmax_v2_forward_desc_init", operation, kind,
                                                               algorithm, layout(src), layout(dst), axis);
    return status != 0 ? status : from_operation(out, operation, nullptr);
  }
  return call<int(void**, void*, int, int, Md, Md, int, void*)>("dnnl_softmax_forward_primitive_desc_create", out,
                                                                library.engine_, kind, algorithm, layout(src),
                                                                layout(dst), axis, nullptr);
}

unsigned DnnBuilder::norm_flags(const DnnProblem& problem) const {
  const unsigned scale = library.major_ == 2 ? 8 : 2;
  const unsigned shift = library.major_ == 2 ? 16 : 4;
  return (problem.scale ? scale : 0) | (problem.shift ? shift : 0) | (problem.op == DnnOp::rms_norm ? kRmsNorm : 0);
}

int DnnBuilder::layer_norm(const DnnProblem& problem, int kind, const TensorSpec& src, const TensorSpec& dst,
                           void** out) {
  const auto epsilon = static_cast<float>(problem.epsilon);
  const Md stats = layout(problem.stats);
  if (library.major_ == 2) {
    if (problem.op == DnnOp::rms_norm) return kNotImplemented;
    void* operation = opaque(kOperationDescriptorBytes);
    const int status =
        call<int(void*, int, Md, Md, float, unsigned)>("dnnl_layer_normalization_forward_desc_init", operation, kind,
                                                       layout(src), stats, epsilon, norm_flags(problem));
    return status != 0 ? status : from_operation(out, operation, nullptr);
  }
  if (problem.op == DnnOp::rms_norm && library.minor_ < 7) return kNotImplemented;
  return call<int(void**, void*, int, Md, Md, Md, float, unsigned, void*)>(
      "dnnl_layer_normalization_forward_primitive_desc_create", out, library.engine_, kind, layout(src), layout(dst),
      stats, epsilon, norm_flags(problem), nullptr);
}

int DnnBuilder::forward(const DnnProblem& problem, bool training, const TensorSpec& src, const TensorSpec& dst,
                        void** out) {
  const bool two = library.major_ == 2;
  void* operation = two ? opaque(kOperationDescriptorBytes) : nullptr;
  void* const engine = library.engine_;
  const int kind = training ? kForwardTraining : kForwardInference;
  const auto alpha = static_cast<float>(problem.alpha);
  int status = kNotImplemented;
  switch (problem.op) {
    case DnnOp::softmax:
    case DnnOp::softmax_backward:
      return softmax(false, training, src, dst, out);
    case DnnOp::log_softmax:
    case DnnOp::log_softmax_backward:
      return softmax(true, training, src, dst, out);
    case DnnOp::layer_norm:
    case DnnOp::rms_norm:
    case DnnOp::layer_norm_training:
    case DnnOp::layer_norm_backward:
      return layer_norm(problem, kind, src, dst, out);
    case DnnOp::eltwise:
      status = two ? call<int(void*, int, int, Md, float, float)>("dnnl_eltwise_forward_desc_init", operation, kind,
                                                                  problem.algorithm, layout(src), alpha, 0.0F)
                   : call<int(void**, void*, int, int, Md, Md, float, float, void*)>(
                         "dnnl_eltwise_forward_primitive_desc_create", out, engine, kind, problem.algorithm,
                         layout(src), layout(dst), alpha, 0.0F, nullptr);
      break;
    case DnnOp::binary:
      status = two ? call<int(void*, int, Md, Md, Md)>("dnnl_binary_desc_init", operation, problem.algorithm,
                                                       layout(src), layout(problem.src1), layout(dst))
                   : call<int(void**, void*, int, Md, Md, Md, void*)>("dnnl_binary_primitive_desc_create", out, engine,
                                                                      problem.algorithm, layout(src),
                                                                      layout(problem.src1), layout(dst), nullptr);
      break;
    case DnnOp::reduction:
      status = two ? call<int(void*, int, Md, Md, float, float)>(
                         "dnnl_reduction_desc_init", operation, problem.algorithm, layout(src), layout(dst), 0.0F, 0.0F)
                   : call<int(void**, void*, int, Md, Md, float, float, void*)>(
                         "dnnl_reduction_primitive_desc_create", out, engine, problem.algorithm, layout(src),
                         layout(dst), 0.0F, 0.0F, nullptr);
      break;
  }
  return status == 0 && two ? from_operation(out, operation, nullptr) : status;
}

int DnnBuilder::backward(const DnnProblem& problem, void* hint, void** out) {
  const bool two = library.major_ == 2;
  void* operation = two ? opaque(kOperationDescriptorBytes) : nullptr;
  void* const engine = library.engine_;
  const Md diff_dst = layout(problem.src);
  const Md diff_src = layout(problem.dst);
  const Md data = layout(problem.src1);
  int status = kNotImplemented;
  if (problem.op == DnnOp::layer_norm_backward) {
    const int kind = problem.scale || problem.shift ? kBackward : kBackwardData;
    const auto epsilon = static_cast<float>(problem.epsilon);
    const Md stats = layout(problem.stats);
    status = two ? call<int(void*, int, Md, Md, Md, float, unsigned)>("dnnl_layer_normalization_backward_desc_init",
                                                                      operation, kind, diff_src, data, stats, epsilon,
                                                                      norm_flags(problem))
                 : call<int(void**, void*, int, Md, Md, Md, Md, float, unsigned, void*, void*)>(
                       "dnnl_layer_normalization_backward_primitive_desc_create", out, engine, kind, diff_src, diff_dst,
                       data, stats, epsilon, norm_flags(problem), hint, nullptr);
  } else {
    const int algorithm = problem.op == DnnOp::log_softmax_backward ? kSoftmaxLog : kSoftmaxAccurate;
    const int axis = static_cast<int>(problem.src.shape.size()) - 1;
    status = two ? call<int(void*, int, Md, Md, Md, int)>("dnnl_softmax_v2_backward_desc_init", operation, algorithm,
                                                          diff_src, diff_dst, data, axis)
                 : call<int(void**, void*, int, Md, Md, Md, int, void*, void*)>(
                       "dnnl_softmax_backward_primitive_desc_create", out, engine, algorithm, diff_src, diff_dst, data,
                       axis, hint, nullptr);
  }
  return status == 0 && two ? from_operation(out, operation, hint) : status;
}

namespace {

bool is_backward(DnnOp op) {
  return op == DnnOp::softmax_backward || op == DnnOp::log_softmax_backward || op == DnnOp::layer_norm_backward;
}

}  // namespace

Status OneDnn::describe(DnnBuilder& builder, const DnnProblem& problem, Primitive& made) {
  const bool training = is_backward(problem.op) || problem.op == DnnOp::layer_norm_training;
  int status = 0;
  if (is_backward(problem.op)) {
    status = builder.forward(problem, training, problem.src1, problem.src1, &made.forward_);
    if (status == 0) status = builder.backward(problem, made.forward_, &made.descriptor_);
  } else {
    status = builder.forward(problem, training, problem.src, problem.dst, &made.descriptor_);
  }
  if (status == 0) {
    status = builder.call<int(void**, void*)>("dnnl_primitive_create", &made.primitive_, made.descriptor_);
  }
  if (status == 0) return success();
  std::string why = "status " + std::to_string(status);
  if (status == kNotImplemented) why = "it is not implemented";
  if (!builder.missing.empty()) why = "it has no " + builder.missing;
  return Diagnostic{.code = Code::not_available,
                    .message = fmt::format("oneDNN {} cannot do this for {}: {}", builder.library.version_,
                                           to_text(problem.src), why)};
}

Result<std::unique_ptr<OneDnn::Primitive>> OneDnn::make(const std::shared_ptr<OneDnn>& library,
                                                        const DnnProblem& problem,
                                                        const std::vector<DnnOperand>& operands) {
  DnnBuilder builder(*library);
  std::unique_ptr<Primitive> made(new Primitive);
  made->library_ = library;
  HC_TRY(describe(builder, problem, *made));
  const char* name = nullptr;
  builder.call<int(void*, int, int, void*)>("dnnl_primitive_desc_query", made->descriptor_, kQueryImplementation, 0,
                                            static_cast<void*>(&name));
  made->implementation_ = name ? name : "";
  made->execute_ = library->find<int(void*, void*, int, const Primitive::Argument*)>("dnnl_primitive_execute");
  made->wait_ = library->find<int(void*)>("dnnl_stream_wait");
  for (const DnnOperand& operand : operands) {
    void* memory = nullptr;
    const int status = builder.call<int(void**, const void*, void*, void*)>(
        "dnnl_memory_create", &memory, builder.layout(operand.spec), library->engine_, operand.data);
    if (status != 0) {
      return Diagnostic{.code = Code::not_available,
                        .message = fmt::format("oneDNN {} cannot take the operand {}: status {}", library->version_,
                                               to_text(operand.spec), status)};
    }
    made->arguments_.push_back({operand.argument, memory});
  }
  return made;
}

}  // namespace hc::bench
