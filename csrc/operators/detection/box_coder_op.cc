#include "op/lod_rule.h"
#include "operators/detection/boxes.h"
#include "operators/detection/box_pairs.h"

namespace dygraph::boxes {
namespace {

constexpr int kPriorBox = 0, kPriorBoxVar = 1, kTargetBox = 2, kOutputBox = 0;

struct BoxCoderAttrs {
  std::string code_type = "encode_center_size";
  bool box_normalized = true;
  int32_t axis = 0;
  std::vector<float> variance;
};

bool Encodes(const BoxCoderAttrs& a) { return a.code_type == "encode_center_size"; }

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<BoxCoderAttrs>();
  const Dims &prior = ctx.dims(kPriorBox), &target = ctx.dims(kTargetBox);
  CheckBoxes(prior, "PriorBox");
  ENFORCE(a.variance.empty() || a.variance.size() == 4, InvalidArgument,
          "variance must hold 4 numbers or none, got ", a.variance.size());
  if (ctx.HasInput(kPriorBoxVar)) {
    const Dims& var = ctx.dims(kPriorBoxVar);
    ENFORCE(a.variance.empty(), InvalidArgument,
            "PriorBoxVar and variance exclude each other, got both");
    CheckBoxes(var, "PriorBoxVar");
    ENFORCE(var[0] == prior[0] || !BothKnown(var[0], prior[0]), InvalidArgument,
            "PriorBoxVar must have the shape of PriorBox ", prior, ", got ", var);
  }
  if (Encodes(a)) {
    CheckBoxes(target, "TargetBox");
    return ctx.SetOutput(kOutputBox, {target[0], prior[0], 4});
  }
  ENFORCE(target.rank() == 3 && IsBoxes(target), InvalidArgument,
          "TargetBox must have shape [n, m, 4] where it is decoded, got ", target);
  const int64_t along = target[a.axis == 0 ? 1 : 0];
  ENFORCE(along == prior[0] || !BothKnown(along, prior[0]), InvalidArgument,
          "PriorBox must hold a box for each of the ", along, " of TargetBox along axis ",
          a.axis == 0 ? 1 : 0, ", got ", prior[0],
          a.axis == 0 ? ". With axis=1 it holds one for each row" : "");
  ctx.SetOutput(kOutputBox, {target[0], target[1], 4});
}

void DefineBoxCoder(OpDef& op) {
  op.Comment(
        "Boxes relative to others. With x, y, w, h the centre and size of a box, p of PriorBox and "
        "v its variances: encode_center_size gives, for each target box t and each p, "
        "((t_x - p_x) / p_w / v_0, (t_y - p_y) / p_h / v_1, log(t_w / p_w) / v_2, "
        "log(t_h / p_h) / v_3); decode_center_size gives the corners of the box that such numbers "
        "stand for.")
      .Example(
          ">>> prior = to_variable([[0.0, 0.0, 2.0, 2.0]])\n"
          ">>> code = F.box_coder(prior, to_variable([[1.0, 0.0, 3.0, 2.0]]))\n"
          ">>> code.tolist()\n"
          "[[[0.5, 0.0, 0.0, 0.0]]]\n"
          ">>> F.box_coder(prior, code, code_type='decode_center_size').tolist()\n"
          "[[[1.0, 0.0, 3.0, 2.0]]]")
      .Input(kPriorBox, "PriorBox", "[m, 4]: the left, upper, right and lower side of each box")
      .Input(kPriorBoxVar, "PriorBoxVar", "[m, 4]: variances of each", kDispensable)
      .Input(kTargetBox, "TargetBox", "[n, 4] to encode; [n, m, 4] to decode")
      .Output(kOutputBox, "OutputBox", "[n, m, 4]")
      .Attr(&BoxCoderAttrs::code_type, "code_type", "encode_center_size or decode_center_size",
            OneOf({"encode_center_size", "decode_center_size"}))
      .Attr(&BoxCoderAttrs::box_normalized, "box_normalized",
            "False: sides are pixels, and a box from 2 to 4 is 3 wide")
      .Attr(&BoxCoderAttrs::axis, "axis",
            "to decode: 0 where PriorBox belongs to the columns of TargetBox, 1: to its rows",
            Between(0, 1))
      .Attr(&BoxCoderAttrs::variance, "variance", "4 variances for all boxes; none: 1")
      .Shape(InferShape)
      .ShareLoD(kTargetBox)
      .NoGrad();
}

template <class T>
struct BoxCoderKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<BoxCoderAttrs>();
    const Tensor* var = ctx.InOrNull(kPriorBoxVar);
    const T *prior = ctx.In(kPriorBox).data<T>(), *target = ctx.In(kTargetBox).data<T>();
    T all[4] = {1, 1, 1, 1};
    for (size_t i = 0; i < a.variance.size(); ++i) all[i] = static_cast<T>(a.variance[i]);
    const T* variances = var ? var->data<T>() : nullptr;
    const T unit = a.box_normalized ? T(0) : T(1);
    Tensor& out = ctx.Out(kOutputBox);
    const int64_t n = out.dim(0), m = out.dim(1);
    const bool encodes = Encodes(a), by_row = a.axis == 1;
    T* to = out.mutable_data<T>();
    ForEachPair(
        n, m,
        [=] DYGRAPH_FN(int64_t i, int64_t j) {
          const int64_t p = encodes || !by_row ? j : i;
          const CenterSize<T> from = CenterSize<T>::Of(Box<T>::At(prior + p * 4), unit);
          const T* v = variances ? variances + p * 4 : all;
          T* o = to + (i * m + j) * 4;
          if (encodes) {
            CenterSize<T> to_code = CenterSize<T>::Of(Box<T>::At(target + i * 4), unit);
            to_code.x -= unit / 2, to_code.y -= unit / 2;  // the middle of its sides, as in Fluid
            const CenterSize<T> d = from.To(to_code);
            o[0] = d.x / v[0], o[1] = d.y / v[1], o[2] = d.w / v[2], o[3] = d.h / v[3];
          } else {
            const T* t = target + (i * m + j) * 4;
            from.Moved({t[0] * v[0], t[1] * v[1], t[2] * v[2], t[3] * v[3]}).Corners(unit).Write(o);
          }
        },
        40);
  }
};

REGISTER_OPERATOR(box_coder, DefineBoxCoder);
REGISTER_KERNELS(box_coder, BoxCoderKernel, float, double);
REGISTER_LOD_RULE(box_coder, RowsOfFirstAxis);

}  // namespace
}  // namespace dygraph::boxes
