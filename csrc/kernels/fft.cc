// Stockham's algorithm: passes of radix 4, 2 and odd primes up to 13 that leave the result in
// order. Several lines are transformed together, one in each lane of a vector, so that every loop
// of a pass is arithmetic on whole vectors, whatever the radix. One long line is made many short
// ones: with n = a b, lines of length a down the columns of an a x b matrix, a twist of each
// number, lines of length b along its rows. A length with a larger prime factor becomes a
// convolution of a length without one (Bluestein). Sines and cosines are computed in double, from
// angles below pi / 4.
#include "kernels/fft.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/complex.h"
#include "kernels/fft_passes.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"
#include "tensor/scratch.h"

namespace dygraph::kernels {
namespace {

using fft::kLanes;
using fft::Number;
using fft::Pass2;
using fft::Pass4;
using fft::PassOdd;

constexpr int64_t kLong = 4096;        // above it a line is divided
constexpr int64_t kLongest = 1 << 16;  // of a part
constexpr int kLargestPrime = 13;
constexpr double kPi = 3.14159265358979323846;

// exp(-2 pi i k / n)
std::complex<double> RootOf(int64_t k, int64_t n) {
  k %= n;
  // The angle in eighths of a circle and a rest, both exact.
  const int64_t eighth = 8 * k / n, rest = 8 * k - eighth * n;
  const bool odd = eighth % 2 != 0;
  const double angle = (odd ? n - rest : rest) * (kPi / 4) / n;
  double c = std::cos(angle), s = std::sin(angle);
  if ((eighth + 1) / 2 % 2 != 0) std::swap(c, s);
  if (eighth >= 2 && eighth < 6) c = -c;
  if (eighth >= 4) s = -s;
  return {c, -s};
}

// What a length needs, made once and kept for the next call.
template <class T>
struct Plan {
  int64_t n = 1;
  bool real = false;
  std::vector<int> radices;
  std::vector<T> twiddles;  // of each pass: cosines and sines for every p and output but the first
  T cosines[kLargestPrime + 1][kLargestPrime] = {}, sines[kLargestPrime + 1][kLargestPrime] = {};
  // A long line: n = a b, and w^(j k) for row k of column j.
  std::shared_ptr<const Plan> a, b;
  std::vector<std::complex<T>> twist;
  // Real lines: the complex plan of half the length in `a`, and w^k in `twist`.
  // Bluestein: w^(k^2 / 2), and the transformed conjugates, over the length of the convolution.
  std::shared_ptr<const Plan> convolution;
  std::vector<std::complex<T>> chirp, spectrum;
};
template <class T>
using PlanRef = std::shared_ptr<const Plan<T>>;

// The radices of n; a rest above 1 behind them is a prime too large.
std::vector<int> Factors(int64_t n, int64_t* rest) {
  std::vector<int> radices;
  for (int r : {4, 2, 3, 5, 7, 11, 13}) {
    for (; n % r == 0; n /= r) radices.push_back(r);
  }
  *rest = n;
  return radices;
}

template <class T>
void AddPasses(Plan<T>* plan) {
  int64_t length = plan->n;
  for (int r : plan->radices) {
    const int64_t m = length / r;
    for (int64_t p = 0; p < m; ++p) {
      for (int j = 1; j < r; ++j) {
        const std::complex<double> w = RootOf(p * j, length);
        plan->twiddles.push_back(static_cast<T>(w.real()));
        plan->twiddles.push_back(static_cast<T>(w.imag()));
      }
    }
    for (int j = 0; j < r; ++j) {
      plan->cosines[r][j] = static_cast<T>(RootOf(j, r).real());
      plan->sines[r][j] = static_cast<T>(-RootOf(j, r).imag());
    }
    length = m;
  }
}

// a: the product of some radices that comes closest to the root of n.
int64_t NearRoot(int64_t n, const std::vector<int>& radices) {
  std::vector<int64_t> products = {1};
  for (int r : radices) {
    const size_t count = products.size();
    for (size_t i = 0; i < count; ++i) products.push_back(products[i] * r);
    std::sort(products.begin(), products.end());
    products.erase(std::unique(products.begin(), products.end()), products.end());
  }
  int64_t best = 1;
  for (int64_t p : products) {
    if (p * p <= n) best = std::max(best, p);
  }
  return best;
}

template <class T>
PlanRef<T> PlanOf(int64_t n, bool real = false);

template <class T>
void FftLine(const Plan<T>& plan, const std::complex<T>* x, int64_t x_step, std::complex<T>* y,
             int64_t y_step, bool swap, T scale);

template <class T>
void AddConvolution(Plan<T>* plan) {
  const int64_t n = plan->n;
  int64_t m = 2 * n - 1;
  for (int64_t rest = 0;; ++m) {
    Factors(m, &rest);
    if (rest == 1 && m % 4 == 0) break;
  }
  plan->convolution = PlanOf<T>(m);
  plan->chirp.resize(n);
  plan->spectrum.assign(m, 0);
  int64_t square = 0;  // k^2 modulo 2 n
  for (int64_t k = 0; k < n; ++k) {
    const std::complex<double> w = RootOf(square, 2 * n);
    plan->chirp[k] = std::complex<T>(w);
    plan->spectrum[k] = plan->spectrum[k ? m - k : 0] = std::complex<T>(std::conj(w));
    square = (square + 2 * k + 1) % (2 * n);
  }
  FftLine<T>(*plan->convolution, plan->spectrum.data(), 1, plan->spectrum.data(), 1, false,
             T(1) / static_cast<T>(m));
}

template <class T>
PlanRef<T> MakePlan(int64_t n, bool real) {
  auto plan = std::make_shared<Plan<T>>();
  plan->n = n;
  plan->real = real;
  if (real) {
    plan->a = PlanOf<T>(n / 2);
    for (int64_t k = 0; k <= n / 4; ++k) plan->twist.push_back(std::complex<T>(RootOf(k, n)));
    return plan;
  }
  int64_t rest = 1;
  plan->radices = Factors(n, &rest);
  if (rest != 1) {
    AddConvolution(plan.get());
    return plan;
  }
  if (n <= kLongest) AddPasses(plan.get());
  const int64_t a = NearRoot(n, plan->radices);
  if (n >= 64 && a > 1) {
    const int64_t b = n / a;
    plan->a = PlanOf<T>(a);
    plan->b = PlanOf<T>(b);
    plan->twist.resize(n);
    for (int64_t k = 0; k < a; ++k) {
      for (int64_t j = 0; j < b; ++j) plan->twist[k * b + j] = std::complex<T>(RootOf(j * k, n));
    }
  }
  return plan;
}

// The plans used last, of both types apart: at most so many, and of so many numbers together.
template <class T>
PlanRef<T> PlanOf(int64_t n, bool real) {
  static std::mutex mutex;
  static std::list<PlanRef<T>> kept;
  constexpr size_t kMost = 64;
  constexpr int64_t kMostLength = int64_t{1} << 22;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto at = kept.begin(); at != kept.end(); ++at) {
      if ((*at)->n != n || (*at)->real != real) continue;
      kept.splice(kept.begin(), kept, at);
      return kept.front();
    }
  }
  PlanRef<T> plan = MakePlan<T>(n, real);  // which may need others, and the threads
  std::lock_guard<std::mutex> lock(mutex);
  kept.push_front(plan);
  int64_t length = 0;
  size_t count = 0;
  for (auto at = kept.begin(); at != kept.end();) {
    length += (*at)->n;
    const bool stays = ++count <= kMost && (length <= kMostLength || count == 1);
    at = stays ? std::next(at) : kept.erase(at);
  }
  return plan;
}

