#include "kernels/attention.h"

#include <algorithm>
#include <limits>

#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/math.h"
#include "kernels/matmul.h"
#include "kernels/philox.h"
#include "kernels/softmax.h"
#include "tensor/scratch.h"

namespace dygraph::kernels {
namespace {

constexpr int64_t kBlockScores = 1 << 16;  // scores worked on together, for the second cache

// f(row) for the rows of a block, which belongs to one thread.
template <class F>
void BlockRowsLoop(int64_t rows, F f) {
  Simd([=] {
    for (int64_t r = 0; r < rows; ++r) f(r);
  });
}

// c (+)= factor op(a) op(b). Where heads are shared out over the threads each product has one; a
// product that has them all must be our own, whose bits do not depend on them.
template <class T>
struct Times {
  bool shared_out;
  void operator()(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T factor, const T* a,
                  int64_t lda, const T* b, int64_t ldb, bool add, T* c, int64_t ldc) const {
    auto product = shared_out ? &MatMul<T> : &Gemm<T>;
    product(ta, tb, m, n, k, factor, a, lda, b, ldb, T(add), c, ldc);
  }
};

template <class T>
struct Room {  // `count` blocks of scores
  Room(int count, int64_t size)
      : size(size), scratch(CPUPlace(), static_cast<size_t>(count * size) * sizeof(T)) {}
  T* operator[](int i) { return scratch.as<T>() + i * size; }
  int64_t size;
  Scratch scratch;
};

// All heads, some on each thread.
template <class F>
void EachHead(int64_t heads, bool apart, const F& f) {
  const int64_t pieces = apart ? std::min<int64_t>(NumThreads(), heads) : 1;
  ParallelBlocks(pieces, [&](int64_t p) {
    for (int64_t l = heads * p / pieces; l < heads * (p + 1) / pieces; ++l) f(l);
  });
}

}  // namespace

template <class T>
int64_t Attention<T>::BlockRows() const {
  return std::clamp<int64_t>(kBlockScores / std::max<int64_t>(keys, 1),
                             std::min<int64_t>(queries, 8), std::max<int64_t>(queries, 1));
}

// Rows [first, first + rows) of scale Q K^T + mask.
template <class T>
void Attention<T>::Scores(bool shared_out, int64_t l, int64_t first, int64_t rows, T* to) const {
  const int64_t n = keys;
  const Times<T> times{shared_out};
  times(false, true, rows, n, width, scale, q.at(l) + first * q.row, q.row, k.at(l), k.row, false,
        to, n);
  const T hidden = -std::numeric_limits<T>::infinity(), far = static_cast<T>(kHidden);
  if (mask->any()) {
    const int64_t row = mask->row, column = mask->column;
    const T* added = mask->added ? mask->added + mask->offset[l] + first * row : nullptr;
    const bool* seen = mask->seen ? mask->seen + mask->offset[l] + first * row : nullptr;
    BlockRowsLoop(rows, [=](int64_t r) {
      T* score = to + r * n;
      if (seen) {
        DYGRAPH_IVDEP
        for (int64_t j = 0; j < n; ++j) score[j] = seen[r * row + j * column] ? score[j] : hidden;
        return;
      }
      const T* more = added + r * row;
      if (column == 1) {
        DYGRAPH_IVDEP
        for (int64_t j = 0; j < n; ++j) score[j] = more[j] <= far ? hidden : score[j] + more[j];
      } else {
        const T m = more[0];
        DYGRAPH_IVDEP
        for (int64_t j = 0; j < n; ++j) score[j] = m <= far ? hidden : score[j] + m;
      }
    });
  }
  if (!mask->causal) return;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = std::min(first + r + 1, n); j < n; ++j) to[r * n + j] = hidden;
  }
}

// The weights before dropout, from the logarithms of the totals.
template <class T>
void Attention<T>::Weights(bool shared_out, int64_t l, int64_t first, int64_t rows,
                           const T* log_total, T* to) const {
  Scores(shared_out, l, first, rows, to);
  const int64_t n = keys;
  const T* total = log_total + l * queries + first;
  BlockRowsLoop(rows, [=](int64_t r) {
    T* row = to + r * n;
    const T t = total[r], none = -std::numeric_limits<T>::infinity();
    const T away = t == none ? T(0) : t;  // no key seen: every score is -inf, every weight 0
    DYGRAPH_IVDEP
    for (int64_t j = 0; j < n; ++j) row[j] = Exp(row[j] - away);
  });
}

// 0 or 1 / (1 - dropout) for each weight.
template <class T>
void Attention<T>::DropFactors(int64_t l, int64_t first, int64_t rows, T* to) const {
  Philox generator(seed, stream);
  const T factor = dropout < 1 ? static_cast<T>(1 / (1 - dropout)) : T(0);
  const uint64_t threshold = static_cast<uint64_t>(dropout * 0x1p32);
  const bool all = threshold > UINT32_MAX;
  const uint32_t limit = all ? 0 : static_cast<uint32_t>(threshold);
  const int64_t n = rows * keys;
  constexpr int64_t kPiece = 2048;
  uint32_t bits[kPiece];
  for (int64_t at = 0; at < n; at += kPiece) {
    const int64_t count = std::min(kPiece, n - at);
    generator.Raw(bits, count, drawn_before + (l * queries + first) * keys + at);
    const uint32_t* b = bits;
    Simd([=] {
      for (int64_t i = 0; i < count; ++i) to[at + i] = (b[i] >= limit) & !all ? factor : T(0);
    });
  }
}

