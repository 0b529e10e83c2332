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
    lt.DescDestroy = find("cublasLtMatmulDescDestroy");
    lt.LayoutDestroy = find("cublasLtMatrixLayoutDestroy");
    lt.PreferenceDestroy = find("cublasLtMatmulPreferenceDestroy");
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

const Cudnn& TheCudnn() {
  static const Cudnn api = [] {
    void* library = OpenLibrary("libcudnn.so.9", "Install it with pip install nvidia-cudnn-cu13");
    auto find = [library](const char* name) { return FindSymbol(library, name); };
    Cudnn dnn;
    dnn.Create = find("cudnnCreate");
    dnn.SetStream = find("cudnnSetStream");
    dnn.ErrorString = find("cudnnGetErrorString");
    dnn.TensorCreate = find("cudnnCreateTensorDescriptor");
    dnn.TensorSet = find("cudnnSetTensorNdDescriptorEx");
    dnn.TensorDestroy = find("cudnnDestroyTensorDescriptor");
    dnn.FilterCreate = find("cudnnCreateFilterDescriptor");
    dnn.FilterSet = find("cudnnSetFilterNdDescriptor");
    dnn.FilterDestroy = find("cudnnDestroyFilterDescriptor");
    dnn.ConvCreate = find("cudnnCreateConvolutionDescriptor");
    dnn.ConvSet = find("cudnnSetConvolutionNdDescriptor");
    dnn.ConvSetMath = find("cudnnSetConvolutionMathType");
    dnn.ConvSetGroups = find("cudnnSetConvolutionGroupCount");
    dnn.ConvDestroy = find("cudnnDestroyConvolutionDescriptor");
    dnn.ForwardAlgos = find("cudnnGetConvolutionForwardAlgorithm_v7");
    dnn.ForwardWorkspace = find("cudnnGetConvolutionForwardWorkspaceSize");
    dnn.Forward = find("cudnnConvolutionForward");
    dnn.DataAlgos = find("cudnnGetConvolutionBackwardDataAlgorithm_v7");
    dnn.DataWorkspace = find("cudnnGetConvolutionBackwardDataWorkspaceSize");
    dnn.Data = find("cudnnConvolutionBackwardData");
    dnn.FilterAlgos = find("cudnnGetConvolutionBackwardFilterAlgorithm_v7");
    dnn.FilterWorkspace = find("cudnnGetConvolutionBackwardFilterWorkspaceSize");
    dnn.Filter = find("cudnnConvolutionBackwardFilter");
    return dnn;
  }();
  return api;
}

}  // namespace dygraph::cuda
