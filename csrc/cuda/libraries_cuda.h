// NVIDIA's libraries, opened at their first use. Their C interfaces are declared here, as far as we
// call them, so that a build needs neither their headers nor their 1.5 GB.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace dygraph::cuda {

// The function `name` of an opened library, as whatever pointer it is assigned to.
class Symbol {
 public:
  explicit Symbol(void* at) : at_(at) {}
  template <class F>
  operator F*() const {
    return reinterpret_cast<F*>(at_);
  }

 private:
  void* at_;
};

// Handle of the library; raises NotFound with `fix` where it cannot be opened.
void* OpenLibrary(const char* file, const char* fix);
Symbol FindSymbol(void* library, const char* name);  // raises NotFound

enum DataType : int {
  kReal32 = 0,
  kReal64 = 1,
  kReal16 = 2,
  kComplex32 = 4,
  kComplex64 = 5,
  kBrain16 = 14
};

// cuBLASLt's C interface.
struct CublasLt {
  using Handle = void*;
  using Desc = void*;
  using Layout = void*;
  using Preference = void*;
  struct Algo {
    uint64_t data[8];
  };
  struct Heuristic {
    Algo algo;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
  };
  enum DescAttribute : int { kTransA = 3, kTransB = 4, kEpilogue = 7, kBias = 8 };
  enum LayoutAttribute : int { kBatchCount = 5, kBatchStride = 6 };
  // The least alignments of A, B, C and D follow each other.
  enum PreferenceAttribute : int { kMostWorkspace = 1, kAlignment = 5 };
  enum Compute : int { k32F = 68, k64F = 70, k32FFastTF32 = 77 };
  enum Epilogue : int {
    kPlain = 1,
    kRelu = 2,
    kAddBias = 4,
    kReluBias = 6,
    kGelu = 32,
    kGeluBias = 36
  };

  int (*Create)(Handle*);
  int (*DescDestroy)(Desc);
  int (*LayoutDestroy)(Layout);
  int (*PreferenceDestroy)(Preference);
  int (*DescCreate)(Desc*, int compute, int scale_type);
  int (*DescSet)(Desc, int attribute, const void* value, size_t bytes);
  int (*LayoutCreate)(Layout*, int type, uint64_t rows, uint64_t cols, int64_t ld);
  int (*LayoutSet)(Layout, int attribute, const void* value, size_t bytes);
  int (*PreferenceCreate)(Preference*);
  int (*PreferenceSet)(Preference, int attribute, const void* value, size_t bytes);
  int (*GetHeuristic)(Handle, Desc, Layout a, Layout b, Layout c, Layout d, Preference, int asked,
                      Heuristic*, int* found);
  int (*MatMul)(Handle, Desc, const void* alpha, const void* a, Layout, const void* b, Layout,
                const void* beta, const void* c, Layout, void* d, Layout, const Algo*,
                void* workspace, size_t workspace_bytes, cudaStream_t);
};
const CublasLt& TheCublasLt();

// cuDNN's C interface, for convolutions. Functions return 0 for success.
struct Cudnn {
  using Handle = void*;
  using Desc = void*;
  struct Performance {
    int algo, status;
    float time;
    size_t memory;
    int determinism, math;
    int reserved[3];
  };
  enum DataType : int { kFloat = 0, kDouble = 1, kHalf = 2, kBrain16 = 9 };
  enum Format : int { kNchw = 0, kNhwc = 1 };
  enum Math : int { kDefaultMath = 0, kTensorMath = 1, kFmaMath = 3 };  // the default allows TF32
  enum Mode : int { kCrossCorrelation = 1 };
  enum Determinism : int { kDeterministic = 1 };

  int (*Create)(Handle*);
  int (*SetStream)(Handle, cudaStream_t);
  const char* (*ErrorString)(int status);
  int (*TensorCreate)(Desc*);
  int (*TensorSet)(Desc, int format, int type, int rank, const int* dims);
  int (*TensorDestroy)(Desc);
  int (*FilterCreate)(Desc*);
  int (*FilterSet)(Desc, int type, int format, int rank, const int* dims);
  int (*FilterDestroy)(Desc);
  int (*ConvCreate)(Desc*);
  int (*ConvSet)(Desc, int axes, const int* pads, const int* strides, const int* dilations,
                 int mode, int type);
  int (*ConvSetMath)(Desc, int math);
  int (*ConvSetGroups)(Desc, int groups);
  int (*ConvDestroy)(Desc);

  int (*ForwardAlgos)(Handle, Desc x, Desc w, Desc conv, Desc y, int asked, int* found,
                      Performance*);
  int (*ForwardWorkspace)(Handle, Desc x, Desc w, Desc conv, Desc y, int algo, size_t* bytes);
  int (*Forward)(Handle, const void* alpha, Desc, const void* x, Desc, const void* w, Desc conv,
                 int algo, void* workspace, size_t bytes, const void* beta, Desc, void* y);
  int (*DataAlgos)(Handle, Desc w, Desc dy, Desc conv, Desc dx, int asked, int* found,
                   Performance*);
  int (*DataWorkspace)(Handle, Desc w, Desc dy, Desc conv, Desc dx, int algo, size_t* bytes);
  int (*Data)(Handle, const void* alpha, Desc, const void* w, Desc, const void* dy, Desc conv,
              int algo, void* workspace, size_t bytes, const void* beta, Desc, void* dx);
  int (*FilterAlgos)(Handle, Desc x, Desc dy, Desc conv, Desc dw, int asked, int* found,
                     Performance*);
  int (*FilterWorkspace)(Handle, Desc x, Desc dy, Desc conv, Desc dw, int algo, size_t* bytes);
  int (*Filter)(Handle, const void* alpha, Desc, const void* x, Desc, const void* dy, Desc conv,
                int algo, void* workspace, size_t bytes, const void* beta, Desc, void* dw);
};
const Cudnn& TheCudnn();

}  // namespace dygraph::cuda
