#include "op/gradient_call.h"
#include "operators/detection/yolo.h"
#include "operators/detection/yolo_loss_loops.h"
#include "operators/higher_gradient.h"

namespace dygraph::yolo {
namespace {

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
struct Yolov3LossKernel {
  static void Compute(KernelContext& ctx) {
    const Dims &x = ctx.In(kX).dims(), &box = ctx.In(kGTBox).dims();
    const auto masks = static_cast<int64_t>(ctx.attrs<Yolov3LossAttrs>().anchor_mask.size());
    Tensor *object = ctx.OutOrNull(kObjectness), *match = ctx.OutOrNull(kMatch), own[2];
    if (!object) {
      own[0] = Tensor(Dims{x[0], masks, x[2], x[3]}, DTypeOf<T>::value, ctx.place());
      object = own;
    }
    if (!match) {
      own[1] = Tensor(Dims{x[0], box[1]}, DType::kInt32, ctx.place());
      match = own + 1;
    }
    Losses(ctx, object->mutable_data<T>(), match->mutable_data<int32_t>(),
           ctx.Out(kLoss).mutable_data<T>());
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
    Tensor& out = ctx.Out(kXGrad);
    LossGradients(ctx, ctx.In(kObjectness).data<T>(), ctx.In(kMatch).data<int32_t>(),
                  ctx.In(kTop).data<T>(), out.mutable_data<T>(), out.numel());
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
    const Head<T> q = HeadOf<T>(p.ctx);
    const T* objectness = p.ctx.In(grad::kObjectness).data<T>();
    const int32_t* match = p.ctx.In(grad::kMatch).data<int32_t>();
    for (int64_t i = 0; i < q.n; ++i) {
      higher::Scalar sum = kernels::Constant(0);
      ForTerms(
          q, i, objectness, match,
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
REGISTER_KERNELS(yolov3_loss, Yolov3LossKernel, float, double);
REGISTER_OPERATOR(yolov3_loss_grad, grad::DefineYolov3LossGrad);
REGISTER_KERNELS(yolov3_loss_grad, grad::Yolov3LossGradKernel, float, double);
REGISTER_OPERATOR(yolov3_loss_grad_grad, grad_grad::DefineYolov3LossGradGrad);
REGISTER_CPU_KERNEL(yolov3_loss_grad_grad, grad_grad::Yolov3LossGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(yolov3_loss_grad_grad, Yolov3LossThird);

}  // namespace
}  // namespace dygraph::yolo
