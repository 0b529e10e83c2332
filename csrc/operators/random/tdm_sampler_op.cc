#include <unordered_map>
#include <unordered_set>

#include "operators/index/indexing.h"
#include "operators/random/random.h"

namespace dygraph::random {
namespace {

constexpr int kX = 0, kTravel = 1, kLayer = 2, kSamples = 0, kLabels = 1, kMask = 2;

struct TdmSamplerAttrs {
  bool output_positive = true;
  std::vector<int32_t> neg_samples_num_list;
  std::vector<int32_t> layer_offset_lod;
  int32_t seed = 0;
  DType dtype = DType::kInt32;
};

// Columns of the results.
int64_t WidthOf(const TdmSamplerAttrs& a) {
  int64_t width = 0;
  for (int32_t n : a.neg_samples_num_list) width += n + (a.output_positive ? 1 : 0);
  return width;
}

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<TdmSamplerAttrs>();
  const Dims &x = ctx.dims(kX), &travel = ctx.dims(kTravel), &layer = ctx.dims(kLayer);
  const int64_t layers = static_cast<int64_t>(a.neg_samples_num_list.size());
  ENFORCE(x.HasUnknown() || Numel(x) == x[0], InvalidArgument, "X must have shape [N, 1], got ", x);
  ENFORCE(travel.rank() == 2 && (travel[1] == layers || travel[1] < 0), InvalidArgument,
          "Travel must have a column for each of neg_samples_num_list, ", layers, ", got shape ",
          travel);
  const std::vector<int32_t>& offsets = a.layer_offset_lod;
  ENFORCE(static_cast<int64_t>(offsets.size()) == layers + 1 && offsets[0] == 0, InvalidArgument,
          "layer_offset_lod must hold 0 and the end of each of the ", layers, " layers, got ",
          ToString(AttrValue(offsets)));
  for (int64_t l = 0; l < layers; ++l) {
    const int32_t nodes = offsets[l + 1] - offsets[l], wanted = a.neg_samples_num_list[l];
    ENFORCE(wanted >= 0 && wanted < nodes, InvalidArgument,
            "neg_samples_num_list must be at least 0 and below the number of the layer's nodes, ",
            nodes, ", got ", wanted, " for layer ", l);
  }
  ENFORCE(layer.HasUnknown() || Numel(layer) == offsets.back(), InvalidArgument,
          "Layer must hold the ", offsets.back(), " nodes of layer_offset_lod, got shape ", layer);
  for (int slot : {kSamples, kLabels, kMask}) ctx.SetOutput(slot, {x[0], WidthOf(a)}, a.dtype);
}

void DefineTdmSampler(OpDef& op) {
  op.Comment(
        "Out[i] = for each layer of a tree the node on the way to leaf X[i], Travel[X[i]], with "
        "output_positive, and as many other nodes of the layer, drawn without repetition, as "
        "neg_samples_num_list says. Labels are 1 for the first, Mask 0 where Travel is 0, for a "
        "way that ends earlier: Out and Labels are 0 there. Of tree-based deep models, Zhu et al., "
        "2018.")
      .Example(
          ">>> travel, layer = to_variable([[1, 3], [2, 4]]), to_variable([[1], [2], [3], [4]])\n"
          ">>> out = F.tdm_sampler(to_variable([[1]]), travel, layer,\n"
          "...                     neg_samples_num_list=[1, 1], layer_offset_lod=[0, 2, 4])\n"
          ">>> [v.tolist() for v in out]\n"
          "[[[2, 1, 4, 3]], [[1, 0, 1, 0]], [[1, 1, 1, 1]]]")
      .Input(kX, "X", "[N, 1] rows of Travel, int32 or int64")
      .Input(kTravel, "Travel", "[leaves, layers]: the nodes on the way to a leaf")
      .Input(kLayer, "Layer", "[nodes, 1]: the nodes of the layers, one after another")
      .Output(kSamples, "Out", "[N, samples]")
      .Output(kLabels, "Labels", "[N, samples]")
      .Output(kMask, "Mask", "[N, samples]")
      .Attr(&TdmSamplerAttrs::output_positive, "output_positive", "the node on the way comes first")
      .Attr(&TdmSamplerAttrs::neg_samples_num_list, "neg_samples_num_list",
            "how many others, by layer")
      .Attr(&TdmSamplerAttrs::layer_offset_lod, "layer_offset_lod",
            "0 and where each layer ends in Layer")
      .Attr(&TdmSamplerAttrs::seed, "seed",
            "0: the generator's; others give the same numbers at each call")
      .Attr(&TdmSamplerAttrs::dtype, "dtype", "of the results, int32 or int64")
      .Shape(InferShape)
      .KernelDType(
          [](const Call& call) { return static_cast<const TdmSamplerAttrs*>(call.attrs)->dtype; })
      .MixedDTypes()
      .ShareLoD(kX)
      .Random()
      .NoGrad();
}

// `wanted` different numbers below `count`, in the order drawn (Floyd's algorithm).
std::vector<int64_t> Draw(int64_t wanted, int64_t count, const double*& random) {
  std::vector<int64_t> drawn;
  std::unordered_set<int64_t> taken;
  for (int64_t last = count - wanted; last < count; ++last) {
    int64_t v = static_cast<int64_t>(*random++ * static_cast<double>(last + 1));
    if (!taken.insert(v).second) taken.insert(v = last);
    drawn.push_back(v);
  }
  return drawn;
}

template <class T>
struct TdmSamplerKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<TdmSamplerAttrs>();
    const Tensor& travel = ctx.In(kTravel);
    const int64_t layers = travel.dim(1), width = WidthOf(a);
    const indexing::IndexList x =
        indexing::ReadIndices(ctx.In(kX), "X", travel.dim(0), "the rows of Travel", false);
    const std::vector<int64_t> way = Integers(travel, "Travel"),
                               nodes = Integers(ctx.In(kLayer), "Layer");
    std::vector<std::unordered_map<int64_t, int64_t>> places(layers);
    for (int64_t l = 0; l < layers; ++l) {
      for (int64_t i = a.layer_offset_lod[l]; i < a.layer_offset_lod[l + 1]; ++i)
        places[l].emplace(nodes[i], i - a.layer_offset_lod[l]);
    }
    std::vector<double> numbers(x.size * width);
    Generator(ctx, a.seed).Uniform(numbers.data(), x.size * width);
    std::vector<T> samples(x.size * width), labels(samples), mask(samples);
    for (int64_t i = 0; i < x.size; ++i) {
      int64_t at = i * width;
      for (int64_t l = 0; l < layers; ++l) {
        const int64_t positive = way[x.data[i] * layers + l], begin = a.layer_offset_lod[l],
                      wanted = a.neg_samples_num_list[l], own = a.output_positive ? 1 : 0;
        const double* random = numbers.data() + at;
        if (positive == 0) {
          at += wanted + own;
          continue;
        }
        auto found = places[l].find(positive);
        ENFORCE(found != places[l].end(), InvalidArgument,
                "Travel must hold nodes of its layer, got ", positive, " in layer ", l);
        std::fill_n(mask.begin() + at, wanted + own, T(1));
        if (own) {
          labels[at] = 1;
          samples[at++] = static_cast<T>(positive);
        }
        for (int64_t v : Draw(wanted, a.layer_offset_lod[l + 1] - begin - 1, random))
          samples[at++] = static_cast<T>(nodes[begin + v + (v >= found->second ? 1 : 0)]);
      }
    }
    const std::pair<int, const std::vector<T>*> made[] = {
        {kSamples, &samples}, {kLabels, &labels}, {kMask, &mask}};
    for (auto [slot, from] : made) {
      if (Tensor* out = ctx.OutOrNull(slot))
        std::copy(from->begin(), from->end(), out->mutable_data<T>());
    }
  }
};

REGISTER_OPERATOR(tdm_sampler, DefineTdmSampler);
REGISTER_CPU_KERNEL(tdm_sampler, TdmSamplerKernel, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::random
