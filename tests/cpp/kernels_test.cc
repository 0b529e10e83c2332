// The loops of csrc/kernels against naive loops written here, at every instruction set of this
// processor, and with one and several threads, which must give the same bits.
// More than 600 lines because all families of loops share the naive loops and the sweep over
// instruction sets.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/broadcast.h"
#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/im2col.h"
#include "kernels/math.h"
#include "kernels/philox.h"
#include "kernels/pool.h"
#include "kernels/reduce.h"
#include "kernels/transpose.h"

namespace dygraph::kernels {
namespace {

int failures = 0;

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      ++failures;                                                                      \
      std::printf("%s:%d: level %d, threads %d: %s\n", __FILE__, __LINE__, CpuLevel(), \
                  NumThreads(), #condition);                                           \
    }                                                                                  \
  } while (false)

std::mt19937_64 generator(7);

template <class T>
std::vector<T> Random(int64_t n, double low = -1, double high = 1) {
  std::uniform_real_distribution<double> d(low, high);
  std::vector<T> x(n);
  for (auto& v : x) v = static_cast<T>(d(generator));
  return x;
}

// Sameness of bits, NaN included.
template <class T>
bool Same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
bool Near(const std::vector<T>& a, const std::vector<T>& b, double tolerance) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])) <=
          tolerance * (1 + std::abs(static_cast<double>(b[i]))))) {
      return false;
    }
  }
  return true;
}

// ---- math

// Distance of y from the exact value in units of the last place of T there (denormal spacing at the
// least).
template <class T>
double Ulps(T y, long double exact) {
  if (std::isnan(exact)) return std::isnan(y) ? 0 : 1e30;
  long double top = std::numeric_limits<T>::max();
  if (std::isinf(y) || std::isinf(exact) || std::abs(exact) > top) {
    T rounded = static_cast<T>(exact);
    if (rounded == y) return 0;
    return std::abs(exact) > top * (1 - 4 * std::numeric_limits<T>::epsilon()) && std::isinf(y)
               ? 1
               : 1e30;
  }
  int e = exact == 0 ? -100000 : std::ilogb(exact);
  e = std::max(e, std::numeric_limits<T>::min_exponent - 1);
  return static_cast<double>(std::abs(y - exact) /
                             std::ldexp(1.0L, e - std::numeric_limits<T>::digits + 1));
}

template <class T, class F, class G>
void CheckMath(const char* name, F f, G exact, double low, double high, double allowed) {
  std::vector<T> x = Random<T>(100000, low, high);
  std::uniform_real_distribution<double> exponent(std::numeric_limits<T>::min_exponent - 30, 12);
  for (int i = 0; i < 50000; ++i) {  // all magnitudes, denormals too
    double v = std::exp2(exponent(generator));
    if (v <= high) x.push_back(static_cast<T>(v));
    if (-v >= low) x.push_back(static_cast<T>(-v));
  }
  const T inf = std::numeric_limits<T>::infinity(), top = std::numeric_limits<T>::max();
  for (T v : {T(0),
              T(-0.0),
              inf,
              -inf,
              std::numeric_limits<T>::quiet_NaN(),
              top,
              -top,
              T(1),
              T(-1),
              T(1000),
              T(-1000),
              std::numeric_limits<T>::min(),
              std::numeric_limits<T>::denorm_min(),
              T(88.72284),
              T(88.72283),
              T(-87.4),
              T(-103.9),
              T(-104.1),
              T(709.7827128),
              T(709.79),
              T(-745.1),
              T(-745.2),
              T(0.5),
              T(3.99),
              T(4.01)}) {
    x.push_back(v);
  }
  std::vector<T> y(x.size());
  Map(x.data(), y.data(), static_cast<int64_t>(x.size()), f, 8);
  double worst = 0;
  T at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double u = Ulps(y[i], exact(static_cast<long double>(x[i])));
    if (u > worst) {
      worst = u;
      at = x[i];
    }
  }
  if (worst > allowed) {
    std::printf("%s<%s>: %.3g ulp at %.9g\n", name, sizeof(T) == 4 ? "float" : "double", worst,
                static_cast<double>(at));
  }
  CHECK(worst <= allowed);
}