template <class T>
void Attention<T>::AddToMask(int64_t l, int64_t first, int64_t rows, const T* d_scores,
                             T* to) const {
  for (int64_t r = 0; r < rows; ++r) {
    T* at = to + mask->offset[l] + (first + r) * mask->row;
    for (int64_t j = 0; j < keys; ++j) at[j * mask->column] += d_scores[r * keys + j];
  }
}

template <class T>
void Attention<T>::Forward(Heads<T> out, T* log_total) const {
  const int64_t n = keys, step = BlockRows(), blocks = (queries + step - 1) / step;
  if (heads * queries == 0) return;
  const bool drops = dropout > 0, shared_out = heads * blocks > 1;
  const Times<T> times{shared_out};
  ParallelRows(heads * blocks, step * n * (width + value_width), [&](int64_t begin, int64_t end) {
    Room<T> room(drops ? 2 : 1, step * n);
    for (int64_t b = begin; b < end; ++b) {
      const int64_t l = b / blocks, first = b % blocks * step;
      const int64_t rows = std::min(step, queries - first);
      T *p = room[0], *total = log_total + l * queries + first;
      Scores(shared_out, l, first, rows, p);
      const bool masked = mask->any();
      BlockRowsLoop(rows, [=](int64_t r) {
        T* row = p + r * n;
        const T none = -std::numeric_limits<T>::infinity();
        const T most = n > 0 ? detail::RowMax(row, n) : none;
        const T away = masked && most == none ? T(0) : most;
        DYGRAPH_IVDEP
        for (int64_t j = 0; j < n; ++j) row[j] = Exp(row[j] - away);
        const T sum = detail::RowSum<T>(n, [=](int64_t j) { return row[j]; });
        total[r] = away + Log(sum);
        const T factor = sum == T(0) ? T(0) : T(1) / sum;
        DYGRAPH_IVDEP
        for (int64_t j = 0; j < n; ++j) row[j] *= factor;
      });
      if (drops) {
        DropFactors(l, first, rows, room[1]);
        Zip(static_cast<const T*>(p), static_cast<const T*>(room[1]), p, rows * n,
            [](T x, T y) { return x * y; });
      }
      times(false, false, rows, value_width, n, T(1), p, n, v.at(l), v.row, false,
            out.at(l) + first * out.row, out.row);
    }
  });
}

template <class T>
void Attention<T>::Backward(const T* log_total, Heads<const T> d_out, const Gradients& to) const {
  const int64_t n = keys, step = BlockRows();
  const bool drops = dropout > 0, scores_wanted = to.q.data || to.k.data || to.mask;
  const bool shared_out = heads > 1 && !to.mask;
  const Times<T> times{shared_out};
  EachHead(heads, shared_out, [&](int64_t l) {
    Room<T> room(3, step * n);
    for (int64_t first = 0; first < std::max<int64_t>(queries, 1); first += step) {
      const int64_t rows = std::min(step, queries - first);
      const T *dy = d_out.at(l) + first * d_out.row, *query = q.at(l) + first * q.row;
      T *p = room[0], *d = room[1], *drop = room[2];
      Weights(shared_out, l, first, rows, log_total, p);
      if (drops) DropFactors(l, first, rows, drop);
      if (scores_wanted) {
        times(false, true, rows, n, value_width, T(1), dy, d_out.row, v.at(l), v.row, false, d, n);
      }
      // p: what V was multiplied with; d: the gradient of the scores
      BlockRowsLoop(rows, [=](int64_t r) {
        T *weight = p + r * n, *up = d + r * n;
        const T* keep = drop + r * n;
        if (drops && scores_wanted) {
          DYGRAPH_IVDEP
          for (int64_t j = 0; j < n; ++j) up[j] *= keep[j];
        }
        if (scores_wanted) {
          const T dot = detail::RowSum<T>(n, [=](int64_t j) { return weight[j] * up[j]; });
          DYGRAPH_IVDEP
          for (int64_t j = 0; j < n; ++j) up[j] = weight[j] * (up[j] - dot);
        }
        if (drops) {
          DYGRAPH_IVDEP
          for (int64_t j = 0; j < n; ++j) weight[j] *= keep[j];
        }
      });
      const bool add = first > 0;
      if (to.v.data) {
        times(true, false, n, value_width, rows, T(1), p, n, dy, d_out.row, add, to.v.at(l),
              to.v.row);
      }
      if (to.q.data) {
        times(false, false, rows, width, n, scale, d, n, k.at(l), k.row, false,
              to.q.at(l) + first * to.q.row, to.q.row);
      }
      if (to.k.data) {
        times(true, false, n, width, rows, scale, d, n, query, q.row, add, to.k.at(l), to.k.row);
      }
      if (to.mask) AddToMask(l, first, rows, d, to.mask);
    }
  });
}

