// The loops of the device against plain loops of the host, over many shapes. Built in the CUDA pass
// with the sources of cuda/kernels/ that it calls, for a device or with the pretended runtime of
// tests/pretend_cuda; streams and memory are its own. More than 600 lines because all checks share
// its arrays, their random numbers and the comparison.
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "cpp/check.h"
#include "cuda/stream.h"
#include "kernels/axis_map.h"
#include "kernels/broadcast.h"
#include "kernels/cast.h"
#include "kernels/elementwise.h"
#include "kernels/join.h"
#include "kernels/loops.h"
#include "kernels/math.h"
#include "kernels/reduce.h"
#include "kernels/rows.h"
#include "kernels/strided_copy.h"
#include "kernels/transpose.h"

namespace dygraph {

namespace cuda {
cudaStream_t CurrentStream() {
  static cudaStream_t stream = [] {
    cudaStream_t s;
    Check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "stream");
    return s;
  }();
  return stream;
}
Place CurrentPlace() { return {DeviceKind::kCUDA, 0}; }
void Fail(cudaError_t e, const char* what) {
  THROW(PreconditionNotMet, "CUDA reports an error of a ", what, ": ", cudaGetErrorString(e));
}
}  // namespace cuda

namespace memory {
void* Alloc(Place, size_t bytes) {
  void* p;
  cuda::Check(cudaMalloc(&p, bytes + 1), "allocation");
  return p;
}
void Free(Place, void* block, size_t) { cuda::Check(cudaFree(block), "free"); }
}  // namespace memory

namespace {

using namespace kernels;  // NOLINT

template <class T>
constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

std::mt19937& Random() {
  static std::mt19937 random(7);
  return random;
}

// std::vector<bool> has no array.
template <class T>
struct Array {
  explicit Array(int64_t n) : items(new T[n + 1]), size(n) {}
  ~Array() { delete[] items; }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T& operator[](int64_t i) { return items[i]; }
  const T& operator[](int64_t i) const { return items[i]; }
  T* items;
  int64_t size;
};

// Small numbers, some of them alike; of floats now and then a NaN.
template <class T>
void FillRandom(Array<T>* a, bool nans = false) {
  for (int64_t i = 0; i < a->size; ++i) {
    int v = static_cast<int>(Random()() % 41) - 20;
    if constexpr (kIsFloat<T>) {
      (*a)[i] = static_cast<T>(static_cast<float>(v) / 8);
      if (nans && Random()() % 50 == 0) (*a)[i] = static_cast<T>(std::nanf(""));
    } else {
      (*a)[i] = static_cast<T>(v);
    }
  }
}

// A copy of a host array on the device, `shift` elements after an aligned place.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const Array<T>& from, int64_t shift = 0) : OnDevice(from.size, shift) {
    if (size_ == 0) return;
    cuda::Check(cudaMemcpyAsync(data(), from.items, size_ * sizeof(T), cudaMemcpyHostToDevice,
                                cuda::CurrentStream()),
                "copy");
    cuda::Check(cudaStreamSynchronize(cuda::CurrentStream()), "wait");
  }
  explicit OnDevice(int64_t size, int64_t shift = 0) : shift_(shift), size_(size) {
    cuda::Check(cudaMalloc(reinterpret_cast<void**>(&base_), (size + shift + 1) * sizeof(T)),
                "allocation");
  }
  ~OnDevice() { cudaFree(base_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  T* data() { return base_ + shift_; }
  void Read(Array<T>* to) {
    if (size_ > 0) {
      cuda::Check(cudaMemcpyAsync(to->items, data(), size_ * sizeof(T), cudaMemcpyDeviceToHost,
                                  cuda::CurrentStream()),
                  "copy");
    }
    cuda::Check(cudaStreamSynchronize(cuda::CurrentStream()), "wait");
  }

 private:
  T* base_ = nullptr;
  int64_t shift_, size_;
};

template <class T>
bool Same(T a, T b) {
  return a == b || (a != a && b != b);
}
template <class T>
bool Same(const Array<T>& a, const Array<T>& b) {
  for (int64_t i = 0; i < a.size; ++i) {
    if (!Same(a[i], b[i])) return false;
  }
  return a.size == b.size;
}
template <class T>
bool Near(const Array<T>& a, const Array<double>& b, double tolerance) {
  for (int64_t i = 0; i < a.size; ++i) {
    double x = static_cast<double>(a[i]), y = b[i];
    if (x != x && y != y) continue;
    if (x == y) continue;
    if (!(std::fabs(x - y) <= tolerance * (1 + std::fabs(y)))) return false;
  }
  return a.size == b.size;
}

struct Shape {
  std::vector<int64_t> dims;
  int64_t Count() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
  std::vector<int64_t> Strides() const {
    std::vector<int64_t> s(dims.size());
    int64_t stride = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      s[i] = stride;
      stride *= dims[i];
    }
    return s;
  }
  // Offset of element i in an array of these strides.
  int64_t Offset(int64_t i, const std::vector<int64_t>& strides) const {
    int64_t at = 0;
    for (size_t k = dims.size(); k-- > 0;) {
      at += i % dims[k] * strides[k];
      i /= dims[k];
    }
    return at;
  }
};

