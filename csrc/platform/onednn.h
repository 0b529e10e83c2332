// Access to oneDNN, which is opened at its first use and may be missing. Files that call more of it
// than this page shows are named *_onednn.cc and include platform/onednn_api.h.
#pragma once

#include <cstdint>
#include <string>

namespace dygraph {

// Take kernels of this library where there are some: plain, onednn; empty: the best that fits.
extern std::string FLAGS_kernel_library;

struct OneDnnApi;

// Its functions, or nullptr: built without it, libdnnl.so.3 not found, or only our own kernels are
// wanted.
const OneDnnApi* OneDnn();

// c = alpha op(a) op(b) + beta c, row-major, as kernels::Gemm. False, with nothing done, where
// OneDnn() is nullptr.
bool OneDnnGemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);

// For the end of the process, before its static objects go away, oneDNN's kernels among them: waits
// for calls that other threads have begun, 2 s at most; later ones stop where they are.
void EndOneDnn();

}  // namespace dygraph
