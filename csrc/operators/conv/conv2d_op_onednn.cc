// Convolutions by oneDNN: images and volumes channels-last, filters packed as each primitive likes
// them. Ready primitives are kept by shape. More than 600 lines because images and volumes, both
// ways, share one cache and one packing.
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "kernels/conv_few_channels.h"
#include "kernels/filter_order.h"
#include "op/epilogue.h"
#include "op/kept_form.h"
#include "operators/conv/conv_pieces.h"
#include "operators/conv/convolution.h"
#include "platform/float_status.h"
#include "platform/interrupt.h"
#include "platform/onednn_api.h"
#include "platform/threads.h"

namespace dygraph {
namespace {

using Attrs = conv::Attrs<2>;
using conv::Geometry;

enum Kind { kForward, kBackwardInput, kBackwardFilter };
constexpr size_t kMostPrimitives = 1024;  // a primitive takes some 20 KB

// What a forward primitive does to its sums: nothing, or the steps of an Epilogue.
enum Ending { kPlain = 0, kNormalized = 1, kAdded = 2, kIntoAdded = 4, kRelu = 8 };
int EndingOf(const Epilogue& e) {
  return kNormalized | (e.into_added ? kIntoAdded : e.added ? kAdded : 0) | (e.relu ? kRelu : 0);
}

// All a primitive depends on.
using Key = std::array<int64_t, 26>;
Key MakeKey(Kind kind, const Geometry& g, bool bias, int ending) {
  Key key{kind, bias, g.n, g.c, g.out_c, g.groups, ending};
  size_t i = 7;
  for (const window::Axis* a : {&g.d, &g.h, &g.w}) {
    for (int64_t v : {a->size, a->kernel, a->stride, a->dilation, a->before, a->after})
      key[i++] = v;
  }
  return key;
}
struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t h = 0;
    for (int64_t v : key) h = (h ^ static_cast<uint64_t>(v)) * 0x9E3779B97F4A7C15u, h ^= h >> 29;
    return h;
  }
};

// A memory descriptor of ours, or one that a primitive descriptor owns.
class MemoryDesc {
 public:
  MemoryDesc(const OneDnnApi& api, const std::vector<int64_t>& dims, dnnl_format_tag_t tag)
      : api_(api) {
    dnnl_dims_t d;
    std::copy(dims.begin(), dims.end(), d);
    CheckOneDnn(
        api.dnnl_memory_desc_create_with_tag(&md_, static_cast<int>(dims.size()), d, dnnl_f32, tag),
        "the description of an array");
  }
  ~MemoryDesc() { api_.dnnl_memory_desc_destroy(md_); }
  MemoryDesc(const MemoryDesc&) = delete;
  MemoryDesc& operator=(const MemoryDesc&) = delete;
  const_dnnl_memory_desc_t get() const { return md_; }

 private:
  const OneDnnApi& api_;
  dnnl_memory_desc_t md_ = nullptr;
};

struct Argument {
  int index;
  const_dnnl_memory_desc_t md;
  const void* data;
};

class Primitive {
 public:
  Primitive(const OneDnnApi& api, dnnl_primitive_desc_t pd) : api_(api), pd_(pd) {
    dnnl_status_t status = api.dnnl_primitive_create(&primitive_, pd);
    if (status != dnnl_success) api.dnnl_primitive_desc_destroy(pd);
    CheckOneDnn(status, "a convolution of this shape");
    scratch_ = Query(dnnl_query_scratchpad_md);
    scratch_bytes_ = api.dnnl_memory_desc_get_size(scratch_);
  }
  ~Primitive() {
    api_.dnnl_primitive_destroy(primitive_);
    api_.dnnl_primitive_desc_destroy(pd_);
  }
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  const_dnnl_memory_desc_t Query(dnnl_query_t what) const {
    return api_.dnnl_primitive_desc_query_md(pd_, what, 0);
  }

  // May run on several threads at once: memory objects and scratch belong to the call.
  void Run(std::initializer_list<Argument> arguments) const {
    const OneThread alone(api_);
    Scratch scratch(CPUPlace(), scratch_bytes_);
    dnnl_exec_arg_t list[12];
    int n = 0;
    auto add = [&](int index, const_dnnl_memory_desc_t md, void* data) {
      list[n].arg = index;
      CheckOneDnn(api_.dnnl_memory_create(&list[n].memory, md, api_.engine, data), "an array");
      ++n;
    };
    for (const Argument& a : arguments) {
      if (a.data) add(a.index, a.md, const_cast<void*>(a.data));
    }
    if (scratch_bytes_ > 0) add(DNNL_ARG_SCRATCHPAD, scratch_, scratch.as<void>());
    dnnl_status_t status = api_.dnnl_primitive_execute(primitive_, ThreadStream(api_), n, list);
    for (int i = 0; i < n; ++i) api_.dnnl_memory_destroy(list[i].memory);
    CheckOneDnn(status, "a convolution");
  }

 private:
  static dnnl_stream_t ThreadStream(const OneDnnApi& api) {
    struct Owner {
      const OneDnnApi& api;
      dnnl_stream_t stream = nullptr;
      explicit Owner(const OneDnnApi& a) : api(a) {
        CheckOneDnn(a.dnnl_stream_create(&stream, a.engine, dnnl_stream_default_flags), "a stream");
      }
      ~Owner() { api.dnnl_stream_destroy(stream); }
    };
    static thread_local Owner owner(api);
    return owner.stream;
  }

  const OneDnnApi& api_;
  dnnl_primitive_desc_t pd_;
  dnnl_primitive_t primitive_ = nullptr;
  const_dnnl_memory_desc_t scratch_;
  size_t scratch_bytes_ = 0;
};

