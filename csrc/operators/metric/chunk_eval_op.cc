#include "operators/labels.h"
#include "operators/ragged.h"

namespace dygraph {
namespace {

constexpr int kInference = 0, kLabel = 1, kSeqLength = 2, kPrecision = 0, kRecall = 1, kF1 = 2,
              kInferChunks = 3, kLabelChunks = 4, kCorrectChunks = 5;

struct ChunkEvalAttrs {
  int32_t num_chunk_types = 1;
  std::string chunk_scheme = "IOB";
  std::vector<int32_t> excluded_chunk_types;
};

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kInference);
  labels::CheckSameShape(ctx, kInference, kLabel);
  bool padded = ctx.HasInput(kSeqLength);
  bool one = x.rank() >= 2 && (x[x.rank() - 1] == 1 || x[x.rank() - 1] < 0);
  ENFORCE(
      padded ? x.rank() == 2 || (x.rank() == 3 && one) : x.rank() == 1 || (x.rank() == 2 && one),
      InvalidArgument, "Inference must hold tags ",
      padded ? "[N, T] or [N, T, 1] with SeqLength" : "[total, 1] with a level of detail",
      ", got shape ", x, padded ? "" : ". Padded tags need SeqLength");
  for (int slot : {kPrecision, kRecall, kF1}) ctx.SetOutput(slot, Dims(), DType::kFloat32);
  for (int slot : {kInferChunks, kLabelChunks, kCorrectChunks})
    ctx.SetOutput(slot, Dims(), DType::kInt64);
}

void DefineChunkEval(OpDef& op) {
  op.Comment(
        "How many chunks tags mark, how many the labels mark, and how many are the same in both; "
        "Precision and Recall are the last over the first two, F1-Score their harmonic mean (0 "
        "where nothing is right). A tag is chunk type * tags of the scheme + tag; "
        "num_chunk_types * tags of the scheme stands outside of chunks. Tags: IOB B, I; IOE I, E; "
        "IOBES B, I, E, S; plain one.")
      .Example(
          ">>> tags, label = to_variable([[0, 1, 2, 0]]), to_variable([[0, 1, 2, 2]])\n"
          ">>> out = F.chunk_eval(tags, label, seq_length=to_variable([4]))  # BIOB, BIOO\n"
          ">>> [round(v.item(), 4) for v in out]\n"
          "[0.5, 1.0, 0.6667, 2, 1, 1]")
      .Input(kInference, "Inference", "int32 or int64 tags, [total, 1] with LoD or [N, T]")
      .Input(kLabel, "Label", "int32 or int64 tags, shape of Inference")
      .Input(kSeqLength, "SeqLength", "[N] integers, for padded tags", kDispensable)
      .Output(kPrecision, "Precision", "[], float32")
      .Output(kRecall, "Recall", "[], float32")
      .Output(kF1, "F1-Score", "[], float32")
      .Output(kInferChunks, "NumInferChunks", "[], int64")
      .Output(kLabelChunks, "NumLabelChunks", "[], int64")
      .Output(kCorrectChunks, "NumCorrectChunks", "[], int64")
      .Attr(&ChunkEvalAttrs::num_chunk_types, "num_chunk_types", "how many", Between(1, 1 << 24))
      .Attr(&ChunkEvalAttrs::chunk_scheme, "chunk_scheme", "IOB, IOE, IOBES or plain",
            OneOf({"IOB", "IOE", "IOBES", "plain"}))
      .Attr(&ChunkEvalAttrs::excluded_chunk_types, "excluded_chunk_types", "types not counted")
      .MixedDTypes()
      .KernelDType([](const Call&) { return DType::kInt64; })  // it reads either
      .Shape(InferShape)
      .NoGrad();
}

struct Chunk {
  int64_t begin, end, type;  // both ends belong to it
  bool operator==(const Chunk& o) const {
    return begin == o.begin && end == o.end && type == o.type;
  }
};

// Which tag of a scheme begins a chunk, ends it, is one by itself; -1: there is none.
class Scheme {
 public:
  explicit Scheme(const std::string& name) {
    if (name == "IOB") begin_ = 0, tags = 2;
    if (name == "IOE") end_ = 1, tags = 2;
    if (name == "IOBES") begin_ = 0, end_ = 2, single_ = 3, tags = 4;
  }

