#include "op/gradient_call.h"
#include "operators/detection/yolo.h"
#include "operators/higher_gradient.h"

namespace dygraph::yolo {
namespace {

constexpr int kX = 0, kGTBox = 1, kGTLabel = 2, kGTScore = 3;
constexpr int kLoss = 0, kObjectness = 1, kMatch = 2;

struct Yolov3LossAttrs {
  std::vector<int32_t> anchors, anchor_mask;
  int32_t class_num = 1;
  double ignore_thresh = 0.7;
  int32_t downsample_ratio = 32;
  bool use_label_smooth = true;
  double scale_x_y = 1.0;
};

void CheckInputs(const InferContext& ctx) {
  const auto& a = ctx.attrs<Yolov3LossAttrs>();
  const Dims &x = ctx.dims(kX), &box = ctx.dims(kGTBox), &label = ctx.dims(kGTLabel);
  CheckAnchors(a.anchors);
  const auto anchors = static_cast<int64_t>(a.anchors.size()) / 2;
  ENFORCE(!a.anchor_mask.empty(), InvalidArgument, "anchor_mask must name at least one anchor");
  for (int32_t m : a.anchor_mask) {
    ENFORCE(m >= 0 && m < anchors, OutOfRange, "anchor_mask must name anchors in [0, ", anchors,
            "), got ", m);
  }
  CheckX(x, static_cast<int64_t>(a.anchor_mask.size()), 5 + int64_t{a.class_num}, "anchor_mask");
  ENFORCE(x[2] == x[3] || !BothKnown(x[2], x[3]), InvalidArgument,
          "X must have as many rows as columns, got shape ", x);
  auto fits = [&](const Dims& d, int rank) {
    return d.rank() == rank && (d[0] == x[0] || !BothKnown(d[0], x[0])) &&
           (d[1] == box[1] || !BothKnown(d[1], box[1]));
  };
  ENFORCE(box.rank() == 3 && fits(box, 3) && (box[2] == 4 || box[2] < 0), InvalidArgument,
          "GTBox must be [N, boxes, 4] for X ", x, ", got shape ", box);
  ENFORCE(fits(label, 2), InvalidArgument, "GTLabel must be [N, boxes] for GTBox ", box,
          ", got shape ", label);
  ENFORCE(ctx.dtype(kGTLabel) == DType::kInt32 || ctx.dtype(kGTLabel) == DType::kInt64, Type,
          "GTLabel must be of int32 or int64, got ", ctx.dtype(kGTLabel),
          ". Convert with astype('int32')");
  ENFORCE(ctx.dtype(kGTBox) == ctx.dtype(kX), Type, "GTBox must be of the type of X, ",
          ctx.dtype(kX), ", got ", ctx.dtype(kGTBox), ". Convert with astype()");
  if (!ctx.HasInput(kGTScore)) return;
  ENFORCE(fits(ctx.dims(kGTScore), 2), InvalidArgument, "GTScore must be [N, boxes] for GTBox ",
          box, ", got shape ", ctx.dims(kGTScore));
  ENFORCE(ctx.dtype(kGTScore) == ctx.dtype(kX), Type, "GTScore must be of the type of X, ",
          ctx.dtype(kX), ", got ", ctx.dtype(kGTScore), ". Convert with astype()");
}

void DefineYolov3Loss(OpDef& op) {
  op.Comment(
        "The loss of a YOLO head (Redmon and Farhadi, YOLOv3, 2018), for each image. A true box "
        "belongs to the cell of its middle and to the anchor of the most similar size, if "
        "anchor_mask has it. There the cross entropy of the middle and the absolute difference of "
        "the logarithm of the size count, both times 2 - width * height, and the cross entropies "
        "of the classes; everywhere that of the objectness, but where the predicted box overlaps "
        "a true one by more than ignore_thresh. Terms of a true box are multiplied by its GTScore.")
      .Example(
          ">>> x = to_variable(np.zeros((1, 6, 1, 1)))\n"
          ">>> box = to_variable(np.array([[[0.5, 0.5, 0.5, 0.25]]]))\n"
          ">>> label = to_variable(np.zeros((1, 1), \"int32\"))\n"
          ">>> loss = F.yolov3_loss(x, box, label, anchors=[16, 8], anchor_mask=[0],\n"
          "...                      use_label_smooth=False)\n"
          ">>> round(float(loss.item() / np.log(2)), 4)  # 2 * 1.875 for the middle, 1 class, 1 "
          "object\n"
          "5.75")
      .Input(kX, "X",
             "[N, M * (5 + class_num), H, H]: tx, ty, tw, th, to and the classes for each of the M "
             "anchors of anchor_mask")
      .Input(kGTBox, "GTBox",
             "[N, boxes, 4]: middle, width and height in parts of the image; boxes without width "
             "or height fill up")
      .Input(kGTLabel, "GTLabel", "[N, boxes] int32 classes")
      .Input(kGTScore, "GTScore", "[N, boxes] weights; absent: ones", kDispensable)
      .Output(kLoss, "Loss", "[N]")
      .Output(kObjectness, "ObjectnessMask",
              "[N, M, H, H]: the weight of a true box, 0 of none, -1 ignored", kIntermediate)
      .Output(kMatch, "GTMatchMask",
              "[N, boxes] int32, the position in anchor_mask of a true box's anchor, -1: none",
              kIntermediate)
      .Attr(&Yolov3LossAttrs::anchors, "anchors", "width and height of each anchor, in pixels",
            EachAtLeast(1))
      .Attr(&Yolov3LossAttrs::anchor_mask, "anchor_mask", "the anchors of this head, by number")
      .Attr(&Yolov3LossAttrs::class_num, "class_num", "number of classes", AtLeast(1))
      .Attr(&Yolov3LossAttrs::ignore_thresh, "ignore_thresh",
            "overlap from which a box without an object is no mistake")
      .Attr(&Yolov3LossAttrs::downsample_ratio, "downsample_ratio",
            "pixels of the network's input for a cell", AtLeast(1))
      .Attr(&Yolov3LossAttrs::use_label_smooth, "use_label_smooth",
            "targets of classes are d and 1 - d with d = min(1 / class_num, 1 / 40)")
      .Attr(&Yolov3LossAttrs::scale_x_y, "scale_x_y",
            "s: a middle is s sigmoid(t) - (s - 1) / 2 into its cell")
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        const Dims &x = ctx.dims(kX), &box = ctx.dims(kGTBox);
        const auto m = static_cast<int64_t>(ctx.attrs<Yolov3LossAttrs>().anchor_mask.size());
        ctx.SetOutput(kLoss, {x[0]});
        ctx.SetOutput(kObjectness, {x[0], m, x[2], x[3]});
        ctx.SetOutput(kMatch, {x[0], box[1]}, DType::kInt32);
      })
      .ShareLoD(kX)
      .Grad(CallGradient);
}

