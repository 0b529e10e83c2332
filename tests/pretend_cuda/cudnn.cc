// Convolutions as cuDNN's C interface describes them, of two or three axes. Sums are made in
// double, whatever the type: the numerics of the real library are not pretended.
#include <cudnn.h>
#include <pretend_libraries.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "numbers.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
// Strides in elements. A filter counts as a tensor with the axes K, C and those of space.
struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int rank = 0;
  int64_t dims[CUDNN_DIM_MAX] = {}, strides[CUDNN_DIM_MAX] = {};
};
struct cudnnFilterStruct {
  cudnnTensorStruct tensor;
};
struct cudnnConvolutionStruct {
  int rank = 0, groups = 1;
  int pads[CUDNN_DIM_MAX] = {}, strides[CUDNN_DIM_MAX] = {}, dilations[CUDNN_DIM_MAX] = {};
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
};

namespace pretend {
namespace {

using Tensor = cudnnTensorStruct;
using Convolution = cudnnConvolutionStruct;

constexpr size_t kWorkspace = 1024;

size_t SizeOf(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}

cudnnStatus_t SetTensor(Tensor* t, cudnnDataType_t type, int rank, const int* dims,
                        const int* strides) {
  if (!t || rank < 3 || rank > CUDNN_DIM_MAX) return CUDNN_STATUS_BAD_PARAM;
  t->type = type;
  t->rank = rank;
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 1 || strides[i] < 1) return CUDNN_STATUS_BAD_PARAM;
    t->dims[i] = dims[i];
    t->strides[i] = strides[i];
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t SetDense(Tensor* t, cudnnTensorFormat_t format, cudnnDataType_t type, int rank,
                       const int* dims) {
  if (!t || rank < 3 || rank > CUDNN_DIM_MAX) return CUDNN_STATUS_BAD_PARAM;
  int strides[CUDNN_DIM_MAX], step = 1;
  if (format == CUDNN_TENSOR_NHWC) strides[1] = 1, step = dims[1];
  for (int i = rank - 1; i >= 0; --i) {
    if (i == 1 && format == CUDNN_TENSOR_NHWC) continue;
    strides[i] = step;
    step *= dims[i];
  }
  return SetTensor(t, type, rank, dims, strides);
}

size_t Elements(const Tensor& t) {
  size_t n = 1;
  for (int i = 0; i < t.rank; ++i) n *= static_cast<size_t>(t.dims[i]);
  return n;
}

// Whether the memory of a device holds all elements of the tensor.
bool Holds(const void* memory, const Tensor& t) {
  int64_t last = 0;
  for (int i = 0; i < t.rank; ++i) last += (t.dims[i] - 1) * t.strides[i];
  return OnDevice(memory, static_cast<size_t>(last + 1) * SizeOf(t.type));
}

int64_t OutputSize(const Convolution& c, const Tensor& x, const Tensor& w, int axis) {
  int i = axis - 2;
  int64_t span = (w.dims[axis] - 1) * c.dilations[i] + 1;
  return (x.dims[axis] + 2 * c.pads[i] - span) / c.strides[i] + 1;
}

cudnnStatus_t Check(const Convolution& c, const Tensor& x, const Tensor& w, const Tensor& y) {
  bool ranks =
      (x.rank == 4 || x.rank == 5) && w.rank == x.rank && y.rank == x.rank && c.rank == x.rank - 2;
  if (!ranks || x.type != w.type || x.type != y.type) return CUDNN_STATUS_BAD_PARAM;
  bool wide = x.type == CUDNN_DATA_DOUBLE;
  if (c.compute != (wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT)) return CUDNN_STATUS_NOT_SUPPORTED;
  bool channels = c.groups >= 1 && w.dims[1] * c.groups == x.dims[1] && w.dims[0] == y.dims[1] &&
                  w.dims[0] % c.groups == 0 && x.dims[0] == y.dims[0];
  if (!channels) return CUDNN_STATUS_BAD_PARAM;
  for (int i = 2; i < x.rank; ++i) {
    if (OutputSize(c, x, w, i) != y.dims[i]) return CUDNN_STATUS_BAD_PARAM;
  }
  return CUDNN_STATUS_SUCCESS;
}

// All elements in the order of the axes; f(offset in memory, place).
template <class F>
void Walk(const Tensor& t, F f) {
  int64_t at[CUDNN_DIM_MAX] = {}, offset = 0;
  size_t n = Elements(t);
  for (size_t i = 0; i < n; ++i) {
    f(offset, i);
    for (int k = t.rank - 1; k >= 0; --k) {
      offset += t.strides[k];
      if (++at[k] < t.dims[k]) break;
      offset -= at[k] * t.strides[k];
      at[k] = 0;
    }
  }
}

template <class T>
std::vector<double> Read(const T* from, const Tensor& t) {
  std::vector<double> dense(Elements(t));
  Walk(t, [&](int64_t offset, size_t i) { dense[i] = Widen(from[offset]); });
  return dense;
}

// to = alpha * values + beta * to
template <class T>
void Write(const std::vector<double>& values, double alpha, double beta, const Tensor& t, T* to) {
  Walk(t, [&](int64_t offset, size_t i) {
    double v = alpha * values[i];
    Store(beta == 0 ? v : v + beta * Widen(to[offset]), to + offset);
  });
}

// Visits each tap of the filter with each row of outputs that it reaches: f(x, w, y, n, step) with
// n outputs side by side from y on, whose inputs lie `step` apart from x on, all in dense arrays.
template <class F>
void ForEachTap(const Convolution& c, const Tensor& x, const Tensor& w, const Tensor& y, F f) {
  // Depth, height and width; two axes have the depth 1.
  int64_t in[3] = {1, 1, 1}, taps[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t pad[3] = {0, 0, 0}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
  for (int i = 0; i < c.rank; ++i) {
    int k = 3 - c.rank + i;
    in[k] = x.dims[2 + i], taps[k] = w.dims[2 + i], out[k] = y.dims[2 + i];
    pad[k] = c.pads[i], stride[k] = c.strides[i], dilation[k] = c.dilations[i];
  }
  bool flip = c.mode == CUDNN_CONVOLUTION;
  auto tap_of = [&](int axis, int64_t t) { return flip ? taps[axis] - 1 - t : t; };
  int64_t channels = w.dims[1], filters = w.dims[0] / c.groups;
  for (int64_t n = 0; n < x.dims[0]; ++n)
    for (int64_t k = 0; k < w.dims[0]; ++k)
      for (int64_t ch = 0; ch < channels; ++ch) {
        int64_t x_plane = (n * x.dims[1] + k / filters * channels + ch) * in[0];
        int64_t y_plane = (n * y.dims[1] + k) * out[0], w_plane = (k * channels + ch) * taps[0];
        for (int64_t td = 0; td < taps[0]; ++td)
          for (int64_t th = 0; th < taps[1]; ++th)
            for (int64_t tw = 0; tw < taps[2]; ++tw) {
              int64_t tap =
                  ((w_plane + tap_of(0, td)) * taps[1] + tap_of(1, th)) * taps[2] + tap_of(2, tw);
              int64_t shift = tw * dilation[2] - pad[2];  // input = output * stride + shift
              int64_t first = shift >= 0 ? 0 : (-shift + stride[2] - 1) / stride[2];
              int64_t end = in[2] > shift ? (in[2] - shift + stride[2] - 1) / stride[2] : 0;
              end = std::min(end, out[2]);
              if (first >= end) continue;
              for (int64_t d = 0; d < out[0]; ++d) {
                int64_t id = d * stride[0] + td * dilation[0] - pad[0];
                if (id < 0 || id >= in[0]) continue;
                for (int64_t h = 0; h < out[1]; ++h) {
                  int64_t ih = h * stride[1] + th * dilation[1] - pad[1];
                  if (ih < 0 || ih >= in[1]) continue;
                  f(((x_plane + id) * in[1] + ih) * in[2] + first * stride[2] + shift, tap,
                    ((y_plane + d) * out[1] + h) * out[2] + first, end - first, stride[2]);
                }
              }
            }
      }
}

enum class Pass { kForward, kData, kFilter };

template <class T>
struct Task {
  Pass pass;
  Convolution c;
  double alpha, beta;
  Tensor x_desc, w_desc, y_desc;
  const void *x, *w, *y;  // the one of the pass is written

  void operator()() const {
    auto values = [](const void* p, const Tensor& t) { return Read(static_cast<const T*>(p), t); };
    auto write = [&](const std::vector<double>& sums, const Tensor& t, const void* to) {
      Write(sums, alpha, beta, t, static_cast<T*>(const_cast<void*>(to)));
    };
    std::vector<double> xs(Elements(x_desc)), ws(Elements(w_desc)), ys(Elements(y_desc));
    if (pass != Pass::kData) xs = values(x, x_desc);
    if (pass != Pass::kFilter) ws = values(w, w_desc);
    if (pass != Pass::kForward) ys = values(y, y_desc);
    double *px = xs.data(), *pw = ws.data(), *py = ys.data();
    if (pass == Pass::kForward) {
      ForEachTap(c, x_desc, w_desc, y_desc,
                 [=](int64_t i, int64_t t, int64_t o, int64_t n, int64_t step) {
                   double tap = pw[t];
                   for (int64_t k = 0; k < n; ++k) py[o + k] += tap * px[i + k * step];
                 });
      write(ys, y_desc, y);
    } else if (pass == Pass::kData) {
      ForEachTap(c, x_desc, w_desc, y_desc,
                 [=](int64_t i, int64_t t, int64_t o, int64_t n, int64_t step) {
                   double tap = pw[t];
                   for (int64_t k = 0; k < n; ++k) px[i + k * step] += tap * py[o + k];
                 });
      write(xs, x_desc, x);
    } else {
      ForEachTap(c, x_desc, w_desc, y_desc,
                 [=](int64_t i, int64_t t, int64_t o, int64_t n, int64_t step) {
                   double sum = 0;
                   for (int64_t k = 0; k < n; ++k) sum += px[i + k * step] * py[o + k];
                   pw[t] += sum;
                 });
      write(ws, w_desc, w);
    }
  }
};

cudnnStatus_t Run(cudnnHandle_t handle, Pass pass, const void* alpha, const void* beta,
                  const Convolution* c, const Tensor& x_desc, const void* x, const Tensor& w_desc,
                  const void* w, const Tensor& y_desc, const void* y, size_t needs,
                  const void* workspace, size_t bytes) {
  if (!handle) return CUDNN_STATUS_NOT_INITIALIZED;
  if (!alpha || !beta || !c) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  cudnnStatus_t status = Check(*c, x_desc, w_desc, y_desc);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  bool memory = Holds(x, x_desc) && Holds(w, w_desc) && Holds(y, y_desc);
  bool space = bytes >= needs && (needs == 0 || OnDevice(workspace, needs));
  if (!memory || !space) return CUDNN_STATUS_BAD_PARAM;
  auto submit = [&](auto number, double a, double b) {
    Task<decltype(number)> task{pass, *c, a, b, x_desc, w_desc, y_desc, x, w, y};
    cudaError_t error = EnqueueFunction(handle->stream, std::move(task));
    return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
  };
  if (x_desc.type == CUDNN_DATA_DOUBLE) {
    return submit(double{}, *static_cast<const double*>(alpha), *static_cast<const double*>(beta));
  }
  float a = *static_cast<const float*>(alpha), b = *static_cast<const float*>(beta);
  switch (x_desc.type) {
    case CUDNN_DATA_FLOAT: return submit(float{}, a, b);
    case CUDNN_DATA_HALF: return submit(Half{}, a, b);
    case CUDNN_DATA_BFLOAT16: return submit(BFloat{}, a, b);
    default: return CUDNN_STATUS_NOT_SUPPORTED;
  }
}

// Numbers 0 and 1 of each kind of algorithm exist here; number 1 wants a workspace, and number 0 of
// the backward passes is not deterministic.
cudnnStatus_t WorkspaceOf(int algo, size_t* bytes) {
  *bytes = algo == 1 ? kWorkspace : 0;
  return algo == 0 || algo == 1 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

template <class Perf>
cudnnStatus_t Algorithms(cudnnHandle_t handle, const Convolution& c, const Tensor& x,
                         const Tensor& w, const Tensor& y, bool backward, int wanted, int* found,
                         Perf* results) {
  if (!handle) return CUDNN_STATUS_NOT_INITIALIZED;
  if (wanted < 1) return CUDNN_STATUS_BAD_PARAM;
  cudnnStatus_t status = Check(c, x, w, y);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  *found = std::min(wanted, 2);
  for (int i = 0; i < *found; ++i) {
    int algo = 1 - i;
    results[i] = {};
    results[i].algo = static_cast<decltype(results->algo)>(algo);
    results[i].status = WorkspaceOf(algo, &results[i].memory);
    results[i].time = -1;
    results[i].determinism = backward && algo == 0 ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
    results[i].mathType = c.math;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace pretend

using namespace pretend;

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
size_t cudnnGetCudartVersion() { return CUDART_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS: return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM: return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_BAD_PARAM_NULL_POINTER: return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
    case CUDNN_STATUS_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_INTERNAL_ERROR: return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "CUDNN_UNKNOWN_STATUS";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return CUDNN_STATUS_NOT_INITIALIZED;
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (!handle) return CUDNN_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  if (!handle) return CUDNN_STATUS_NOT_INITIALIZED;
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

// Descriptors -------------------------------------------------------------------------------------

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* desc) {
  *desc = new Tensor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t desc, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  int dims[] = {n, c, h, w};
  return SetDense(desc, format, type, 4, dims);
}
cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t desc, cudnnDataType_t type,
                                           int n, int c, int h, int w, int n_stride, int c_stride,
                                           int h_stride, int w_stride) {
  int dims[] = {n, c, h, w}, strides[] = {n_stride, c_stride, h_stride, w_stride};
  return SetTensor(desc, type, 4, dims, strides);
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t desc, cudnnDataType_t type,
                                         int rank, const int* dims, const int* strides) {
  return SetTensor(desc, type, rank, dims, strides);
}
cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t desc, cudnnTensorFormat_t format,
                                           cudnnDataType_t type, int rank, const int* dims) {
  return SetDense(desc, format, type, rank, dims);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t desc) {
  delete desc;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* desc) {
  *desc = new cudnnFilterStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t desc, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  int dims[] = {k, c, h, w};
  return SetDense(&desc->tensor, format, type, 4, dims);
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t desc, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int rank, const int* dims) {
  return SetDense(&desc->tensor, format, type, rank, dims);
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t desc) {
  delete desc;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* desc) {
  *desc = new Convolution;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t desc, int pad_h,
                                              int pad_w, int stride_h, int stride_w, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
  int pads[] = {pad_h, pad_w}, strides[] = {stride_h, stride_w};
  int dilations[] = {dilation_h, dilation_w};
  return cudnnSetConvolutionNdDescriptor(desc, 2, pads, strides, dilations, mode, compute);
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t desc, int rank,
                                              const int* pads, const int* strides,
                                              const int* dilations, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
  if (!desc || rank < 1 || rank > CUDNN_DIM_MAX - 2) return CUDNN_STATUS_BAD_PARAM;
  desc->rank = rank;
  desc->mode = mode;
  desc->compute = compute;
  for (int i = 0; i < rank; ++i) {
    if (pads[i] < 0 || strides[i] < 1 || dilations[i] < 1) return CUDNN_STATUS_BAD_PARAM;
    desc->pads[i] = pads[i];
    desc->strides[i] = strides[i];
    desc->dilations[i] = dilations[i];
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t desc, cudnnMathType_t type) {
  desc->math = type;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t desc, int groups) {
  if (groups < 1) return CUDNN_STATUS_BAD_PARAM;
  desc->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(cudnnConvolutionDescriptor_t desc,
                                                    cudnnTensorDescriptor_t x,
                                                    cudnnFilterDescriptor_t w, int rank,
                                                    int* dims) {
  if (rank != x->rank || desc->rank != rank - 2) return CUDNN_STATUS_BAD_PARAM;
  dims[0] = static_cast<int>(x->dims[0]);
  dims[1] = static_cast<int>(w->tensor.dims[0]);
  for (int i = 2; i < rank; ++i) dims[i] = static_cast<int>(OutputSize(*desc, *x, w->tensor, i));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t desc) {
  delete desc;
  return CUDNN_STATUS_SUCCESS;
}

// Convolutions ------------------------------------------------------------------------------------

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
    cudnnConvolutionDescriptor_t conv, cudnnTensorDescriptor_t y, int wanted, int* found,
    cudnnConvolutionFwdAlgoPerf_t* results) {
  return Algorithms(handle, *conv, *x, w->tensor, *y, false, wanted, found, results);
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t x,
                                                      cudnnFilterDescriptor_t w,
                                                      cudnnConvolutionDescriptor_t conv,
                                                      cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algo,
                                                      size_t* bytes) {
  cudnnStatus_t status = Check(*conv, *x, w->tensor, *y);
  return status == CUDNN_STATUS_SUCCESS ? WorkspaceOf(algo, bytes) : status;
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      cudnnTensorDescriptor_t x_desc, const void* x,
                                      cudnnFilterDescriptor_t w_desc, const void* w,
                                      cudnnConvolutionDescriptor_t conv,
                                      cudnnConvolutionFwdAlgo_t algo, void* workspace, size_t bytes,
                                      const void* beta, cudnnTensorDescriptor_t y_desc, void* y) {
  size_t needs = 0;
  cudnnStatus_t status = WorkspaceOf(algo, &needs);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return Run(handle, Pass::kForward, alpha, beta, conv, *x_desc, x, w_desc->tensor, w, *y_desc, y,
             needs, workspace, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t conv, cudnnTensorDescriptor_t dx, int wanted, int* found,
    cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return Algorithms(handle, *conv, *dx, w->tensor, *dy, true, wanted, found, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, cudnnFilterDescriptor_t w,
                                                           cudnnTensorDescriptor_t dy,
                                                           cudnnConvolutionDescriptor_t conv,
                                                           cudnnTensorDescriptor_t dx,
                                                           cudnnConvolutionBwdDataAlgo_t algo,
                                                           size_t* bytes) {
  cudnnStatus_t status = Check(*conv, *dx, w->tensor, *dy);
  return status == CUDNN_STATUS_SUCCESS ? WorkspaceOf(algo, bytes) : status;
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           cudnnFilterDescriptor_t w_desc, const void* w,
                                           cudnnTensorDescriptor_t dy_desc, const void* dy,
                                           cudnnConvolutionDescriptor_t conv,
                                           cudnnConvolutionBwdDataAlgo_t algo, void* workspace,
                                           size_t bytes, const void* beta,
                                           cudnnTensorDescriptor_t dx_desc, void* dx) {
  size_t needs = 0;
  cudnnStatus_t status = WorkspaceOf(algo, &needs);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return Run(handle, Pass::kData, alpha, beta, conv, *dx_desc, dx, w_desc->tensor, w, *dy_desc, dy,
             needs, workspace, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t conv, cudnnFilterDescriptor_t dw, int wanted, int* found,
    cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return Algorithms(handle, *conv, *x, dw->tensor, *dy, true, wanted, found, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t conv, cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algo, size_t* bytes) {
  cudnnStatus_t status = Check(*conv, *x, dw->tensor, *dy);
  return status == CUDNN_STATUS_SUCCESS ? WorkspaceOf(algo, bytes) : status;
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             cudnnTensorDescriptor_t x_desc, const void* x,
                                             cudnnTensorDescriptor_t dy_desc, const void* dy,
                                             cudnnConvolutionDescriptor_t conv,
                                             cudnnConvolutionBwdFilterAlgo_t algo, void* workspace,
                                             size_t bytes, const void* beta,
                                             cudnnFilterDescriptor_t dw_desc, void* dw) {
  size_t needs = 0;
  cudnnStatus_t status = WorkspaceOf(algo, &needs);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return Run(handle, Pass::kFilter, alpha, beta, conv, *x_desc, x, dw_desc->tensor, dw, *dy_desc,
             dy, needs, workspace, bytes);
}
}
