#include <algorithm>
#include <limits>
#include <type_traits>

#include "cuda/scratch.h"
#include "kernels/attention.h"
#include "kernels/broadcast.h"
#include "kernels/loops.h"
#include "kernels/math.h"
#include "kernels/matmul.h"
#include "kernels/philox_numbers.h"
#include "kernels/walk.h"

namespace dygraph::kernels {
namespace {

constexpr double kHidden = -1e30;          // of a mask: at most this is not seen
constexpr int64_t kMostBytes = 256 << 20;  // of scores at a time, where one batch needs no more

// The matrices of the batches [first, ...).
template <class T>
Heads<T> Batches(const Heads<T>& h, int64_t first) {
  Heads<T> part = h;
  if (part.data) part.data += first * h.matrix;
  return part;
}

// c (+)= factor op(a) op(b) for all heads of `batches` batches: one call for each head of a batch,
// or for each batch.
template <class T, class C>
void Products(int64_t batches, bool ta, bool tb, int64_t m, int64_t n, int64_t k, Wide<T> factor,
              const Heads<const T>& a, const Heads<const T>& b, const Heads<C>& c) {
  const int64_t side = c.side_by_side;
  if (batches >= side) {
    for (int64_t s = 0; s < side; ++s) {
      MatMulStack<T>(ta, tb, m, n, k, factor, a.data + s * a.head, a.row, a.matrix,
                     b.data + s * b.head, b.row, b.matrix, 0, c.data + s * c.head, c.row, c.matrix,
                     batches);
    }
    return;
  }
  for (int64_t i = 0; i < batches; ++i) {
    MatMulStack<T>(ta, tb, m, n, k, factor, a.data + i * a.matrix, a.row, a.head,
                   b.data + i * b.matrix, b.row, b.head, 0, c.data + i * c.matrix, c.row, c.head,
                   side);
  }
}

// What a thread knows of the rows of scores: their mask, and their dropout.
template <class T>
struct Rows {
  using W = Wide<T>;
  const T* added;
  const bool* seen;
  detail::Steps<1> offset;
  int64_t row, column, queries, keys, first_head;
  bool causal, masked, drops, all;
  uint32_t limit;
  W factor;
  const int64_t* drawn;
  int64_t drawn_before;

  Rows(const Attention<T>& a, int64_t first_head)
      : added(a.mask->added),
        seen(a.mask->seen),
        row(a.mask->row),
        column(a.mask->column),
        queries(a.queries),
        keys(a.keys),
        first_head(first_head),
        causal(a.mask->causal),
        masked(a.mask->any()),
        drops(a.dropout > 0),
        factor(a.dropout < 1 ? static_cast<W>(1 / (1 - a.dropout)) : 0),
        drawn(a.drawn),
        drawn_before(a.drawn_before) {
    Walk<1> walk;
    for (int i = 0; i < a.mask->leading.rank(); ++i) {
      const int64_t apart[] = {a.mask->strides[i]};  // nvcc drops braces around one number
      walk.Push(a.mask->leading[i], apart);
    }
    offset = detail::Steps<1>(walk);
    const uint64_t threshold = static_cast<uint64_t>(a.dropout * 0x1p32);
    all = threshold > UINT32_MAX;
    limit = all ? 0 : static_cast<uint32_t>(threshold);
  }

  // Where the mask of row r begins.
  DYGRAPH_INLINE int64_t MaskOf(int64_t r) const {
    return masked ? offset.At(first_head + r / queries).of[0] + r % queries * row : 0;
  }
  // A score, at `at` of the mask.
  DYGRAPH_INLINE W Masked(W score, int64_t r, int64_t at, int64_t j) const {
    const W hidden = -std::numeric_limits<W>::infinity();
    if (seen) {
      score = seen[at + j * column] ? score : hidden;
    } else if (added) {
      const W m = added[at + j * column], least = static_cast<T>(static_cast<W>(kHidden));
      score = m <= least ? hidden : score + m;
    }
    return causal && j > r % queries ? hidden : score;
  }
  // What dropout multiplies a weight with: the bits of the generator are those of the host.
  DYGRAPH_INLINE W Keep(int64_t r, int64_t j) const {
    if (!drops) return 1;
    const auto i = static_cast<uint64_t>(drawn_before + (first_head * queries + r) * keys + j);
    const uint64_t block = i / 64 * 16 + i % 16, seed = static_cast<uint64_t>(drawn[0]),
                   stream = static_cast<uint64_t>(drawn[1]);
    uint32_t w[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                     static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
    Philox4x32(w[0], w[1], w[2], w[3], static_cast<uint32_t>(seed),
               static_cast<uint32_t>(seed >> 32));
    return w[i % 64 / 16] >= limit && !all ? factor : 0;
  }
};

// Weights that products take: the scores' own room, or one beside it where T has 16 bits.
template <class T>
class Weights {
 public:
  Weights(Wide<T>* scores, int64_t count) : scores_(scores), room_(kBeside ? count : 0) {}
  T* data() {
    if constexpr (kBeside)
      return room_.data();
    else
      return scores_;
  }
  static constexpr bool kBeside = !std::is_same_v<T, Wide<T>>;
  static constexpr int64_t kBytes = sizeof(Wide<T>) + (kBeside ? sizeof(T) : 0);  // of a score