template <class T>
void TestMath() {
  using L = long double;
  CheckMath<T>("exp", [](T x) { return Exp(x); }, [](L x) { return std::exp(x); }, -800, 800, 2);
  CheckMath<T>("exp", [](T x) { return Exp(x); }, [](L x) { return std::exp(x); }, -1, 1, 2);
  CheckMath<T>(
      "expm1", [](T x) { return Expm1(x); }, [](L x) { return std::expm1(x); }, -50, 90, 3);
  CheckMath<T>("log", [](T x) { return Log(x); }, [](L x) { return std::log(x); }, 0, 1e6, 2);
  CheckMath<T>("log", [](T x) { return Log(x); }, [](L x) { return std::log(x); }, 0.5, 2, 2);
  CheckMath<T>("tanh", [](T x) { return Tanh(x); }, [](L x) { return std::tanh(x); }, -22, 22, 4);
  CheckMath<T>("tanh", [](T x) { return Tanh(x); }, [](L x) { return std::tanh(x); }, -1, 1, 4);
  CheckMath<T>(
      "sigmoid", [](T x) { return Sigmoid(x); },
      [](L x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }, -800,
      100, 4);
  CheckMath<T>(
      "sigmoid", [](T x) { return Sigmoid(x); },
      [](L x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }, -5, 5,
      4);
  CheckMath<T>("erf", [](T x) { return Erf(x); }, [](L x) { return std::erf(x); }, -7, 7, 3);
  CheckMath<T>("sqrt", [](T x) { return Sqrt(x); }, [](L x) { return std::sqrt(x); }, 0, 1e6, 0.51);
  std::vector<T> zeros = {T(-0.0)}, out(1);
  Map(zeros.data(), out.data(), int64_t{1}, [](T x) { return Tanh(x); });
  CHECK(std::signbit(out[0]));
  std::vector<T> u = Random<T>(10000, 0, 1), s(u.size()), c(u.size());
  Map(u.data(), s.data(), 10000, [](T x) {
    T a, b;
    SinCosTurn(x, &a, &b);
    return a;
  });
  Map(u.data(), c.data(), 10000, [](T x) {
    T a, b;
    SinCosTurn(x, &a, &b);
    return b;
  });
  const L turn = 6.283185307179586476925286766559L;
  for (size_t i = 0; i < u.size(); ++i) {
    CHECK(std::abs(s[i] - std::sin(turn * u[i])) < 2 * std::numeric_limits<T>::epsilon());
    CHECK(std::abs(c[i] - std::cos(turn * u[i])) < 2 * std::numeric_limits<T>::epsilon());
  }
}

// ---- elementwise and broadcasting

void TestElementwise() {
  for (int64_t n : {0, 1, 7, 64, 1000, 100001}) {
    auto x = Random<float>(n), y = Random<float>(n), z = Random<float>(n);
    std::vector<float> out(n), want(n);
    Zip3(x.data(), y.data(), z.data(), out.data(), n,
         [](float a, float b, float c) { return a > b ? a : c; });
    for (int64_t i = 0; i < n; ++i) want[i] = x[i] > y[i] ? x[i] : z[i];
    CHECK(Same(out, want));
    ZipScalar(x.data(), 3.0f, out.data(), n, [](float a, float s) { return a - s; });
    for (int64_t i = 0; i < n; ++i) want[i] = x[i] - 3.0f;
    CHECK(Same(out, want));
    ScalarZip(3.0f, x.data(), out.data(), n, [](float s, float a) { return s - a; });
    for (int64_t i = 0; i < n; ++i) want[i] = 3.0f - x[i];
    CHECK(Same(out, want));
    for (int64_t i = 0; i < n; ++i) want[i] = x[i] + y[i];
    Zip(x.data(), y.data(), x.data(), n, [](float a, float b) { return a + b; });  // in place
    CHECK(Same(x, want));
  }
}

using Dims = std::vector<int64_t>;

int64_t Count(const Dims& d) {
  int64_t n = 1;
  for (int64_t v : d) n *= v;
  return n;
}

int64_t OffsetOf(const Dims& dims, const Dims& strides, int64_t linear) {
  int64_t offset = 0;
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    offset += linear % dims[i] * strides[i];
    linear /= dims[i];
  }
  return offset;
}

