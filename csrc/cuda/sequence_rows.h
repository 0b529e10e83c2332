// Batches of sequences (operators/ragged.h) as kernels read them: offsets of a level of detail come
// as a table, lengths of padded sequences stay where they lie.
#pragma once

#include <vector>

#include "cuda/errors_cuda.h"
#include "kernels/table.h"
#include "operators/ragged.h"

namespace dygraph::cuda {

// Element t of sequence s stands in row Row(s, t).
struct SequenceRows {
  const int64_t* offsets;  // nullptr: one of the lengths, and a sequence begins every `step` rows
  const int32_t* narrow;
  const int64_t* wide;
  int64_t step, stride;
  IndexGuard guard;

  __host__ __device__ int64_t Length(int64_t s) const {
    if (offsets) return offsets[s + 1] - offsets[s];
    return guard(narrow ? narrow[s] : wide[s]);
  }
  __host__ __device__ int64_t Row(int64_t s, int64_t t) const {
    return (offsets ? offsets[s] : s * step) + t * stride;
  }
};

// To live until what reads its rows is launched.
class Sequences {
 public:
  // Those of input `slot`: padded where there are lengths, by LoD otherwise. time_major: [steps,
  // sequences], else [sequences, steps].
  Sequences(const KernelContext& ctx, int slot, int length_slot, bool time_major = false)
      : table_(OffsetsOf(ctx, slot, length_slot)),
        rows{table_.data(), nullptr, nullptr, 0, 1, IndexGuard(Reporter(), 1)} {
    const Tensor &x = ctx.In(slot), *lengths = ctx.InOrNull(length_slot);
    if (!lengths) {
      const std::vector<int64_t>& offsets = x.lod_levels().back();
      count = static_cast<int64_t>(offsets.size()) - 1;
      for (int64_t s = 0; s < count; ++s) {
        const size_t i = static_cast<size_t>(s);
        longest = std::max(longest, offsets[i + 1] - offsets[i]);
      }
      return;
    }
    count = x.dim(time_major ? 1 : 0);
    longest = x.dim(time_major ? 0 : 1);
    const char* name = NameOf(ctx, length_slot);
    ENFORCE(lengths->numel() == count, InvalidArgument, name,
            " must hold one length for each of the ", count, " sequences, got shape ",
            lengths->dims());
    rows.offsets = nullptr;
    rows.step = time_major ? 1 : longest;
    rows.stride = time_major ? count : 1;
    rows.guard = IndexGuard({ctx.call().op->type.c_str(), name}, longest + 1);
    VisitIndices(*lengths, name, [this](auto* at) { ReadLengths(at); });
  }

 private:
  void ReadLengths(const int32_t* at) { rows.narrow = at; }
  void ReadLengths(const int64_t* at) { rows.wide = at; }
  static const char* NameOf(const KernelContext& ctx, int slot) {
    return ctx.call().op->inputs[slot].name.c_str();
  }
  static std::vector<int64_t> OffsetsOf(const KernelContext& ctx, int slot, int length_slot) {
    if (ctx.HasInput(length_slot)) return {};
    ragged::FromLoD(ctx.In(slot), NameOf(ctx, slot), NameOf(ctx, length_slot));
    return ctx.In(slot).lod_levels().back();
  }

  kernels::Table<int64_t> table_;

 public:
  int64_t count = 0, longest = 0;  // no sequence is longer; padded ones may all be shorter
  SequenceRows rows;
};

}  // namespace dygraph::cuda
