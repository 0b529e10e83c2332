#include "op/lod_rule.h"
#include "operators/reduce/chosen.h"

namespace dygraph::chosen {
namespace {

struct ModeAttrs {
  int32_t axis = -1;
  bool keepdim = false;
};

void DefineMode(OpDef& op) {
  AddSlots(op.Comment("Out = the most frequent element of X along an axis, the least of several, "
                      "Indices = where it stood last. NaNs count as one element, the greatest.")
               .Example(">>> x = to_variable([[3, 1, 2, 1, 3]])\n"
                        ">>> [v.tolist() for v in F.mode(x)]\n"
                        "[[1], [3]]"))
      .Attr(&ModeAttrs::axis, "axis", "the axis; negative ones count from the end")
      .Attr(&ModeAttrs::keepdim, "keepdim", "keep the axis, with one element")
      .Shape([](InferContext& ctx) {
        const ModeAttrs& a = ctx.attrs<ModeAttrs>();
        InferShape(ctx, a.axis, a.keepdim);
      })
      .Grad([](GradBuilder& g) {
        const ModeAttrs& a = g.attrs<ModeAttrs>();
        Grad(g, a.axis, a.keepdim);
      });
}

template <class T>
struct ModeKernel {
  static void Compute(KernelContext& ctx) {
    using K = uint64_t;  // any number of elements
    using Rows = sorting::TwoRows<K>;
    const int64_t axis = ctx.attrs<ModeAttrs>().axis;
    ForLines<T, Rows>(ctx, axis, 64, [](const T* line, int64_t n, int64_t step, Rows* rows) {
      K least = ~K(0);
      for (int64_t i = 0; i < n; ++i)
        least = std::min(least, static_cast<K>(sorting::OrderKey(line[i * step])));
      for (int64_t i = 0; i < n; ++i)  // from 0 on: keys of a small range have few digits
        rows->row[i] = {sorting::OrderKey(line[i * step]) - least, static_cast<K>(i)};
      const sorting::Keyed<K>* sorted = Sorted(rows, n);
      int64_t best = 0, most = 0;
      for (int64_t i = 0, begin = 0; i < n; ++i) {
        if (sorted[i].key != sorted[begin].key) begin = i;
        if (i - begin + 1 <= most) continue;
        most = i - begin + 1;
        best = i;
      }
      return static_cast<int64_t>(sorted[best].at);
    });
  }
  static const sorting::Keyed<uint64_t>* Sorted(sorting::TwoRows<uint64_t>* rows, int64_t n) {
    if (n >= 256) return sorting::RadixSort(rows->row, rows->spare, n);
    std::sort(rows->row, rows->row + n, [](const auto& a, const auto& b) {
      return a.key != b.key ? a.key < b.key : a.at < b.at;
    });
    return rows->row;
  }
};

REGISTER_OPERATOR(mode, DefineMode);
REGISTER_LOD_RULE(mode,
                  [](const LoDCall& c) { return c.IsBehindFirst(c.attrs<ModeAttrs>().axis); });
REGISTER_CPU_KERNEL(mode, ModeKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph::chosen
