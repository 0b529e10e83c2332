// Convolutions by cuDNN. Descriptors and the algorithm of a convolution are kept by its sizes.
// 16-bit floats are multiplied and added as floats.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "cuda/libraries_cuda.h"
#include "cuda/plan_cache.h"
#include "cuda/scratch.h"
#include "kernels/conv.h"
#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "kernels/reduce.h"
#include "kernels/transpose.h"
#include "platform/accelerator.h"
#include "platform/device_flags.h"

namespace dygraph::kernels {
namespace {

using cuda::Cudnn;

enum Pass { kForward, kData, kFilter };

template <class T>
constexpr int TypeOf() {
  if constexpr (std::is_same_v<T, float>) return Cudnn::kFloat;
  if constexpr (std::is_same_v<T, double>) return Cudnn::kDouble;
  if constexpr (std::is_same_v<T, float16>) return Cudnn::kHalf;
  if constexpr (std::is_same_v<T, bfloat16>) return Cudnn::kBrain16;
}
template <class T>
int MathOf() {
  if (sizeof(T) == 2) return Cudnn::kTensorMath;
  return FLAGS_allow_tf32 || std::is_same_v<T, double> ? Cudnn::kDefaultMath : Cudnn::kFmaMath;
}

void Ok(int status, const char* what) {
  ENFORCE(status == 0, PreconditionNotMet, "cuDNN must succeed in ", what, ", got the status ",
          status == 0 ? "" : cuda::TheCudnn().ErrorString(status));
}

// One axis of the images. cuDNN knows one padding for both ends; what an end needs more stands in
// the image itself.
struct Axis {
  int64_t size, kernel, stride, dilation, out;
  int64_t pad, more_before, more_after;
  Axis(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t before,
       int64_t after, int64_t out)
      : size(size),
        kernel(kernel),
        stride(stride),
        dilation(dilation),
        out(out),
        pad(before),
        more_before(0),
        more_after(0) {
    const int64_t reach = dilation * (kernel - 1) + 1;
    if (before == after || (size + 2 * before - reach) / stride + 1 == out) return;
    pad = std::min(before, after);
    more_before = before - pad;
    more_after = after - pad;
  }
  int64_t Padded() const { return size + more_before + more_after; }
};

using Axes = std::array<Axis, 3>;

Axes AxesOf(const Im2ColShape& s) {
  return {Axis(s.depth, s.kernel_d, s.stride_d, s.dilation_d, s.front, s.back, s.OutDepth()),
          Axis(s.height, s.kernel_h, s.stride_h, s.dilation_h, s.top, s.bottom, s.OutHeight()),
          Axis(s.width, s.kernel_w, s.stride_w, s.dilation_w, s.left, s.right, s.OutWidth())};
}

// Everything that descriptors and the choice of an algorithm may depend on.
struct Key {
  int64_t n, groups, channels, out_c;
  int64_t axes[3][6];  // size, kernel, stride, dilation, padding, outputs
  int64_t most_workspace;
  int32_t pass, type, device, format, math, deterministic, timed, images;
};

struct Plan {
  Cudnn::Desc x = nullptr, w = nullptr, y = nullptr, conv = nullptr;
  int algo = 0;
  size_t workspace = 0;
  bool possible = false;  // whether there is an algorithm

  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    const Cudnn& dnn = cuda::TheCudnn();
    if (x) dnn.TensorDestroy(x);
    if (y) dnn.TensorDestroy(y);
    if (w) dnn.FilterDestroy(w);
    if (conv) dnn.ConvDestroy(conv);
  }
};

// A handle serves one call at a time.
class Handle {
 public:
  Handle() : lock_(mutex_) {
    const Cudnn& dnn = cuda::TheCudnn();
    Cudnn::Handle& handle = handles_[cuda::CurrentPlace().id];
    if (!handle) Ok(dnn.Create(&handle), "its handle");
    handle_ = handle;
    Ok(dnn.SetStream(handle, cuda::CurrentStream()), "its stream");
  }
  Cudnn::Handle get() const { return handle_; }

