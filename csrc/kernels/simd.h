// Run-time choice of the instruction set: one source, compiled for the baseline, AVX2+FMA and
// AVX-512.
//
//   Simd([=] { for (int64_t i = 0; i < n; ++i) y[i] = x[i] + 1; });
//
// The body must capture by value: it is copied into the compiled function, so that the optimiser
// knows that stores through its pointers do not change the pointers and bounds. Everything it calls
// should be inline.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/marks.h"

// Where files are compiled for size these loops are not, as everywhere else. A small library spends
// no bytes on fast loops for processors without AVX2. Clang has no such attribute.
#if defined(__OPTIMIZE_SIZE__) && !defined(__clang__)
#define DYGRAPH_FOR_SPEED optimize("O2,tree-vectorize,vect-cost-model=dynamic"),
#else
#define DYGRAPH_FOR_SPEED
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define DYGRAPH_X86 1
#if defined(__clang__)  // clang knows no prefer-vector-width in the attribute
#define DYGRAPH_TARGET_V4 __attribute__((target("arch=x86-64-v4"), flatten, noinline))
#else
#define DYGRAPH_TARGET_V4                                                                     \
  __attribute__((target("arch=x86-64-v4,prefer-vector-width=512"), DYGRAPH_FOR_SPEED flatten, \
                 noinline))
#endif
#define DYGRAPH_TARGET_V3 \
  __attribute__((target("arch=x86-64-v3"), DYGRAPH_FOR_SPEED flatten, noinline))
#if defined(DYGRAPH_SMALL) && !defined(__clang__)
#define DYGRAPH_TARGET_BASE __attribute__((optimize("Os"), flatten, noinline))
#else
#define DYGRAPH_TARGET_BASE __attribute__((flatten, noinline))
#endif
#else
#define DYGRAPH_X86 0
#define DYGRAPH_TARGET_V4
#define DYGRAPH_TARGET_V3
#define DYGRAPH_TARGET_BASE __attribute__((DYGRAPH_FOR_SPEED flatten, noinline))
#endif

#ifndef DYGRAPH_INLINE
#define DYGRAPH_INLINE inline __attribute__((always_inline))
#endif

// Before a loop whose iterations are independent, also when an output is exactly an input: without
// it the run-time overlap check sends in-place calls to a scalar loop.
#if defined(__clang__)
#define DYGRAPH_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define DYGRAPH_IVDEP _Pragma("GCC ivdep")
#endif

namespace dygraph {

extern int64_t FLAGS_cpu_level;

namespace kernels {

namespace detail {
extern const int kDetectedCpuLevel;
}

// 1: baseline, 3: x86-64-v3 (AVX2, FMA), 4: x86-64-v4 (AVX-512). FLAGS_cpu_level can lower it,
// never raise it.
inline int CpuLevel() {
  int64_t asked = FLAGS_cpu_level;
  int found = detail::kDetectedCpuLevel;
  return asked == 0 || asked >= found ? found : static_cast<int>(asked);
}

template <class Body>
DYGRAPH_TARGET_V4 void RunV4(Body body) {
  body();
}
template <class Body>
DYGRAPH_TARGET_V3 void RunV3(Body body) {
  body();
}
template <class Body>
DYGRAPH_TARGET_BASE void RunBase(Body body) {
  body();
}

template <class Body>
inline void Simd(const Body& body) {
#if DYGRAPH_X86
  int level = CpuLevel();
  if (level >= 4) return RunV4(body);
  if (level >= 3) return RunV3(body);
#endif
  RunBase(body);
}

// The same where T is worth a copy for every instruction set; the rarer types run the baseline,
// which keeps the library small.
template <class T, class Body>
inline void SimdFor(const Body& body) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    Simd(body);
  } else {
    RunBase(body);
  }
}

}  // namespace kernels
}  // namespace dygraph