// Passes ------------------------------------------------------------------------------------------

// All passes; where the result is.
template <class T>
DYGRAPH_INLINE Number<T>* Passes(const Plan<T>& plan, Number<T>* x, Number<T>* y) {
  int64_t length = plan.n, s = 1;
  const T* w = plan.twiddles.data();
  for (int r : plan.radices) {
    const int64_t m = length / r;
    const T *c = plan.cosines[r], *v = plan.sines[r];
    switch (r) {
      case 2: Pass2<T>(x, y, m, s, w); break;
      case 3: PassOdd<3, T>(x, y, m, s, w, c, v); break;
      case 4: Pass4<T>(x, y, m, s, w); break;
      case 5: PassOdd<5, T>(x, y, m, s, w, c, v); break;
      case 7: PassOdd<7, T>(x, y, m, s, w, c, v); break;
      case 11: PassOdd<11, T>(x, y, m, s, w, c, v); break;
      default: PassOdd<13, T>(x, y, m, s, w, c, v); break;
    }
    w += 2 * (r - 1) * m;
    length = m;
    s *= r;
    std::swap(x, y);
  }
  return x;
}

// Lines -------------------------------------------------------------------------------------------

// Where lines lie: line c begins at c / inner * outer_step + c % inner * inner_step, and its
// numbers are `step` apart.
struct Lying {
  int64_t inner, outer_step, inner_step, step;
  int64_t Begin(int64_t c) const { return c / inner * outer_step + c % inner * inner_step; }
};