template <class T>
struct MiddleBox {
  T x, y, w, h;
};

template <class T>
T OverlapOf(const MiddleBox<T>& a, const MiddleBox<T>& b) {
  auto along = [](T c1, T s1, T c2, T s2) {
    return std::min(c1 + s1 / 2, c2 + s2 / 2) - std::max(c1 - s1 / 2, c2 - s2 / 2);
  };
  const T w = along(a.x, a.w, b.x, b.w), h = along(a.y, a.h, b.y, b.h);
  const T both = w < T(0) || h < T(0) ? T(0) : w * h;
  return both / (a.w * a.h + b.w * b.h - both);
}

// The inputs of a call, checked.
template <class T>
struct Head {
  const Yolov3LossAttrs& a;
  int64_t n, size, cells, boxes, anchors, masks, entries;
  const T *x, *box, *score;
  std::vector<int64_t> labels;
  T label_on = 1, label_off = 0;

  explicit Head(const KernelContext& ctx)
      : a(ctx.attrs<Yolov3LossAttrs>()),
        n(ctx.In(kX).dim(0)),
        size(ctx.In(kX).dim(2)),
        cells(size * size),
        boxes(ctx.In(kGTBox).dim(1)),
        anchors(static_cast<int64_t>(a.anchors.size()) / 2),
        masks(static_cast<int64_t>(a.anchor_mask.size())),
        entries(5 + a.class_num),
        x(ctx.In(kX).data<T>()),
        box(ctx.In(kGTBox).data<T>()),
        score(ctx.HasInput(kGTScore) ? ctx.In(kGTScore).data<T>() : nullptr),
        labels(Integers(ctx.In(kGTLabel), "GTLabel")) {
    if (a.use_label_smooth) {
      label_off = std::min(T(1) / static_cast<T>(a.class_num), T(1) / T(40));
      label_on = T(1) - label_off;
    }
    for (int64_t t = 0; t < n * boxes; ++t) {
      const T* b = box + t * 4;
      for (int i = 0; i < 4; ++i) {
        ENFORCE(std::isfinite(b[i]), InvalidArgument, "GTBox must hold finite numbers, got ", b[i],
                " in box ", t % boxes, " of image ", t / boxes);
      }
      if (!IsBox(t)) continue;
      ENFORCE(b[0] >= T(0) && b[0] < T(1) && b[1] >= T(0) && b[1] < T(1), OutOfRange,
              "GTBox must have its middles in [0, 1), parts of the image, got ", b[0], ", ", b[1],
              " in box ", t % boxes, " of image ", t / boxes);
      ENFORCE(labels[t] >= 0 && labels[t] < a.class_num, OutOfRange,
              "GTLabel must be classes in [0, ", a.class_num, "), got ", labels[t]);
    }
  }
  T input_size() const { return static_cast<T>(a.downsample_ratio) * static_cast<T>(size); }
  bool IsBox(int64_t t) const { return !(box[t * 4 + 2] < T(1e-6) || box[t * 4 + 3] < T(1e-6)); }
  MiddleBox<T> Truth(int64_t t) const {
    return {box[t * 4], box[t * 4 + 1], box[t * 4 + 2], box[t * 4 + 3]};
  }
  T Weight(int64_t t) const { return score ? score[t] : T(1); }
  int64_t CellOf(int64_t t) const {
    const auto side = static_cast<T>(size);
    const auto row = static_cast<int64_t>(box[t * 4 + 1] * side);
    const auto column = static_cast<int64_t>(box[t * 4] * side);
    return std::min(row, size - 1) * size + std::min(column, size - 1);
  }
  // Entry e of mask m in cell k of image i.
  int64_t At(int64_t i, int64_t m, int64_t e, int64_t k) const {
    return ((i * masks + m) * entries + e) * cells + k;
  }
  MiddleBox<T> Predicted(int64_t i, int64_t m, int64_t k) const {
    const T scale = static_cast<T>(a.scale_x_y), shift = (scale - T(1)) / T(2);
    const T side = static_cast<T>(size), *at = x + At(i, m, 0, k);
    const int32_t* anchor = a.anchors.data() + a.anchor_mask[m] * 2;
    return {(static_cast<T>(k % size) + kernels::Sigmoid(at[0]) * scale - shift) / side,
            (static_cast<T>(k / size) + kernels::Sigmoid(at[cells]) * scale - shift) / side,
            std::exp(at[2 * cells]) * static_cast<T>(anchor[0]) / input_size(),
            std::exp(at[3 * cells]) * static_cast<T>(anchor[1]) / input_size()};
  }
  int64_t NearestAnchor(int64_t t) const {
    const MiddleBox<T> truth = {0, 0, box[t * 4 + 2], box[t * 4 + 3]};
    T best = 0;
    int64_t nearest = 0;
    for (int64_t k = 0; k < anchors; ++k) {
      const MiddleBox<T> anchor = {0, 0, static_cast<T>(a.anchors[k * 2]) / input_size(),
                                   static_cast<T>(a.anchors[k * 2 + 1]) / input_size()};
      const T overlap = OverlapOf(anchor, truth);
      if (overlap > best) best = overlap, nearest = k;
    }
    return nearest;
  }
  int32_t MaskOf(int64_t anchor) const {
    auto at = std::find(a.anchor_mask.begin(), a.anchor_mask.end(), anchor);
    return at == a.anchor_mask.end() ? -1 : static_cast<int32_t>(at - a.anchor_mask.begin());
  }