 private:
  static std::mutex mutex_;
  static Cudnn::Handle handles_[256];
  std::lock_guard<std::mutex> lock_;
  Cudnn::Handle handle_;
};
std::mutex Handle::mutex_;
Cudnn::Handle Handle::handles_[256] = {};

// x, w and y are images, filter and outputs, of which the pass writes one.
struct Arrays {
  void *x, *w, *y;
};

// The status of the pass with an algorithm.
template <class T>
int Compute(Pass pass, const Plan& plan, int algo, void* workspace, size_t bytes,
            const Arrays& at) {
  const Cudnn& dnn = cuda::TheCudnn();
  const Handle handle;
  const Wide<T> one = 1, zero = 0;
  if (pass == kForward)
    return dnn.Forward(handle.get(), &one, plan.x, at.x, plan.w, at.w, plan.conv, algo, workspace,
                       bytes, &zero, plan.y, at.y);
  if (pass == kData)
    return dnn.Data(handle.get(), &one, plan.w, at.w, plan.y, at.y, plan.conv, algo, workspace,
                    bytes, &zero, plan.x, at.x);
  return dnn.Filter(handle.get(), &one, plan.x, at.x, plan.y, at.y, plan.conv, algo, workspace,
                    bytes, &zero, plan.w, at.w);
}

std::vector<Cudnn::Performance> Algorithms(Pass pass, const Plan& plan) {
  const Cudnn& dnn = cuda::TheCudnn();
  const Handle handle;
  std::vector<Cudnn::Performance> list(16);
  const int asked = static_cast<int>(list.size());
  int found = 0, status = 0;
  if (pass == kForward) {
    status = dnn.ForwardAlgos(handle.get(), plan.x, plan.w, plan.conv, plan.y, asked, &found,
                              list.data());
  } else if (pass == kData) {
    status =
        dnn.DataAlgos(handle.get(), plan.w, plan.y, plan.conv, plan.x, asked, &found, list.data());
  } else {
    status = dnn.FilterAlgos(handle.get(), plan.x, plan.y, plan.conv, plan.w, asked, &found,
                             list.data());
  }
  list.resize(status == 0 ? static_cast<size_t>(found) : 0);
  return list;
}

// What the pass needs with an algorithm; false where it cannot serve.
bool WorkspaceOf(Pass pass, const Plan& plan, int algo, size_t* bytes) {
  const Cudnn& dnn = cuda::TheCudnn();
  const Handle handle;
  if (pass == kForward)
    return dnn.ForwardWorkspace(handle.get(), plan.x, plan.w, plan.conv, plan.y, algo, bytes) == 0;
  if (pass == kData)
    return dnn.DataWorkspace(handle.get(), plan.w, plan.y, plan.conv, plan.x, algo, bytes) == 0;
  return dnn.FilterWorkspace(handle.get(), plan.x, plan.y, plan.conv, plan.w, algo, bytes) == 0;
}

// Milliseconds of the pass; infinite where it fails.
template <class T>
float TimeOf(Pass pass, const Plan& plan, int algo, size_t bytes, const Arrays& at) {
  constexpr int kTimes = 3;
  cuda::Workspace<char> workspace(static_cast<int64_t>(bytes));
  cudaEvent_t begin, end;
  cuda::Check(cudaEventCreate(&begin), "an event");
  cuda::Check(cudaEventCreate(&end), "an event");
  bool good = true;
  for (int i = 0; i <= kTimes && good; ++i) {
    good = Compute<T>(pass, plan, algo, workspace.data(), bytes, at) == 0;
    if (i == 0) cuda::Check(cudaEventRecord(begin, cuda::CurrentStream()), "an event");
  }
  cuda::Check(cudaEventRecord(end, cuda::CurrentStream()), "an event");
  cuda::Check(cudaEventSynchronize(end), "the choice of an algorithm");
  float time = 0;
  cuda::Check(cudaEventElapsedTime(&time, begin, end), "an event");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return good ? time : std::numeric_limits<float>::infinity();
}

std::vector<int> Ints(std::initializer_list<int64_t> values) {
  std::vector<int> list;
  for (int64_t v : values) {
    ENFORCE(v <= std::numeric_limits<int>::max(), Unimplemented,
            "a size of a convolution on the device must fit into 32 bits, got ", v);
    list.push_back(static_cast<int>(v));
  }
  return list;
}

// dims without the depth of images.
std::vector<int> DimsOf(const Key& key, int64_t first, int64_t second, int which) {
  std::vector<int> dims =
      Ints({first, second, key.axes[0][which], key.axes[1][which], key.axes[2][which]});
  if (key.images) dims.erase(dims.begin() + 2);
  return dims;
}
std::vector<int> AxesOf(const Key& key, int which) {
  std::vector<int> list = Ints({key.axes[0][which], key.axes[1][which], key.axes[2][which]});
  if (key.images) list.erase(list.begin());
  return list;
}

template <class T>
std::shared_ptr<Plan> MakePlan(const Key& key, const Arrays& at) {
  const Cudnn& dnn = cuda::TheCudnn();
  auto plan = std::make_shared<Plan>();
  const std::vector<int> x = DimsOf(key, key.n, key.groups * key.channels, 0),
                         w = DimsOf(key, key.groups * key.out_c, key.channels, 1),
                         y = DimsOf(key, key.n, key.groups * key.out_c, 5),
                         strides = AxesOf(key, 2), dilations = AxesOf(key, 3),
                         pads = AxesOf(key, 4);
  const int rank = static_cast<int>(x.size());
  Ok(dnn.TensorCreate(&plan->x), "a tensor");
  Ok(dnn.TensorSet(plan->x, key.format, key.type, rank, x.data()), "a tensor");
  Ok(dnn.TensorCreate(&plan->y), "a tensor");
  Ok(dnn.TensorSet(plan->y, key.format, key.type, rank, y.data()), "a tensor");
  Ok(dnn.FilterCreate(&plan->w), "a filter");
  Ok(dnn.FilterSet(plan->w, key.type, key.format, rank, w.data()), "a filter");
  Ok(dnn.ConvCreate(&plan->conv), "a convolution");
  Ok(dnn.ConvSet(plan->conv, rank - 2, pads.data(), strides.data(), dilations.data(),
                 Cudnn::kCrossCorrelation, TypeOf<Wide<T>>()),
     "a convolution");
  Ok(dnn.ConvSetMath(plan->conv, key.math), "a convolution");
  Ok(dnn.ConvSetGroups(plan->conv, static_cast<int>(key.groups)), "a convolution");
  const Pass pass = static_cast<Pass>(key.pass);
  float least = std::numeric_limits<float>::infinity();
  for (const Cudnn::Performance& p : Algorithms(pass, *plan)) {
    if (p.status != 0 || (key.deterministic && p.determinism != Cudnn::kDeterministic)) continue;
    size_t bytes = 0;  // for this way of computing, which what is listed may differ from
    if (!WorkspaceOf(pass, *plan, p.algo, &bytes)) continue;
    if (bytes > static_cast<size_t>(key.most_workspace)) continue;
    if (key.timed) {
      const float time = TimeOf<T>(pass, *plan, p.algo, bytes, at);
      if (!(time < least)) continue;
      least = time;
    }
    plan->algo = p.algo;
    plan->workspace = bytes;
    plan->possible = true;
    if (!key.timed) break;  // the first is expected to be the fastest
  }
  return plan;
}

// The plan of a pass over padded images.
template <class T>
std::shared_ptr<Plan> PlanFor(Pass pass, const ConvShape& p, bool channels_last, const Axes& axes,
                              const Arrays& at) {
  static auto* plans = new cuda::PlanCache<Key, Plan>(1024);
  const Place place = cuda::CurrentPlace();
  Key key{};
  key.n = p.n;
  key.groups = p.groups;
  key.channels = p.patch.channels;
  key.out_c = p.out_c;
  for (int i = 0; i < 3; ++i) {
    const Axis& a = axes[i];
    const int64_t numbers[] = {a.Padded(), a.kernel, a.stride, a.dilation, a.pad, a.out};
    std::copy_n(numbers, 6, key.axes[i]);
  }
  key.most_workspace = FLAGS_conv_workspace_size_limit << 20;
  key.pass = pass;
  key.type = TypeOf<T>();
  key.device = place.id;
  key.format = channels_last ? Cudnn::kNhwc : Cudnn::kNchw;
  key.math = MathOf<T>();
  key.deterministic = FLAGS_cudnn_deterministic;
  key.timed = FLAGS_cudnn_exhaustive_search && !GetAccelerator(place).Capturing();
  key.images = axes[0].Padded() == 1 && axes[0].kernel == 1 && axes[0].pad == 0;
  return plans->Find(key, [&](const Key& k) { return MakePlan<T>(k, at); });
}

// Images [outer, depth, height, width, inner] with what `axes` adds around them, which is 0, and
// the reverse, which leaves it out.
template <class T, bool kAdd>
void Pad(const T* from, int64_t outer, const Axes& axes, int64_t inner, T* to) {
  const int64_t d = axes[0].size, h = axes[1].size, w = axes[2].size;
  const int64_t pd = axes[0].Padded(), ph = axes[1].Padded(), pw = axes[2].Padded();
  const int64_t front = axes[0].more_before, top = axes[1].more_before, left = axes[2].more_before;
  if (kAdd) {
    ForEach(outer * pd * ph * pw * inner, [=] DYGRAPH_FN(int64_t i) {
      const int64_t c = i % inner, p = i / inner;
      const int64_t x = p % pw - left, y = p / pw % ph - top, z = p / (pw * ph) % pd - front;
      const bool inside = x >= 0 && x < w && y >= 0 && y < h && z >= 0 && z < d;
      const int64_t o = p / (pw * ph * pd);
      to[i] = inside ? from[(((o * d + z) * h + y) * w + x) * inner + c] : T(0);
    });
    return;
  }
  ForEach(outer * d * h * w * inner, [=] DYGRAPH_FN(int64_t i) {
    const int64_t c = i % inner, p = i / inner;
    const int64_t x = p % w + left, y = p / w % h + top, z = p / (w * h) % d + front;
    const int64_t o = p / (w * h * d);
    to[i] = from[(((o * pd + z) * ph + y) * pw + x) * inner + c];
  });
}

// A pass over images of one order; false where cuDNN has no algorithm for it.
template <class T>
bool RunOrdered(Pass pass, const ConvShape& p, bool channels_last, T* x, T* w, T* y) {
  const Axes axes = AxesOf(p.patch);
  const int64_t channels = p.groups * p.patch.channels, filters = p.groups * p.out_c,
                weights = filters * p.taps, around = p.patch.Taps();
  const int64_t pixels = axes[0].Padded() * axes[1].Padded() * axes[2].Padded();
  const bool padded = pixels != p.in_size / p.patch.channels, turned = channels_last && around > 1;
  cuda::Workspace<T> image(padded ? p.n * channels * pixels : 0), filter(turned ? weights : 0);
  const int64_t outer = channels_last ? p.n : p.n * channels, inner = channels_last ? channels : 1;
  const Arrays at = {padded ? image.data() : x, turned ? filter.data() : w, y};
  const std::shared_ptr<Plan> plan = PlanFor<T>(pass, p, channels_last, axes, at);
  if (!plan->possible) return false;
  if (padded && pass != kData) Pad<T, true>(x, outer, axes, inner, image.data());
  if (turned && pass != kFilter)
    NchwToNhwc(w, filters, p.patch.channels, around, filter.data(), sizeof(T));
  cuda::Workspace<char> workspace(static_cast<int64_t>(plan->workspace));
  Ok(Compute<T>(pass, *plan, plan->algo, workspace.data(), plan->workspace, at), "a convolution");
  if (padded && pass == kData) Pad<T, false>(image.data(), outer, axes, inner, x);
  if (turned && pass == kFilter)
    NhwcToNchw(filter.data(), filters, p.patch.channels, around, w, sizeof(T));
  return true;
}

// Any order: what cuDNN cannot compute with the channels last is turned around.
template <class T>
void Run(Pass pass, const ConvShape& p, const T* x_in, const T* w_in, const T* y_in) {
  T *x = const_cast<T*>(x_in), *w = const_cast<T*>(w_in), *y = const_cast<T*>(y_in);
  if (!std::is_same_v<T, double> && p.channels_last && RunOrdered(pass, p, true, x, w, y)) return;
  const char* advice = FLAGS_cudnn_deterministic
                           ? ". More algorithms serve without FLAGS_cudnn_deterministic, or with "
                             "more memory, FLAGS_conv_workspace_size_limit"
                           : ". Raise FLAGS_conv_workspace_size_limit";
  if (!p.channels_last) {
    ENFORCE(RunOrdered(pass, p, false, x, w, y), Unimplemented,
            "cuDNN must have an algorithm for this convolution, got none", advice);
    return;
  }
  const int64_t channels = p.groups * p.patch.channels, filters = p.groups * p.out_c,
                in = p.in_size / p.patch.channels;
  cuda::Workspace<T> images(p.n * channels * in), outputs(p.n * filters * p.pixels);
  if (pass != kData) NhwcToNchw(x, p.n, channels, in, images.data(), sizeof(T));
  if (pass != kForward) NhwcToNchw(y, p.n, filters, p.pixels, outputs.data(), sizeof(T));
  ENFORCE(RunOrdered(pass, p, false, images.data(), w, outputs.data()), Unimplemented,
          "cuDNN must have an algorithm for this convolution, got none", advice);
  if (pass == kData) NchwToNhwc(images.data(), p.n, channels, in, x, sizeof(T));
  if (pass == kForward) NchwToNhwc(outputs.data(), p.n, filters, p.pixels, y, sizeof(T));
}

// y += bias + residual, of which one may be null.
template <class T>
void Add(const T* bias, const T* residual, int64_t n, int64_t channels, int64_t pixels,
         bool channels_last, T* y) {
  const int64_t run = channels_last ? 1 : pixels;
  ForEach(n * channels * pixels, [=] DYGRAPH_FN(int64_t i) {
    Wide<T> sum = y[i];
    if (bias) sum += bias[i / run % channels];
    if (residual) sum += residual[i];
    y[i] = sum;
  });
}

}  // namespace