// Backward is forward with real and imaginary parts changed over, before and after.
struct Swap {
  bool in, out;
};

// Lines [first, first + count), at most as many as there are lanes. Results are multiplied by
// `factors`, where they are given, which lie like them.
template <class T>
DYGRAPH_INLINE void Block(const Plan<T>& plan, const std::complex<T>* x, const Lying& x_lies,
                          std::complex<T>* y, const Lying& y_lies, int64_t first, int64_t count,
                          Swap swap, T scale, const std::complex<T>* factors, Number<T>* buffer) {
  constexpr int L = kLanes<T>;
  const int64_t n = plan.n;
  int64_t from[L], to[L];
  bool side_by_side = count == L, to_side_by_side = count == L;
  for (int l = 0; l < L; ++l) {  // a lane without a line repeats the last one, and is not stored
    const int64_t c = first + std::min<int64_t>(l, count - 1);
    from[l] = x_lies.Begin(c);
    to[l] = y_lies.Begin(c);
    side_by_side &= from[l] == from[0] + l;
    to_side_by_side &= to[l] == to[0] + l;
  }
  const T* source = reinterpret_cast<const T*>(x);
  T* lanes = reinterpret_cast<T*>(buffer);
  for (int64_t k = 0; k < n; ++k) {
    T* at = lanes + k * 2 * L;
    if (side_by_side) {
      const T* v = source + 2 * (from[0] + k * x_lies.step);
      for (int l = 0; l < L; ++l) {
        at[l] = v[2 * l + swap.in];
        at[L + l] = v[2 * l + !swap.in];
      }
    } else {
      for (int l = 0; l < L; ++l) {
        const T* v = source + 2 * (from[l] + k * x_lies.step);
        at[l] = v[swap.in];
        at[L + l] = v[!swap.in];
      }
    }
  }
  Number<T>* found = Passes<T>(plan, buffer, buffer + n);
  T* target = reinterpret_cast<T*>(y);
  lanes = reinterpret_cast<T*>(found);
  if (factors) {
    const T* twist = reinterpret_cast<const T*>(factors);
    for (int64_t k = 0; k < n; ++k) {
      T parts[2 * L];
      for (int l = 0; l < L; ++l) {
        parts[l] = twist[2 * (to[l] + k * y_lies.step)];
        parts[L + l] = twist[2 * (to[l] + k * y_lies.step) + 1];
      }
      Number<T> w, v = found[k];
      std::memcpy(&w, parts, sizeof(w));
      found[k].re = v.re * w.re - v.im * w.im;
      found[k].im = v.re * w.im + v.im * w.re;
    }
  } else if (scale != 1) {
    for (int64_t k = 0; k < n; ++k) {
      found[k].re *= scale;
      found[k].im *= scale;
    }
  }
  for (int64_t k = 0; k < n; ++k) {
    const T* at = lanes + k * 2 * L;
    if (to_side_by_side) {
      T* out = target + 2 * (to[0] + k * y_lies.step);
      for (int l = 0; l < L; ++l) {
        out[2 * l + swap.out] = at[l];
        out[2 * l + !swap.out] = at[L + l];
      }
    } else {
      for (int64_t l = 0; l < count; ++l) {
        T* out = target + 2 * (to[l] + k * y_lies.step);
        out[swap.out] = at[l];
        out[!swap.out] = at[L + l];
      }
    }
  }
}

