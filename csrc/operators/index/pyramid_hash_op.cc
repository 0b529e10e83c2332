#include <cstring>

#include "op/gradient_shapes.h"
#include "operators/arguments.h"
#include "operators/random/random.h"
#include "operators/sequence/sequence.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kW = 1, kWhiteList = 2, kBlackList = 3, kKept = 4;
constexpr int kOut = 0, kDropPos = 1, kTemp = 2;

struct PyramidHashAttrs {
  int32_t num_emb = 0, space_len = 0, pyramid_layer = 2, rand_len = 0;
  double drop_out_percent = 0.0;
  int32_t is_training = 0;
  bool use_filter = true;
  int32_t white_list_len = 0, black_list_len = 0;
  int32_t seed = 0;
  double lr = 0.0;
  std::string distribute_update_vars;
};

uint32_t Rotated(uint32_t x, int bits) { return x << bits | x >> (32 - bits); }

// Collet's 32-bit hash of `size` bytes, a multiple of 4, as read by a little-endian machine.
uint32_t XxHash32(const void* from, size_t size, uint32_t seed) {
  constexpr uint32_t kPrime1 = 0x9E3779B1, kPrime2 = 0x85EBCA77, kPrime3 = 0xC2B2AE3D,
                     kPrime4 = 0x27D4EB2F, kPrime5 = 0x165667B1;
  const auto* p = static_cast<const unsigned char*>(from);
  const unsigned char* end = p + size;
  auto load = [](const unsigned char* at) {
    uint32_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  };
  uint32_t h = seed + kPrime5;
  if (size >= 16) {
    uint32_t lane[] = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
    for (; end - p >= 16; p += 16) {
      for (int i = 0; i < 4; ++i)
        lane[i] = Rotated(lane[i] + load(p + 4 * i) * kPrime2, 13) * kPrime1;
    }
    h = Rotated(lane[0], 1) + Rotated(lane[1], 7) + Rotated(lane[2], 12) + Rotated(lane[3], 18);
  }
  h += static_cast<uint32_t>(size);
  for (; end - p >= 4; p += 4) h = Rotated(h + load(p) * kPrime3, 17) * kPrime4;
  h = (h ^ h >> 15) * kPrime2;
  h = (h ^ h >> 13) * kPrime3;
  return h ^ h >> 16;
}

// f(sequence, first row, rows) for each run of 2 to pyramid_layer rows of a sequence.
template <class F>
void ForEachTerm(const sequence::Offsets& offsets, int32_t layers, F f) {
  for (int64_t s = 0; s < sequence::Count(offsets); ++s) {
    const int64_t length = offsets[s + 1] - offsets[s];
    for (int64_t size = 2; size <= layers && size <= length; ++size) {
      for (int64_t at = offsets[s]; at + size <= offsets[s + 1]; ++at) f(s, at, size);
    }
  }
}

// Where the pieces of a term's row lie in W: rand_len numbers from each.
template <class F>
void ForEachPiece(const float* term, int64_t size, const PyramidHashAttrs& a, F f) {
  const size_t bytes = static_cast<size_t>(size) * sizeof(float);
  auto place = [&](int64_t seed) {
    return XxHash32(term, bytes, static_cast<uint32_t>(seed)) % static_cast<uint32_t>(a.space_len);
  };
  for (int32_t j = 0; j < a.num_emb; j += a.rand_len) f(j, static_cast<int64_t>(place(j)));
}

// What a call and its gradient share: the terms that are kept, and the rows of Out.
struct Terms {
  const sequence::Offsets& offsets;
  std::vector<float> ids;  // hashed as floats
  std::vector<int32_t> kept;
  sequence::Offsets kept_ends{0}, rows{0};