// One convolution of one kind, with the reorder between our filter and the primitive's where they
// differ.
class Convolution {
 public:
  Convolution(const OneDnnApi& api, Kind kind, const Geometry& g, bool bias, int ending)
      : api_(api),
        x_(api, Sizes(g, g.n, g.c, [](const window::Axis& a) { return a.size; }), Order(g)),
        y_(api, Sizes(g, g.n, g.out_c, [](const window::Axis& a) { return a.Out(); }), Order(g)),
        bias_(api, {g.out_c}, dnnl_a),
        vector_(api, Sizes(g, 1, g.out_c, [](const window::Axis&) { return 1; }), Order(g)),
        plain_(Filter(api, g, false)) {
    std::unique_ptr<MemoryDesc> any = Filter(api, g, true);
    dnnl_dims_t strides, dilations, before, after;
    int axes = 0;
    for (const window::Axis* a : {&g.d, &g.h, &g.w}) {
      if (a == &g.d && !IsVolume(g)) continue;
      strides[axes] = a->stride;
      dilations[axes] = a->dilation - 1;
      before[axes] = a->before;
      after[axes++] = Behind(*a);
    }
    dnnl_primitive_attr_t attr = nullptr;
    CheckOneDnn(api.dnnl_primitive_attr_create(&attr), "attributes");
    AttrOwner attr_owner(attr, api.dnnl_primitive_attr_destroy);
    CheckOneDnn(api.dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user),
                "attributes");
    if (ending != kPlain) AppendEnding(attr, ending);
    const_dnnl_memory_desc_t b = bias ? bias_.get() : nullptr;
    dnnl_primitive_desc_t forward = nullptr, pd = nullptr;
    CheckOneDnn(api.dnnl_convolution_forward_primitive_desc_create(
                    &forward, api.engine, dnnl_forward_training, dnnl_convolution_direct, x_.get(),
                    any->get(), kind == kForward ? b : nullptr, y_.get(), strides, dilations,
                    before, after, attr),
                "a convolution of this shape");
    if (kind != kForward) {
      dnnl_status_t status =
          kind == kBackwardInput
              ? api.dnnl_convolution_backward_data_primitive_desc_create(
                    &pd, api.engine, dnnl_convolution_direct, x_.get(), any->get(), y_.get(),
                    strides, dilations, before, after, forward, attr)
              : api.dnnl_convolution_backward_weights_primitive_desc_create(
                    &pd, api.engine, dnnl_convolution_direct, x_.get(), any->get(), b, y_.get(),
                    strides, dilations, before, after, forward, attr);
      api.dnnl_primitive_desc_destroy(forward);
      CheckOneDnn(status, "the gradient of a convolution of this shape");
    } else {
      pd = forward;
    }
    primitive_ = std::make_unique<Primitive>(api, pd);
    packed_ = primitive_->Query(kind == kBackwardFilter ? dnnl_query_diff_weights_md
                                                        : dnnl_query_weights_md);
    if (api.dnnl_memory_desc_equal(packed_, plain_->get())) return;
    packed_bytes_ = api.dnnl_memory_desc_get_size(packed_);
    order_ = OrderOf(api, g);
    if (order_) return;
    bool unpack = kind == kBackwardFilter;
    reorder_ = unpack ? Reorder(packed_, plain_->get()) : Reorder(plain_->get(), packed_);
  }

  // What the steps of an epilogue read; all null without one.
  struct Steps {
    const float *mean = nullptr, *factor = nullptr, *summand = nullptr, *added = nullptr;
  };
  void Forward(const float* x, const float* packed, const float* bias, const Steps& steps,
               float* y) const {
    auto step = [](int i) { return DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1; };
    primitive_->Run({{DNNL_ARG_SRC, x_.get(), x},
                     {DNNL_ARG_WEIGHTS, packed_, packed},
                     {DNNL_ARG_BIAS, bias_.get(), bias},
                     {DNNL_ARG_DST, y_.get(), y},
                     {step(0), vector_.get(), steps.mean},
                     {step(1), vector_.get(), steps.factor},
                     {step(2), vector_.get(), steps.summand},
                     {step(3), y_.get(), steps.added}});
  }

  // 0: the primitive reads a filter as it is.
  size_t packed_bytes() const { return packed_bytes_; }
  bool PacksAlike(const Convolution& other) const {
    return api_.dnnl_memory_desc_equal(packed_, other.packed_);
  }
  const float* Pack(const float* filter, float* packed) const {
    if (order_) {
      order_->Pack(filter, packed);
      return packed;
    }
    if (!reorder_) return filter;
    reorder_->Run({{DNNL_ARG_FROM, plain_->get(), filter}, {DNNL_ARG_TO, packed_, packed}});
    return packed;
  }

  bool unpacks() const {  // Pack() can be undone
    dnnl_format_kind_t kind;
    return order_ || (reorder_ && api_.dnnl_memory_desc_query(packed_, dnnl_query_format_kind,
                                                              &kind) == dnnl_success &&
                      kind == dnnl_blocked);
  }
  void Unpack(const float* packed, float* filter) const {
    if (order_) return order_->Unpack(packed, filter);
    Reorder(packed_, plain_->get())
        ->Run({{DNNL_ARG_FROM, packed_, packed}, {DNNL_ARG_TO, plain_->get(), filter}});
  }

  void BackwardInput(const float* dy, const float* packed, float* dx) const {
    primitive_->Run({{DNNL_ARG_DIFF_DST, y_.get(), dy},
                     {DNNL_ARG_WEIGHTS, packed_, packed},
                     {DNNL_ARG_DIFF_SRC, x_.get(), dx}});
  }
  void BackwardFilter(const float* x, const float* dy, float* filter, float* bias) const {
    Scratch packed(CPUPlace(), packed_bytes_);
    primitive_->Run({{DNNL_ARG_SRC, x_.get(), x},
                     {DNNL_ARG_DIFF_DST, y_.get(), dy},
                     {DNNL_ARG_DIFF_WEIGHTS, packed_, packed_bytes_ ? packed.as<float>() : filter},
                     {DNNL_ARG_DIFF_BIAS, bias_.get(), bias}});
    if (order_) {
      order_->Unpack(packed.as<float>(), filter);
    } else if (reorder_) {
      reorder_->Run(
          {{DNNL_ARG_FROM, packed_, packed.as<float>()}, {DNNL_ARG_TO, plain_->get(), filter}});
    }
  }

 private:
  void AppendEnding(dnnl_primitive_attr_t attr, int ending) {
    constexpr const char* kWhat = "the end of a convolution";
    dnnl_post_ops_t steps = nullptr;
    CheckOneDnn(api_.dnnl_post_ops_create(&steps), kWhat);
    std::unique_ptr<dnnl_post_ops, decltype(api_.dnnl_post_ops_destroy)> owner(
        steps, api_.dnnl_post_ops_destroy);
    for (dnnl_alg_kind_t step : {dnnl_binary_sub, dnnl_binary_mul, dnnl_binary_add})
      CheckOneDnn(api_.dnnl_post_ops_append_binary(steps, step, vector_.get()), kWhat);
    if (ending & kAdded)
      CheckOneDnn(api_.dnnl_post_ops_append_binary(steps, dnnl_binary_add, y_.get()), kWhat);
    if (ending & kIntoAdded)
      CheckOneDnn(api_.dnnl_post_ops_append_sum(steps, 1, 0, dnnl_f32), kWhat);
    if (ending & kRelu)
      CheckOneDnn(api_.dnnl_post_ops_append_eltwise(steps, dnnl_eltwise_relu, 0, 0), kWhat);
    CheckOneDnn(api_.dnnl_primitive_attr_set_post_ops(attr, steps), kWhat);
  }
  using AttrOwner =
      std::unique_ptr<dnnl_primitive_attr, decltype(OneDnnApi::dnnl_primitive_attr_destroy)>;
  std::unique_ptr<Primitive> Reorder(const_dnnl_memory_desc_t from,
                                     const_dnnl_memory_desc_t to) const {
    dnnl_primitive_attr_t attr = nullptr;
    CheckOneDnn(api_.dnnl_primitive_attr_create(&attr), "attributes");
    AttrOwner owner(attr, api_.dnnl_primitive_attr_destroy);
    CheckOneDnn(api_.dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user),
                "attributes");
    dnnl_primitive_desc_t reorder = nullptr;
    CheckOneDnn(api_.dnnl_reorder_primitive_desc_create(&reorder, from, api_.engine, to,
                                                        api_.engine, attr),
                "the packing of a filter");
    return std::make_unique<Primitive>(api_, reorder);
  }
  // A volume of one plane, with a filter of one, is an image: the same memory, the same numbers.
  static bool IsVolume(const Geometry& g) { return g.d.Padded() > 1; }
  static dnnl_format_tag_t Order(const Geometry& g) { return IsVolume(g) ? dnnl_ndhwc : dnnl_nhwc; }
  template <class F>
  static std::vector<int64_t> Sizes(const Geometry& g, int64_t n, int64_t c, F size) {
    if (IsVolume(g)) return {n, c, size(g.d), size(g.h), size(g.w)};
    return {n, c, size(g.h), size(g.w)};
  }
  static std::unique_ptr<MemoryDesc> Filter(const OneDnnApi& api, const Geometry& g, bool any) {
    std::vector<int64_t> dims = Sizes(g, g.out_c / g.groups, g.c / g.groups,
                                      [](const window::Axis& a) { return a.kernel; });
    if (g.groups > 1) dims.insert(dims.begin(), g.groups);
    dnnl_format_tag_t tag = g.groups > 1 ? (IsVolume(g) ? dnnl_goidhw : dnnl_goihw)
                                         : (IsVolume(g) ? dnnl_oidhw : dnnl_oihw);
    return std::make_unique<MemoryDesc>(api, dims, any ? dnnl_format_tag_any : tag);
  }
  // oneDNN wants the padding behind to be what the outputs need: less, even below 0, where a stride
  // leaves pixels over.
  static int64_t Behind(const window::Axis& a) {
    return (a.Out() - 1) * a.stride + a.Reach() - a.size - a.before;
  }
  // What the primitive calls packed, where our own copies know it: they were measured to be several
  // times as fast as a reorder.
  std::unique_ptr<kernels::FilterOrder> OrderOf(const OneDnnApi& api, const Geometry& g) const {
    auto query = [&](dnnl_query_t what, auto* result) {
      return api.dnnl_memory_desc_query(packed_, what, result) == dnnl_success;
    };
    dnnl_format_kind_t kind;
    int axes, blocks;
    const dnnl_dims_t *strides, *sizes, *which;
    if (g.groups > 1 || !query(dnnl_query_format_kind, &kind) || kind != dnnl_blocked ||
        !query(dnnl_query_ndims_s32, &axes) || !query(dnnl_query_inner_nblks_s32, &blocks) ||
        !query(dnnl_query_strides, &strides) || !query(dnnl_query_inner_blks, &sizes) ||
        !query(dnnl_query_inner_idxs, &which) || blocks < 1 || blocks > 2) {
      return nullptr;
    }
    auto order = std::make_unique<kernels::FilterOrder>();
    order->out = g.out_c;
    order->in = g.c;
    order->out_stride = (*strides)[0];
    order->in_stride = (*strides)[1];
    for (int i = 0; i < blocks; ++i) {
      int64_t* block = (*which)[i] == 0   ? &order->out_block
                       : (*which)[i] == 1 ? &order->in_block
                                          : nullptr;
      if (!block || *block != 1) return nullptr;
      *block = (*sizes)[i];
    }
    order->out_dense = (*which)[blocks - 1] == 0;
    const int64_t* step = *strides + axes - 3;  // of depth, height, width
    for (int64_t d = 0; d < (axes == 5 ? g.d.kernel : 1); ++d) {
      for (int64_t h = 0; h < g.h.kernel; ++h) {
        for (int64_t w = 0; w < g.w.kernel; ++w) {
          order->taps.push_back((axes == 5 ? d * step[0] : 0) + h * step[1] + w * step[2]);
        }
      }
    }
    order->size = static_cast<int64_t>(packed_bytes_ / sizeof(float));
    return order;
  }

  const OneDnnApi& api_;
  MemoryDesc x_, y_, bias_, vector_;
  std::unique_ptr<MemoryDesc> plain_;
  std::unique_ptr<Primitive> primitive_, reorder_;
  std::unique_ptr<kernels::FilterOrder> order_;  // in place of reorder_
  const_dnnl_memory_desc_t packed_ = nullptr;
  size_t packed_bytes_ = 0;
};