// Short lines of one length, several at a time.
template <class T>
void FftLines(const Plan<T>& plan, const std::complex<T>* x, Lying x_lies, std::complex<T>* y,
              Lying y_lies, int64_t count, Swap swap, T scale, const std::complex<T>* factors) {
  constexpr int L = kLanes<T>;
  const int64_t n = plan.n;
  int64_t cost = 8 * n;
  for (int r : plan.radices) cost += 2 * n * (r + 2);
  ParallelRows((count + L - 1) / L, cost, [&](int64_t begin, int64_t end) {
    Scratch memory(CPUPlace(), static_cast<size_t>(2 * n) * sizeof(Number<T>));
    auto* buffer = memory.as<Number<T>>();
    const Plan<T>* with = &plan;
    Simd([=] {
      for (int64_t g = begin; g < end; ++g) {
        Block<T>(*with, x, x_lies, y, y_lies, g * L, std::min<int64_t>(L, count - g * L), swap,
                 scale, factors, buffer);
      }
    });
  });
}

template <class T>
void Convolve(const Plan<T>& plan, const std::complex<T>* x, int64_t x_step, std::complex<T>* y,
              int64_t y_step, bool swap, T scale) {
  const int64_t n = plan.n, m = plan.convolution->n;
  Scratch memory(CPUPlace(), static_cast<size_t>(m) * sizeof(std::complex<T>));
  auto* z = memory.as<std::complex<T>>();
  auto turned = [swap](std::complex<T> v) {
    return swap ? std::complex<T>(v.imag(), v.real()) : v;
  };
  for (int64_t k = 0; k < n; ++k) z[k] = Product(turned(x[k * x_step]), plan.chirp[k]);
  std::fill(z + n, z + m, std::complex<T>());
  FftLine<T>(*plan.convolution, z, 1, z, 1, false, T(1));
  for (int64_t k = 0; k < m; ++k) z[k] = Product(z[k], plan.spectrum[k]);
  FftLine<T>(*plan.convolution, z, 1, z, 1, true, T(1));
  for (int64_t k = 0; k < n; ++k) y[k * y_step] = turned(Product(z[k], plan.chirp[k])) * scale;
}

// One line, which may be long.
template <class T>
void FftLine(const Plan<T>& plan, const std::complex<T>* x, int64_t x_step, std::complex<T>* y,
             int64_t y_step, bool swap, T scale) {
  if (plan.convolution) return Convolve(plan, x, x_step, y, y_step, swap, scale);
  if (!plan.a) {
    return FftLines<T>(plan, x, {1, 0, 0, x_step}, y, {1, 0, 0, y_step}, 1, {swap, swap}, scale,
                       nullptr);
  }
  const int64_t a = plan.a->n, b = plan.b->n;
  Scratch memory(CPUPlace(), static_cast<size_t>(plan.n) * sizeof(std::complex<T>));
  auto* z = memory.as<std::complex<T>>();
  // Columns of x become columns of z, rows of z become columns of y.
  FftLines<T>(*plan.a, x, {b, 0, x_step, b * x_step}, z, {b, 0, 1, b}, b, {swap, false}, T(1),
              plan.twist.data());
  FftLines<T>(*plan.b, z, {1, b, 0, 1}, y, {a, 0, y_step, a * y_step}, a, {false, swap}, scale,
              nullptr);
}

// Lines of any number and length.
template <class T>
void Transform(const Plan<T>& plan, const std::complex<T>* x, Lying x_lies, std::complex<T>* y,
               Lying y_lies, int64_t lines, bool swap, T scale) {
  const bool together = !plan.convolution && plan.n <= kLong && (!plan.a || lines >= kLanes<T> / 2);
  if (together) return FftLines<T>(plan, x, x_lies, y, y_lies, lines, {swap, swap}, scale, nullptr);
  auto some = [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      FftLine<T>(plan, x + x_lies.Begin(c), x_lies.step, y + y_lies.Begin(c), y_lies.step, swap,
                 scale);
    }
  };
  if (lines < NumThreads()) return some(0, lines);
  ParallelRows(lines, 64 * plan.n, some);
}

// y[..k] and y[..h - k] of a line of n = 2 h real numbers, from the transform of the h complex ones
// that pairs of them make.
template <class T>
void Untangle(const Plan<T>& plan, int64_t h, bool forward, T scale, std::complex<T>* y) {
  using C = std::complex<T>;
  const C first = y[0];
  y[0] = C((first.real() + first.imag()) * scale, 0);
  y[h] = C((first.real() - first.imag()) * scale, 0);
  const T half = scale / 2;
  for (int64_t k = 1; k <= h / 2; ++k) {
    const C a = y[k], b = Conj(y[h - k]), w = plan.twist[k];
    const C even = (a + b) * half, odd = Product((a - b) * half, C(w.imag(), -w.real()));
    const C one = even + odd, other = Conj(even - odd);
    y[k] = forward ? one : Conj(one);
    y[h - k] = forward ? other : Conj(other);
  }
}