void TestBroadcast() {
  struct Case {
    Dims out, x, y;
  };
  const Case cases[] = {{{}, {}, {}},
                        {{5}, {5}, {1}},
                        {{5}, {1}, {5}},
                        {{70, 33}, {70, 33}, {33}},
                        {{70, 33}, {70, 33}, {70, 1}},
                        {{70, 33}, {70, 1}, {1, 33}},
                        {{300, 400}, {300, 400}, {300, 400}},
                        {{300, 400}, {300, 400}, {400}},
                        {{2, 100000}, {2, 1}, {2, 100000}},
                        {{2, 3, 4, 5}, {2, 1, 4, 1}, {3, 1, 5}},
                        {{4, 8, 9}, {4, 8, 9}, {1, 8, 1}},
                        {{2, 1, 3, 1, 2, 2, 1, 2, 2, 2, 1, 2, 2, 1, 2, 2},
                         {2, 1, 3, 1, 1, 2, 1, 2, 1, 2, 1, 2, 2, 1, 1, 2},
                         {2, 2, 1, 2, 1, 2, 1, 1, 2, 1, 2, 1}},
                        {{0, 3}, {0, 3}, {3}}};
  for (const Case& c : cases) {
    Dims xs(c.out.size()), ys(c.out.size());
    BroadcastStrides(c.x, c.out, c.out.size() - c.x.size(), xs.data());
    BroadcastStrides(c.y, c.out, c.out.size() - c.y.size(), ys.data());
    auto x = Random<float>(Count(c.x)), y = Random<float>(Count(c.y));
    int64_t n = Count(c.out);
    std::vector<float> out(n), want(n);
    Broadcast(c.out, x.data(), xs, y.data(), ys, out.data(),
              [](float a, float b) { return a - 2 * b; });
    for (int64_t i = 0; i < n; ++i)
      want[i] = x[OffsetOf(c.out, xs, i)] - 2 * y[OffsetOf(c.out, ys, i)];
    CHECK(Same(out, want));
    // Its gradients.
    auto g = Random<double>(n, 0.5, 1.5);
    Dims dense(c.out.size());
    int64_t stride = 1;
    for (int i = static_cast<int>(dense.size()) - 1; i >= 0; --i) {
      dense[i] = stride;
      stride *= c.out[i];
    }
    for (const Dims& strides : {xs, ys}) {
      int64_t size = 0;
      for (size_t i = 0; i < strides.size(); ++i) size += strides[i] * (c.out[i] - 1);
      if (n == 0) continue;
      std::vector<double> got(size + 1), sum(size + 1);
      std::vector<long double> exact(size + 1);
      SumTo(c.out, g.data(), dense, got.data(), strides);
      for (int64_t i = 0; i < n; ++i) exact[OffsetOf(c.out, strides, i)] += g[i];
      for (int64_t i = 0; i <= size; ++i) sum[i] = static_cast<double>(exact[i]);
      CHECK(Near(got, sum, 1e-12));
    }
    if (n > 0) {  // a gradient that is itself broadcast
      std::vector<float> got(Count(c.y)), sum(Count(c.y));
      SumTo(c.out, x.data(), xs, got.data(), ys);
      std::vector<double> exact(Count(c.y));
      for (int64_t i = 0; i < n; ++i) exact[OffsetOf(c.out, ys, i)] += x[OffsetOf(c.out, xs, i)];
      for (size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<float>(exact[i]);
      CHECK(Near(got, sum, 1e-5));
    }
  }
}

// ---- reductions

template <class Op, class Out, class Acc, class Fold>
void CheckReduce(const std::vector<typename Op::In>& x, const Dims& dims, unsigned mask, Acc init,
                 Fold fold, double tolerance, bool mean = false) {
  bool reduced[16];
  Dims strides(dims.size());
  int64_t stride = 1;
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    reduced[i] = mask >> i & 1;
    strides[i] = reduced[i] ? 0 : stride;
    if (!reduced[i]) stride *= dims[i];
  }
  std::vector<Out> got(stride), want(stride);
  SetNumThreads(1);
  Reduce<Op>(x.data(), dims, Span<const bool>(reduced, dims.size()), got.data());
  std::vector<Out> parallel(stride);
  SetNumThreads(3);
  Reduce<Op>(x.data(), dims, Span<const bool>(reduced, dims.size()), parallel.data());
  SetNumThreads(1);
  CHECK(Same(got, parallel));
  std::vector<Acc> exact(stride, init);
  for (size_t i = 0; i < x.size(); ++i) {
    Acc& to = exact[OffsetOf(dims, strides, i)];
    to = fold(to, x[i]);
  }
  for (int64_t i = 0; i < stride; ++i) {
    want[i] = static_cast<Out>(mean ? exact[i] / static_cast<Acc>(x.size() / stride) : exact[i]);
  }
  if (tolerance == 0) {
    CHECK(Same(got, want));
  } else {
    CHECK(Near(got, want, tolerance));
  }
}