Span<const int64_t> View(const std::vector<int64_t>& v) { return {v.data(), v.size()}; }

struct Relu {
  template <class T>
  DYGRAPH_INLINE T operator()(T v) const {
    return v > T(0) || v != v ? v : T(0);
  }
};
struct Minus2 {
  template <class T>
  DYGRAPH_INLINE T operator()(T a, T b) const {
    return static_cast<T>(a - b);
  }
};
struct Less {
  template <class T>
  DYGRAPH_INLINE bool operator()(T a, T b) const {
    return a < b;
  }
};
struct MultiplyAdd {
  template <class T>
  DYGRAPH_INLINE T operator()(T a, T b, T c) const {
    return static_cast<T>(static_cast<T>(a * b) + c);
  }
};
struct ToDouble {
  template <class T>
  DYGRAPH_INLINE double operator()(T v) const {
    return static_cast<double>(v) / 2;
  }
};

const int64_t kSizes[] = {0, 1, 2, 3, 7, 16, 31, 255, 1000, 4099, 70001, 300007};

template <class T>
void TestElementwise() {
  for (int64_t n : kSizes) {
    for (int64_t shift : {0, 1, 3}) {
      Array<T> x(n), y(n), z(n), want(n), got(n);
      FillRandom(&x, true);
      FillRandom(&y);
      FillRandom(&z);
      OnDevice<T> dx(x, shift), dy(y), dz(z, shift), out(n, shift);

      Map(dx.data(), out.data(), n, Relu());
      for (int64_t i = 0; i < n; ++i) want[i] = Relu()(x[i]);
      out.Read(&got);
      CHECK(Same(got, want));

      Zip(dx.data(), dy.data(), out.data(), n, Minus2());
      for (int64_t i = 0; i < n; ++i) want[i] = Minus2()(x[i], y[i]);
      out.Read(&got);
      CHECK(Same(got, want));

      Zip3(dx.data(), dy.data(), dz.data(), out.data(), n, MultiplyAdd());
      for (int64_t i = 0; i < n; ++i) want[i] = MultiplyAdd()(x[i], y[i], z[i]);
      out.Read(&got);
      if (kIsFloat<T>) {  // where the device fuses them the last bit may differ
        Array<double> close(n);
        for (int64_t i = 0; i < n; ++i) close[i] = static_cast<double>(want[i]);
        CHECK(Near(got, close, 1e-2));
      } else {
        CHECK(Same(got, want));
      }

      ScalarZip(T(3), dx.data(), out.data(), n, Minus2());
      for (int64_t i = 0; i < n; ++i) want[i] = Minus2()(T(3), x[i]);
      out.Read(&got);
      CHECK(Same(got, want));
      ZipScalar(dx.data(), T(3), dx.data(), n, Minus2());  // in place
      for (int64_t i = 0; i < n; ++i) want[i] = Minus2()(x[i], T(3));
      dx.Read(&got);
      CHECK(Same(got, want));

      Fill(out.data(), n, T(5));
      for (int64_t i = 0; i < n; ++i) want[i] = T(5);
      out.Read(&got);
      CHECK(Same(got, want));

      OnDevice<double> wide(n);
      Array<double> got_wide(n), want_wide(n);
      Map(dy.data(), wide.data(), n, ToDouble());
      for (int64_t i = 0; i < n; ++i) want_wide[i] = ToDouble()(y[i]);
      wide.Read(&got_wide);
      CHECK(Same(got_wide, want_wide));

      OnDevice<bool> truth(n, shift);
      Array<bool> got_truth(n), want_truth(n);
      Zip(dy.data(), dz.data(), truth.data(), n, Less());
      for (int64_t i = 0; i < n; ++i) want_truth[i] = Less()(y[i], z[i]);
      truth.Read(&got_truth);
      CHECK(Same(got_truth, want_truth));
    }
  }
}