// The way back: h complex numbers whose backward transform has the n real ones as its parts.
template <class T>
void Tangle(const Plan<T>& plan, int64_t h, bool forward, const std::complex<T>* x,
            std::complex<T>* z) {
  using C = std::complex<T>;
  z[0] = C(x[0].real() + x[h].real(), x[0].real() - x[h].real());
  for (int64_t k = 1; k <= h / 2; ++k) {
    const C given = forward ? Conj(x[k]) : x[k], mirror = forward ? x[h - k] : Conj(x[h - k]);
    const C even = given + mirror;
    const C odd = Product(given - mirror, C(plan.twist[k].imag(), plan.twist[k].real()));
    z[k] = even + odd;
    z[h - k] = Conj(even - odd);
  }
}

}  // namespace

template <class T>
void Fft(const std::complex<T>* x, std::complex<T>* y, int64_t outer, int64_t n, int64_t inner,
         bool forward, T scale) {
  const PlanRef<T> plan = PlanOf<T>(n);
  const Lying lies{inner, n * inner, 1, inner};
  Transform<T>(*plan, x, lies, y, lies, outer * inner, !forward, scale);
}

template <class T>
void FftOfReal(const T* x, std::complex<T>* y, int64_t rows, int64_t n, bool forward, T scale) {
  using C = std::complex<T>;
  const int64_t h = n / 2;
  if (n % 2 == 0) {
    const PlanRef<T> plan = PlanOf<T>(n, true);
    Transform<T>(*plan->a, reinterpret_cast<const C*>(x), {1, h, 0, 1}, y, {1, h + 1, 0, 1}, rows,
                 false, T(1));
    ParallelRows(rows, 4 * n, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) Untangle<T>(*plan, h, forward, scale, y + r * (h + 1));
    });
    return;
  }
  Scratch memory(CPUPlace(), static_cast<size_t>(std::max<int64_t>(rows * n, 1)) * sizeof(C));
  C* full = memory.as<C>();
  std::copy(x, x + rows * n, full);
  Fft<T>(full, full, rows, n, 1, forward, scale);
  for (int64_t r = 0; r < rows; ++r) std::copy_n(full + r * n, h + 1, y + r * (h + 1));
}

template <class T>
void FftToReal(const std::complex<T>* x, T* y, int64_t rows, int64_t n, bool forward, T scale) {
  using C = std::complex<T>;
  const int64_t h = n / 2;
  if (n % 2 == 0) {
    const PlanRef<T> plan = PlanOf<T>(n, true);
    C* pairs = reinterpret_cast<C*>(y);
    ParallelRows(rows, 4 * n, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        Tangle<T>(*plan, h, forward, x + r * (h + 1), pairs + r * h);
    });
    return Fft<T>(pairs, pairs, rows, h, 1, false, scale);
  }
  Scratch memory(CPUPlace(), static_cast<size_t>(std::max<int64_t>(rows * n, 1)) * sizeof(C));
  C* full = memory.as<C>();
  for (int64_t r = 0; r < rows; ++r) {
    const C* from = x + r * (h + 1);
    C* to = full + r * n;
    to[0] = from[0].real();
    for (int64_t k = 1; k <= h; ++k) {
      to[k] = from[k];
      to[n - k] = Conj(from[k]);
    }
  }
  Fft<T>(full, full, rows, n, 1, forward, scale);
  for (int64_t i = 0; i < rows * n; ++i) y[i] = full[i].real();
}

#define REGISTER_TYPE(T)                                                                          \
  template void Fft<T>(const std::complex<T>*, std::complex<T>*, int64_t, int64_t, int64_t, bool, \
                       T);                                                                        \
  template void FftOfReal<T>(const T*, std::complex<T>*, int64_t, int64_t, bool, T);              \
  template void FftToReal<T>(const std::complex<T>*, T*, int64_t, int64_t, bool, T)
REGISTER_TYPE(float);
REGISTER_TYPE(double);
#undef REGISTER_TYPE

}  // namespace dygraph::kernels