// Emptied when full: simple, and a net has far fewer shapes.
std::shared_ptr<const Convolution> GetConvolution(Kind kind, const Geometry& g, bool bias,
                                                  int ending = kPlain) {
  static std::mutex mutex;
  static auto& cache = *new std::unordered_map<Key, std::shared_ptr<const Convolution>,
                                               KeyHash>;  // outlives all threads
  Key key = MakeKey(kind, g, bias, ending);
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = cache.find(key);
    if (it != cache.end()) return it->second;
  }
  const OneDnnApi* api = OneDnn();
  ENFORCE(api, PreconditionNotMet, "oneDNN must be available");
  const OneThread alone(*api);
  auto made = std::make_shared<const Convolution>(*api, kind, g, bias, ending);
  std::lock_guard<std::mutex> lock(mutex);
  if (cache.size() >= kMostPrimitives) cache.clear();
  cache.emplace(key, made);
  return made;
}

// Below this many multiplications (as if nothing were left out at the borders) our own kernel was
// measured to be faster.
constexpr int64_t kLeastWork = 1 << 17;

// Sizes are not checked yet.
template <int kAxes>
bool Accepts(const Call& call) {
  const auto& a = *static_cast<const conv::Attrs<kAxes>*>(call.attrs);
  const Dims &x = call.in.at(conv::kInput)->dims(), &filter = call.in.at(conv::kFilter)->dims();
  if (x.rank() != kAxes + 2 || filter.rank() != kAxes + 2 || a.channels_last()) return false;
  int64_t pixels = x[0] * Numel(x, 2, x.rank());
  return pixels * Numel(filter) >= kLeastWork && OneDnn();
}