// Shapes of the results, and of the operands with ones where they are broadcast.
const std::vector<std::vector<int64_t>> kShapes = {{},
                                                   {1},
                                                   {0},
                                                   {5},
                                                   {4, 8},
                                                   {3, 7},
                                                   {0, 4},
                                                   {4, 0},
                                                   {2, 3, 4},
                                                   {2, 1, 8, 4},
                                                   {3, 2, 5, 2},
                                                   {2, 3, 2, 3, 2},
                                                   {512, 3},
                                                   {3, 512},
                                                   {300, 257},
                                                   {7, 3, 4099},
                                                   {2, 2, 3, 2, 3, 4},
                                                   {64, 12, 16, 8}};

template <class T>
void TestBroadcastOf(const Shape& shape, unsigned x_ones, unsigned y_ones, int64_t shift) {
  Shape xs = shape, ys = shape;
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    if (x_ones >> i & 1) xs.dims[i] = 1;
    if (y_ones >> i & 1) ys.dims[i] = 1;
  }
  std::vector<int64_t> x_strides(shape.dims.size()), y_strides(shape.dims.size());
  BroadcastStrides(View(xs.dims), View(shape.dims), 0, x_strides.data());
  BroadcastStrides(View(ys.dims), View(shape.dims), 0, y_strides.data());
  const int64_t n = shape.Count();
  Array<T> x(xs.Count()), y(ys.Count()), want(n), got(n);
  FillRandom(&x);
  FillRandom(&y);
  OnDevice<T> dx(x, shift), dy(y), out(n);
  Broadcast(View(shape.dims), dx.data(), View(x_strides), dy.data(), View(y_strides), out.data(),
            Minus2());
  for (int64_t i = 0; i < n; ++i) {
    want[i] = Minus2()(x[shape.Offset(i, x_strides)], y[shape.Offset(i, y_strides)]);
  }
  out.Read(&got);
  CHECK(Same(got, want));

  Repeat(View(shape.dims), dx.data(), View(x_strides), out.data());
  for (int64_t i = 0; i < n; ++i) want[i] = x[shape.Offset(i, x_strides)];
  out.Read(&got);
  CHECK(Same(got, want));

  // Back: from the dense shape, and from y's strides, to x's shape.
  if constexpr (kIsFloat<T> && sizeof(T) >= 4) {
    for (bool dense : {true, false}) {
      if (xs.Count() == 0) continue;
      const std::vector<int64_t> from = dense ? shape.Strides() : y_strides;
      Array<T> g(dense ? n : ys.Count()), sums(xs.Count());
      FillRandom(&g);
      OnDevice<T> dg(g, shift), to(xs.Count());
      SumTo(View(shape.dims), dg.data(), View(from), to.data(), View(x_strides));
      Array<double> total(xs.Count());
      for (int64_t i = 0; i < xs.Count(); ++i) total[i] = 0;
      for (int64_t i = 0; i < n; ++i) {
        total[shape.Offset(i, x_strides)] += g[shape.Offset(i, from)];
      }
      to.Read(&sums);
      CHECK(Near(sums, total, 1e-4));
    }
  }
}

template <class T>
void TestBroadcast() {
  for (const std::vector<int64_t>& dims : kShapes) {
    const unsigned all = 1u << dims.size();
    for (unsigned x_ones = 0; x_ones < all; x_ones += 1 + x_ones / 8) {
      for (unsigned y_ones : {0u, all - 1, (all - 1) & ~x_ones}) {
        TestBroadcastOf<T>({dims}, x_ones, y_ones, x_ones % 2);
      }
    }
  }
}