 private:
  Wide<T>* scores_;
  cuda::Workspace<T> room_;
};

// Scores become weights, and the logarithms of their totals are kept.
template <class T>
void Softmax(const Rows<T>& rows, int64_t count, Wide<T>* scores, T* weights, Wide<T>* log_total) {
  using W = Wide<T>;
  const int64_t n = rows.keys;
  ForEachRow(count, n, [=] DYGRAPH_FN(int64_t r, Team team) {
    W* row = scores + r * n;
    T* to = weights + r * n;
    const int64_t mask = rows.MaskOf(r);
    const W none = -std::numeric_limits<W>::infinity();
    const W most = team.Max(n, none, [=](int64_t j) { return rows.Masked(row[j], r, mask, j); });
    const W away = rows.masked && most == none ? 0 : most;
    team.Each(n, [=](int64_t j) { row[j] = Exp(rows.Masked(row[j], r, mask, j) - away); });
    const W sum = team.template Sum<W>(n, [=](int64_t j) { return row[j]; });
    const W factor = sum == 0 ? 0 : 1 / sum;
    team.Each(n, [=](int64_t j) { to[j] = row[j] * (factor * rows.Keep(r, j)); });
    team.Once([=] { log_total[r] = away + Log(sum); });
  });
}

// Scores p become the weights that V was multiplied with, also in `weights`. d, where it is not
// null, becomes the gradient of the scores from that of the weights, also in `slopes`.
template <class T>
void SoftmaxBackward(const Rows<T>& rows, int64_t count, const Wide<T>* log_total, Wide<T>* p,
                     Wide<T>* d, T* weights, T* slopes) {
  using W = Wide<T>;
  const int64_t n = rows.keys;
  const bool changed = rows.drops || Weights<T>::kBeside;
  ForEachRow(count, n, [=] DYGRAPH_FN(int64_t r, Team team) {
    W *weight = p + r * n, *up = d + r * n;
    const int64_t mask = rows.MaskOf(r);
    const W total = log_total[r], none = -std::numeric_limits<W>::infinity();
    const W away = total == none ? 0 : total;
    team.Each(n, [=](int64_t j) {
      weight[j] = Exp(rows.Masked(weight[j], r, mask, j) - away);
      if (d) up[j] *= rows.Keep(r, j);
    });
    if (d) {
      const W dot = team.template Sum<W>(n, [=](int64_t j) { return weight[j] * up[j]; });
      team.Each(n, [=](int64_t j) {
        up[j] = weight[j] * (up[j] - dot);
        slopes[r * n + j] = up[j];
      });
    }
    if (!changed) return;
    team.Each(n, [=](int64_t j) { weights[r * n + j] = weight[j] * rows.Keep(r, j); });
  });
}

// The gradients of all scores, added up where the mask was repeated.
template <class T>
void AddToMask(const Attention<T>& a, const Wide<T>* d_scores, T* to) {
  Dims dims = a.mask->leading, strides = a.mask->strides;
  dims.push_back(a.queries);
  dims.push_back(a.keys);
  strides.push_back(a.mask->row);
  strides.push_back(a.mask->column);
  Dims dense(dims.size(), 0);
  int64_t size = 1;
  Walk<2> walk;  // over what the mask has
  for (int i = dims.rank() - 1; i >= 0; --i) {
    if (strides[i] == 0) continue;
    dense[i] = size;
    size *= dims[i];
  }
  for (int i = 0; i < dims.rank(); ++i) {
    if (strides[i] != 0) walk.Push(dims[i], {dense[i], strides[i]});
  }
  if (Numel(dims) == 0) return;
  cuda::Workspace<Wide<T>> sums(size);
  Wide<T>* sum = sums.data();
  SumTo(dims, d_scores, Strides(dims), sum, dense);
  const detail::Steps<2> steps(walk);
  cuda::EachIndex(size, [=] DYGRAPH_FN(int64_t i) {
    const auto at = steps.At(i);
    to[at.of[1]] = to[at.of[1]] + sum[at.of[0]];
  });
}

// f(first batch, batches) for all heads, as many batches at a time as there is room for with so
// many bytes a score; 0: all together.
template <class T, class F>
void EachPart(const Attention<T>& a, int64_t bytes_of_score, const F& f) {
  const int64_t batches = a.heads / a.q.side_by_side;
  const int64_t bytes = a.q.side_by_side * a.queries * a.keys * bytes_of_score;
  const int64_t fitting = std::max<int64_t>(kMostBytes / std::max<int64_t>(bytes, 1), 1);
  const int64_t step = bytes_of_score == 0 ? batches : fitting;
  for (int64_t b = 0; b < batches; b += step) f(b, std::min(step, batches - b));
}

// Scores of T, as they lie in memory.
template <class S, class T>
Heads<S> ScoresOf(S* data, const Attention<T>& a) {
  const int64_t side = a.q.side_by_side, size = a.queries * a.keys;
  return {data, side, side * size, size, a.keys};
}

}  // namespace

template <class T>
void Attention<T>::Forward(Heads<T> out, Wide<T>* log_total) const {
  if (heads * queries == 0) return;
  EachPart(*this, Weights<T>::kBytes, [&](int64_t b, int64_t batches) {
    const int64_t first = b * q.side_by_side, count = batches * q.side_by_side * queries;
    cuda::Workspace<Wide<T>> room(count * keys);
    Weights<T> weights(room.data(), count * keys);
    Products(batches, false, true, queries, keys, width, scale, Batches(q, b), Batches(k, b),
             ScoresOf(room.data(), *this));
    Softmax(Rows<T>(*this, first), count, room.data(), weights.data(), log_total + first * queries);
    Products(batches, false, false, queries, value_width, keys, Wide<T>(1),
             ScoresOf<const T>(weights.data(), *this), Batches(v, b), Batches(out, b));
  });
}

template <class T>
void Attention<T>::Backward(const Wide<T>* log_total, Heads<const T> d_out,
                            const Gradients& to) const {
  const bool wanted = to.q.data || to.k.data || to.mask;
  const int64_t bytes = to.mask ? 0 : Weights<T>::kBytes * (wanted ? 2 : 1);
  EachPart(*this, bytes, [&](int64_t b, int64_t batches) {
    const int64_t first = b * q.side_by_side, count = batches * q.side_by_side * queries;
    const int64_t size = count * keys, slopes = wanted ? size : 0;
    cuda::Workspace<Wide<T>> p_room(size), d_room(slopes);
    Weights<T> p(p_room.data(), size), d(d_room.data(), slopes);
    const Heads<const T> dy = Batches(d_out, b), ps = ScoresOf<const T>(p.data(), *this),
                         ds = ScoresOf<const T>(d.data(), *this);
    Products(batches, false, true, queries, keys, width, scale, Batches(q, b), Batches(k, b),
             ScoresOf(p_room.data(), *this));
    if (wanted) {
      Products(batches, false, true, queries, keys, value_width, Wide<T>(1), dy, Batches(v, b),
               ScoresOf(d_room.data(), *this));
    }
    SoftmaxBackward(Rows<T>(*this, first), count, log_total + first * queries, p_room.data(),
                    wanted ? d_room.data() : nullptr, p.data(), d.data());
    if (to.v.data) {
      Products(batches, true, false, keys, value_width, queries, Wide<T>(1), ps, dy,
               Batches(to.v, b));
    }
    if (to.q.data) {
      Products(batches, false, false, queries, width, keys, scale, ds, Batches(k, b),
               Batches(to.q, b));
    }
    if (to.k.data) {
      Products(batches, true, false, keys, width, queries, scale, ds, Batches(q, b),
               Batches(to.k, b));
    }
    if (to.mask) AddToMask(*this, d_room.data(), to.mask);
  });
}

template struct Attention<float>;
template struct Attention<double>;
template struct Attention<float16>;
template struct Attention<bfloat16>;

}  // namespace dygraph::kernels
