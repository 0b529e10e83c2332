// Products of matrices as cuBLASLt describes them: column-major, C = act(alpha A B + beta C +
// bias). Sums are made in double, whatever the type: the numerics of the real library are not
// pretended.
#include <cublasLt.h>
#include <pretend_libraries.h>

#include <cmath>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "numbers.h"

struct cublasLtContext {
  int unused;
};
struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t a_op = CUBLAS_OP_N, b_op = CUBLAS_OP_N, pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  int64_t bias_stride = 0;
};
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type;
  uint64_t rows, cols;
  int64_t ld;
  int32_t order = CUBLASLT_ORDER_COL, batch = 1;
  int64_t batch_stride = 0;
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t most_workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};  // of a, b, c, d; the library's defaults
};

namespace pretend {
namespace {

using Desc = cublasLtMatmulDescOpaque_t;
using Layout = cublasLtMatrixLayoutOpaque_t;

constexpr uint64_t kMagic = 0x70726574656e64;
constexpr size_t kWorkspace = 4096;

bool IsComplex(cudaDataType_t type) { return type == CUDA_C_32F || type == CUDA_C_64F; }

size_t SizeOf(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF: return 2;
    case CUDA_R_32F: return 4;
    case CUDA_C_64F: return 16;
    default: return 8;
  }
}

struct Product {
  size_t m, n, k, batch;
};

// The sizes of a product; false where its parts do not fit each other.
bool Sizes(const Desc& d, const Layout& a, const Layout& b, const Layout& c, const Layout& out,
           Product* p) {
  *p = {d.a_op == CUBLAS_OP_N ? a.rows : a.cols, d.b_op == CUBLAS_OP_N ? b.cols : b.rows,
        d.a_op == CUBLAS_OP_N ? a.cols : a.rows, static_cast<size_t>(out.batch)};
  size_t k = d.b_op == CUBLAS_OP_N ? b.rows : b.cols;
  bool fits = k == p->k && out.rows == p->m && out.cols == p->n && c.rows == p->m && c.cols == p->n;
  bool types = b.type == a.type && c.type == out.type;
  bool batches = a.batch == out.batch && b.batch == out.batch && c.batch == out.batch;
  return fits && types && batches && p->m > 0 && p->n > 0 && p->k > 0;
}

bool IsSupported(const Desc& d, const Layout& a, const Layout& out) {
  bool wide = a.type == CUDA_R_64F || a.type == CUDA_C_64F;
  bool narrow = a.type == CUDA_R_16F || a.type == CUDA_R_16BF;
  bool compute = wide ? d.compute == CUBLAS_COMPUTE_64F || d.compute == CUBLAS_COMPUTE_64F_PEDANTIC
                      : d.compute == CUBLAS_COMPUTE_32F ||
                            d.compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
                            d.compute == CUBLAS_COMPUTE_32F_FAST_16F ||
                            d.compute == CUBLAS_COMPUTE_32F_FAST_16BF ||
                            d.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  bool scale = d.scale == (narrow ? CUDA_R_32F : a.type);
  bool result = out.type == a.type || (narrow && out.type == CUDA_R_32F);
  bool epilogue = d.epilogue == CUBLASLT_EPILOGUE_DEFAULT || !IsComplex(a.type);
  return compute && scale && result && epilogue && d.pointer_mode == CUBLASLT_POINTER_MODE_HOST;
}

// Whether the memory of a device holds the matrices of this layout.
bool Holds(const void* memory, const Layout& l) {
  size_t one = (l.cols - 1) * static_cast<size_t>(l.ld) + l.rows;
  size_t rest = static_cast<size_t>(l.batch - 1) * static_cast<size_t>(l.batch_stride);
  return OnDevice(memory, (one + rest) * SizeOf(l.type));
}

bool HasBias(uint32_t epilogue) { return epilogue & CUBLASLT_EPILOGUE_BIAS; }

// What an algorithm was found for.
uint64_t Fingerprint(const Desc& d, const Layout& a, const Layout& b, const Layout& c,
                     const Layout& out) {
  uint64_t hash = kMagic;
  auto mix = [&](uint64_t v) { hash = (hash ^ v) * 0x9e3779b97f4a7c15u + (hash >> 29); };
  for (const Layout* l : {&a, &b, &c, &out}) {
    mix(l->type), mix(l->rows), mix(l->cols), mix(static_cast<uint64_t>(l->ld));
    mix(static_cast<uint64_t>(l->batch)), mix(static_cast<uint64_t>(l->batch_stride));
  }
  mix(static_cast<uint64_t>(d.a_op)), mix(static_cast<uint64_t>(d.b_op)), mix(d.epilogue);
  mix(d.compute);
  return hash;
}

Complex<double> operator*(Complex<double> a, Complex<double> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Complex<double> operator+(Complex<double> a, Complex<double> b) {
  return {a.re + b.re, a.im + b.im};
}
double Conjugate(double v) { return v; }
Complex<double> Conjugate(Complex<double> v) { return {v.re, -v.im}; }
bool IsZero(double v) { return v == 0; }
bool IsZero(Complex<double> v) { return v.re == 0 && v.im == 0; }

double Activate(double v, uint32_t epilogue) {
  if (epilogue & CUBLASLT_EPILOGUE_RELU) return v > 0 || v != v ? v : 0;
  if (epilogue & CUBLASLT_EPILOGUE_GELU) {  // the tanh form
    return 0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
  }
  return v;
}
Complex<double> Activate(Complex<double> v, uint32_t) { return v; }

// op(X) in wide numbers, column-major and dense.
template <class T, class Wide>
std::vector<Wide> Pack(const T* x, const Layout& l, int32_t op) {
  size_t rows = op == CUBLAS_OP_N ? l.rows : l.cols, cols = op == CUBLAS_OP_N ? l.cols : l.rows;
  size_t ld = static_cast<size_t>(l.ld);
  std::vector<Wide> packed(rows * cols);
  for (size_t j = 0; j < cols; ++j) {
    for (size_t i = 0; i < rows; ++i) {
      Wide v = Widen(op == CUBLAS_OP_N ? x[i + j * ld] : x[j + i * ld]);
      packed[i + j * rows] = op == CUBLAS_OP_C ? Conjugate(v) : v;
    }
  }
  return packed;
}

// sums(m x 4) += a(m x k) times four columns of b, which lie k apart.
template <class Wide>
void FourColumns(size_t m, size_t k, const Wide* __restrict a, const Wide* b, Wide* __restrict s) {
  Wide *s0 = s, *s1 = s + m, *s2 = s + 2 * m, *s3 = s + 3 * m;
  for (size_t p = 0; p < k; ++p) {
    const Wide* x = a + p * m;
    Wide b0 = b[p], b1 = b[p + k], b2 = b[p + 2 * k], b3 = b[p + 3 * k];
    for (size_t i = 0; i < m; ++i) {
      s0[i] = s0[i] + x[i] * b0;
      s1[i] = s1[i] + x[i] * b1;
      s2[i] = s2[i] + x[i] * b2;
      s3[i] = s3[i] + x[i] * b3;
    }
  }
}

template <class T, class Out, class Wide>
struct Task {
  Desc desc;
  Product size;
  Wide alpha, beta;
  const T *a, *b;
  const Out *c, *bias;
  Out* d;
  Layout la, lb, lc, ld;

  void operator()() const {
    for (size_t i = 0; i < size.batch; ++i) {
      auto offset = [&](const Layout& l) { return static_cast<int64_t>(i) * l.batch_stride; };
      One(a + offset(la), b + offset(lb), c ? c + offset(lc) : nullptr, d + offset(ld),
          bias ? bias + static_cast<int64_t>(i) * desc.bias_stride : nullptr);
    }
  }

  void One(const T* x, const T* y, const Out* add, Out* to, const Out* row_bias) const {
    std::vector<Wide> left = Pack<T, Wide>(x, la, desc.a_op),
                      right = Pack<T, Wide>(y, lb, desc.b_op);
    right.resize((size.n + 3) / 4 * 4 * size.k);  // whole groups of four columns
    std::vector<Wide> sums;
    for (size_t j = 0; j < size.n; j += 4) {
      sums.assign(4 * size.m, Wide{});
      FourColumns(size.m, size.k, left.data(), right.data() + j * size.k, sums.data());
      for (size_t q = j; q < j + 4 && q < size.n; ++q) {
        for (size_t i = 0; i < size.m; ++i) {
          Wide v = alpha * sums[i + (q - j) * size.m];
          if (!IsZero(beta)) v = v + beta * Widen(add[i + q * static_cast<size_t>(lc.ld)]);
          if (row_bias) v = v + Widen(row_bias[i]);
          Store(Activate(v, desc.epilogue), to + i + q * static_cast<size_t>(ld.ld));
        }
      }
    }
  }
};

template <class T, class Scale, class Out = T>
cublasStatus_t Submit(const Desc& desc, const Product& size, const void* alpha, const void* a,
                      const Layout& la, const void* b, const Layout& lb, const void* beta,
                      const void* c, const Layout& lc, void* d, const Layout& ld,
                      cudaStream_t stream) {
  using Wide = decltype(Widen(T{}));
  Wide x = Widen(*static_cast<const Scale*>(alpha)), y = Widen(*static_cast<const Scale*>(beta));
  bool reads_c = !IsZero(y);
  if (reads_c && !Holds(c, lc)) return CUBLAS_STATUS_INVALID_VALUE;
  const void* bias = HasBias(desc.epilogue) ? desc.bias : nullptr;
  Task<T, Out, Wide> task{desc,
                          size,
                          x,
                          y,
                          static_cast<const T*>(a),
                          static_cast<const T*>(b),
                          reads_c ? static_cast<const Out*>(c) : nullptr,
                          static_cast<const Out*>(bias),
                          static_cast<Out*>(d),
                          la,
                          lb,
                          lc,
                          ld};
  cudaError_t error = EnqueueFunction(stream, std::move(task));
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

// Reads an attribute that must have this size.
template <class T>
cublasStatus_t Read(const void* value, size_t bytes, T* to) {
  if (!value || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, value, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

struct StatusText {
  cublasStatus_t code;
  const char *name, *text;
};
const StatusText kStatus[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED",
     "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "the functionality requested is not supported"},
};

}  // namespace
}  // namespace pretend

using namespace pretend;

extern "C" {

size_t cublasLtGetVersion() { return 130000; }
const char* cublasLtGetStatusName(cublasStatus_t status) {
  for (const StatusText& s : kStatus) {
    if (s.code == status) return s.name;
  }
  return "unknown";
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  for (const StatusText& s : kStatus) {
    if (s.code == status) return s.text;
  }
  return "unknown";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext{};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *desc = new Desc;
  (*desc)->compute = compute;
  (*desc)->scale = scale;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return Read(value, bytes, &desc->compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return Read(value, bytes, &desc->scale);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return Read(value, bytes, &desc->pointer_mode);
    case CUBLASLT_MATMUL_DESC_TRANSA: return Read(value, bytes, &desc->a_op);
    case CUBLASLT_MATMUL_DESC_TRANSB: return Read(value, bytes, &desc->b_op);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return Read(value, bytes, &desc->epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return Read(value, bytes, &desc->bias);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return Read(value, bytes, &desc->bias_stride);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
  *layout = new Layout;
  (*layout)->type = type;
  (*layout)->rows = rows;
  (*layout)->cols = cols;
  (*layout)->ld = ld;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return Read(value, bytes, &layout->type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return Read(value, bytes, &layout->order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return Read(value, bytes, &layout->rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return Read(value, bytes, &layout->cols);
    case CUBLASLT_MATRIX_LAYOUT_LD: return Read(value, bytes, &layout->ld);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return Read(value, bytes, &layout->batch);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return Read(value, bytes, &layout->batch_stride);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return Read(value, bytes, &preference->most_workspace);
  if (attribute < CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES ||
      attribute > CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return Read(value, bytes,
              &preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES]);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

// One algorithm, which wants some workspace where it may have it.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  *found = 0;
  Product size;
  if (!handle || wanted < 1 || !Sizes(*desc, *a, *b, *c, *d, &size)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!IsSupported(*desc, *a, *d)) return CUBLAS_STATUS_NOT_SUPPORTED;
  *results = {};
  results->algo.data[0] = kMagic;
  results->algo.data[1] = Fingerprint(*desc, *a, *b, *c, *d);
  results->workspaceSize = preference->most_workspace >= kWorkspace ? kWorkspace : 0;
  results->algo.data[2] = results->workspaceSize;
  for (int i = 0; i < 4; ++i) results->algo.data[3 + i] = preference->alignment[i];
  results->wavesCount = 1;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Layout &la = *a_layout, &lb = *b_layout, &lc = *c_layout, &ld = *d_layout;
  Product size;
  if (!alpha || !beta || !Sizes(*desc, la, lb, lc, ld, &size)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!IsSupported(*desc, la, ld)) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (const Layout* l : {&la, &lb, &lc, &ld}) {
    if (l->order != CUBLASLT_ORDER_COL) return CUBLAS_STATUS_NOT_SUPPORTED;
    bool overlap = l->ld < static_cast<int64_t>(l->rows) || l->batch < 1 || l->batch_stride < 0;
    if (overlap) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!Holds(a, la) || !Holds(b, lb) || !Holds(d, ld)) return CUBLAS_STATUS_INVALID_VALUE;
  if (algo) {
    bool found_for_this =
        algo->data[0] == kMagic && algo->data[1] == Fingerprint(*desc, la, lb, lc, ld);
    bool space = algo->data[2] <= workspace_bytes;
    if (!found_for_this || !space) return CUBLAS_STATUS_INVALID_VALUE;
    const void* arrays[] = {a, b, c, d};
    for (int i = 0; i < 4; ++i) {
      if (reinterpret_cast<uintptr_t>(arrays[i]) % algo->data[3 + i] != 0)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
  }
  const bool is_aligned = reinterpret_cast<uintptr_t>(workspace) % 256 == 0;
  if (workspace_bytes > 0 && !(is_aligned && OnDevice(workspace, workspace_bytes))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (HasBias(desc->epilogue)) {
    size_t count = size.m + (size.batch - 1) * static_cast<size_t>(desc->bias_stride);
    if (!OnDevice(desc->bias, count * SizeOf(ld.type))) return CUBLAS_STATUS_INVALID_VALUE;
  }
  auto submit = [&](auto function) {
    return function(*desc, size, alpha, a, la, b, lb, beta, c, lc, d, ld, stream);
  };
  bool to_float = ld.type == CUDA_R_32F;
  switch (la.type) {
    case CUDA_R_32F: return submit(Submit<float, float>);
    case CUDA_R_64F: return submit(Submit<double, double>);
    case CUDA_R_16F: return submit(to_float ? Submit<Half, float, float> : Submit<Half, float>);
    case CUDA_R_16BF:
      return submit(to_float ? Submit<BFloat, float, float> : Submit<BFloat, float>);
    case CUDA_C_32F: return submit(Submit<Complex<float>, Complex<float>>);
    case CUDA_C_64F: return submit(Submit<Complex<double>, Complex<double>>);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
}
