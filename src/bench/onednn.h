// oneDNN opened at run time: the few calls that the baselines need, for major versions 2 and 3.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "diag/diag.h"

namespace hc::bench {

/// Names of the operations that OneDnn::make knows; operands in order stand beside each in docs/worker-protocol.md.
enum class DnnOp : uint8_t {
  softmax,
  log_softmax,
  softmax_backward,
  log_softmax_backward,
  layer_norm,
  layer_norm_training,
  layer_norm_backward,
  rms_norm,
  eltwise,
  binary,
  reduction,
};

/// One operand of a primitive: oneDNN's argument number, its layout and its bytes.
struct DnnOperand {
  int argument = 0;
  TensorSpec spec;
  void* data = nullptr;
};

/// What to build: the operation, oneDNN's algorithm where it has one, and the layouts.
struct DnnProblem {
  DnnOp op = DnnOp::softmax;
  int algorithm = 0;  ///< eltwise, binary, reduction: by dnn_algorithm()
  double alpha = 0;   ///< eltwise: relu's slope below zero, swish's factor
  double epsilon = 1e-5;
  bool scale = false;
  bool shift = false;
  TensorSpec src;    ///< the (first) input; backward: the incoming gradient
  TensorSpec src1;   ///< binary: the second input; backward: src or dst of the forward
  TensorSpec dst;    ///< the result
  TensorSpec stats;  ///< layer_norm: mean and variance
};

struct DnnBuilder;

/// An opened library. Copies share it; it is never closed, since its thread pools do not survive that.
class OneDnn {
 public:
  /// `path` empty: libdnnl.so.3, then libdnnl.so.2 of the system. not_available says how to get one.
  static Result<std::shared_ptr<OneDnn>> open(const std::string& path);
  int major() const { return major_; }
  const std::string& version() const { return version_; }  ///< "2.6.3 omp"
  const std::string& path() const { return path_; }        ///< the file that was opened
  bool uses_openmp() const { return openmp_; }
  /// Number of an algorithm by its name in this version ("exp", "add", "sum", ...), or 0.
  int algorithm(DnnOp op, const std::string& name) const;

  /// A primitive bound to its operands.
  class Primitive {
   public:
    ~Primitive();
    /// Runs and waits; oneDNN's status, 0 for success.
    int run();
    const std::string& implementation() const { return implementation_; }  ///< "jit:avx512_core_bf16", ...

   private:
    friend class OneDnn;
    struct Argument {
      int number;
      void* memory;
    };
    std::shared_ptr<OneDnn> library_;
    void* descriptor_ = nullptr;
    void* forward_ = nullptr;
    void* primitive_ = nullptr;
    int (*execute_)(void*, void*, int, const Argument*) = nullptr;
    int (*wait_)(void*) = nullptr;
    std::vector<Argument> arguments_;
    std::string implementation_;
  };
  /// not_available with oneDNN's status when this version has no implementation.
  static Result<std::unique_ptr<Primitive>> make(const std::shared_ptr<OneDnn>& library, const DnnProblem& problem,
                                                 const std::vector<DnnOperand>& operands);

 private:
  OneDnn() = default;
  friend struct DnnBuilder;
  template <typename F>
  F* find(const char* name) const {
    return reinterpret_cast<F*>(symbol(name));
  }
  void* symbol(const char* name) const;
  Status set_up();
  static Status describe(DnnBuilder& builder, const DnnProblem& problem, Primitive& made);
  void* handle_ = nullptr;
  void* engine_ = nullptr;
  void* stream_ = nullptr;
  int major_ = 0;
  int minor_ = 0;
  bool openmp_ = false;
  std::string version_;
  std::string path_;
};

/// Whether there is a oneDNN data type for these elements.
bool onednn_takes(DType type);

// oneDNN's argument numbers, equal in versions 2 and 3.
inline constexpr int kDnnSrc = 1;
inline constexpr int kDnnSrc1 = 2;
inline constexpr int kDnnDst = 17;
inline constexpr int kDnnMean = 49;
inline constexpr int kDnnVariance = 50;
inline constexpr int kDnnScale = 51;
inline constexpr int kDnnShift = 52;
inline constexpr int kDnnDiffSrc = 129;
inline constexpr int kDnnDiffDst = 145;
inline constexpr int kDnnDiffScale = 255;
inline constexpr int kDnnDiffShift = 256;

}  // namespace hc::bench
