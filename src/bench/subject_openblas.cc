// OpenBLAS opened at run time: products of matrices, and sums of rows as a product with ones. Prototypes and numbers
// are its published C interface.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <omp.h>

#include <climits>
#include <optional>

#include "bench/subject.h"

namespace hc::bench {
namespace {

constexpr int kRowMajor = 101, kAsItIs = 111, kTransposed = 112;
constexpr int kOpenMp = 2;  // what openblas_get_parallel() says of a build on OpenMP
constexpr const char* kNames[] = {"libopenblas.so.0", "libopenblas.so"};

struct OpenBlas {
  std::string path, version;
  bool openmp = false;
  void (*cblas_sgemv)(int, int, int, int, float, const float*, int, const float*, int, float, float*, int) = nullptr;
  void (*cblas_sgemm)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*,
                      int) = nullptr;
  void (*openblas_set_num_threads)(int) = nullptr;
};

Diagnostic unavailable(std::string message) {
  return Diagnostic{.code = Code::not_available, .message = std::move(message)};
}

template <typename F>
bool find(void* handle, const char* name, F** function) {
  *function = reinterpret_cast<F*>(dlsym(handle, name));
  return *function != nullptr;
}

/// `path` empty: the system's. Never closed, as its threads live on.
Result<OpenBlas> open(const std::string& path) {
  void* handle = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; path.empty() && !handle && i < std::size(kNames); ++i) {
    handle = dlopen(kNames[i], RTLD_NOW | RTLD_LOCAL);
  }
  if (!handle) {
    const std::string asked = path.empty() ? std::string(kNames[0]) : path;
    return unavailable("OpenBLAS is not here: " + asked + " cannot be opened")
        .fix("`apt-get install libopenblas0`, or name a library with `library`");
  }
  OpenBlas made;
  const char* (*config)() = nullptr;
  int (*parallel)() = nullptr;
  const bool complete =
      find(handle, "cblas_sgemv", &made.cblas_sgemv) && find(handle, "cblas_sgemm", &made.cblas_sgemm) &&
      find(handle, "openblas_set_num_threads", &made.openblas_set_num_threads) &&
      find(handle, "openblas_get_config", &config) && find(handle, "openblas_get_parallel", &parallel);
  link_map* map = nullptr;
  const bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name;
  made.path = known ? map->l_name : path;
  if (!complete) return unavailable(made.path + " has not the functions of OpenBLAS with 32-bit sizes");
  made.version = config();
  made.openmp = parallel() == kOpenMp;
  return made;
}

TensorSpec plain(std::vector<int64_t> shape) { return TensorSpec{DType::f32, std::move(shape), {}, {}}; }

/// A matrix of the call, its last dimension the columns; contiguous f32 with sizes of 32 bits.
struct Matrix {
  const float* data = nullptr;
  int rows = 0, columns = 0;
};

Result<Matrix> matrix_of(const TensorBuffer& buffer) {
  const TensorSpec& spec = buffer.spec();
  const bool fits = spec.dtype == DType::f32 && !spec.shape.empty() && spec.numel() > 0 && spec.numel() <= INT_MAX &&
                    spec.full_strides() == contiguous_strides(spec.shape);
  if (!fits) return unavailable("OpenBLAS is given contiguous tensors of f32 here, not " + to_text(spec));
  const int64_t columns = spec.shape.back();
  return Matrix{static_cast<const float*>(buffer.data()), static_cast<int>(spec.numel() / columns),
                static_cast<int>(columns)};
}

class OpenBlasSubject : public Subject {
 public:
  static Result<std::unique_ptr<Subject>> make(const PrepareRequest& request, InputCache& inputs) {
    std::unique_ptr<OpenBlasSubject> subject(new OpenBlasSubject(HC_TRY(open(request.library))));
    HC_TRY(subject->take(request, inputs));
    subject->describe(request);
    subject->reset();
    return std::unique_ptr<Subject>(std::move(subject));
  }

  int launch() override {
    if (sums_) {
      blas_.cblas_sgemv(kRowMajor, kAsItIs, a_.rows, a_.columns, 1, a_.data, a_.columns, ones_.data(), 1, 0, result(),
                        1);
    } else {
      blas_.cblas_sgemm(kRowMajor, kAsItIs, transposed_ ? kTransposed : kAsItIs, a_.rows, columns_, a_.columns, 1,
                        a_.data, a_.columns, b_.data, b_.columns, 0, result(), columns_);
    }
    return 0;
  }
  void reset() override { out_->poison(); }
  std::vector<Output> outputs() const override { return {{0, "out", DType::f32, out_->spec().numel(), out_->data()}}; }

 private:
  explicit OpenBlasSubject(OpenBlas blas) : blas_(std::move(blas)) {}
  float* result() { return static_cast<float*>(out_->data()); }

  Status take(const PrepareRequest& request, InputCache& inputs) {
    const InputCache::Drawn drawn = HC_TRY(inputs.draw(request.args, request.seed));
    reply_.inputs_sha256 = drawn.sha256;
    for (const auto& buffer : drawn.buffers) {
      if (buffer) held_.push_back(buffer);
    }
    sums_ = request.operation == "sum";
    transposed_ = request.operation == "gemm_nt";
    if (!sums_ && !transposed_ && request.operation != "gemm_nn") {
      return unavailable("OpenBLAS has sum, gemm_nn and gemm_nt here, not `" + request.operation + "`");
    }
    if (held_.size() < (sums_ ? 1 : 2)) {
      return unavailable(fmt::format("`{}` needs {}", request.operation, sums_ ? "a tensor" : "two matrices"));
    }
    a_ = HC_TRY(matrix_of(*held_[0]));
    if (sums_) {
      ones_.assign(static_cast<size_t>(a_.columns), 1.0F);
      const std::vector<int64_t>& shape = held_[0]->spec().shape;
      out_.emplace(plain({shape.begin(), shape.end() - 1}));
      return success();
    }
    b_ = HC_TRY(matrix_of(*held_[1]));
    if ((transposed_ ? b_.columns : b_.rows) != a_.columns) return unavailable("the matrices' inner sizes differ");
    columns_ = transposed_ ? b_.rows : b_.columns;
    out_.emplace(plain({a_.rows, columns_}));
    return success();
  }

  void describe(const PrepareRequest& request) {
    reply_.implementation = "openblas";
    reply_.version = blas_.version;
    reply_.library = blas_.path;
    reply_.detail = request.operation + (sums_ ? " by cblas_sgemv with ones" : " by cblas_sgemm");
    reply_.threads = request.threads > 0 ? request.threads : omp_get_num_procs();
    blas_.openblas_set_num_threads(reply_.threads);
    plain_threads_ = !blas_.openmp;
    reply_.bytes = out_->bytes();
    for (const auto& buffer : held_) reply_.bytes += buffer->bytes();
  }

  OpenBlas blas_;
  std::vector<std::shared_ptr<TensorBuffer>> held_;
  std::vector<float> ones_;
  std::optional<TensorBuffer> out_;
  Matrix a_, b_;
  int columns_ = 0;
  bool sums_ = false, transposed_ = false;
};

}  // namespace

Result<std::unique_ptr<Subject>> make_openblas_subject(const PrepareRequest& request, InputCache& inputs) {
  return OpenBlasSubject::make(request, inputs);
}

std::vector<Offer> openblas_offers(std::vector<Missing>* missing) {
  const Result<OpenBlas> found = open("");
  if (!found.ok()) {
    if (missing) missing->push_back({"openblas", found.error().message, found.error().help});
    return {};
  }
  return {{"openblas", found.value().path, found.value().version}};
}

}  // namespace hc::bench