// A small image is better taken directly, without another order of its channels and its filter:
// measured at one image of LeNet's second convolution, 8 us in place of 10.5; as fast from here on.
// One whose channels stand last already stays so.
constexpr int64_t kDirectWork = 1 << 20;
bool AcceptsForward(const Call& call) {
  if (!Accepts<2>(call)) return false;
  const auto& a = *static_cast<const Attrs*>(call.attrs);
  const Dims &x = call.in.at(conv::kInput)->dims(), &filter = call.in.at(conv::kFilter)->dims();
  int64_t pixels = x[0] * Numel(x, 2, x.rank());
  if (pixels * Numel(filter) >= kDirectWork || filter[1] != x[1]) return true;
  if (call.in.at(conv::kInput)->tensor().layout() != Layout::kPlain) return true;
  kernels::ConvShape s = conv::ShapeOf(conv::Describe(x, filter, a));
  return s.groups > 1 || !kernels::ConvDirectPays(s.patch, s.out_c);
}

// The gradient of few channels, where oneDNN fills its vectors with nothing: a product gives every
// output pixel's share in its whole window, whose rows lie together in memory and are added there.
// Measured 1.9 times as fast at 6 channels.
constexpr int64_t kFewChannels = 8;
bool HasFewChannels(const Geometry& g) {
  return g.c <= kFewChannels && g.groups == 1 && g.d.Padded() == 1 && g.h.dilation == 1 &&
         g.w.dilation == 1;
}

template <class T>
void BackwardFewChannels(const T* dy, const T* filter, const Geometry& g, T* dx) {
  int64_t oh = g.h.Out(), ow = g.w.Out(), pixels = oh * ow, c = g.c, line = g.w.kernel * c,
          window = g.h.kernel * line;
  Scratch turned(CPUPlace(), static_cast<size_t>(g.out_c * window) *
                                 sizeof(T));  // [out_c, kernel_h, kernel_w, c]
  for (int64_t o = 0; o < g.out_c; ++o) {
    for (int64_t k = 0; k < c; ++k) {
      for (int64_t t = 0; t < g.h.kernel * g.w.kernel; ++t) {
        turned.as<T>()[o * window + t * c + k] = *filter++;
      }
    }
  }
  const T* taps = turned.as<T>();
  int64_t size = g.h.size * g.w.size * c;
  kernels::ParallelRows(g.n, pixels * window * g.out_c, [&](int64_t begin, int64_t end) {
    Scratch scratch(CPUPlace(), static_cast<size_t>(pixels * window) * sizeof(T));
    T* shares = scratch.as<T>();
    for (int64_t i = begin; i < end; ++i) {
      kernels::Gemm<T>(false, false, pixels, window, g.out_c, T(1), dy + i * pixels * g.out_c,
                       g.out_c, taps, window, T(0), shares, window);
      T* image = dx + i * size;
      std::fill_n(image, size, T(0));
      window::Axis h = g.h, w = g.w;
      kernels::Simd([=] {
        for (int64_t p = 0; p < pixels; ++p) {
          int64_t top = p / ow * h.stride - h.before, left = p % ow * w.stride - w.before;
          int64_t first = std::max<int64_t>(-left, 0) * c,
                  last = std::min(w.kernel, w.size - left) * c;
          for (int64_t u = std::max<int64_t>(-top, 0); u < std::min(h.kernel, h.size - top); ++u) {
            T* to = image + ((top + u) * w.size + left) * c;
            const T* from = shares + p * window + u * line;
            DYGRAPH_IVDEP
            for (int64_t k = first; k < last; ++k) to[k] += from[k];
          }
        }
      });
    }
  });
}

