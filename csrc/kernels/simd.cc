#include "kernels/simd.h"

#include "base/flags.h"

namespace dygraph {

FLAG(int64_t, cpu_level, 0,
     "highest instruction set of our own kernels: 0 what the processor has, 1, 3 or 4 (x86-64-vN)");

namespace kernels::detail {

static int Detect() {
#if DYGRAPH_X86
  __builtin_cpu_init();

  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
            __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  return v4 ? 4 : v3 ? 3 : 1;
#else
  return 1;
#endif
}

extern const int kDetectedCpuLevel = Detect();

}  // namespace kernels::detail
}  // namespace dygraph