void TestReduce() {
  for (const Dims& dims : {Dims{},
                           Dims{1},
                           Dims{5},
                           Dims{100000},
                           Dims{3, 7},
                           Dims{70, 300},
                           Dims{300, 3},
                           Dims{40000, 3},
                           Dims{50000, 70},
                           Dims{3, 50000},
                           Dims{4, 5, 6},
                           Dims{8, 16, 700},
                           Dims{2, 3, 4, 5, 2},
                           Dims{3, 1, 0, 2},
                           Dims{64, 3, 33, 7},
                           Dims{37, 20},
                           Dims{19, 64},
                           Dims{18, 333},
                           Dims{5, 4096},
                           Dims{21, 15}}) {
    int64_t n = Count(dims);
    auto f = Random<float>(n), positive = Random<float>(n, 0.5, 1.5);
    auto d = Random<double>(n, 0.9, 1.1);
    auto i = Random<int32_t>(n, -50, 50);
    for (unsigned mask = 0; mask < 1u << dims.size(); ++mask) {
      auto add = [](double a, double b) { return a + b; };
      CheckReduce<SumOp<float>, float>(positive, dims, mask, 0.0, add, 1e-6);
      if (n > 0) CheckReduce<MeanOp<double>, double>(d, dims, mask, 0.0, add, 1e-12, true);
      CheckReduce<SumOp<int32_t>, int64_t>(
          i, dims, mask, int64_t{0}, [](int64_t a, int64_t b) { return a + b; }, 0);
      CheckReduce<MaxOp<float>, float>(
          f, dims, mask, -std::numeric_limits<float>::infinity(),
          [](float a, float b) { return a > b ? a : b; }, 0);
      CheckReduce<MinOp<int32_t>, int32_t>(
          i, dims, mask, std::numeric_limits<int32_t>::max(),
          [](int32_t a, int32_t b) { return a < b ? a : b; }, 0);
      CheckReduce<AnyOp<int32_t>, uint8_t>(
          i, dims, mask, uint8_t{0}, [](uint8_t a, int32_t b) -> uint8_t { return a || b != 0; },
          0);
      CheckReduce<AllOp<int32_t>, uint8_t>(
          i, dims, mask, uint8_t{1}, [](uint8_t a, int32_t b) -> uint8_t { return a && b != 0; },
          0);
      if (n <= 1000) {
        CheckReduce<ProdOp<double>, double>(
            d, dims, mask, 1.0, [](double a, double b) { return a * b; }, 1e-10);
      }
    }
  }
  // Accuracy: ten million values of 0.1, along either axis.
  std::vector<float> tenths(10000000, 0.1f);
  double exact = 1e7 * static_cast<double>(0.1f);
  for (bool column : {false, true}) {
    int64_t dims[] = {column ? 10000000 : 1, column ? 1 : 10000000};
    bool reduced[] = {column, !column};
    float sum = 0;
    Reduce<SumOp<float>>(tenths.data(), {dims, 2}, {reduced, 2}, &sum);
    CHECK(std::abs(sum / exact - 1) < 1e-6);
  }
  int64_t dims[] = {2500000, 4};
  bool reduced[] = {true, false};
  float sums[4];
  Reduce<SumOp<float>>(tenths.data(), {dims, 2}, {reduced, 2}, sums);
  for (float s : sums) CHECK(std::abs(s / (exact / 4) - 1) < 1e-6);
  // NaN in max and min, wherever it stands; max of -inf.
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  for (int64_t n : {1, 5, 40, 300}) {
    for (int64_t at = 0; at < n; at += 3) {
      auto x = Random<float>(n);
      x[at] = nan;
      bool all = true;
      float y = 0;
      Reduce<MaxOp<float>>(x.data(), Span<const int64_t>(&n, 1), Span<const bool>(&all, 1), &y);
      CHECK(std::isnan(y));
      Reduce<MinOp<float>>(x.data(), Span<const int64_t>(&n, 1), Span<const bool>(&all, 1), &y);
      CHECK(std::isnan(y));
    }
    std::vector<float> x(n, -inf);
    bool all = true;
    float y = 0;
    Reduce<MaxOp<float>>(x.data(), Span<const int64_t>(&n, 1), Span<const bool>(&all, 1), &y);
    CHECK(y == -inf);
  }
}