// The same without a product in memory, where rows of outputs lie next to each other and the filter
// stays in the first cache.
bool HasShortLines(const Geometry& g) {
  constexpr int64_t kLongest = 64, kMostTaps = 8192;
  int64_t line = g.w.kernel * g.c;
  return HasFewChannels(g) && g.h.stride == 1 && line <= kLongest &&
         g.out_c * g.h.kernel * line <= kMostTaps;
}

// The filter of some output channels, from `channel` on, and the convolution that reads it.
struct FilterPart {
  std::shared_ptr<const Convolution> owner;
  int64_t channel;
};

// Pieces of a convolution and what computes them.
struct Cut {
  std::vector<conv::Piece> pieces;
  std::vector<std::shared_ptr<const Convolution>> owners;  // one for each piece

  Cut(Kind kind, std::vector<conv::Piece> parts, bool bias, int ending)
      : pieces(std::move(parts)), owners(pieces.size()) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      size_t j = 0;
      while (j < i && !Alike(pieces[i].g, pieces[j].g)) ++j;
      owners[i] = j < i ? owners[j] : GetConvolution(kind, pieces[i].g, bias, ending);
    }
  }
  static bool Alike(const Geometry& a, const Geometry& b) {
    return a.n == b.n && a.out_c == b.out_c && a.h.size == b.h.size && a.h.before == b.h.before &&
           a.h.after == b.h.after;
  }
  // The filter in parts: one for each range of output channels, with the first piece that reads it.
  std::vector<FilterPart> FilterParts() const {
    std::vector<FilterPart> parts;
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (parts.empty() || pieces[i].channel > parts.back().channel)
        parts.push_back({owners[i], pieces[i].channel});
    }
    return parts;
  }
  // f(piece, its convolution, its number) for all, on the pool.
  template <class F>
  void ForEach(const F& f) const {
    ParallelBlocks(static_cast<int64_t>(pieces.size()),
                   [&](int64_t i) { f(pieces[i], *owners[i], i); });
  }
};

// A filter, [out_c, ...], as each piece wants it: as a rule all of the same channels want the same.
class PackedForPieces {
 public:
  // kept(channel): as the first piece with these channels wants it, or nullptr; plain() gives all
  // of it as it was.
  template <class Kept, class F>
  PackedForPieces(const Cut& cut, int64_t taps, const Kept& kept, const F& plain) {
    for (size_t i = 0; i < cut.owners.size(); ++i) {
      const Convolution& owner = *cut.owners[i];
      const int64_t channel = cut.pieces[i].channel;
      bool first = true;  // with these channels
      const float* data = nullptr;
      for (size_t j = 0; j < i && !data; ++j) {
        if (cut.pieces[j].channel != channel) continue;
        first = false;
        if (cut.owners[j] == cut.owners[i] || cut.owners[j]->PacksAlike(owner)) data = data_[j];
      }
      if (first) data = kept(channel);
      if (!data) {
        rooms_.push_back(std::make_unique<Scratch>(CPUPlace(), owner.packed_bytes()));
        data = owner.Pack(plain() + channel * taps, rooms_.back()->as<float>());
      }
      data_.push_back(data);
    }
  }
  const float* of(int64_t piece) const { return data_[piece]; }

 private:
  std::vector<std::unique_ptr<Scratch>> rooms_;
  std::vector<const float*> data_;
};

// For all pixels the numbers of some channels, `step` apart.
void CopyChannels(const float* from, int64_t from_step, float* to, int64_t to_step,
                  int64_t channels, int64_t pixels) {
  for (int64_t p = 0; p < pixels; ++p)
    std::copy_n(from + p * from_step, channels, to + p * to_step);
}

template <class T>
void ToInput(const T* dy, const T* filter, const Geometry& g, T* dx) {
  if (HasShortLines(g)) {
    kernels::FewChannels s = {g.n,        g.c,        g.h.size,   g.w.size,
                              g.out_c,    g.h.Out(),  g.w.Out(),  g.h.kernel,
                              g.w.kernel, g.w.stride, g.h.before, g.w.before};
    return kernels::FewChannelsBackwardInput(dy, filter, s, dx);
  }
  if (HasFewChannels(g)) return BackwardFewChannels(dy, filter, g, dx);
  const Cut cut(kBackwardInput, conv::CutBackwardInput(g), false, kPlain);
  const PackedForPieces packed(
      cut, 0, [](int64_t) { return nullptr; }, [=] { return filter; });
  cut.ForEach([&](const conv::Piece& p, const Convolution& convolution, int64_t i) {
    convolution.BackwardInput(dy + p.y, packed.of(i), dx + p.x);
  });
}

