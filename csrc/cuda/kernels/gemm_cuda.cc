// Matrix products by cuBLASLt. Descriptors and the algorithm of a product are kept by its sizes.
#include <memory>
#include <mutex>
#include <type_traits>

#include "cuda/launch.h"
#include "cuda/libraries_cuda.h"
#include "cuda/plan_cache.h"
#include "cuda/scratch.h"
#include "kernels/complex.h"
#include "kernels/integer.h"
#include "kernels/matmul.h"
#include "platform/device_flags.h"
#include "tensor/dtype.h"

namespace dygraph::kernels {
namespace {

using cuda::CublasLt;

constexpr size_t kMostWorkspace = 32 << 20;

void Ok(int status, const char* what) {
  if (status != 0) cuda::FailIn("cuBLASLt", "status " + std::to_string(status), what);
}

template <class T>
constexpr int TypeOf() {
  if constexpr (std::is_same_v<T, float>) return cuda::kReal32;
  if constexpr (std::is_same_v<T, double>) return cuda::kReal64;
  if constexpr (std::is_same_v<T, float16>) return cuda::kReal16;
  if constexpr (std::is_same_v<T, bfloat16>) return cuda::kBrain16;
  if constexpr (std::is_same_v<T, complex64>) return cuda::kComplex32;
  if constexpr (std::is_same_v<T, complex128>) return cuda::kComplex64;
}
// Everything that the choice of an algorithm may depend on.
struct Key {
  int64_t m, n, k, lda, ldb, ldc, a_apart, b_apart, c_apart, count;
  int32_t type, device, flags, alignment;
};

struct Plan {
  CublasLt::Desc desc = nullptr;
  CublasLt::Layout first = nullptr, second = nullptr, result = nullptr;
  CublasLt::Heuristic chosen = {};
  bool possible = false;  // whether there is an algorithm
  std::mutex bias;        // held while `desc` names one

  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    const CublasLt& lt = cuda::TheCublasLt();
    for (CublasLt::Layout layout : {first, second, result}) {
      if (layout) lt.LayoutDestroy(layout);
    }
    if (desc) lt.DescDestroy(desc);
  }
};

CublasLt::Handle HandleOf(int device) {
  static std::mutex mutex;
  static CublasLt::Handle handles[256] = {};
  std::lock_guard<std::mutex> lock(mutex);
  if (!handles[device]) Ok(cuda::TheCublasLt().Create(&handles[device]), "its handle");
  return handles[device];
}

CublasLt::Layout MakeLayout(int type, int64_t rows, int64_t cols, int64_t ld, int64_t apart,
                            int64_t count) {
  const CublasLt& lt = cuda::TheCublasLt();
  CublasLt::Layout layout;
  Ok(lt.LayoutCreate(&layout, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(cols), ld),
     "a layout");
  if (count > 1) {
    const int32_t batch = static_cast<int32_t>(count);
    Ok(lt.LayoutSet(layout, CublasLt::kBatchCount, &batch, sizeof(batch)), "a layout");
    Ok(lt.LayoutSet(layout, CublasLt::kBatchStride, &apart, sizeof(apart)), "a layout");
  }
  return layout;
}

// Row-major c = a b is column-major c^T = b^T a^T, so that the operands change places.
std::shared_ptr<Plan> MakePlan(const Key& key) {
  const CublasLt& lt = cuda::TheCublasLt();
  const bool ta = key.flags & 1, tb = key.flags & 2, tf32 = key.flags & 4, bias = key.flags & 8;
  const bool widens = key.flags & 16;
  auto plan = std::make_shared<Plan>();
  const bool wide = key.type == cuda::kReal64 || key.type == cuda::kComplex64;
  const bool narrow = key.type == cuda::kReal16 || key.type == cuda::kBrain16;
  const int compute = wide ? CublasLt::k64F : tf32 ? CublasLt::k32FFastTF32 : CublasLt::k32F;
  Ok(lt.DescCreate(&plan->desc, compute, narrow ? cuda::kReal32 : key.type), "a product");
  const int first = tb, second = ta;  // 0: as it is, 1: transposed
  Ok(lt.DescSet(plan->desc, CublasLt::kTransA, &first, sizeof(first)), "a product");
  Ok(lt.DescSet(plan->desc, CublasLt::kTransB, &second, sizeof(second)), "a product");
  if (bias) {
    const int epilogue = CublasLt::kAddBias;
    Ok(lt.DescSet(plan->desc, CublasLt::kEpilogue, &epilogue, sizeof(epilogue)), "a product");
  }
  plan->first =
      MakeLayout(key.type, tb ? key.k : key.n, tb ? key.n : key.k, key.ldb, key.b_apart, key.count);
  plan->second =
      MakeLayout(key.type, ta ? key.m : key.k, ta ? key.k : key.m, key.lda, key.a_apart, key.count);
  plan->result =
      MakeLayout(widens ? cuda::kReal32 : key.type, key.n, key.m, key.ldc, key.c_apart, key.count);
  CublasLt::Preference preference;
  Ok(lt.PreferenceCreate(&preference), "a preference");
  Ok(lt.PreferenceSet(preference, CublasLt::kMostWorkspace, &kMostWorkspace,
                      sizeof(kMostWorkspace)),
     "a preference");
  const uint32_t alignment = static_cast<uint32_t>(key.alignment);
  for (int array = 0; array < 4; ++array) {
    Ok(lt.PreferenceSet(preference, CublasLt::kAlignment + array, &alignment, sizeof(alignment)),
       "a preference");
  }
  int found = 0;
  const int status =
      lt.GetHeuristic(HandleOf(key.device), plan->desc, plan->first, plan->second, plan->result,
                      plan->result, preference, 1, &plan->chosen, &found);
  lt.PreferenceDestroy(preference);
  plan->possible = status == 0 && found > 0;
  return plan;
}

std::shared_ptr<Plan> PlanFor(const Key& key) {
  static auto* plans = new cuda::PlanCache<Key, Plan>(2048);
  return plans->Find(key, MakePlan);
}

// The largest power of two up to 256 that divides all addresses, by which kernels are chosen.
template <class... Ps>
int32_t AlignmentOf(Ps... at) {
  uintptr_t bits = ((reinterpret_cast<uintptr_t>(at)) | ...) | 256;
  return static_cast<int32_t>(bits & -bits);
}

// A workspace, which cuBLASLt takes at multiples of 256 bytes.
class Room {
 public:
  explicit Room(size_t bytes) : block_(bytes ? static_cast<int64_t>(bytes + kUnit - 1) : 0) {}
  void* data() {
    const auto at = reinterpret_cast<uintptr_t>(block_.data());
    return reinterpret_cast<void*>((at + kUnit - 1) / kUnit * kUnit);
  }