  // tag(t): the tag of step t, checked.
  template <class F>
  std::vector<Chunk> Chunks(int64_t steps, int64_t types, F tag) const {
    std::vector<Chunk> chunks;
    int64_t open = -1;
    Step before{-1, types};
    for (int64_t t = 0; t < steps; ++t) {
      int64_t v = tag(t);
      Step now{v % tags, v / tags};
      if (open >= 0 && Ends(before, now, types)) {
        chunks.push_back({open, t - 1, before.type});
        open = -1;
      }
      if (Begins(before, now, types)) open = t;
      before = now;
    }
    if (open >= 0) chunks.push_back({open, steps - 1, before.type});
    return chunks;
  }
  int64_t tags = 1;

 private:
  struct Step {
    int64_t tag, type;
  };
  bool Closes(const Step& s) const { return s.tag == end_ || s.tag == single_; }
  bool Opens(const Step& s) const { return s.tag == begin_ || s.tag == single_; }
  bool Ends(const Step& before, const Step& now, int64_t outside) const {
    if (before.type == outside) return false;
    return now.type != before.type || Closes(before) || Opens(now);
  }
  bool Begins(const Step& before, const Step& now, int64_t outside) const {
    if (now.type == outside) return false;
    return now.type != before.type || Closes(before) || Opens(now);
  }
  int64_t begin_ = -1, end_ = -1, single_ = -1;
};

template <class>
struct ChunkEvalKernel {
  static void Compute(KernelContext& ctx) {
    const ChunkEvalAttrs& a = ctx.attrs<ChunkEvalAttrs>();
    const Tensor& x = ctx.In(kInference);
    const Tensor* lengths = ctx.InOrNull(kSeqLength);
    ragged::Batch b = lengths ? ragged::FromLengths(*lengths, "SeqLength", x.dim(0), x.dim(1))
                              : ragged::FromLoD(x, "Inference", "SeqLength");
    std::vector<int64_t> inferred = Integers(x, "Inference");
    std::vector<int64_t> label = Integers(ctx.In(kLabel), "Label");
    Scheme scheme(a.chunk_scheme);
    std::vector<char> left_out(static_cast<size_t>(a.num_chunk_types), 0);
    for (int32_t type : a.excluded_chunk_types) {
      ENFORCE(type >= 0 && type < a.num_chunk_types, OutOfRange,
              "excluded_chunk_types must lie in [0, ", a.num_chunk_types, "), got ", type);
      left_out[type] = 1;
    }
    int64_t most = a.num_chunk_types * scheme.tags, counts[3] = {0, 0, 0};
    for (int64_t s = 0; s < b.size(); ++s) {
      auto chunks = [&](const std::vector<int64_t>& tags, const char* name) {
        return scheme.Chunks(b.length[s], a.num_chunk_types, [&](int64_t t) {
          int64_t v = tags[b.Row(s, t)];
          ENFORCE(v >= 0 && v <= most, OutOfRange, name, " must hold tags in [0, ", most, "], got ",
                  v, " at position ", b.Row(s, t));
          return v;
        });
      };
      std::vector<Chunk> one = chunks(inferred, "Inference"), two = chunks(label, "Label");
      auto kept = [&](const Chunk& c) { return !left_out[c.type]; };
      counts[0] += std::count_if(one.begin(), one.end(), kept);
      counts[1] += std::count_if(two.begin(), two.end(), kept);
      // Both lists ascend.
      for (size_t i = 0, j = 0; i < one.size() && j < two.size();) {
        if (one[i] == two[j]) counts[2] += kept(one[i]);
        bool next_one = one[i].begin <= two[j].begin, next_two = two[j].begin <= one[i].begin;
        i += next_one;
        j += next_two;
      }
    }
    Write(counts, ctx);
  }
  static void Write(const int64_t* counts, KernelContext& ctx) {
    auto ratio = [&](int64_t all) {
      return all ? static_cast<double>(counts[2]) / static_cast<double>(all) : 0.0;
    };
    double p = ratio(counts[0]), r = ratio(counts[1]);
    double values[3] = {p, r, counts[2] ? 2 * p * r / (p + r) : 0.0};
    for (int i = 0; i < 3; ++i) {
      if (Tensor* out = ctx.OutOrNull(i))
        *out->mutable_data<float>() = static_cast<float>(values[i]);
      if (Tensor* out = ctx.OutOrNull(kInferChunks + i)) *out->mutable_data<int64_t>() = counts[i];
    }
  }
};

REGISTER_OPERATOR(chunk_eval, DefineChunkEval);
REGISTER_CPU_KERNEL(chunk_eval, ChunkEvalKernel, int64_t);

}  // namespace
}  // namespace dygraph