  Terms(const KernelContext& ctx, const Tensor& x)
      : offsets(sequence::LastLevel(x, "X")), ids(x.numel()) {
    VisitIndices(x, "X", [&](const auto* from) {
      for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<float>(from[i]);
    });
    const auto& a = ctx.attrs<PyramidHashAttrs>();
    ForEachTerm(offsets, a.pyramid_layer, [&](int64_t, int64_t, int64_t) { kept.push_back(1); });
  }
  void Take(const Tensor& given) {
    const std::vector<int64_t> list = Integers(given, "DropPos");
    ENFORCE(list.size() >= kept.size(), InvalidArgument, "DropPos must hold a number for each of ",
            kept.size(), " terms, got shape ", given.dims());
    for (size_t i = 0; i < kept.size(); ++i) kept[i] = list[i] != 0;
  }
  // A sequence without terms has one row of zeros.
  void Count(int32_t layers) {
    std::vector<int64_t> terms(sequence::Count(offsets), 0);
    size_t i = 0;
    ForEachTerm(offsets, layers, [&](int64_t s, int64_t, int64_t) { terms[s] += kept[i++]; });
    for (int64_t n : terms) {
      kept_ends.push_back(kept_ends.back() + n);
      rows.push_back(rows.back() + std::max<int64_t>(n, 1));
    }
  }
  // f(row of Out, first id of the term, its length) for each term that is kept.
  template <class F>
  void ForEach(int32_t layers, F f) const {
    sequence::Offsets next = rows;
    size_t i = 0;
    ForEachTerm(offsets, layers, [&](int64_t s, int64_t at, int64_t size) {
      if (kept[i++]) f(next[s]++, ids.data() + at, size);
    });
  }
};

void CheckInputs(InferContext& ctx) {
  const auto& a = ctx.attrs<PyramidHashAttrs>();
  ENFORCE(a.rand_len > 0 && a.space_len > 0 && a.num_emb > 0 && a.num_emb % a.rand_len == 0,
          InvalidArgument,
          "space_len and rand_len must be at least 1, and num_emb a multiple of rand_len, got ",
          a.space_len, ", ", a.rand_len, " and ", a.num_emb);
  ENFORCE(!a.use_filter || (a.white_list_len == 0 && a.black_list_len == 0), Unimplemented,
          "white_list_len and black_list_len must be 0, got ", a.white_list_len, " and ",
          a.black_list_len, ": filters of terms are not read");
  const Dims &x = ctx.dims(kX), &w = ctx.dims(kW);
  ENFORCE(x.rank() == 2 && (x[1] == 1 || x[1] < 0), InvalidArgument,
          "X must have shape [rows, 1], got ", x);
  const int64_t height = int64_t{a.space_len} + a.rand_len;
  ENFORCE(w.rank() == 2 && (w[0] == height || w[0] < 0) && (w[1] == 1 || w[1] < 0), InvalidArgument,
          "W must have shape [space_len + rand_len, 1], [", height, ", 1], got ", w);
}

double FactorOf(const PyramidHashAttrs& a) { return a.is_training ? 1.0 : a.drop_out_percent; }

