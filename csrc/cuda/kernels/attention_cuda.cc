#include "kernels/attention.h"

#include <algorithm>
#include <limits>

#include "cuda/scratch.h"
#include "kernels/broadcast.h"
#include "kernels/loops.h"
#include "kernels/math.h"
#include "kernels/matmul.h"
#include "kernels/philox_numbers.h"
#include "kernels/walk.h"

namespace dygraph::kernels {
namespace {

constexpr double kHidden = -1e30;       // of a mask: at most this is not seen
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
template <class T>
void Products(int64_t batches, bool ta, bool tb, int64_t m, int64_t n, int64_t k, T factor,
              const Heads<const T>& a, const Heads<const T>& b, const Heads<T>& c) {
  const int64_t side = c.side_by_side;
  if (batches >= side) {
    for (int64_t s = 0; s < side; ++s) {
      MatMulStack<T>(ta, tb, m, n, k, factor, a.data + s * a.head, a.row, a.matrix,
                     b.data + s * b.head, b.row, b.matrix, T(0), c.data + s * c.head, c.row,
                     c.matrix, batches);
    }
    return;
  }
  for (int64_t i = 0; i < batches; ++i) {
    MatMulStack<T>(ta, tb, m, n, k, factor, a.data + i * a.matrix, a.row, a.head,
                   b.data + i * b.matrix, b.row, b.head, T(0), c.data + i * c.matrix, c.row, c.head,
                   side);
  }
}

// What a thread knows of the rows of scores: their mask, and their dropout.
template <class T>
struct Rows {
  const T* added;
  const bool* seen;
  detail::Steps<1> offset;
  int64_t row, column, queries, keys, first_head;
  bool causal, masked, drops, all;
  uint32_t limit;
  T factor;
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
        factor(a.dropout < 1 ? static_cast<T>(1 / (1 - a.dropout)) : T(0)),
        drawn(a.drawn),
        drawn_before(a.drawn_before) {
    Walk<1> walk;
    for (int i = 0; i < a.mask->leading.rank(); ++i)
      walk.Push(a.mask->leading[i], {a.mask->strides[i]});
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
  DYGRAPH_INLINE T Masked(T score, int64_t r, int64_t at, int64_t j) const {
    const T hidden = -std::numeric_limits<T>::infinity();
    if (seen) {
      score = seen[at + j * column] ? score : hidden;
    } else if (added) {
      const T m = added[at + j * column];
      score = m <= static_cast<T>(kHidden) ? hidden : score + m;
    }
    return causal && j > r % queries ? hidden : score;
  }
  // What dropout multiplies a weight with: the bits of the generator are those of the host.
  DYGRAPH_INLINE T Keep(int64_t r, int64_t j) const {
    if (!drops) return T(1);
    const auto i =
        static_cast<uint64_t>(drawn_before + (first_head * queries + r) * keys + j);
    const uint64_t block = i / 64 * 16 + i % 16, seed = static_cast<uint64_t>(drawn[0]),
                   stream = static_cast<uint64_t>(drawn[1]);
    uint32_t w[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                     static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
    Philox4x32(w[0], w[1], w[2], w[3], static_cast<uint32_t>(seed),
               static_cast<uint32_t>(seed >> 32));
    return w[i % 64 / 16] >= limit && !all ? factor : T(0);
  }
};

// Scores become weights, and the logarithms of their totals are kept.
template <class T>
void Softmax(const Rows<T>& rows, int64_t count, T* scores, T* log_total) {
  const int64_t n = rows.keys;
  ForEachRow(count, n, [=] DYGRAPH_FN(int64_t r, Team team) {
    T* row = scores + r * n;
    const int64_t mask = rows.MaskOf(r);
    const T none = -std::numeric_limits<T>::infinity();
    const T most = team.Max(n, none, [=](int64_t j) { return rows.Masked(row[j], r, mask, j); });
    const T away = rows.masked && most == none ? T(0) : most;
    team.Each(n, [=](int64_t j) { row[j] = Exp(rows.Masked(row[j], r, mask, j) - away); });
    const T sum = team.template Sum<T>(n, [=](int64_t j) { return row[j]; });
    const T factor = sum == T(0) ? T(0) : T(1) / sum;
    team.Each(n, [=](int64_t j) { row[j] *= factor * rows.Keep(r, j); });
    team.Once([=] { log_total[r] = away + Log(sum); });
  });
}

// Scores p become the weights that V was multiplied with. d, where it is not null, becomes the
// gradient of the scores from that of the weights.
template <class T>
void SoftmaxBackward(const Rows<T>& rows, int64_t count, const T* log_total, T* p, T* d) {
  const int64_t n = rows.keys;
  ForEachRow(count, n, [=] DYGRAPH_FN(int64_t r, Team team) {
    T *weight = p + r * n, *up = d + r * n;
    const int64_t mask = rows.MaskOf(r);
    const T total = log_total[r], none = -std::numeric_limits<T>::infinity();
    const T away = total == none ? T(0) : total;
    team.Each(n, [=](int64_t j) {
      weight[j] = Exp(rows.Masked(weight[j], r, mask, j) - away);
      if (d) up[j] *= rows.Keep(r, j);
    });
    if (d) {
      const T dot = team.template Sum<T>(n, [=](int64_t j) { return weight[j] * up[j]; });
      team.Each(n, [=](int64_t j) { up[j] = weight[j] * (up[j] - dot); });
    }
    if (rows.drops) team.Each(n, [=](int64_t j) { weight[j] *= rows.Keep(r, j); });
  });
}

// The gradients of all scores, added up where the mask was repeated.
template <class T>
void AddToMask(const Attention<T>& a, const T* d_scores, T* to) {
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
  cuda::Workspace<T> sums(size);
  T* sum = sums.data();
  SumTo(dims, d_scores, Strides(dims), sum, dense);
  const detail::Steps<2> steps(walk);
  cuda::ForEach(size, [=] DYGRAPH_FN(int64_t i) {
    const auto at = steps.At(i);
    to[at.of[1]] += sum[at.of[0]];
  });
}

// f(first batch, batches) for all heads, as many batches at a time as `buffers` of their scores
// have room for; 0: all together.
template <class T, class F>
void EachPart(const Attention<T>& a, int buffers, const F& f) {
  const int64_t batches = a.heads / a.q.side_by_side;
  const int64_t bytes = a.q.side_by_side * a.queries * a.keys * buffers *
                        static_cast<int64_t>(sizeof(T));
  const int64_t fitting = std::max<int64_t>(kMostBytes / std::max<int64_t>(bytes, 1), 1);
  const int64_t step = buffers == 0 ? batches : fitting;
  for (int64_t b = 0; b < batches; b += step) f(b, std::min(step, batches - b));
}

template <class T>
Heads<T> ScoresOf(T* data, const Attention<T>& a) {
  const int64_t side = a.q.side_by_side, size = a.queries * a.keys;
  return {data, side, side * size, size, a.keys};
}
template <class T>
Heads<const T> Read(const Heads<T>& h) {
  return {h.data, h.side_by_side, h.matrix, h.head, h.row};
}

}  // namespace

template <class T>
void Attention<T>::Forward(Heads<T> out, T* log_total) const {
  if (heads * queries == 0) return;
  EachPart(*this, 1, [&](int64_t b, int64_t batches) {
    const int64_t first = b * q.side_by_side, count = batches * q.side_by_side * queries;
    cuda::Workspace<T> room(count * keys);
    const Heads<T> p = ScoresOf(room.data(), *this);
    Products(batches, false, true, queries, keys, width, scale, Batches(q, b), Batches(k, b), p);
    Softmax(Rows<T>(*this, first), count, p.data, log_total + first * queries);
    Products(batches, false, false, queries, value_width, keys, T(1), Read(p), Batches(v, b),
             Batches(out, b));
  });
}

template <class T>
void Attention<T>::Backward(const T* log_total, Heads<const T> d_out, const Gradients& to) const {
  const bool wanted = to.q.data || to.k.data || to.mask;
  EachPart(*this, to.mask ? 0 : wanted ? 2 : 1, [&](int64_t b, int64_t batches) {
    const int64_t first = b * q.side_by_side, count = batches * q.side_by_side * queries;
    cuda::Workspace<T> p_room(count * keys), d_room(wanted ? count * keys : 0);
    const Heads<T> p = ScoresOf(p_room.data(), *this), d = ScoresOf(d_room.data(), *this);
    const Heads<const T> dy = Batches(d_out, b);
    Products(batches, false, true, queries, keys, width, scale, Batches(q, b), Batches(k, b), p);
    if (wanted) {
      Products(batches, false, true, queries, keys, value_width, T(1), dy, Batches(v, b), d);
    }
    SoftmaxBackward(Rows<T>(*this, first), count, log_total + first * queries, p.data,
                    wanted ? d.data : nullptr);
    if (to.v.data) {
      Products(batches, true, false, keys, value_width, queries, T(1), Read(p), dy,
               Batches(to.v, b));
    }
    if (to.q.data) {
      Products(batches, false, false, queries, width, keys, scale, Read(d), Batches(k, b),
               Batches(to.q, b));
    }
    if (to.k.data) {
      Products(batches, true, false, keys, width, queries, scale, Read(d), Batches(q, b),
               Batches(to.k, b));
    }
    if (to.mask) AddToMask(*this, d.data, to.mask);
  });
}

template struct Attention<float>;
template struct Attention<double>;

}  // namespace dygraph::kernels
