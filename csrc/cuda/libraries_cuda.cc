#include "cuda/libraries_cuda.h"

#include <dlfcn.h>
#include <link.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/enforce.h"
#include "platform/device_flags.h"

namespace dygraph::cuda {

namespace {

// The folders of Python's packages from which something is loaded, such as NumPy.
std::set<std::string> PackageFolders() {
  std::set<std::string> found;
  auto visit = [](dl_phdr_info* info, size_t, void* into) {
    const std::string path = info->dlpi_name ? info->dlpi_name : "";
    const size_t at = path.find("-packages/");  // site-packages, dist-packages
    if (at != std::string::npos)
      static_cast<std::set<std::string>*>(into)->insert(path.substr(0, at + 10));
    return 0;
  };
  dl_iterate_phdr(visit, &found);
  return found;
}

void* Open(const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

}  // namespace

void* OpenLibrary(const char* file, const char* fix) {
  std::istringstream folders(FLAGS_cuda_library_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (void* library = Open(folder + '/' + file)) return library;
  }
  if (void* library = Open(file)) return library;
  const char* said = dlerror();
  const std::string reason = said ? said : "none";
  // NVIDIA's wheels.
  for (const std::string& packages : PackageFolders()) {
    for (const char* folder : {"nvidia/cu13/lib/", "nvidia/cudnn/lib/"}) {
      if (void* library = Open(packages + folder + file)) return library;
    }
  }
  THROW(NotFound, "the library ", file, " must be installed for this, got ",
        reason, ". ", fix);
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