template <class T>
void ConvForward(const T* x, const T* filter, const T* bias, const T* residual, const ConvShape& p,
                 T* y) {
  const int64_t outputs = p.n * p.groups * p.out_size;
  if (outputs == 0) return;
  if (p.taps == 0) {
    Fill(y, outputs, T(0));
  } else {
    Run<T>(kForward, p, x, filter, y);
  }
  if (bias || residual) Add(bias, residual, p.n, p.groups * p.out_c, p.pixels, p.channels_last, y);
}

template <class T>
void ConvBackwardInput(const T* dy, const T* filter, const T* bias, const ConvShape& p, T* dx) {
  const int64_t inputs = p.n * p.groups * p.in_size;
  if (inputs == 0) return;
  if (p.out_size == 0) {
    Fill(dx, inputs, T(0));
  } else {
    Run<T>(kData, p, dx, filter, dy);
  }
  if (bias) {
    Add<T>(bias, nullptr, p.n, p.groups * p.patch.channels, p.in_size / p.patch.channels,
           p.channels_last, dx);
  }
}

template <class T>
void ConvBackwardFilter(const T* x, const T* dy, const ConvShape& p, T* dw) {
  const int64_t weights = p.groups * p.out_c * p.taps;
  if (weights == 0) return;
  if (p.n == 0) return Fill(dw, weights, T(0));
  Run<T>(kFilter, p, x, dw, dy);
}

template <class T>
void ConvBackwardBias(const T* dy, const ConvShape& p, bool of_input, T* db) {
  const int64_t channels = p.groups * (of_input ? p.patch.channels : p.out_c);
  const int64_t pixels = of_input ? p.in_size / std::max<int64_t>(p.patch.channels, 1) : p.pixels;
  const int64_t rows[] = {p.channels_last ? p.n * pixels : p.n, channels,
                          p.channels_last ? 1 : pixels};
  const bool summed[] = {true, false, true};
  Reduce<SumOp<T>>(dy, Span<const int64_t>(rows, 3), Span<const bool>(summed, 3), db);
}

#define REGISTER_TYPE(T)                                                                   \
  template void ConvForward(const T*, const T*, const T*, const T*, const ConvShape&, T*); \
  template void ConvBackwardInput(const T*, const T*, const T*, const ConvShape&, T*);     \
  template void ConvBackwardFilter(const T*, const T*, const ConvShape&, T*);              \
  template void ConvBackwardBias(const T*, const ConvShape&, bool, T*)
REGISTER_TYPE(float);
REGISTER_TYPE(double);
REGISTER_TYPE(float16);
REGISTER_TYPE(bfloat16);
#undef REGISTER_TYPE

}  // namespace dygraph::kernels