// With a dot for the derivative along the direction: S. = scale (Q. K^T + Q K.^T) + M.,
// P. = P (S. - sum(P S.)), and so on through the lines of Backward.
template <class T>
void Attention<T>::BackwardAlong(const T* log_total, Heads<const T> d_out, const Direction& along,
                                 const Gradients& to, Heads<T> out) const {
  const int64_t n = keys, step = BlockRows();
  const bool drops = dropout > 0, shared_out = heads > 1 && !to.mask;
  const Times<T> times{shared_out};
  EachHead(heads, shared_out, [&](int64_t l) {
    Room<T> room(6, step * n);
    for (int64_t first = 0; first < std::max<int64_t>(queries, 1); first += step) {
      const int64_t rows = std::min(step, queries - first), size = rows * n;
      const T *dy = d_out.at(l) + first * d_out.row, *query = q.at(l) + first * q.row;
      const T* query_along = along.q.data ? along.q.at(l) + first * along.q.row : nullptr;
      T *p = room[0], *p_along = room[1], *d = room[2], *d_along = room[3], *drop = room[4];
      T* scores_along = room[5];
      Weights(shared_out, l, first, rows, log_total, p);
      std::fill(scores_along, scores_along + size, T(0));
      std::fill(d_along, d_along + size, T(0));
      std::fill(drop, drop + size, T(1));
      if (drops) DropFactors(l, first, rows, drop);
      if (query_along) {
        times(false, true, rows, n, width, scale, query_along, along.q.row, k.at(l), k.row, true,
              scores_along, n);
      }
      if (along.k.data) {
        times(false, true, rows, n, width, scale, query, q.row, along.k.at(l), along.k.row, true,
              scores_along, n);
      }
      for (int64_t r = 0; along.mask && r < rows; ++r) {
        const T* at = along.mask + mask->offset[l] + (first + r) * mask->row;
        for (int64_t j = 0; j < n; ++j) scores_along[r * n + j] += at[j * mask->column];
      }
      times(false, true, rows, n, value_width, T(1), dy, d_out.row, v.at(l), v.row, false, d, n);
      if (along.v.data) {
        times(false, true, rows, n, value_width, T(1), dy, d_out.row, along.v.at(l), along.v.row,
              true, d_along, n);
      }
      BlockRowsLoop(rows, [=](int64_t r) {
        T *weight = p + r * n, *weight_along = p_along + r * n, *keep = drop + r * n;
        T *up = d + r * n, *up_along = d_along + r * n, *score_along = scores_along + r * n;
        T mean = 0, dot = 0, dot_along = 0;
        for (int64_t j = 0; j < n; ++j) mean += weight[j] * score_along[j];
        for (int64_t j = 0; j < n; ++j) {
          weight_along[j] = weight[j] * (score_along[j] - mean);
          up[j] *= keep[j];
          up_along[j] *= keep[j];
          dot += up[j] * weight[j];
          dot_along += up_along[j] * weight[j] + up[j] * weight_along[j];
        }
        for (int64_t j = 0; j < n; ++j) {
          const T centred = up[j] - dot;
          up[j] = weight[j] * centred;
          up_along[j] = weight_along[j] * centred + weight[j] * (up_along[j] - dot_along);
          weight[j] *= keep[j];
          weight_along[j] *= keep[j];
        }
      });
      const bool add = first > 0;
      if (to.v.data) {
        times(true, false, n, value_width, rows, T(1), p_along, n, dy, d_out.row, add, to.v.at(l),
              to.v.row);
      }
      if (to.q.data) {
        T* d_query = to.q.at(l) + first * to.q.row;
        times(false, false, rows, width, n, scale, d_along, n, k.at(l), k.row, false, d_query,
              to.q.row);
        if (along.k.data) {
          times(false, false, rows, width, n, scale, d, n, along.k.at(l), along.k.row, true,
                d_query, to.q.row);
        }
      }
      if (to.k.data) {
        times(true, false, n, width, rows, scale, d_along, n, query, q.row, add, to.k.at(l),
              to.k.row);
        if (query_along) {
          times(true, false, n, width, rows, scale, d, n, query_along, along.q.row, true,
                to.k.at(l), to.k.row);
        }
      }
      if (to.mask) AddToMask(l, first, rows, d_along, to.mask);
      if (out.data) {
        T* y = out.at(l) + first * out.row;
        times(false, false, rows, value_width, n, T(1), p_along, n, v.at(l), v.row, false, y,
              out.row);
        if (along.v.data) {
          times(false, false, rows, value_width, n, T(1), p, n, along.v.at(l), along.v.row, true, y,
                out.row);
        }
      }
    }
  });
}

template struct Attention<float>;
template struct Attention<double>;

}  // namespace dygraph::kernels
