// cuBLASLt opened at run time: every algorithm that its heuristic names for a product is a way. Prototypes, sizes and
// numbers are its published C interface.
#include <fmt/format.h>

#include "cuda/way.h"

namespace hc::baselines {
namespace {

/// cublasLtMatmulAlgo_t and cublasLtMatmulHeuristicResult_t.
struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

using Opaque = void*;

constexpr int kComputeF32 = 68, kComputeTf32 = 77;
constexpr int kRealF32 = 0, kRealF16 = 2, kRealBf16 = 14;
constexpr int kDescriptorTransposeA = 3;
constexpr int kTranspose = 1;
constexpr int kPreferenceWorkspace = 1;
constexpr int kHeuristicsMost = 256;
constexpr size_t kWorkspaceBytes = size_t{64} << 20;

struct Functions {
#define HC_LT_FUNCTIONS(X)                                                                                            \
  X(cublasLtCreate, (Opaque*))                                                                                        \
  X(cublasLtDestroy, (Opaque))                                                                                        \
  X(cublasLtMatmulDescCreate, (Opaque*, int, int))                                                                    \
  X(cublasLtMatmulDescSetAttribute, (Opaque, int, const void*, size_t))                                               \
  X(cublasLtMatmulDescDestroy, (Opaque))                                                                              \
  X(cublasLtMatrixLayoutCreate, (Opaque*, int, uint64_t, uint64_t, int64_t))                                          \
  X(cublasLtMatrixLayoutDestroy, (Opaque))                                                                            \
  X(cublasLtMatmulPreferenceCreate, (Opaque*))                                                                        \
  X(cublasLtMatmulPreferenceSetAttribute, (Opaque, int, const void*, size_t))                                         \
  X(cublasLtMatmulPreferenceDestroy, (Opaque))                                                                        \
  X(cublasLtMatmulAlgoGetHeuristic, (Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, int, Heuristic*, int*))  \
  X(cublasLtMatmulAlgoConfigGetAttribute, (const Algorithm*, int, void*, size_t, size_t*))                            \
  X(cublasLtMatmul, (Opaque, Opaque, const void*, const void*, Opaque, const void*, Opaque, const void*, const void*, \
                     Opaque, void*, Opaque, const Algorithm*, void*, size_t, void*))
#define X(name, arguments) int(*name) arguments = nullptr;
  HC_LT_FUNCTIONS(X)
#undef X
};

const Wanted kWanted{"cuBLASLt",
                     {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
                     "pip install nvidia-cublas, or install the CUDA toolkit"};

/// The library with the descriptors of one product and its workspace; the ways share it.
struct Product {
  Functions lt;
  std::string version;
  std::string path;
  Opaque handle = nullptr, descriptor = nullptr, a = nullptr, b = nullptr, c = nullptr;
  Memory workspace;
  const Tensors* tensors = nullptr;

  ~Product() {
    for (Opaque layout : {a, b, c}) {
      if (layout) lt.cublasLtMatrixLayoutDestroy(layout);
    }
    if (descriptor) lt.cublasLtMatmulDescDestroy(descriptor);
    if (handle) lt.cublasLtDestroy(handle);
  }

  int run(const Algorithm& algorithm, void* stream) const {
    const float one = 1, zero = 0;
    const auto at = [](const Memory& memory) { return reinterpret_cast<void*>(memory.pointer()); };
    void* out = at(tensors->outputs[0]);
    return lt.cublasLtMatmul(handle, descriptor, &one, at(tensors->inputs[1]), a, at(tensors->inputs[0]), b, &zero, out,
                             c, out, c, &algorithm, at(workspace), kWorkspaceBytes, stream);
  }
};

Status lt_status(const char* call, int status) {
  if (status == 0) return success();
  return Diagnostic{.code = Code::measurement_failed, .message = fmt::format("{}: cuBLAS status {}", call, status)};
}

Result<std::shared_ptr<Product>> open(const Places& places) {
  const Library library = HC_TRY(places.open(kWanted));
  auto made = std::make_shared<Product>();
  made->path = library.path;
#define X(name, arguments)                                                                                       \
  made->lt.name = reinterpret_cast<int(*) arguments>(library.symbol(#name));                                     \
  if (!made->lt.name) {                                                                                          \
    return Diagnostic{.code = Code::not_available, .message = library.path + " has no " #name}.fix(kWanted.fix); \
  }
  HC_LT_FUNCTIONS(X)
#undef X
  if (auto* version = reinterpret_cast<size_t (*)()>(library.symbol("cublasLtGetVersion"))) {
    made->version = std::to_string(version());
  }
  return made;
}

/// Row-major C = A B is column-major C' = B' A', so the second argument comes first.
Status describe(Product* p, const Call& call) {
  const TensorSpec& out = call.outputs[0];
  const auto m = static_cast<uint64_t>(out.shape[0]), n = static_cast<uint64_t>(out.shape[1]);
  const auto k = static_cast<uint64_t>(call.tensor(0).shape[1]);
  const int type = out.dtype == DType::f32 ? kRealF32 : out.dtype == DType::f16 ? kRealF16 : kRealBf16;
  const int compute = out.dtype == DType::f32 ? kComputeTf32 : kComputeF32;
  const Functions& lt = p->lt;
  HC_TRY(lt_status("cublasLtMatmulDescCreate", lt.cublasLtMatmulDescCreate(&p->descriptor, compute, kRealF32)));
  const bool transposed = call.operation == "gemm_nt";
  if (transposed) {
    HC_TRY(
        lt_status("cublasLtMatmulDescSetAttribute",
                  lt.cublasLtMatmulDescSetAttribute(p->descriptor, kDescriptorTransposeA, &kTranspose, sizeof(int))));
  }
  const auto layout = [&](Opaque* made, uint64_t rows, uint64_t columns) {
    return lt_status("cublasLtMatrixLayoutCreate",
                     lt.cublasLtMatrixLayoutCreate(made, type, rows, columns, static_cast<int64_t>(rows)));
  };
  HC_TRY(transposed ? layout(&p->a, k, n) : layout(&p->a, n, k));
  HC_TRY(layout(&p->b, k, m));
  return layout(&p->c, n, m);
}

Result<std::vector<Heuristic>> heuristics(const Product& p) {
  const Functions& lt = p.lt;
  Opaque preference = nullptr;
  HC_TRY(lt_status("cublasLtMatmulPreferenceCreate", lt.cublasLtMatmulPreferenceCreate(&preference)));
  const size_t workspace = kWorkspaceBytes;
  lt.cublasLtMatmulPreferenceSetAttribute(preference, kPreferenceWorkspace, &workspace, sizeof workspace);
  std::vector<Heuristic> found(kHeuristicsMost);
  int count = 0;
  const int status = lt.cublasLtMatmulAlgoGetHeuristic(p.handle, p.descriptor, p.a, p.b, p.c, p.c, preference,
                                                       kHeuristicsMost, found.data(), &count);
  lt.cublasLtMatmulPreferenceDestroy(preference);
  HC_TRY(lt_status("cublasLtMatmulAlgoGetHeuristic", status));
  found.resize(static_cast<size_t>(count));
  return found;
}

/// What the algorithm is: its bits, which pin it for the same library, and the fields that have names.
Json config_of(const Product& p, const Algorithm& algorithm) {
  static constexpr const char* kNames[] = {"id",     "tile",   "split_k",     "reduction",    "swizzling",
                                           "custom", "stages", "inner_shape", "cluster_shape"};
  std::string bits;
  for (const uint64_t word : algorithm.data) bits += fmt::format("{:016x}", word);
  Json config{{"algo", bits}};
  for (int attribute = 0; attribute < 9; ++attribute) {
    uint32_t value = 0;
    size_t written = 0;
    // The last two are 16-bit values; what is not written stays zero.
    const size_t size = attribute >= 7 ? 2 : 4;
    if (p.lt.cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, size, &written) == 0) {
      config[kNames[attribute]] = value;
    }
  }
  return config;
}

class LtWay : public Way {
 public:
  LtWay(std::shared_ptr<Product> product, const Algorithm& algorithm)
      : product_(std::move(product)), algorithm_(algorithm) {
    config_ = config_of(*product_, algorithm_);
  }
  int launch(bench::CuStream stream) override { return product_->run(algorithm_, stream); }

 private:
  std::shared_ptr<Product> product_;
  Algorithm algorithm_;
};

}  // namespace

Result<std::string> cublaslt_version(const Places& places) { return HC_TRY(open(places))->version; }

Result<Ways> cublaslt_ways(const BuildRequest& request) {
  if (!request.call.operation.starts_with("gemm")) {
    return Diagnostic{.code = Code::not_available,
                      .message = "cublaslt has gemm_nn and gemm_nt, not `" + request.call.operation + "`"};
  }
  if (!request.pinned.is_null() && (!request.pinned.is_object() || !request.pinned.contains("algo"))) {
    return Diagnostic{.code = Code::measurement_failed, .message = "a pinned config of cublaslt needs `algo`"};
  }
  const std::shared_ptr<Product> product = HC_TRY(open(request.places));
  HC_TRY(lt_status("cublasLtCreate", product->lt.cublasLtCreate(&product->handle)));
  product->tensors = &request.tensors;
  product->workspace = HC_TRY(Memory::take(request.device, static_cast<int64_t>(kWorkspaceBytes)));
  HC_TRY(describe(product.get(), request.call));
  Ways ways{{}, product->version, product->path, {}};
  for (const Heuristic& heuristic : HC_TRY(heuristics(*product))) {
    if (heuristic.status != 0) continue;
    auto way = std::make_unique<LtWay>(product, heuristic.algorithm);
    const bool other = request.pinned.is_object() && request.pinned["algo"] != way->config()["algo"];
    if (!other) ways.list.push_back(std::move(way));
  }
  if (ways.list.empty()) {
    return Diagnostic{.code = Code::not_available,
                      .message = request.pinned.is_null()
                                     ? "cuBLASLt's heuristic names no algorithm for this product"
                                     : "cuBLASLt " + product->version + " does not name the pinned algorithm"};
  }
  return ways;
}

}  // namespace hc::baselines