// The gradients of filter and bias (or nullptr).
void ToFilter(const float* x, const float* dy, const Geometry& g, float* filter, float* bias) {
  const conv::FilterPieces by = conv::CutBackwardFilter(g);
  const int64_t taps = g.c / g.groups * g.d.kernel * g.h.kernel * g.w.kernel;
  if (by.channels > 0) {
    const int64_t rows = g.n * conv::OutSize(g) / g.out_c;
    ParallelBlocks((g.out_c + by.channels - 1) / by.channels, [&](int64_t i) {
      Geometry some = g;
      const int64_t first = i * by.channels;
      some.out_c = std::min(by.channels, g.out_c - first);
      Scratch room(CPUPlace(), static_cast<size_t>(rows * some.out_c) * sizeof(float));
      float* own = room.as<float>();
      CopyChannels(dy + first, g.out_c, own, some.out_c, some.out_c, rows);
      GetConvolution(kBackwardFilter, some, bias != nullptr)
          ->BackwardFilter(x, own, filter + first * taps, bias ? bias + first : nullptr);
    });
    return;
  }
  const Cut cut(kBackwardFilter, conv::CutImages(g, by.images), bias != nullptr, kPlain);
  const int64_t size = g.out_c * taps, parts = static_cast<int64_t>(cut.pieces.size()) - 1;
  const int64_t step = size + (bias ? g.out_c : 0);
  Scratch room(CPUPlace(), static_cast<size_t>(parts * step) * sizeof(float));
  float* sums = room.as<float>();  // of all pieces but the first
  cut.ForEach([&](const conv::Piece& p, const Convolution& convolution, int64_t i) {
    float* to = i == 0 ? filter : sums + (i - 1) * step;
    float* to_bias = !bias ? nullptr : i == 0 ? bias : to + size;
    convolution.BackwardFilter(x + p.x, dy + p.y, to, to_bias);
  });
  auto add = [=](float* to, int64_t n, const float* from) {
    ParallelFor(n, kernels::Grain(parts), [=](int64_t begin, int64_t end) {
      for (int64_t part = 0; part < parts; ++part) {
        const float* one = from + part * step;
        for (int64_t k = begin; k < end; ++k) to[k] += one[k];
      }
    });
  };
  if (parts == 0) return;
  add(filter, size, sums);
  if (bias) add(bias, g.out_c, sums + size);
}

// A filter in the order of convolutions, one part behind the other.
struct PackedFilter : KeptForm::Form {
  PackedFilter(std::vector<FilterPart> parts, const Tensor& filter)
      : Form(Bytes(parts), Library::kOneDNN),
        parts_(std::move(parts)),
        dims_(filter.dims()),
        room_(Storage::Make(CPUPlace(), Bytes(parts_))) {
    char* to = static_cast<char*>(room_->data());
    for (const FilterPart& part : parts_) {
      part.owner->Pack(filter.data<float>() + part.channel * Taps(), reinterpret_cast<float*>(to));
      to += part.owner->packed_bytes();
    }
  }
  // A copy in another place.
  PackedFilter(const PackedFilter& other, Ref<Storage> room)
      : Form(Bytes(other.parts_), Library::kOneDNN),
        parts_(other.parts_),
        dims_(other.dims_),
        room_(std::move(room)) {
    std::memcpy(room_->data(), other.room_->data(), Bytes(parts_));
  }
  // 0: some convolution reads the filter as it is.
  static size_t Bytes(const std::vector<FilterPart>& parts) {
    size_t sum = 0;
    for (const FilterPart& part : parts) {
      if (part.owner->packed_bytes() == 0) return 0;
      sum += part.owner->packed_bytes();
    }
    return sum;
  }
  bool Fits(const std::vector<FilterPart>& parts) const {
    return std::equal(parts.begin(), parts.end(), parts_.begin(), parts_.end(),
                      [](const FilterPart& a, const FilterPart& b) {
                        return a.channel == b.channel &&
                               (a.owner == b.owner || a.owner->PacksAlike(*b.owner));
                      });
  }
  const float* data(int64_t channel) const {
    const char* at = static_cast<const char*>(room_->data());
    for (size_t i = 0; parts_[i].channel < channel; ++i) at += parts_[i].owner->packed_bytes();
    return reinterpret_cast<const float*>(at);
  }
  bool restores() const override {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const FilterPart& part) { return part.owner->unpacks(); });
  }
  Tensor Restore() const override {
    Tensor plain(dims_, DType::kFloat32);
    float* to = plain.mutable_data<float>();
    for (const FilterPart& part : parts_)
      part.owner->Unpack(data(part.channel), to + part.channel * Taps());
    return plain;
  }
  std::shared_ptr<const Form> MovedInto(Tensor* filter) const override {
    const Ref<Storage>& room = filter->storage();
    if (room->place() != CPUPlace() || room->bytes() != Bytes(parts_)) return nullptr;
    room->set_plain_twin(Ref<Storage>());
    return std::make_shared<const PackedFilter>(*this, room);
  }
  // The filter in another order, for one image and several by turns; nullptr where it was not kept.
  std::shared_ptr<const PackedFilter> KeptBeside(const std::vector<FilterPart>& parts) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return beside_ && beside_->Fits(parts) ? beside_ : nullptr;
  }
  void KeepBeside(std::shared_ptr<const PackedFilter> other) const {
    std::lock_guard<std::mutex> lock(mutex_);
    beside_ = std::move(other);
  }

 private:
  int64_t Taps() const { return Numel(dims_, 1, dims_.rank()); }

  std::vector<FilterPart> parts_;
  Dims dims_;
  Ref<Storage> room_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const PackedFilter> beside_;
};