  // The terms of the loss of image i: entropy(position in X, target, weight) of cross entropies
  // and distance(position, target, weight) of absolute differences.
  template <class Entropy, class Distance>
  void ForTerms(int64_t i, const T* objectness, const int32_t* match, const Entropy& entropy,
                const Distance& distance) const {
    for (int64_t t = i * boxes; t < (i + 1) * boxes; ++t) {
      const int64_t m = match[t];
      if (m < 0 || !IsBox(t)) continue;
      ENFORCE(m < masks, OutOfRange, "GTMatchMask must be below ", masks, ", got ", m);
      const int64_t k = CellOf(t), at = At(i, m, 0, k);
      const MiddleBox<T> b = Truth(t);
      const T side = static_cast<T>(size), weight = (T(2) - b.w * b.h) * Weight(t);
      const int32_t* anchor = a.anchors.data() + a.anchor_mask[m] * 2;
      entropy(at, b.x * side - static_cast<T>(k % size), weight);
      entropy(at + cells, b.y * side - static_cast<T>(k / size), weight);
      distance(at + 2 * cells, std::log(b.w * input_size() / static_cast<T>(anchor[0])), weight);
      distance(at + 3 * cells, std::log(b.h * input_size() / static_cast<T>(anchor[1])), weight);
      for (int64_t c = 0; c < a.class_num; ++c)
        entropy(at + (5 + c) * cells, c == labels[t] ? label_on : label_off, Weight(t));
    }
    for (int64_t m = 0; m < masks; ++m) {
      for (int64_t k = 0; k < cells; ++k) {
        const T object = objectness[(i * masks + m) * cells + k];
        if (object > T(1e-5)) {
          entropy(At(i, m, 4, k), T(1), object);
        } else if (object > T(-0.5)) {
          entropy(At(i, m, 4, k), T(0), T(1));
        }
      }
    }
  }
};