// Many rows go several at once, columns in wide steps: NaN, infinities and denormals in any place,
// against one plain loop, and the same bits from one thread and from several.
void TestReduceSpecial() {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  for (int64_t rows : {1, 3, 4, 17, 50}) {
    for (int64_t n : {1, 7, 15, 16, 17, 40, 64, 65, 130, 4097}) {
      auto x = Random<float>(rows * n);
      for (size_t i = 0; i < x.size(); i += 97) x[i] = i % 2 ? inf : 1e-40f;
      for (size_t i = 5; i < x.size(); i += 613) x[i] = nan;
      for (bool columns : {false, true}) {
        int64_t dims[] = {columns ? n : rows, columns ? rows : n};
        bool reduced[] = {columns, !columns};
        std::vector<float> sum(rows), max(rows), again(rows);
        Reduce<SumOp<float>>(x.data(), {dims, 2}, {reduced, 2}, sum.data());
        Reduce<MaxOp<float>>(x.data(), {dims, 2}, {reduced, 2}, max.data());
        for (int64_t r = 0; r < rows; ++r) {
          double total = 0;
          float most = -inf;
          for (int64_t i = 0; i < n; ++i) {
            float v = columns ? x[i * rows + r] : x[r * n + i];
            total += static_cast<double>(v);
            most = most != most || v <= most ? most : v;  // NaN wins
          }
          float all = static_cast<float>(total);
          CHECK(std::isfinite(all)
                    ? std::abs(sum[r] - all) <= 1e-5f * n
                    : std::memcmp(&sum[r], &all, 4) == 0 || (all != all && sum[r] != sum[r]));
          CHECK(max[r] == most || (max[r] != max[r] && most != most));
        }
        int threads = NumThreads();
        SetNumThreads(threads == 1 ? 3 : 1);
        Reduce<SumOp<float>>(x.data(), {dims, 2}, {reduced, 2}, again.data());
        CHECK(Same(sum, again));
        Reduce<MaxOp<float>>(x.data(), {dims, 2}, {reduced, 2}, again.data());
        CHECK(Same(max, again));
        SetNumThreads(threads);
      }
    }
  }
}

void TestArg() {
  for (auto [outer, n, inner] :
       {std::array<int64_t, 3>{3, 50, 1}, {2, 5000, 1}, {2, 9, 7}, {3, 4, 600}, {1, 1, 1}}) {
    for (int kind = 0; kind < 3; ++kind) {
      auto x = Random<float>(outer * n * inner, -4, 4);
      for (auto& v : x) v = std::round(v);  // many ties
      if (kind == 1) {
        for (size_t i = 0; i < x.size(); i += 11) x[i] = std::nanf("");
      }
      if (kind == 2) std::fill(x.begin(), x.end(), -std::numeric_limits<float>::infinity());
      std::vector<int64_t> most(outer * inner), least(outer * inner), want_most(most),
          want_least(least);
      ArgMax(x.data(), outer, n, inner, most.data());
      ArgMin(x.data(), outer, n, inner, least.data());
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t j = 0; j < inner; ++j) {
          auto at = [&](int64_t i) { return x[(o * n + i) * inner + j]; };
          int64_t high = 0, low = 0;
          for (int64_t i = 1; i < n; ++i) {
            if (!std::isnan(at(high)) && (std::isnan(at(i)) || at(i) > at(high))) high = i;
            if (!std::isnan(at(low)) && (std::isnan(at(i)) || at(i) < at(low))) low = i;
          }
          want_most[o * inner + j] = high;
          want_least[o * inner + j] = low;
        }
      }
      CHECK(Same(most, want_most));
      CHECK(Same(least, want_least));
    }
  }
}

// ---- products

template <class T>
void TestGemm() {
  const double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-13;
  const std::array<int64_t, 3> sizes[] = {
      {1, 1, 1},      {8, 8, 8},      {3, 5, 7},       {16, 16, 16},  {31, 33, 17}, {64, 64, 64},
      {1, 77, 50},    {77, 1, 50},    {1, 300, 900},   {300, 1, 900}, {2, 500, 3},  {65, 130, 300},
      {200, 70, 520}, {13, 2100, 40}, {150, 150, 150}, {5, 6, 0},     {48, 47, 49}};
  for (auto [m, n, k] : sizes) {
    for (int flags = 0; flags < 8; ++flags) {
      bool ta = flags & 1, tb = flags & 2;
      int64_t pad = flags & 4 ? 3 : 0;
      T alpha = pad ? T(0.5) : T(1), beta = pad ? T(-2) : T(0);
      int64_t lda = (ta ? m : k) + pad, ldb = (tb ? k : n) + pad, ldc = n + pad;
      auto a = Random<T>((ta ? k : m) * lda + pad), b = Random<T>((tb ? n : k) * ldb + pad),
           c = Random<T>(m * ldc);
      if (beta == T(0)) std::fill(c.begin(), c.end(), std::numeric_limits<T>::quiet_NaN());
      std::vector<T> want = c, parallel = c;
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t p = 0; p < k; ++p) {
            sum += static_cast<double>(ta ? a[p * lda + i] : a[i * lda + p]) *
                   (tb ? b[j * ldb + p] : b[p * ldb + j]);
          }
          want[i * ldc + j] =
              static_cast<T>(alpha * sum + (beta == T(0) ? 0 : beta * c[i * ldc + j]));
        }
      }
      Gemm(ta, tb, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
      CHECK(Near(c, want, tolerance));
      for (int threads : {2, 4}) {
        auto again = parallel;
        SetNumThreads(threads);
        Gemm(ta, tb, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, again.data(), ldc);
        SetNumThreads(1);
        CHECK(Same(again, c));
      }
    }
  }
}