template <class Op, class Out, class T>
void TestReduceOf(const Shape& shape, unsigned gone, double tolerance, bool nans) {
  bool reduced[8];
  std::vector<int64_t> to(shape.dims.size());
  int64_t results = 1, count = 1;
  for (size_t i = shape.dims.size(); i-- > 0;) {
    reduced[i] = gone >> i & 1;
    to[i] = reduced[i] ? 0 : results;
    (reduced[i] ? count : results) *= shape.dims[i];
  }
  const int64_t n = shape.Count();
  Array<T> x(n);
  FillRandom(&x, nans);
  Array<double> want(results);
  {
    std::vector<typename Op::Total> total(results, static_cast<typename Op::Total>(Op::kInit));
    for (int64_t i = 0; i < n; ++i) {
      typename Op::Total& t = total[shape.Offset(i, to)];
      t = Op::Merge(t, static_cast<typename Op::Total>(Op::Add(Op::kInit, x[i])));
    }
    for (int64_t r = 0; r < results; ++r) {
      want[r] = static_cast<double>(static_cast<Out>(Op::Finish(total[r], count)));
    }
  }
  OnDevice<T> dx(x, gone % 2);
  OnDevice<Out> out(results);
  Array<Out> got(results), again(results);
  Reduce<Op>(dx.data(), View(shape.dims), Span<const bool>(reduced, shape.dims.size()), out.data());
  out.Read(&got);
  CHECK(Near(got, want, tolerance));
  Reduce<Op>(dx.data(), View(shape.dims), Span<const bool>(reduced, shape.dims.size()), out.data());
  out.Read(&again);
  CHECK(Same(got, again));
}

const std::vector<std::vector<int64_t>> kReduced = {
    {},           {1},        {0},       {17},         {300007},           {3, 0},
    {0, 3},       {4, 8},     {5, 33},   {33, 5},      {3, 4100},          {20000, 3},
    {5000, 70},   {70, 5000}, {2, 3, 4}, {9, 4, 7, 3}, {2, 3, 2, 3, 2, 3}, {40, 50, 60},
    {2000, 1, 40}};

template <class T>
void TestReduce() {
  for (const std::vector<int64_t>& dims : kReduced) {
    for (unsigned gone = 0; gone < 1u << dims.size(); ++gone) {
      const Shape shape{dims};
      TestReduceOf<SumOp<T>, T, T>(shape, gone, 1e-4, false);
      TestReduceOf<MaxOp<T>, T, T>(shape, gone, 0, true);
      if (gone % 3) continue;
      TestReduceOf<MinOp<T>, T, T>(shape, gone, 0, true);
      TestReduceOf<MeanOp<T>, T, T>(shape, gone, 1e-4, true);
      TestReduceOf<AnyOp<T>, bool, T>(shape, gone, 0, false);
      TestReduceOf<AllOp<T>, bool, T>(shape, gone, 0, false);
    }
  }
}

template <bool kMax, class T>
int64_t PlainArg(const Array<T>& x, int64_t first, int64_t n, int64_t step) {
  int64_t best = 0;
  for (int64_t i = 0; i < n; ++i) {
    T v = x[first + i * step], b = x[first + best * step];
    if (b != b) break;
    if (v != v || (kMax ? v > b : v < b)) best = i;
  }
  return best;
}

template <class T>
void TestArg() {
  const int64_t shapes[][3] = {{1, 1, 1},     {5, 7, 1},     {3, 9000, 1}, {1, 300007, 1},
                               {4, 5, 6},     {1, 20000, 3}, {70, 33, 40}, {0, 3, 2},
                               {2, 2000, 33}, {2000, 10, 1}};
  for (const auto& s : shapes) {
    for (bool nans : {false, true}) {
      const int64_t outer = s[0], n = s[1], inner = s[2];
      Array<T> x(outer * n * inner);
      FillRandom(&x, nans);
      OnDevice<T> dx(x);
      OnDevice<int64_t> high(outer * inner);
      OnDevice<int32_t> low(outer * inner);
      Array<int64_t> got_high(outer * inner), want_high(outer * inner);
      Array<int32_t> got_low(outer * inner), want_low(outer * inner);
      ArgMax(dx.data(), outer, n, inner, high.data());
      ArgMin(dx.data(), outer, n, inner, low.data());
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t j = 0; j < inner; ++j) {
          const int64_t first = o * n * inner + j, at = o * inner + j;
          want_high[at] = PlainArg<true>(x, first, n, inner);
          want_low[at] = static_cast<int32_t>(PlainArg<false>(x, first, n, inner));
        }
      }
      high.Read(&got_high);
      low.Read(&got_low);
      CHECK(Same(got_high, want_high));
      CHECK(Same(got_low, want_low));
    }
  }
}