 private:
  static constexpr size_t kUnit = 256;
  cuda::Workspace<char> block_;
};

}  // namespace

template <class T, class C>
void MatMulStack(bool ta, bool tb, int64_t m, int64_t n, int64_t k, Wide<T> alpha, const T* a,
                 int64_t lda, int64_t a_apart, const T* b, int64_t ldb, int64_t b_apart,
                 Wide<T> beta, C* c, int64_t ldc, int64_t c_apart, int64_t count) {
  if (m == 0 || n == 0 || count == 0) return;
  if (k == 0) {
    const Wide<T> factor = beta, zero = 0;
    return cuda::EachIndex(count * m * n, [=] DYGRAPH_FN(int64_t i) {
      C& at = c[i / (m * n) * c_apart + i / n % m * ldc + i % n];
      at = static_cast<C>(factor == zero ? zero : Times(static_cast<Wide<T>>(at), factor));
    });
  }
  const int device = cuda::CurrentPlace().id;
  const Key key{m,
                n,
                k,
                lda,
                ldb,
                ldc,
                a_apart,
                b_apart,
                c_apart,
                count,
                TypeOf<T>(),
                device,
                ta | tb << 1 | FLAGS_allow_tf32 << 2 | !std::is_same_v<T, C> << 4,
                AlignmentOf(a, b, c)};
  const std::shared_ptr<Plan> plan = PlanFor(key);
  ENFORCE(plan->possible, Unimplemented, "cuBLASLt must have an algorithm for a product of [", m,
          ", ", k, "] and [", k, ", ", n, "], got none");
  Room workspace(plan->chosen.workspace);
  Ok(cuda::TheCublasLt().MatMul(HandleOf(device), plan->desc, &alpha, b, plan->first, a,
                                plan->second, &beta, c, plan->result, c, plan->result,
                                &plan->chosen.algo, workspace.data(), plan->chosen.workspace,
                                cuda::CurrentStream()),
     "a product");
}

