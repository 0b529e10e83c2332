#include "op/lod_rule.h"
#include "operators/loss/pointwise_loss.h"

namespace dygraph::pointwise_loss {
namespace {

struct TeacherAttrs {
  double soft_max_up_bound = 15.0;
  double soft_max_lower_bound = -15.0;
};

struct TeacherLoss {
  static constexpr bool kStraight = false;
  static constexpr auto kCurve = pointwise_loss::Curve::kLogistic;
  static constexpr const char *kType = "teacher_student_sigmoid_loss", *kScore = "X",
                              *kLabel = "Label", *kLoss = "Y";
  using Attrs = TeacherAttrs;
  static void AddAttrs(OpDef& op) {
    op.Attr(&TeacherAttrs::soft_max_up_bound, "soft_max_up_bound", "from here up no gradient")
        .Attr(&TeacherAttrs::soft_max_lower_bound, "soft_max_lower_bound",
              "from here down no gradient");
  }
  template <class T>
  struct Fn {
    T up, low;
    Fn(const KernelContext& ctx, const T*, const T*, int64_t)
        : up(static_cast<T>(ctx.attrs<TeacherAttrs>().soft_max_up_bound)),
          low(static_cast<T>(ctx.attrs<TeacherAttrs>().soft_max_lower_bound)) {}
    DYGRAPH_BOTH T Value(T x, T y) const {
      if (y < T(-1)) return kernels::Softplus(x);
      if (y < T(0)) return kernels::Softplus(-x);
      return T(2) * kernels::Softplus(x) - x * y;
    }
    DYGRAPH_BOTH bool Flat(T x) const { return x >= up || x <= low; }
    DYGRAPH_BOTH T Slope(T x, T y) const {
      if (Flat(x)) return T(0);
      T p = kernels::Sigmoid(x);
      return y < T(-1) ? p : y < T(0) ? p - T(1) : T(2) * p - y;
    }
    DYGRAPH_BOTH T Curve(T x, T y) const {
      if (Flat(x)) return T(0);
      T slope = kernels::Sigmoid(x) * kernels::Sigmoid(-x);
      return y < T(0) ? slope : T(2) * slope;
    }
  };
};

void DefineTeacherLoss(OpDef& op) {
  Loss<TeacherLoss>::Define(
      op,
      "With s(X) = log(1 + exp(X)): Y = s(X) for Label < -1 (not clicked, no teacher), s(X) - X "
      "for Label < 0 (clicked, no teacher), else 2 * s(X) - X * Label (click and the teacher's "
      "score, added). No gradient where X lies outside the bounds; Label gets none.",
      "scores, any shape", "shape of X");
  op.Example(
      ">>> x, label = to_variable([1.0, 1.0, 1.0]), to_variable([-2.0, -1.0, 0.5])\n"
      ">>> [round(v, 4) for v in F.teacher_student_sigmoid_loss(x, label).tolist()]\n"
      "[1.3133, 0.3133, 2.1265]");
}

template <class T>
using TeacherLossKernel = Loss<TeacherLoss>::Kernel<T>;
template <class T>
using TeacherLossGradKernel = Loss<TeacherLoss>::GradKernel<T>;
template <class T>
using TeacherLossGradGradKernel = Loss<TeacherLoss>::GradGradKernel<T>;

REGISTER_OPERATOR(teacher_student_sigmoid_loss, DefineTeacherLoss);
REGISTER_LOD_ALSO(teacher_student_sigmoid_loss, kLabel);
REGISTER_KERNELS(teacher_student_sigmoid_loss, TeacherLossKernel, float, double);
REGISTER_OPERATOR(teacher_student_sigmoid_loss_grad, Loss<TeacherLoss>::DefineGrad);
REGISTER_KERNELS(teacher_student_sigmoid_loss_grad, TeacherLossGradKernel, float, double);
REGISTER_OPERATOR(teacher_student_sigmoid_loss_grad_grad, Loss<TeacherLoss>::DefineGradGrad);
REGISTER_KERNELS(teacher_student_sigmoid_loss_grad_grad, TeacherLossGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::pointwise_loss