template <class T>
struct Yolov3LossKernel {
  static void Compute(KernelContext& ctx) {
    const Head<T> q(ctx);
    std::vector<T> objectness(static_cast<size_t>(q.n * q.masks * q.cells));
    std::vector<int32_t> match(static_cast<size_t>(q.n * q.boxes));
    T* loss = ctx.Out(kLoss).mutable_data<T>();
    const int64_t work = q.masks * q.cells * (40 + q.boxes * 20);
    kernels::ParallelRows(q.n, work, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        T* object = objectness.data() + i * q.masks * q.cells;
        for (int64_t k = 0; k < q.masks * q.cells; ++k) {
          const MiddleBox<T> guess = q.Predicted(i, k / q.cells, k % q.cells);
          T best = 0;
          for (int64_t t = i * q.boxes; t < (i + 1) * q.boxes; ++t) {
            if (q.IsBox(t)) best = std::max(best, OverlapOf(guess, q.Truth(t)));
          }
          object[k] = best > static_cast<T>(q.a.ignore_thresh) ? T(-1) : T(0);
        }
        for (int64_t t = i * q.boxes; t < (i + 1) * q.boxes; ++t) {
          match[t] = q.IsBox(t) ? q.MaskOf(q.NearestAnchor(t)) : -1;
          if (match[t] >= 0) object[match[t] * q.cells + q.CellOf(t)] = q.Weight(t);
        }
        T sum = 0;
        q.ForTerms(
            i, objectness.data(), match.data(),
            [&](int64_t at, T target, T weight) {
              const T v = q.x[at];
              sum += weight *
                     ((v > T(0) ? v : T(0)) - v * target + std::log(T(1) + std::exp(-std::abs(v))));
            },
            [&](int64_t at, T target, T weight) { sum += weight * std::abs(target - q.x[at]); });
        loss[i] = sum;
      }
    });
    if (Tensor* out = ctx.OutOrNull(kObjectness))
      std::copy(objectness.begin(), objectness.end(), out->mutable_data<T>());
    if (Tensor* out = ctx.OutOrNull(kMatch))
      std::copy(match.begin(), match.end(), out->mutable_data<int32_t>());
  }
};

OpDef& AddInputs(OpDef& op) {
  return op.Input(kX, "X", "as of the forward call")
      .Input(kGTBox, "GTBox", "as of the forward call")
      .Input(kGTLabel, "GTLabel", "as of the forward call")
      .Input(kGTScore, "GTScore", "as of the forward call", kDispensable)
      .Input(4, "ObjectnessMask", "as of the forward call")
      .Input(5, "GTMatchMask", "as of the forward call")
      .Input(6, "Loss@GRAD", "shape of Loss");
}

namespace grad {
constexpr int kObjectness = 4, kMatch = 5, kTop = 6, kXGrad = 0;

void DefineYolov3LossGrad(OpDef& op) {
  op.Comment(
      "X@GRAD = Loss@GRAD times weight * (sigmoid(X) - target) for cross entropies and weight * "
      "sign(X - target) for absolute differences. What belongs to which box is taken from the "
      "forward call.");
  AddInputs(op)
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("yolov3_loss")
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kXGrad, ctx.dims(kX));
      })
      .Grad(CallGradient);
}