// ---- random numbers

void TestPhilox() {
  // Known answers of the Random123 distribution, philox4x32 with 10 rounds: counter, key, result.
  const uint32_t known[][10] = {{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
                                {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
                                 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
                                {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822,
                                 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}};
  for (const auto& v : known) {
    uint32_t c0 = v[0], c1 = v[1], c2 = v[2], c3 = v[3];
    Philox4x32(c0, c1, c2, c3, v[4], v[5]);
    CHECK(c0 == v[6] && c1 == v[7] && c2 == v[8] && c3 == v[9]);
  }
  const uint64_t seed = 0x0123456789abcdef, stream = 0xfedcba9876543210;
  Philox philox(seed, stream);
  const int64_t n = 100003;
  std::vector<uint32_t> words(n), again(n);
  std::vector<uint64_t> longs(n);
  philox.Raw(words.data(), n);
  philox.Raw(longs.data(), n);
  for (int64_t i = 0; i < 1000; ++i) {  // element 64 b + 16 w + j is word w of block 16 b + j
    uint32_t c[4] = {static_cast<uint32_t>(i / 64 * 16 + i % 16), 0, static_cast<uint32_t>(stream),
                     static_cast<uint32_t>(stream >> 32)};
    Philox4x32(c[0], c[1], c[2], c[3], static_cast<uint32_t>(seed),
               static_cast<uint32_t>(seed >> 32));
    CHECK(words[i] == c[i % 64 / 16]);
  }
  SetNumThreads(3);
  philox.Raw(again.data(), n);
  CHECK(Same(words, again));
  SetNumThreads(1);
  for (int64_t first : {1, 63, 64, 1000}) {  // any cut of the sequence
    std::vector<uint32_t> part(500);
    philox.Raw(part.data(), 500, first);
    CHECK(std::memcmp(part.data(), words.data() + first, 2000) == 0);
  }
  std::vector<float> u(n), z(n);
  std::vector<double> ud(n), zd(n);
  philox.Uniform(u.data(), n);
  philox.Uniform(ud.data(), n);
  philox.Normal(z.data(), n);
  philox.Normal(zd.data(), n);
  double sums[4][4] = {};
  for (int64_t i = 0; i < n; ++i) {
    CHECK(u[i] == static_cast<float>(words[i] >> 8) / 16777216.0f);
    CHECK(ud[i] == static_cast<double>(longs[i] >> 11) / 9007199254740992.0);
    double values[] = {u[i], ud[i], z[i], zd[i]};
    for (int s = 0; s < 4; ++s) {
      for (int p = 0; p < 4; ++p) sums[s][p] += std::pow(values[s], p + 1) / static_cast<double>(n);
    }
    CHECK(std::isfinite(z[i]) && std::isfinite(zd[i]));
  }
  for (int s : {0, 1}) {
    CHECK(std::abs(sums[s][0] - 0.5) < 0.005);
    CHECK(std::abs(sums[s][1] - 1.0 / 3) < 0.005);
  }
  for (int s : {2, 3}) {  // moments 0, 1, 0, 3
    CHECK(std::abs(sums[s][0]) < 0.015);
    CHECK(std::abs(sums[s][1] - 1) < 0.02);
    CHECK(std::abs(sums[s][2]) < 0.05);
    CHECK(std::abs(sums[s][3] - 3) < 0.15);
  }
}

// ---- layout

template <class T>
void TestPermute() {
  struct Case {
    Dims dims;
    std::vector<int> perm;
  };
  const Case cases[] = {{{}, {}},
                        {{7}, {0}},
                        {{5, 9}, {1, 0}},
                        {{130, 67}, {1, 0}},
                        {{64, 64}, {1, 0}},
                        {{300, 500}, {1, 0}},
                        {{2, 3, 4}, {2, 1, 0}},
                        {{4, 17, 33}, {0, 2, 1}},
                        {{4, 17, 33}, {1, 0, 2}},
                        {{3, 1, 5, 2, 6}, {4, 2, 1, 0, 3}},
                        {{2, 16, 5, 7}, {0, 2, 3, 1}},
                        {{3, 0, 2}, {2, 1, 0}}};
  for (const Case& c : cases) {
    int64_t n = Count(c.dims);
    std::vector<T> x(n), y(n), want(n);
    for (auto& v : x) v = static_cast<T>(generator());
    Dims out(c.dims.size()), strides(c.dims.size()), from(c.dims.size());
    int64_t stride = 1;
    for (int i = static_cast<int>(c.dims.size()) - 1; i >= 0; --i) {
      strides[i] = stride;
      stride *= c.dims[i];
    }
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = c.dims[c.perm[i]];
      from[i] = strides[c.perm[i]];
    }
    for (int64_t i = 0; i < n; ++i) want[i] = x[OffsetOf(out, from, i)];
    Permute(x.data(), c.dims, c.perm, y.data(), sizeof(T));
    CHECK(Same(y, want));
  }
  auto x = Random<float>(2 * 3 * 20);
  std::vector<float> y(x.size()), back(x.size());
  NchwToNhwc(x.data(), 2, 3, 20, y.data(), 4);
  CHECK(y[1 * 60 + 7 * 3 + 2] == x[1 * 60 + 2 * 20 + 7]);
  NhwcToNchw(y.data(), 2, 3, 20, back.data(), 4);
  CHECK(Same(back, x));
}

template <class T>
void TestIm2Col() {
  Im2ColShape shapes[5];
  shapes[0] = {3, 8, 9, 3, 3};
  shapes[1] = {2, 8, 9, 3, 2, 2, 3, 1, 1, 1, 1};
  shapes[2] = {2, 7, 5, 3, 3, 1, 1, 2, 0, 0, 3, 2, 2};
  shapes[3] = {1, 4, 4, 1, 1, 2, 2};
  shapes[4] = {1, 3, 3, 5, 5, 1, 1, 4, 4, 4, 4};
  for (const Im2ColShape& s : shapes) {
    int64_t oh = s.OutHeight(), ow = s.OutWidth(),
            size = s.channels * s.kernel_h * s.kernel_w * oh * ow;
    auto x = Random<T>(s.channels * s.height * s.width), g = Random<T>(size);
    std::vector<T> col(size), want(size), dx(x.size()), want_dx(x.size());
    int64_t at = 0;
    for (int64_t c = 0; c < s.channels; ++c) {
      for (int64_t kh = 0; kh < s.kernel_h; ++kh) {
        for (int64_t kw = 0; kw < s.kernel_w; ++kw) {
          for (int64_t i = 0; i < oh; ++i) {
            for (int64_t j = 0; j < ow; ++j, ++at) {
              int64_t h = i * s.stride_h - s.top + kh * s.dilation_h,
                      w = j * s.stride_w - s.left + kw * s.dilation_w;
              if (h < 0 || h >= s.height || w < 0 || w >= s.width) continue;
              want[at] = x[(c * s.height + h) * s.width + w];
              want_dx[(c * s.height + h) * s.width + w] += g[at];
            }
          }
        }
      }
    }
    Im2Col(x.data(), s, col.data());
    CHECK(Same(col, want));
    Col2Im(g.data(), s, dx.data());
    CHECK(Near(dx, want_dx, 1e-6));
  }
}

template <class T>
void TestPool() {
  for (int64_t channels : {1, 5, 300}) {
    for (int kind = 0; kind < 4; ++kind) {
      bool exclusive = kind & 1;
      PoolShape s{2, channels, {}, {}};
      if (kind < 2) {
        s.h = SlidingWindows(7, 4, 3, 2, 1, exclusive);
        s.w = SlidingWindows(9, 9, 3, 1, 1, exclusive);
      } else if (kind == 2) {
        s.h = SlidingWindows(7, 3, 2, 2, 0, true);
        s.w = SlidingWindows(9, 4, 2, 2, 0, true);
      } else {
        s.h = AdaptiveWindows(7, 3);
        s.w = AdaptiveWindows(9, 4);
      }
      int64_t oh = s.h.out(), ow = s.w.out(), ins = 2 * 63 * channels,
              outs = 2 * oh * ow * channels;
      auto x = Random<T>(ins, -3, 3), dy = Random<T>(outs);
      for (auto& v : x) v = std::round(v);  // ties
      x[4 * channels] = std::numeric_limits<T>::quiet_NaN();
      std::vector<T> y(outs), avg(outs), dx(ins), scattered(ins), davg(ins), gathered(outs);
      std::vector<T> want(outs), want_avg(outs), want_dx(ins), want_davg(ins);
      std::vector<int32_t> index(outs), want_index(outs);
      for (int64_t image = 0; image < 2; ++image) {
        for (int64_t i = 0; i < oh; ++i) {
          for (int64_t j = 0; j < ow; ++j) {
            for (int64_t c = 0; c < channels; ++c) {
              int64_t h0, h1, w0, w1;
              double area;
              if (kind < 2) {
                h0 = std::max<int64_t>(i * 2 - 1, 0), h1 = std::min<int64_t>(i * 2 + 2, 7);
                w0 = std::max<int64_t>(j - 1, 0), w1 = std::min<int64_t>(j + 2, 9);
                area = exclusive ? static_cast<double>((h1 - h0) * (w1 - w0)) : 9;
              } else if (kind == 2) {
                h0 = 2 * i, h1 = h0 + 2, w0 = 2 * j, w1 = w0 + 2, area = 4;
              } else {
                h0 = i * 7 / 3, h1 = (i * 7 + 9) / 3, w0 = j * 9 / 4, w1 = (j * 9 + 12) / 4;
                area = static_cast<double>((h1 - h0) * (w1 - w0));
              }
              int64_t out = ((image * oh + i) * ow + j) * channels + c, best = h0 * 9 + w0;
              auto at = [&](int64_t pixel) { return (image * 63 + pixel) * channels + c; };
              double sum = 0;
              for (int64_t h = h0; h < h1; ++h) {
                for (int64_t w = w0; w < w1; ++w) {
                  T v = x[at(h * 9 + w)], b = x[at(best)];
                  if (!std::isnan(b) && (v > b || std::isnan(v))) best = h * 9 + w;
                  sum += v;
                  want_davg[at(h * 9 + w)] += dy[out] / static_cast<T>(area);
                }
              }
              want[out] = x[at(best)];
              want_index[out] = static_cast<int32_t>(best);
              want_dx[at(best)] += dy[out];
              want_avg[out] = static_cast<T>(sum / area);
            }
          }
        }
      }
      MaxPool(x.data(), s, y.data(), index.data());
      MaxPoolBackward(x.data(), dy.data(), s, dx.data());
      MaxPoolScatter(index.data(), dy.data(), s, scattered.data());
      MaxPoolGather(x.data(), index.data(), s, gathered.data());
      CHECK(Same(index, want_index));
      CHECK(Same(y, want));
      CHECK(Same(gathered, want));
      CHECK(Near(dx, want_dx, 1e-6));
      CHECK(Same(dx, scattered));
      AvgPoolBackward(dy.data(), s, davg.data());
      CHECK(Near(davg, want_davg, 1e-6));
      x[4 * channels] = 0;
      AvgPool(x.data(), s, avg.data());
      for (int64_t i = 0; i < outs; ++i) {
        if (std::isnan(want_avg[i])) want_avg[i] = avg[i] = 0;
      }
      CHECK(Near(avg, want_avg, 1e-6));
    }
  }
}

void TestAll() {
  TestMath<float>();
  TestMath<double>();
  TestElementwise();
  TestBroadcast();
  TestReduce();
  TestReduceSpecial();
  TestArg();
  TestGemm<float>();
  TestGemm<double>();
  TestPhilox();
  TestPermute<uint8_t>();
  TestPermute<uint16_t>();
  TestPermute<uint32_t>();
  TestPermute<uint64_t>();
  TestIm2Col<float>();
  TestIm2Col<double>();
  TestPool<float>();
  TestPool<double>();
}

}  // namespace
}  // namespace dygraph::kernels

int main() {
  using namespace dygraph;
  using namespace dygraph::kernels;
  for (int64_t level : {1, 3, 4}) {
    FLAGS_cpu_level = level;
    if (CpuLevel() != level) continue;  // this processor has less
    SetNumThreads(1);
    TestAll();
    SetNumThreads(3);
    TestElementwise();
    TestBroadcast();
    TestArg();
    TestPermute<uint32_t>();
    TestIm2Col<float>();
    TestPool<float>();
    std::printf("level %d checked\n", static_cast<int>(level));
  }
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