// The outputs; with `end`, its steps too, and `odd` is set where these met NaN.
void Forward(const Geometry& g, const float* x, const Tensor& filter, const float* bias, float* y,
             KeptForm* form, const Epilogue* end = nullptr, std::atomic<bool>* odd = nullptr) {
  const int ending = end ? EndingOf(*end) : kPlain;
  const Cut cut(kForward, conv::CutForward(g), bias != nullptr, ending);
  std::shared_ptr<const PackedFilter> kept, fitting;
  if (form) {
    const std::vector<FilterPart> parts = cut.FilterParts();
    kept = std::dynamic_pointer_cast<const PackedFilter>(form->Find(filter));
    if (kept) fitting = kept->Fits(parts) ? kept : kept->KeptBeside(parts);
    const size_t bytes = PackedFilter::Bytes(parts);
    if (!fitting && bytes > 0 && (kept || KeptForm::MayKeep(filter)) && KeptForm::HasRoom(bytes)) {
      fitting = std::make_shared<const PackedFilter>(
          parts, filter.has_data() ? filter : kept->Restore());
      if (kept) {
        kept->KeepBeside(fitting);
      } else {
        form->Keep(filter, fitting);
      }
    }
  }
  Tensor restored;  // where the filter is only there in an order
  const PackedForPieces packed(
      cut, Numel(filter.dims(), 1, filter.dims().rank()),
      [&](int64_t channel) { return fitting ? fitting->data(channel) : nullptr; },
      [&] {
        if (!kept || filter.has_data()) return filter.data<float>();
        if (!restored.has_data()) restored = kept->Restore();
        return static_cast<const float*>(restored.data<float>());
      });
  const float* vectors = end ? end->vectors.data() : nullptr;
  const float* added = ending & kAdded ? end->added->data<float>() : nullptr;
  cut.ForEach([&](const conv::Piece& p, const Convolution& convolution, int64_t i) {
    Convolution::Steps steps;
    const int64_t first = p.channel, channels = p.g.out_c;
    if (end) {
      steps = {vectors + first, vectors + g.out_c + first, vectors + 2 * g.out_c + first, nullptr};
    }
    if (added) steps.added = added + p.y;
    float* to = y + p.y;
    // Some channels are computed apart: oneDNN is slow where outputs do not lie next to each other.
    const bool apart = channels < g.out_c;
    const int64_t pixels = OutSize(p.g) / channels, size = pixels * channels;
    Scratch room(CPUPlace(), apart ? static_cast<size_t>(added ? 2 * size : size) * sizeof(float)
                                   : 0);
    if (apart) {
      to = room.as<float>();
      if (added) {
        CopyChannels(steps.added, g.out_c, to + size, channels, channels, pixels);
        steps.added = to + size;
      }
      if (ending & kIntoAdded) CopyChannels(y + p.y, g.out_c, to, channels, channels, pixels);
    }
    if (odd) TakeInvalid();  // what was there before
    convolution.Forward(x + p.x, packed.of(i), bias ? bias + first : nullptr, steps, to);
    if (odd && TakeInvalid()) odd->store(true, std::memory_order_relaxed);
    if (apart) CopyChannels(to, channels, y + p.y, g.out_c, channels, pixels);
  });
}

// Whether the primitive can do its steps to y. oneDNN's relu makes 0 of NaN, which the processor
// has to notice.
bool Suits(const Epilogue& end, const Tensor& y, int64_t channels) {
  if (end.channels() != channels || (end.relu && !kSeesInvalid)) return false;
  return !end.added || (end.added->dims() == y.dims() && end.added->layout() == y.layout() &&
                        end.added->has_data());
}

// False where the steps met NaN: y is to be computed without them. With `into_added`, y is that.
bool ForwardToEnd(const Geometry& g, const float* x, const Tensor& filter, const float* bias,
                  float* y, KeptForm* form, const Epilogue& end) {
  std::atomic<bool> odd{false};
  Forward(g, x, filter, bias, y, form, &end, end.relu ? &odd : nullptr);
  return !odd;
}

constexpr int kBias = 2, kResidual = 3, kOutputGrad = 3;  // of the operators on images

template <class T>
struct Conv2dOneDnnKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(conv::kInput), &filter = ctx.In(conv::kFilter);
    const Tensor* bias = ctx.InOrNull(kBias);
    Geometry g = conv::Describe(x.dims(), filter.dims(), ctx.attrs<Attrs>());
    Tensor& out = ctx.Out(conv::kOutput);
    T* y = out.template mutable_data<T>();
    const T* b = bias ? bias->data<T>() : nullptr;
    const Tensor* r = ctx.InOrNull(kResidual);
    Epilogue* end = ctx.call().epilogue;
    if (end && !r && Suits(*end, out, g.out_c)) {
      if (end->into_added) {
        out.ShareData(*end->added);
        y = static_cast<T*>(out.storage()->data());  // not a copy, which a second holder causes
        out.storage()->set_plain_twin(Ref<Storage>());
      }
      bool done = ForwardToEnd(g, x.data<T>(), filter, b, y, ctx.call().kept, *end);
      end->state = done ? Epilogue::State::kDone : Epilogue::State::kUnusual;
      if (done || end->into_added) return;
    }
    Forward(g, x.data<T>(), filter, b, y, ctx.call().kept);
    if (r) {
      kernels::Zip(static_cast<const T*>(y), r->data<T>(), y, r->numel(),
                   [](T a, T b) { return a + b; });
    }
  }
};

// Sums over all but the last axis.
template <class T>
void BackwardBias(const Tensor& dy, int64_t channels, T* to) {
  const T* from = dy.data<T>();
  std::vector<double> sums(channels);
  for (int64_t i = 0, n = dy.numel(); i < n; ++i) sums[i % channels] += from[i];
  for (int64_t c = 0; c < channels; ++c) to[c] = static_cast<T>(sums[c]);
}

