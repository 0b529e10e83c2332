#include "operators/ragged.h"
#include "platform/interrupt.h"

namespace dygraph {
namespace {

constexpr int kHyps = 0, kRefs = 1, kHypsLength = 2, kRefsLength = 3, kSequenceNum = 0, kOut = 1;

struct EditDistanceAttrs {
  bool normalized = false;
};

void InferShape(InferContext& ctx) {
  const Dims &hyps = ctx.dims(kHyps), &refs = ctx.dims(kRefs);
  bool padded = ctx.HasInput(kHypsLength);
  ENFORCE(padded == ctx.HasInput(kRefsLength), InvalidArgument,
          "HypsLength and RefsLength must be given together or not at all, got one of them");
  for (int slot : {kHyps, kRefs}) {
    const Dims& d = ctx.dims(slot);
    bool fits = d.rank() == 2 && (padded || d[1] == 1 || d[1] < 0);
    ENFORCE(fits || (!padded && d.rank() == 1), InvalidArgument, slot == kHyps ? "Hyps" : "Refs",
            padded ? " must be padded tokens [N, T]" : " must hold all tokens [total, 1]",
            ", got shape ", d,
            padded ? "" : ". Padded tokens [N, T] need HypsLength and RefsLength");
  }
  ENFORCE(!padded || hyps[0] == refs[0] || !BothKnown(hyps[0], refs[0]), InvalidArgument,
          "Hyps and Refs must have as many rows, got ", hyps, " and ", refs);
  int64_t count = padded ? hyps[0] : ragged::CountOf(ctx, kHyps);
  ENFORCE(count >= 0 || !ctx.runtime(), InvalidArgument,
          "Hyps must have a level of detail that says where its sequences begin, got shape ", hyps,
          " without one. Give to_variable(lod=...), or padded tokens with HypsLength");
  ctx.SetOutput(kSequenceNum, Dims(), DType::kInt64);
  ctx.SetOutput(kOut, {count, 1}, DType::kFloat32);
}

void DefineEditDistance(OpDef& op) {
  op.Comment(
        "Out = the least number of tokens to insert, delete or replace that turns each sequence of "
        "Hyps into that of Refs (Levenshtein, 1966); normalized divides by the length of Refs, "
        "which then must not be 0. SequenceNum counts the sequences.")
      .Example(
          ">>> hyps, refs = to_variable([[1, 2, 3, 4]]), to_variable([[1, 3, 4, 5]])\n"
          ">>> length = to_variable([4])\n"
          ">>> n, out = F.edit_distance(hyps, refs, hyps_length=length, refs_length=length)\n"
          ">>> n.item(), out.tolist()  # without the 2, with a 5\n"
          "(1, [[2.0]])")
      .Input(kHyps, "Hyps", "int32 or int64 tokens, [total, 1] with LoD or [N, T]")
      .Input(kRefs, "Refs", "int32 or int64 tokens, [total, 1] with LoD or [N, T]")
      .Input(kHypsLength, "HypsLength", "[N] integers", kDispensable)
      .Input(kRefsLength, "RefsLength", "[N] integers", kDispensable)
      .Output(kSequenceNum, "SequenceNum", "[], int64")
      .Output(kOut, "Out", "[N, 1], float32")
      .Attr(&EditDistanceAttrs::normalized, "normalized", "divide by the length of Refs")
      .MixedDTypes()
      .KernelDType([](const Call&) { return DType::kInt64; })  // it reads either
      .Shape(InferShape)
      .NoGrad();
}

ragged::Batch Read(const KernelContext& ctx, int slot, int length, const char* name,
                   const char* length_name) {
  const Tensor& t = ctx.In(slot);
  const Tensor* lengths = ctx.InOrNull(length);
  if (!lengths) return ragged::FromLoD(t, name, length_name);
  return ragged::FromLengths(*lengths, length_name, t.dim(0), t.dim(1));
}

// One row of the table of distances after another; in pieces, between which Ctrl-C is looked for.
int64_t Distance(const int64_t* a, int64_t n, const int64_t* b, int64_t m) {
  constexpr int64_t kPiece = 1 << 16;
  std::vector<int64_t> row(static_cast<size_t>(m) + 1);
  for (int64_t j = 0; j <= m; ++j) row[j] = j;
  int64_t since = 0;  // elements since the last look
  for (int64_t i = 1; i <= n; ++i) {
    int64_t corner = row[0], left = i;  // of the row above, one to the left; of this row
    const int64_t token = a[i - 1];
    row[0] = i;
    for (int64_t first = 1; first <= m; first += kPiece) {
      const int64_t last = std::min(m, first + kPiece - 1);
      for (int64_t j = first; j <= last; ++j) {
        const int64_t above = row[j];
        left = std::min(std::min(above, left) + 1, corner + (token != b[j - 1]));
        row[j] = left;
        corner = above;
      }
      since += last - first + 1;
      if (since < kPiece) continue;
      CheckInterrupt();
      since = 0;
    }
  }
  return row[m];
}

template <class>
struct EditDistanceKernel {
  static void Compute(KernelContext& ctx) {
    ragged::Batch h = Read(ctx, kHyps, kHypsLength, "Hyps", "HypsLength");
    ragged::Batch r = Read(ctx, kRefs, kRefsLength, "Refs", "RefsLength");
    ENFORCE(h.size() == r.size(), InvalidArgument,
            "Hyps and Refs must have as many sequences, got ", h.size(), " and ", r.size());
    std::vector<int64_t> hyps = Integers(ctx.In(kHyps), "Hyps");
    std::vector<int64_t> refs = Integers(ctx.In(kRefs), "Refs");
    bool normalized = ctx.attrs<EditDistanceAttrs>().normalized;
    for (int64_t s = 0; normalized && s < r.size(); ++s) {
      ENFORCE(r.length[s] > 0, InvalidArgument,
              "with normalized, every sequence of Refs must have a token, got none in sequence ", s,
              ". Pass normalized=False");
    }
    if (Tensor* count = ctx.OutOrNull(kSequenceNum)) *count->mutable_data<int64_t>() = h.size();
    Tensor* out = ctx.OutOrNull(kOut);
    for (int64_t s = 0; out && s < h.size(); ++s) {
      auto distance = static_cast<float>(
          Distance(hyps.data() + h.begin[s], h.length[s], refs.data() + r.begin[s], r.length[s]));
      out->mutable_data<float>()[s] =
          normalized ? distance / static_cast<float>(r.length[s]) : distance;
    }
  }
};

REGISTER_OPERATOR(edit_distance, DefineEditDistance);
REGISTER_CPU_KERNEL(edit_distance, EditDistanceKernel, int64_t);

}  // namespace
}  // namespace dygraph
