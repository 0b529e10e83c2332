#include "kernels/einsum.h"

#include <algorithm>

#include "kernels/broadcast.h"
#include "kernels/elementwise.h"
#include "kernels/matmul_stack.h"
#include "kernels/reduce.h"
#include "kernels/strided_copy.h"
#include "kernels/transpose.h"

namespace dygraph::kernels {
namespace {

bool Has(const Labels& list, int label) {
  return std::find(list.begin(), list.end(), label) != list.end();
}

Labels Joined(const Labels& a, const Labels& b, const Labels& c = {}) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

class Contraction {
 public:
  explicit Contraction(const std::map<int, int64_t>& sizes) : sizes_(sizes) {}

  Dims DimsOf(const Labels& labels) const {
    Dims dims;
    for (int l : labels) dims.push_back(sizes_.at(l));
    return dims;
  }
  double Volume(const Labels& labels) const {
    double n = 1;
    for (int l : labels) n *= static_cast<double>(sizes_.at(l));
    return n;
  }

  // Without axes of one element, each label once (its diagonal), summed over what `keep` has not.
  template <class T>
  EinsumOperand Prepared(const EinsumOperand& x, const Labels& keep) const {
    Labels kept, summed;
    std::map<int, int64_t> strides;
    Dims own = Strides(x.value.dims());
    bool plain = true;
    for (size_t i = 0; i < x.labels.size(); ++i) {
      int label = x.labels[i];
      if (x.value.dims()[i] == 1) continue;  // nothing to walk: it broadcasts
      plain &= strides.count(label) == 0;
      if (strides.count(label) == 0) (Has(keep, label) ? kept : summed).push_back(label);
      strides[label] += own[i];
    }
    if (plain && summed.empty()) return {kept, x.value.Reshaped(DimsOf(kept))};
    Labels order = Joined(kept, summed);
    Dims from, dims = DimsOf(order);
    for (int l : order) from.push_back(strides.at(l));
    Tensor dense(dims, x.value.dtype(), x.value.place());
    CopyStrided(dims, x.value.data<T>(), from, dense.mutable_data<T>(), Strides(dims), sizeof(T));
    if (summed.empty()) return {kept, dense};
    Tensor sums(DimsOf(kept), x.value.dtype(), x.value.place());
    FixedArray<bool, kMaxRank> reduced{};
    for (size_t i = kept.size(); i < order.size(); ++i) reduced[i] = true;
    Reduce<SumOp<T>>(dense.data<T>(), dims, Span<const bool>(reduced.data(), order.size()),
                     sums.mutable_data<T>());
    return {kept, sums};
  }

  // The axes in another order.
  template <class T>
  EinsumOperand Ordered(const EinsumOperand& x, const Labels& order) const {
    if (x.labels == order) return x;
    SmallVector<int, 8> perm;
    for (int l : order)
      perm.push_back(
          static_cast<int>(std::find(x.labels.begin(), x.labels.end(), l) - x.labels.begin()));
    Tensor y(DimsOf(order), x.value.dtype(), x.value.place());
    if (y.numel() > 0)
      Permute(x.value.data<T>(), x.value.dims(), perm, y.mutable_data<T>(), sizeof(T));
    return {order, y};
  }

  template <class T>
  EinsumOperand Pair(const EinsumOperand& a, const EinsumOperand& b, const Labels& keep) const {
    Labels batch, summed, left, right;
    for (int l : a.labels) (!Has(b.labels, l) ? left : Has(keep, l) ? batch : summed).push_back(l);
    for (int l : b.labels) {
      if (!Has(a.labels, l)) right.push_back(l);
    }
    Labels out = Joined(batch, left, right);
    Tensor y(DimsOf(out), a.value.dtype(), a.value.place());
    T* to = y.mutable_data<T>();
    if (y.numel() == 0) return {out, y};
    if (summed.empty()) {
      Broadcast(y.dims(), a.value.data<T>(), StridesOver(a, out), b.value.data<T>(),
                StridesOver(b, out), to,
                [] DYGRAPH_FN(T u, T v) { return u * v; });
      return {out, y};
    }
    int64_t m = Numel(DimsOf(left)), n = Numel(DimsOf(right)), k = Numel(DimsOf(summed));
    if (k == 0) {
      Fill(to, y.numel(), T(0));
      return {out, y};
    }
    bool ta = a.labels == Joined(batch, summed, left) && !left.empty();
    bool tb = b.labels == Joined(batch, right, summed) && !right.empty();
    EinsumOperand l = ta ? a : Ordered<T>(a, Joined(batch, left, summed));
    EinsumOperand r = tb ? b : Ordered<T>(b, Joined(batch, summed, right));
    const T *x = l.value.data<T>(), *z = r.value.data<T>();
    MatMulStack<T>({{Numel(DimsOf(batch))}, {1}, {1}, {1}},
                   {ta, tb, m, n, k, T(1), x, ta ? m : k, z, tb ? k : n, T(0), to, n});
    return {out, y};
  }

 private:
  Dims StridesOver(const EinsumOperand& x, const Labels& order) const {
    Dims own = Strides(x.value.dims()), strides(order.size(), 0);
    for (size_t i = 0; i < x.labels.size(); ++i)
      strides[std::find(order.begin(), order.end(), x.labels[i]) - order.begin()] = own[i];
    return strides;
  }

  const std::map<int, int64_t>& sizes_;
};

}  // namespace

template <class T>
EinsumOperand Einsum(std::vector<EinsumOperand> operands, const Labels& out,
                     const std::map<int, int64_t>& sizes) {
  Contraction plan(sizes);
  // What must outlive the operands i and j: labels of the result and of the others.
  auto needed = [&](size_t i, size_t j) {
    Labels keep = out;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (k == i || k == j) continue;
      for (size_t d = 0; d < operands[k].labels.size(); ++d) {
        if (operands[k].value.dims()[d] != 1) keep.push_back(operands[k].labels[d]);
      }
    }
    return keep;
  };
  for (size_t i = 0; i < operands.size(); ++i)
    operands[i] = plan.Prepared<T>(operands[i], needed(i, i));
  while (operands.size() > 1) {
    // the pair whose product is the smallest, of equals the first
    size_t first = 0, second = 1;
    double least = -1;
    for (size_t i = 0; operands.size() > 2 && i < operands.size(); ++i) {
      for (size_t j = i + 1; j < operands.size(); ++j) {
        Labels keep = needed(i, j), all;
        for (int l : Joined(operands[i].labels, operands[j].labels)) {
          if (Has(keep, l) && !Has(all, l)) all.push_back(l);
        }
        double volume = plan.Volume(all);
        if (least < 0 || volume < least) {
          least = volume;
          first = i;
          second = j;
        }
      }
    }
    operands[first] = plan.Pair<T>(operands[first], operands[second], needed(first, second));
    operands.erase(operands.begin() + static_cast<int64_t>(second));
  }
  Labels order;
  for (int l : out) {
    if (Has(operands[0].labels, l)) order.push_back(l);
  }
  return plan.Ordered<T>(operands[0], order);
}

template EinsumOperand Einsum<float>(std::vector<EinsumOperand>, const Labels&,
                                     const std::map<int, int64_t>&);
template EinsumOperand Einsum<double>(std::vector<EinsumOperand>, const Labels&,
                                      const std::map<int, int64_t>&);

}  // namespace dygraph::kernels