template <class T>
struct Yolov3LossGradKernel {
  static void Compute(KernelContext& ctx) {
    const Head<T> q(ctx);
    Tensor& out = ctx.Out(kXGrad);
    T* dx = out.mutable_data<T>();
    std::fill_n(dx, out.numel(), T(0));
    const T *objectness = ctx.In(kObjectness).data<T>(), *top = ctx.In(kTop).data<T>();
    const int32_t* match = ctx.In(kMatch).data<int32_t>();
    kernels::ParallelRows(q.n, q.masks * q.cells * 20, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        q.ForTerms(
            i, objectness, match,
            [&](int64_t at, T target, T weight) {
              dx[at] += top[i] * weight * (kernels::Sigmoid(q.x[at]) - target);
            },
            [&](int64_t at, T target, T weight) {
              const T d = q.x[at] - target;
              dx[at] += top[i] * weight * static_cast<T>((d > T(0)) - (d < T(0)));
            });
      }
    });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kV = 7, kXResult = 0, kTopResult = 1;

void DefineYolov3LossGradGrad(OpDef& op);

struct Yolov3LossThird {
  static constexpr uint32_t kServes = higher::Slots(kX, grad::kTop, kV);
  static void Define(OpDef& op) { DefineYolov3LossGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) { return {{kX, kV, kXResult}}; }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{grad::kTop, kTopResult}};
  }
  static void Run(higher::Problem& p) {
    return p.ctx.In(kX).dtype() == DType::kFloat64 ? RunFor<double>(p) : RunFor<float>(p);
  }
  template <class T>
  static void RunFor(higher::Problem& p) {
    const Head<T> q(p.ctx);
    const T* objectness = p.ctx.In(grad::kObjectness).data<T>();
    const int32_t* match = p.ctx.In(grad::kMatch).data<int32_t>();
    for (int64_t i = 0; i < q.n; ++i) {
      higher::Scalar sum = kernels::Constant(0);
      q.ForTerms(
          i, objectness, match,
          [&](int64_t at, T target, T weight) {
            higher::Scalar x = p.Leaf(0, at);
            sum =
                sum + (Softplus(x) - x * static_cast<double>(target)) * static_cast<double>(weight);
          },
          [&](int64_t at, T target, T weight) {
            higher::Scalar d = p.Leaf(0, at) - static_cast<double>(target);
            const double v = kernels::ValueOf(d);
            sum = sum + d * (static_cast<double>(weight) * ((v > 0) - (v < 0)));
          });
      p.Set(0, i, sum);
      p.Flush();
    }
  }
};

void DefineYolov3LossGradGrad(OpDef& op) {
  op.Comment("What yolov3_loss_grad gives X and Loss@GRAD for V.");
  AddInputs(op)
      .Input(kV, "X@GRAD@GRAD", "V, shape of X")
      .Output(kXResult, "X@GRAD", "shape of X")
      .Output(kTopResult, "Loss@GRAD@GRAD", "shape of Loss")
      .AttrsOf("yolov3_loss")
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kXResult, ctx.dims(kX));
        ctx.SetOutput(kTopResult, ctx.dims(grad::kTop));
      })
      .Grad(higher::Recipe<Yolov3LossThird>);
}

template <class T>
using Yolov3LossGradGradKernel = higher::SecondKernel<Yolov3LossThird, T>;
}  // namespace grad_grad
using grad_grad::Yolov3LossThird;

REGISTER_OPERATOR(yolov3_loss, DefineYolov3Loss);
REGISTER_CPU_KERNEL(yolov3_loss, Yolov3LossKernel, float, double);
REGISTER_OPERATOR(yolov3_loss_grad, grad::DefineYolov3LossGrad);
REGISTER_CPU_KERNEL(yolov3_loss_grad, grad::Yolov3LossGradKernel, float, double);
REGISTER_OPERATOR(yolov3_loss_grad_grad, grad_grad::DefineYolov3LossGradGrad);
REGISTER_CPU_KERNEL(yolov3_loss_grad_grad, grad_grad::Yolov3LossGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(yolov3_loss_grad_grad, Yolov3LossThird);

}  // namespace
}  // namespace dygraph::yolo