void DefinePyramidHash(OpDef& op) {
  op.Comment(
        "A row of num_emb numbers for each run of 2 to pyramid_layer ids of a sequence: rand_len "
        "of them at a time lie in W from a hash of the ids on, XXH32(ids as floats, seed 0, "
        "rand_len, 2 rand_len, ...) mod space_len. A sequence without runs gives a row of zeros. "
        "With is_training a run is left out with the probability drop_out_percent; else Out is "
        "times drop_out_percent, as in Fluid.")
      .Example(
          ">>> ids = to_variable(np.array([[1], [2], [3]], \"int32\"), lod=[[0, 2, 3]])\n"
          ">>> w = to_variable([[1.0], [1.0], [1.0], [1.0]])\n"
          ">>> sizes = {\"num_emb\": 2, \"space_len\": 3, \"rand_len\": 1}\n"
          ">>> F.pyramid_hash(ids, w, drop_out_percent=1.0, **sizes)[0].tolist()\n"
          "[[1.0, 1.0], [0.0, 0.0]]")
      .Input(kX, "X", "[rows, 1] ids with LoD, int32 or int64")
      .Input(kW, "W", "[space_len + rand_len, 1]")
      .Input(kWhiteList, "WhiteList", "of programs", kDispensable)
      .Input(kBlackList, "BlackList", "of programs", kDispensable)
      .Input(kKept, "Kept", "DropPos of another call, in place of one drawn", kDispensable)
      .Output(kOut, "Out", "[runs, num_emb], with the LoD of the sequences")
      .Output(kDropPos, "DropPos", "[rows * pyramid_layer, 1] int32: 1 for each run that is kept")
      .Output(kTemp, "X_Temp_Out", "X in the type of W", kIntermediate)
      .Attr(&PyramidHashAttrs::num_emb, "num_emb", "columns of Out", AtLeast(0))
      .Attr(&PyramidHashAttrs::space_len, "space_len", "hashes lie below it", AtLeast(0))
      .Attr(&PyramidHashAttrs::pyramid_layer, "pyramid_layer", "the longest runs", AtLeast(2))
      .Attr(&PyramidHashAttrs::rand_len, "rand_len", "numbers of one hash", AtLeast(0))
      .Attr(&PyramidHashAttrs::drop_out_percent, "drop_out_percent", "the probability",
            Between(0, 1))
      .Attr(&PyramidHashAttrs::is_training, "is_training", "leave runs out", AtLeast(0))
      .Attr(&PyramidHashAttrs::use_filter, "use_filter", "read the two lists, which must be empty")
      .Attr(&PyramidHashAttrs::white_list_len, "white_list_len", "0", AtLeast(0))
      .Attr(&PyramidHashAttrs::black_list_len, "black_list_len", "0", AtLeast(0))
      .Attr(&PyramidHashAttrs::seed, "seed",
            "0: the generator's; others give the same numbers at each call", AtLeast(0))
      .Attr(&PyramidHashAttrs::lr, "lr", "0 where a gradient is asked for: an optimizer trains W",
            AtLeast(0))
      .Attr(&PyramidHashAttrs::distribute_update_vars, "distribute_update_vars", "of programs")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        const auto& a = ctx.attrs<PyramidHashAttrs>();
        const Dims& x = ctx.dims(kX);
        if (!ctx.runtime()) ctx.SetOutput(kOut, {-1, a.num_emb}, ctx.dtype(kW));
        ctx.SetOutput(kDropPos, {MulSizes(x[0], a.pyramid_layer), 1}, DType::kInt32);
        ctx.SetOutput(kTemp, x, ctx.dtype(kW));
      })
      .KernelDTypeOf(kW)
      .MixedDTypes()
      .KernelAllocates()
      .Random()
      .Grad([](GradBuilder& g) {
        ENFORCE(g.attrs<PyramidHashAttrs>().lr == 0, Unimplemented,
                "lr must be 0 where a gradient is asked for, got ", g.attrs<PyramidHashAttrs>().lr,
                ". Let an optimizer train W");
        RecipeRef kept = g.HasInput(kKept) ? g.Input(kKept) : g.Output(kDropPos);
        g.Call("pyramid_hash_grad", {g.Input(kX), g.InputShape(kW), kept, g.OutputGrad(kOut)},
               {g.InputGrad(kW)})
            .SameAttrs();
      });
}