template <class T>
void TestStridedCopy() {
  // A slice, reversed along its first axis, into every second row of another array.
  for (int64_t width : {1, 6, 8, 33}) {
    for (int64_t shift : {0, 1}) {
      const Shape slice{{3, 5, width}};
      Array<T> x(7 * 6 * (width + 2)), y(3 * 10 * width), got(3 * 10 * width);
      FillRandom(&x);
      FillRandom(&y);
      OnDevice<T> dx(x), dy(y, shift);
      const std::vector<int64_t> from = {-6 * (width + 2), width + 2, 1},
                                 to = {10 * width, 2 * width, 1};
      const int64_t first = 4 * 6 * (width + 2) + 2;
      CopyStrided(View(slice.dims), dx.data() + first, View(from), dy.data(), View(to), sizeof(T));
      for (int64_t i = 0; i < slice.Count(); ++i) {
        y[slice.Offset(i, to)] = x[first + slice.Offset(i, from)];
      }
      dy.Read(&got);
      CHECK(Same(got, y));
    }
  }
}

template <class T>
void TestPermute() {
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int>>> cases = {
      {{}, {}},
      {{5}, {0}},
      {{0, 3}, {1, 0}},
      {{3, 4}, {1, 0}},
      {{70, 129}, {1, 0}},
      {{4, 33, 65}, {0, 2, 1}},
      {{6, 5, 4}, {1, 0, 2}},
      {{6, 5, 8}, {2, 1, 0}},
      {{1, 5, 1, 7}, {3, 2, 1, 0}},
      {{3, 4, 5, 6, 7}, {4, 2, 0, 3, 1}},
      {{2, 3, 2, 3, 2, 3}, {5, 0, 4, 1, 3, 2}},
  };
  for (const auto& [dims, perm] : cases) {
    const Shape from{dims};
    Shape to;
    std::vector<int64_t> strides;
    for (int p : perm) {
      to.dims.push_back(dims[p]);
      strides.push_back(from.Strides()[p]);
    }
    const int64_t n = from.Count();
    Array<T> x(n), want(n), got(n);
    FillRandom(&x);
    OnDevice<T> dx(x), dy(n);
    Permute(dx.data(), View(dims), {perm.data(), perm.size()}, dy.data(), sizeof(T));
    for (int64_t i = 0; i < n; ++i) want[i] = x[to.Offset(i, strides)];
    dy.Read(&got);
    CHECK(Same(got, want));
  }
}

template <class T>
void TestRows() {
  for (int64_t width : {1, 3, 8, 64}) {
    for (int64_t outer : {1, 3}) {
      const RowShape shape{outer, 11, width};
      const int64_t n = 200;  // most repeat
      Array<int64_t> rows(n);
      for (int64_t i = 0; i < n; ++i) rows[i] = static_cast<int64_t>(Random()() % 9);
      Array<T> x(outer * 11 * width), values(outer * n * width), got_rows(outer * n * width),
          got(x.size);
      FillRandom(&x);
      FillRandom(&values);
      OnDevice<int64_t> drows(rows);
      OnDevice<T> dx(x, 1), dvalues(values), out(outer * n * width);
      TakeRows(shape, dx.data(), drows.data(), n, out.data(), sizeof(T));
      out.Read(&got_rows);
      bool same = true;
      for (int64_t i = 0; i < outer * n * width; ++i) {
        const int64_t o = i / width / n, row = rows[i / width % n];
        same &= got_rows[i] == x[(o * 11 + row) * width + i % width];
      }
      CHECK(same);
      PutRows(shape, dx.data(), drows.data(), n, dvalues.data(), sizeof(T));
      for (int64_t i = 0; i < outer * n * width; ++i) {
        const int64_t o = i / width / n, row = rows[i / width % n];
        x[(o * 11 + row) * width + i % width] = values[i];
      }
      dx.Read(&got);
      CHECK(Same(got, x));
      ClearRows(shape, dx.data(), drows.data(), 2, sizeof(T));
      for (int64_t i = 0; i < outer * 2 * width; ++i) {
        const int64_t o = i / width / 2, row = rows[i / width % 2];
        x[(o * 11 + row) * width + i % width] = T(0);
      }
      dx.Read(&got);
      CHECK(Same(got, x));
    }
  }
}

