#include "cuda/libraries_cuda.h"

#include <dlfcn.h>

#include <string>

#include "base/enforce.h"

namespace dygraph::cuda {

void* OpenLibrary(const char* file, const char* fix) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library) return library;
  const char* reason = dlerror();
  THROW(NotFound, "the library ", file, " must be installed for this, got ",
        reason ? reason : "none", ". ", fix);
}

Symbol FindSymbol(void* library, const char* name) {
  void* at = dlsym(library, name);
  ENFORCE(at, NotFound, "a library of CUDA must have the function ", name,
          ", got one without it. Install the extra [cuda]");
  return Symbol(at);
}

const CublasLt& TheCublasLt() {
  static const CublasLt api = [] {
    void* library = OpenLibrary("libcublasLt.so.13", "Install it with pip install nvidia-cublas");
    auto find = [library](const char* name) { return FindSymbol(library, name); };
    CublasLt lt;
    lt.Create = find("cublasLtCreate");
    lt.DescCreate = find("cublasLtMatmulDescCreate");
    lt.DescSet = find("cublasLtMatmulDescSetAttribute");
    lt.LayoutCreate = find("cublasLtMatrixLayoutCreate");
    lt.LayoutSet = find("cublasLtMatrixLayoutSetAttribute");
    lt.PreferenceCreate = find("cublasLtMatmulPreferenceCreate");
    lt.PreferenceSet = find("cublasLtMatmulPreferenceSetAttribute");
    lt.GetHeuristic = find("cublasLtMatmulAlgoGetHeuristic");
    lt.MatMul = find("cublasLtMatmul");
    return lt;
  }();
  return api;
}

}  // namespace dygraph::cuda
