// cuDNN opened at run time: its softmax, where each order of a row's elements that it knows is a way. Prototypes and
// numbers are its published C interface.
#include <fmt/format.h>

#include <climits>

#include "cuda/way.h"

namespace hc::baselines {
namespace {

using Opaque = void*;

constexpr int kNchw = 0;
constexpr int kAccurate = 1;  // the row's maximum is taken out before the exponential
constexpr int kInstance = 0, kChannel = 1;

/// Where a row's elements lie among the dimensions C, H and W, and whether cuDNN sums over all of these or over C.
struct Layout {
  const char* name;
  int mode;
  bool row_in_w;
};
constexpr std::array<Layout, 3> kLayouts = {Layout{"instance, row in C", kInstance, false},
                                            Layout{"instance, row in W", kInstance, true},
                                            Layout{"channel, row in C", kChannel, false}};

struct Functions {
#define HC_DNN_FUNCTIONS(X)                                             \
  X(cudnnCreate, (Opaque*))                                             \
  X(cudnnDestroy, (Opaque))                                             \
  X(cudnnSetStream, (Opaque, void*))                                    \
  X(cudnnCreateTensorDescriptor, (Opaque*))                             \
  X(cudnnDestroyTensorDescriptor, (Opaque))                             \
  X(cudnnSetTensor4dDescriptor, (Opaque, int, int, int, int, int, int)) \
  X(cudnnSoftmaxForward, (Opaque, int, int, const void*, Opaque, const void*, const void*, Opaque, void*))
#define X(name, arguments) int(*name) arguments = nullptr;
  HC_DNN_FUNCTIONS(X)
#undef X
  const char* (*words)(int) = nullptr;
};

const Wanted kWanted{"cuDNN", {"libcudnn.so.9"}, "pip install nvidia-cudnn-cu13"};

/// The library with a handle; the ways share it.
struct Session {
  Functions dnn;
  std::string version;
  std::string path;
  Opaque handle = nullptr;

  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (handle) dnn.cudnnDestroy(handle);
  }

  Status status(const char* call, int status) const {
    if (status == 0) return success();
    const std::string words = dnn.words ? dnn.words(status) : "status " + std::to_string(status);
    return Diagnostic{.code = Code::measurement_failed, .message = fmt::format("{}: {}", call, words)};
  }
};

Result<std::shared_ptr<Session>> open(const Places& places) {
  const Library library = HC_TRY(places.open(kWanted));
  auto made = std::make_shared<Session>();
  made->path = library.path;
#define X(name, arguments)                                                                                       \
  made->dnn.name = reinterpret_cast<int(*) arguments>(library.symbol(#name));                                    \
  if (!made->dnn.name) {                                                                                         \
    return Diagnostic{.code = Code::not_available, .message = library.path + " has no " #name}.fix(kWanted.fix); \
  }
  HC_DNN_FUNCTIONS(X)
#undef X
  made->dnn.words = reinterpret_cast<const char* (*)(int)>(library.symbol("cudnnGetErrorString"));
  if (auto* version = reinterpret_cast<size_t (*)()>(library.symbol("cudnnGetVersion"))) {
    made->version = std::to_string(version());
  }
  return made;
}

class SoftmaxWay : public Way {
 public:
  SoftmaxWay(std::shared_ptr<Session> session, const Layout& layout, const Tensors& tensors)
      : session_(std::move(session)), layout_(layout), tensors_(tensors) {
    config_ = {{"layout", layout.name}};
  }
  SoftmaxWay(const SoftmaxWay&) = delete;
  SoftmaxWay& operator=(const SoftmaxWay&) = delete;
  ~SoftmaxWay() override {
    if (tensor_) session_->dnn.cudnnDestroyTensorDescriptor(tensor_);
  }

  Status describe(const TensorSpec& x) {
    const Matrix size = matrix_of(x);
    const int rows = static_cast<int>(size.rows), columns = static_cast<int>(size.columns);
    const int type = x.dtype == DType::f32 ? 0 : x.dtype == DType::f16 ? 2 : 9;
    HC_TRY(session_->status("cudnnCreateTensorDescriptor", session_->dnn.cudnnCreateTensorDescriptor(&tensor_)));
    return session_->status(
        "cudnnSetTensor4dDescriptor",
        session_->dnn.cudnnSetTensor4dDescriptor(tensor_, kNchw, type, rows, layout_.row_in_w ? 1 : columns, 1,
                                                 layout_.row_in_w ? columns : 1));
  }

  int launch(bench::CuStream stream) override {
    const int failed = session_->dnn.cudnnSetStream(session_->handle, stream);
    if (failed) return failed;
    const float one = 1, zero = 0;  // floats for the 16-bit types as well
    return session_->dnn.cudnnSoftmaxForward(session_->handle, kAccurate, layout_.mode, &one, tensor_,
                                             reinterpret_cast<void*>(tensors_.inputs[0].pointer()), &zero, tensor_,
                                             reinterpret_cast<void*>(tensors_.outputs[0].pointer()));
  }

 private:
  std::shared_ptr<Session> session_;
  Layout layout_;
  const Tensors& tensors_;
  Opaque tensor_ = nullptr;
};

}  // namespace

Result<std::string> cudnn_version(const Places& places) { return HC_TRY(open(places))->version; }

Result<Ways> cudnn_ways(const BuildRequest& request) {
  if (request.call.operation != "softmax") {
    return Diagnostic{.code = Code::not_available,
                      .message = "cudnn-cpp has softmax, not `" + request.call.operation + "`"};
  }
  const Matrix size = matrix_of(request.call.tensor(0));
  if (size.rows > INT_MAX || size.columns > INT_MAX) {
    return Diagnostic{.code = Code::not_available, .message = "cuDNN's sizes have 32 bits, and this tensor is larger"};
  }
  const std::shared_ptr<Session> session = HC_TRY(open(request.places));
  HC_TRY(session->status("cudnnCreate", session->dnn.cudnnCreate(&session->handle)));
  Ways ways{{}, session->version, session->path, {}};
  for (const Layout& layout : kLayouts) {
    auto way = std::make_unique<SoftmaxWay>(session, layout, request.tensors);
    if (!request.pinned.is_null() && request.pinned != way->config()) continue;
    const Status described = way->describe(request.call.tensor(0));
    if (described.ok()) {
      ways.list.push_back(std::move(way));
    } else {
      ways.refused.push_back(way->config().dump() + ": " + described.error().message);
    }
  }
  if (!ways.list.empty()) return ways;
  return Diagnostic{.code = Code::not_available,
                    .message = ways.refused.empty() ? "cudnn-cpp has no config " + request.pinned.dump()
                                                    : "cuDNN takes no such tensor: " + ways.refused.front()};
}

}  // namespace hc::baselines