template <class T>
struct Conv2dGradOneDnnKernel {
  static void Compute(KernelContext& ctx) {
    using namespace conv::grad;  // NOLINT: its slots
    const Tensor &x = ctx.In(kInput), &filter = ctx.In(kFilter), &top = ctx.In(kOutputGrad);
    Geometry g = conv::Describe(x.dims(), filter.dims(), ctx.attrs<Attrs>());
    const T* dy = top.data<T>();
    if (Tensor* out = ctx.OutOrNull(kInputGrad)) {
      ToInput(dy, filter.data<T>(), g, out->mutable_data<T>());
    }
    Tensor *to_filter = ctx.OutOrNull(kFilterGrad), *to_bias = ctx.OutOrNull(kBiasGrad);
    if (to_filter) {
      ToFilter(x.data<T>(), dy, g, to_filter->mutable_data<T>(),
               to_bias ? to_bias->mutable_data<T>() : nullptr);
    } else if (to_bias) {
      BackwardBias(top, g.out_c, to_bias->mutable_data<T>());
    }
  }
};

template <class T>
struct Conv2dTransposeOneDnnKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(conv::kInput), &filter = ctx.In(conv::kFilter);
    Geometry g = conv::DescribeTransposed(x.dims(), filter.dims(), ctx.attrs<Attrs>());
    Tensor& out = ctx.Out(conv::kOutput);
    T* y = out.template mutable_data<T>();
    ToInput(x.data<T>(), filter.data<T>(), g, y);
    if (const Tensor* bias = ctx.InOrNull(kBias)) {
      const T* b = bias->data<T>();
      for (int64_t i = 0, n = out.numel(); i < n; ++i) y[i] += b[i % g.c];
    }
  }
};

template <class T>
struct Conv2dTransposeGradOneDnnKernel {
  static void Compute(KernelContext& ctx) {
    using namespace conv::grad;  // NOLINT: its slots
    const Tensor &x = ctx.In(kInput), &filter = ctx.In(kFilter), &top = ctx.In(kOutputGrad);
    Geometry g = conv::DescribeTransposed(x.dims(), filter.dims(), ctx.attrs<Attrs>());
    if (Tensor* out = ctx.OutOrNull(kInputGrad)) {
      Forward(g, top.data<T>(), filter, nullptr, out->mutable_data<T>(), ctx.call().kept);
    }
    if (Tensor* out = ctx.OutOrNull(kFilterGrad)) {
      ToFilter(top.data<T>(), x.data<T>(), g, out->mutable_data<T>(), nullptr);
    }
    if (Tensor* out = ctx.OutOrNull(kBiasGrad)) {
      BackwardBias(top, g.c, out->mutable_data<T>());
    }
  }
};

// On volumes there is no Bias.
template <class T>
struct Conv3dOneDnnKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(conv::kInput), &filter = ctx.In(conv::kFilter);
    Geometry g = conv::Describe(x.dims(), filter.dims(), ctx.attrs<conv::Attrs<3>>());
    T* y = ctx.Out(conv::kOutput).template mutable_data<T>();
    Forward(g, x.data<T>(), filter, nullptr, y, ctx.call().kept);
    if (const Tensor* r = ctx.InOrNull(2)) {
      kernels::Zip(static_cast<const T*>(y), r->data<T>(), y, r->numel(),
                   [](T a, T b) { return a + b; });
    }
  }
};

template <class T>
struct Conv3dGradOneDnnKernel {
  static void Compute(KernelContext& ctx) {
    using namespace conv::grad;  // NOLINT: its slots
    const Tensor &x = ctx.In(kInput), &filter = ctx.In(kFilter), &top = ctx.In(2);
    Geometry g = conv::Describe(x.dims(), filter.dims(), ctx.attrs<conv::Attrs<3>>());
    if (Tensor* out = ctx.OutOrNull(kInputGrad)) {
      ToInput(top.data<T>(), filter.data<T>(), g, out->mutable_data<T>());
    }
    if (Tensor* out = ctx.OutOrNull(kFilterGrad)) {
      ToFilter(x.data<T>(), top.data<T>(), g, out->mutable_data<T>(), nullptr);
    }
  }
};

REGISTER_KERNEL(conv3d, kCPU, kNHWC, kOneDNN, Accepts<3>, Conv3dOneDnnKernel, float);
REGISTER_KERNEL(conv3d_grad, kCPU, kNHWC, kOneDNN, Accepts<3>, Conv3dGradOneDnnKernel, float);
REGISTER_KERNEL(conv2d, kCPU, kNHWC, kOneDNN, AcceptsForward, Conv2dOneDnnKernel, float);
REGISTER_KERNEL(conv2d_grad, kCPU, kNHWC, kOneDNN, Accepts<2>, Conv2dGradOneDnnKernel, float);
REGISTER_KERNEL(depthwise_conv2d, kCPU, kNHWC, kOneDNN, Accepts<2>, Conv2dOneDnnKernel, float);
REGISTER_KERNEL(depthwise_conv2d_grad, kCPU, kNHWC, kOneDNN, Accepts<2>, Conv2dGradOneDnnKernel,
                float);
REGISTER_KERNEL(conv2d_transpose, kCPU, kNHWC, kOneDNN, Accepts<2>, Conv2dTransposeOneDnnKernel,
                float);
REGISTER_KERNEL(conv2d_transpose_grad, kCPU, kNHWC, kOneDNN, Accepts<2>,
                Conv2dTransposeGradOneDnnKernel, float);
REGISTER_KERNEL(depthwise_conv2d_transpose, kCPU, kNHWC, kOneDNN, Accepts<2>,
                Conv2dTransposeOneDnnKernel, float);
REGISTER_KERNEL(depthwise_conv2d_transpose_grad, kCPU, kNHWC, kOneDNN, Accepts<2>,
                Conv2dTransposeGradOneDnnKernel, float);

}  // namespace
}  // namespace dygraph