template <class T>
void MatMul(bool ta, bool tb, int64_t m, int64_t n, int64_t k, Wide<T> alpha, const T* a,
            int64_t lda, const T* b, int64_t ldb, Wide<T> beta, T* c, int64_t ldc) {
  MatMulStack(ta, tb, m, n, k, alpha, a, lda, int64_t{0}, b, ldb, int64_t{0}, beta, c, ldc,
              int64_t{0}, int64_t{1});
}

template <class T>
bool MatMulBias(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
                const T* bias, T* c, int64_t ldc) {
  if (m == 0 || n == 0 || k == 0) return false;
  const CublasLt& lt = cuda::TheCublasLt();
  const int device = cuda::CurrentPlace().id;
  const Key key{m,
                n,
                k,
                lda,
                ldb,
                ldc,
                0,
                0,
                0,
                1,
                TypeOf<T>(),
                device,
                FLAGS_allow_tf32 << 2 | 8,
                AlignmentOf(a, b, c, bias)};
  const std::shared_ptr<Plan> plan = PlanFor(key);
  if (!plan->possible) return false;
  const Wide<T> one = 1, zero = 0;
  Room workspace(plan->chosen.workspace);
  std::lock_guard<std::mutex> lock(plan->bias);
  Ok(lt.DescSet(plan->desc, CublasLt::kBias, &bias, sizeof(bias)), "a product");
  Ok(lt.MatMul(HandleOf(device), plan->desc, &one, b, plan->first, a, plan->second, &zero, c,
               plan->result, c, plan->result, &plan->chosen.algo, workspace.data(),
               plan->chosen.workspace, cuda::CurrentStream()),
     "a product");
  return true;
}

#define REGISTER_STACK(T, C)                                                                    \
  template void MatMulStack(bool, bool, int64_t, int64_t, int64_t, Wide<T>, const T*, int64_t,  \
                            int64_t, const T*, int64_t, int64_t, Wide<T>, C*, int64_t, int64_t, \
                            int64_t)
#define REGISTER_TYPE(T)                                                                  \
  template void MatMul(bool, bool, int64_t, int64_t, int64_t, Wide<T>, const T*, int64_t, \
                       const T*, int64_t, Wide<T>, T*, int64_t);                          \
  REGISTER_STACK(T, T)
#define REGISTER_BIAS(T)                                                                    \
  template bool MatMulBias(int64_t, int64_t, int64_t, const T*, int64_t, const T*, int64_t, \
                           const T*, T*, int64_t)
REGISTER_TYPE(float);
REGISTER_TYPE(double);
REGISTER_TYPE(float16);
REGISTER_TYPE(bfloat16);
REGISTER_TYPE(complex64);
REGISTER_TYPE(complex128);
REGISTER_STACK(float16, float);
REGISTER_STACK(bfloat16, float);
REGISTER_BIAS(float);
REGISTER_BIAS(double);
REGISTER_BIAS(float16);
REGISTER_BIAS(bfloat16);
#undef REGISTER_STACK
#undef REGISTER_TYPE
#undef REGISTER_BIAS

}  // namespace dygraph::kernels