template <class T>
struct PyramidHashKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<PyramidHashAttrs>();
    const Tensor& x = ctx.In(kX);
    Terms terms(ctx, x);
    if (const Tensor* given = ctx.InOrNull(kKept)) {
      terms.Take(*given);
    } else if (a.is_training) {
      const int64_t count = static_cast<int64_t>(terms.kept.size());
      std::vector<double> drawn(count);
      random::Generator(ctx, a.seed).Uniform(drawn.data(), count);
      const double share = NumberFor<T>(a.drop_out_percent);
      for (int64_t i = 0; i < count; ++i) terms.kept[i] = !(drawn[i] < share);
    }
    terms.Count(a.pyramid_layer);
    Tensor& out = ctx.Out(kOut);
    out.Allocate({terms.rows.back(), a.num_emb}, DTypeOf<T>::value, ctx.place());
    T* to = out.mutable_data<T>();
    std::fill_n(to, out.numel(), T(0));
    const T* w = ctx.In(kW).data<T>();
    const T factor = static_cast<T>(NumberFor<T>(FactorOf(a)));
    terms.ForEach(a.pyramid_layer, [&](int64_t row, const float* term, int64_t size) {
      ForEachPiece(term, size, a, [&](int32_t j, int64_t at) {
        for (int32_t k = 0; k < a.rand_len; ++k) to[row * a.num_emb + j + k] = w[at + k] * factor;
      });
    });
    out.SetLoD(LoDLevels{terms.rows});
    if (Tensor* drop = ctx.OutOrNull(kDropPos)) {
      drop->AllocateData(ctx.place());
      int32_t* kept = drop->mutable_data<int32_t>();
      std::fill_n(kept, drop->numel(), 0);
      std::copy(terms.kept.begin(), terms.kept.end(), kept);
    }
    if (Tensor* ids = ctx.OutOrNull(kTemp)) {
      ids->AllocateData(ctx.place());
      std::copy(terms.ids.begin(), terms.ids.end(), ids->mutable_data<T>());
    }
  }
};

namespace grad {
constexpr int kDropPos = 2, kOutGrad = 3, kWGrad = 0;

void DefinePyramidHashGrad(OpDef& op) {
  op.Comment("W@GRAD = the sum of Out@GRAD over the places that each number of W was taken to.")
      .Input(kX, "X", "as in the forward call")
      .Input(kW, "W", "its shape", kShapeOnly)
      .Input(kDropPos, "DropPos", "result of the forward call")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kWGrad, "W@GRAD", "shape of W")
      .AttrsOf("pyramid_hash")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kWGrad, ctx.dims(kW), ctx.dtype(kOutGrad));
      })
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("pyramid_hash", {g.Input(kX), g.OutputGrad(kWGrad), {}, {}, g.Input(kDropPos)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct PyramidHashGradKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<PyramidHashAttrs>();
    Terms terms(ctx, ctx.In(kX));
    terms.Take(ctx.In(kDropPos));
    terms.Count(a.pyramid_layer);
    const Tensor& g = ctx.In(kOutGrad);
    ENFORCE(g.dims() == Dims({terms.rows.back(), a.num_emb}), InvalidArgument,
            "Out@GRAD must have the shape of Out, ", Dims({terms.rows.back(), a.num_emb}), ", got ",
            g.dims());
    const T* from = g.data<T>();
    Tensor& out = ctx.Out(kWGrad);
    T* to = out.mutable_data<T>();
    std::fill_n(to, out.numel(), T(0));
    const T factor = static_cast<T>(NumberFor<T>(FactorOf(a)));
    terms.ForEach(a.pyramid_layer, [&](int64_t row, const float* term, int64_t size) {
      ForEachPiece(term, size, a, [&](int32_t j, int64_t at) {
        for (int32_t k = 0; k < a.rand_len; ++k)
          to[at + k] += from[row * a.num_emb + j + k] * factor;
      });
    });
  }
};
}  // namespace grad

REGISTER_OPERATOR(pyramid_hash, DefinePyramidHash);
REGISTER_GRADIENT_SHAPES(pyramid_hash, {"WhiteList", ""}, {"BlackList", ""}, {"Kept", ""});
REGISTER_CPU_KERNEL(pyramid_hash, PyramidHashKernel, float, double);
REGISTER_OPERATOR(pyramid_hash_grad, grad::DefinePyramidHashGrad);
REGISTER_CPU_KERNEL(pyramid_hash_grad, grad::PyramidHashGradKernel, float, double);

}  // namespace
}  // namespace dygraph