template <class T>
void TestJoin() {
  for (int64_t rows : {1, 5, 100}) {
    const int64_t widths[] = {3, 4, 0, 8};
    Array<T> a(rows * 3), b(rows * 4), want(rows * 15), got(rows * 15);
    FillRandom(&a);
    FillRandom(&b);
    OnDevice<T> da(a), db(b), out(rows * 15);
    JoinedPieces pieces;
    pieces.push_back({da.data(), widths[0]});
    pieces.push_back({db.data(), widths[1]});
    pieces.push_back({db.data(), widths[2]});
    pieces.push_back({nullptr, widths[3]});
    JoinRows(pieces, rows, 15, out.data(), sizeof(T));
    for (int64_t i = 0; i < rows * 15; ++i) {
      const int64_t r = i / 15, c = i % 15;
      want[i] = c < 3 ? a[r * 3 + c] : c < 7 ? b[r * 4 + c - 3] : T(0);
    }
    out.Read(&got);
    CHECK(Same(got, want));
  }
}

template <class T>
void TestGatherAxes() {
  for (Outside outside : {Outside::kFill, Outside::kWrap, Outside::kReflect, Outside::kEdge}) {
    for (bool reversed : {false, true}) {
      const AxisMap maps[] = {
          {4, 9, 2, outside, reversed}, {3, 3}, {2, 2}, {6, 8, 1, outside}, {5, 5}};
      const Shape in{{4, 3, 2, 6, 5}}, to{{9, 3, 2, 8, 5}};
      const int64_t before[] = {2, 0, 0, 1, 0};
      Array<T> x(in.Count()), want(to.Count()), got(to.Count());
      FillRandom(&x);
      const T fill = T(77);
      OnDevice<T> dx(x), dy(to.Count());
      GatherAxes({maps, 5}, dx.data(), dy.data(), sizeof(T), &fill);
      for (int64_t i = 0; i < to.Count(); ++i) {
        int64_t from = 0, rest = i, stride = 1;
        bool inside = true;
        for (int k = 4; k >= 0; --k) {
          const int64_t size = in.dims[k];
          int64_t at = rest % to.dims[k] - before[k];
          rest /= to.dims[k];
          if (at < 0 || at >= size) {
            inside &= outside != Outside::kFill;
            if (outside == Outside::kWrap) at = (at + 4 * size) % size;
            if (outside == Outside::kEdge) at = at < 0 ? 0 : size - 1;
            if (outside == Outside::kReflect) at = at < 0 ? -at : 2 * (size - 1) - at;
          }
          from += (k == 0 && reversed ? size - 1 - at : at) * stride;
          stride *= size;
        }
        want[i] = inside ? x[from] : fill;
      }
      dy.Read(&got);
      CHECK(Same(got, want));
    }
  }
}

template <class From, class To>
void TestCast() {
  for (int64_t n : {0, 1, 5, 4099}) {
    Array<From> x(n);
    Array<To> want(n), got(n);
    FillRandom(&x, true);
    OnDevice<From> dx(x);
    OnDevice<To> dy(n);
    Cast(DTypeOf<From>::value, dx.data(), DTypeOf<To>::value, dy.data(), n);
    for (int64_t i = 0; i < n; ++i) want[i] = Convert<To>(x[i]);
    dy.Read(&got);
    CHECK(Same(got, want));
  }
}

