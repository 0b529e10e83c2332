// What paths of classes spell: repeated classes merged, blanks left out.
#pragma once

#include "operators/loss/spelling_rule.h"
#include "operators/ragged.h"

namespace dygraph::ctc {

// The classes that each sequence spells.
template <class T>
std::vector<std::vector<T>> Spelled(const KernelContext& ctx, const Spelling& rule) {
  const Tensor& input = ctx.In(kInput);
  const Tensor* lengths = ctx.InOrNull(kInputLength);
  ragged::Batch b = lengths
                        ? ragged::FromLengths(*lengths, "InputLength", input.dim(0), input.dim(1))
                        : ragged::FromLoD(input, "Input", "InputLength");
  const T* x = input.data<T>();
  std::vector<std::vector<T>> spelled(static_cast<size_t>(b.size()));
  for (int64_t s = 0; s < b.size(); ++s) {
    const T* path = x + b.Row(s, 0);
    for (int64_t t = 0; t < b.length[s]; ++t) {
      if (rule.Keeps(path, t)) spelled[s].push_back(path[t]);
    }
  }
  return spelled;
}

// Of padded sequences: `out`, of Input's shape, and the lengths; both may be nullptr.
template <class T>
void SpellPadded(const KernelContext& ctx, const Spelling& rule, T padding, T* out, T* length) {
  const std::vector<std::vector<T>> spelled = Spelled<T>(ctx, rule);
  const int64_t width = ctx.In(kInput).dim(1);
  for (size_t s = 0; s < spelled.size(); ++s) {
    if (length) length[s] = static_cast<T>(spelled[s].size());
    if (!out) continue;
    std::fill(out, out + width, padding);
    std::copy(spelled[s].begin(), spelled[s].end(), out);
    out += width;
  }
}

// By LoD: what all spell, with a level of detail, or a single -1.
template <class T>
void SpellRagged(const KernelContext& ctx, const Spelling& rule, Tensor* out) {
  std::vector<int64_t> offsets = {0};
  std::vector<T> all;
  for (const std::vector<T>& s : Spelled<T>(ctx, rule)) {
    all.insert(all.end(), s.begin(), s.end());
    offsets.push_back(static_cast<int64_t>(all.size()));
  }
  bool nothing = all.empty();
  if (nothing) all.push_back(T(-1));
  out->Allocate({static_cast<int64_t>(all.size()), 1}, DTypeOf<T>::value, ctx.In(kInput).place());
  std::copy(all.begin(), all.end(), out->mutable_data<T>());
  if (!nothing) out->SetLoD(LoDLevels{offsets});
}

}  // namespace dygraph::ctc