struct Square {
  int64_t* out;
  DYGRAPH_INLINE void operator()(int64_t i) const { out[i] = i * i; }
};
struct SoftmaxRow {
  const float* x;
  float *y, *top;
  int64_t n;
  DYGRAPH_INLINE void operator()(int64_t r, Team team) const {
    const float* a = x + r * n;
    float *b = y + r * n, *t = top + r;
    const float most =
        team.Max(n, -std::numeric_limits<float>::infinity(), [=](int64_t j) { return a[j]; });
    const float total = team.Sum<float>(n, [=](int64_t j) { return Exp(a[j] - most); });
    team.Each(n, [=](int64_t j) { b[j] = Exp(a[j] - most) / total; });
    team.Once([=] { *t = most; });
  }
};
struct NeighbourRow {
  const int64_t* x;
  int64_t *work, *y;
  int64_t n;
  DYGRAPH_INLINE void operator()(int64_t r, Team team) const {
    const int64_t* a = x + r * n;
    int64_t *w = work + r * n, *b = y + r * n, size = n;
    team.Each(n, [=](int64_t j) { w[j] = a[j] + 1; });
    team.Sync();
    team.Each(n, [=](int64_t j) { b[j] = w[size - 1 - j]; });
  }
};
void TestLoops() {
  for (int64_t n : kSizes) {
    OnDevice<int64_t> out(n);
    Array<int64_t> got(n), want(n);
    ForEach(n, Square{out.data()});
    for (int64_t i = 0; i < n; ++i) want[i] = i * i;
    out.Read(&got);
    CHECK(Same(got, want));
  }
  for (int64_t rows : {0, 1, 3, 5000}) {
    for (int64_t n : {1, 5, 32, 100, 300, 1500}) {
      if (rows * n > 500000) continue;
      Array<float> x(rows * n), got(rows * n), top(rows);
      Array<double> want(rows * n);
      FillRandom(&x);
      OnDevice<float> dx(x), dy(rows * n), dtop(rows);
      ForEachRow(rows, n, SoftmaxRow{dx.data(), dy.data(), dtop.data(), n});
      bool tops = true;
      dy.Read(&got);
      dtop.Read(&top);
      for (int64_t r = 0; r < rows; ++r) {
        double most = -1e30, total = 0;
        for (int64_t j = 0; j < n; ++j) most = std::max<double>(most, x[r * n + j]);
        for (int64_t j = 0; j < n; ++j) total += std::exp(x[r * n + j] - most);
        for (int64_t j = 0; j < n; ++j) {
          want[r * n + j] = std::exp(x[r * n + j] - most) / total;
        }
        tops &= static_cast<double>(top[r]) == most;
      }
      CHECK(Near(got, want, 1e-6));
      CHECK(tops);
    }
  }
  const int64_t rows = 3, n = 1100;
  Array<int64_t> x(rows * n), got(rows * n), want(rows * n);
  FillRandom(&x);
  OnDevice<int64_t> dx(x), work(rows * n), dy(rows * n);
  ForEachRow(rows, n, NeighbourRow{dx.data(), work.data(), dy.data(), n});
  for (int64_t i = 0; i < rows * n; ++i) want[i] = x[i / n * n + n - 1 - i % n] + 1;
  dy.Read(&got);
  CHECK(Same(got, want));
}

}  // namespace
}  // namespace dygraph

int main() {
  using namespace dygraph;  // NOLINT
  TestElementwise<float>();
  TestElementwise<double>();
  TestElementwise<int32_t>();
  TestElementwise<int64_t>();
  TestElementwise<uint8_t>();
  TestElementwise<float16>();
  TestElementwise<bfloat16>();
  TestBroadcast<float>();
  TestBroadcast<double>();
  TestBroadcast<int32_t>();
  TestBroadcast<uint8_t>();
  TestBroadcast<float16>();
  TestReduce<float>();
  TestReduce<double>();
  TestReduce<int32_t>();
  TestReduce<int64_t>();
  TestArg<float>();
  TestArg<int32_t>();
  TestStridedCopy<float>();
  TestStridedCopy<uint8_t>();
  TestStridedCopy<double>();
  TestPermute<float>();
  TestPermute<uint8_t>();
  TestPermute<complex128>();
  TestRows<float>();
  TestRows<int16_t>();
  TestJoin<float>();
  TestJoin<uint8_t>();
  TestGatherAxes<float>();
  TestGatherAxes<uint8_t>();
  TestCast<float, int32_t>();
  TestCast<double, float16>();
  TestCast<float16, double>();
  TestCast<float, bool>();
  TestCast<int64_t, bfloat16>();
  TestCast<float, float>();
  TestLoops();
  return testing::Finish();
}
