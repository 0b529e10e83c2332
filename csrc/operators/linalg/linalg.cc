#include "operators/linalg/linalg.h"

#include <cstring>

namespace dygraph::linalg {

Stack StackOf(const Dims& x, const char* slot) {
  ENFORCE(x.rank() >= 2, InvalidArgument, slot,
          " must be a matrix or a stack of matrices, [..., m, n], got shape ", x);
  Stack s{Dims(x.begin(), x.end() - 2), x[x.rank() - 2], x[x.rank() - 1], 0};
  s.count = x.HasUnknown() ? -1 : Numel(s.batch);
  return s;
}

Stack SquareOf(const Dims& x, const char* slot) {
  Stack s = StackOf(x, slot);
  ENFORCE(s.m == s.n || !BothKnown(s.m, s.n), InvalidArgument, slot,
          " must be a square matrix or a stack of such, [..., n, n], got shape ", x);
  if (s.m < 0) s.m = s.n;
  s.n = s.m;
  return s;
}

std::string NameOf(const Stack& s, int64_t i) {
  if (s.batch.empty()) return "the matrix";
  return "matrix " + std::to_string(i) + " of the stack";
}

int64_t FirstOf(const std::vector<int64_t>& infos) {
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i] != 0) return static_cast<int64_t>(i);
  }
  return -1;
}

template <class T>
void EnforceFinite(const Stack& s, const T* x, const char* slot) {
  const int64_t size = s.m * s.n;
  std::vector<int64_t> infos(s.count);
  kernels::ParallelRows(s.count, size, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T sum = 0;  // 0 unless one is NaN or infinite
      for (int64_t j = 0; j < size; ++j) sum += x[i * size + j] * T(0);
      infos[i] = sum != T(0);
    }
  });
  const int64_t i = FirstOf(infos);
  if (i >= 0)
    THROW(InvalidArgument, slot, " must be finite, but ", NameOf(s, i), " has NaN or infinity");
}
template void EnforceFinite(const Stack&, const float*, const char*);
template void EnforceFinite(const Stack&, const double*, const char*);

template <class T>
void Invert(const Stack& s, const T* x, const char* slot, T* to) {
  const int64_t n = s.n, size = n * n;
  if (s.count * n == 0) return;
  struct Memory {
    Memory(int64_t n, int64_t size) : pivots(n), work(size) {}
    lapack::Integers pivots;
    lapack::Numbers<T> work;
  };
  const int64_t work = lapack::GetriWork<T>(n);
  std::vector<int64_t> infos(s.count);
  // the inverse of the transpose is the transpose of the inverse, so the order does not matter
  ForEach(
      s.count, 2 * Cube(s), [&] { return std::make_unique<Memory>(n, work); },
      [&](int64_t i, Memory& memory) {
        T* a = to + i * size;
        std::memcpy(a, x + i * size, size * sizeof(T));
        infos[i] = lapack::Getrf(n, n, a, memory.pivots);
        if (infos[i] == 0) infos[i] = lapack::Getri(n, a, memory.pivots, memory.work.data(), work);
      });
  const int64_t i = FirstOf(infos);
  if (i < 0) return;
  THROW(InvalidArgument, slot, " must be regular, but ", NameOf(s, i), " is singular: pivot ",
        infos[i] - 1, " is 0");
}
template void Invert(const Stack&, const float*, const char*, float*);
template void Invert(const Stack&, const double*, const char*, double*);

// Recipes
// ------------------------------------------------------------------------------------------

RecipeRef Formula::T(RecipeRef x) {
  RecipeRef to = g.Temp();
  g.Call("einsum", {RecipeSlot({x})}, {to}).Attr("equation", std::string("...ij->...ji"));
  return to;
}

RecipeRef Formula::MatMul(RecipeRef x, RecipeRef y, bool trans_x, bool trans_y) {
  RecipeRef to = g.Temp();
  g.Call("matmul_v2", {x, y}, {to}).Attr("trans_x", trans_x).Attr("trans_y", trans_y);
  return to;
}

RecipeRef Formula::Sum(std::initializer_list<RecipeRef> terms) {
  return g.Apply("sum", {RecipeSlot(std::vector<RecipeRef>(terms))});
}

void Formula::Give(std::initializer_list<RecipeRef> terms, RecipeRef result) {
  g.Call("sum", {RecipeSlot(std::vector<RecipeRef>(terms))}, {result});
}

RecipeRef Formula::Unsqueeze(RecipeRef x, std::vector<int32_t> axes) {
  RecipeRef to = g.Temp();
  g.Call("unsqueeze", {x}, {to}).Attr("axes", axes);
  return to;
}

RecipeRef Formula::Triangle(RecipeRef x, bool lower, int diagonal) {
  RecipeRef to = g.Temp();
  g.Call("tril_triu", {x}, {to}).Attr("lower", lower).Attr("diagonal", diagonal);
  return to;
}

RecipeRef Formula::IdentityLike(RecipeRef x) {
  RecipeRef ones = g.Temp();
  g.Call("fill_any_like", {x}, {ones}).Attr("value", 1.0);
  return Lower(Upper(ones));
}

RecipeRef Formula::SquareOfRows(RecipeRef x) {
  RecipeRef column = g.Temp();
  g.Call("reduce_sum", {x}, {column}).Attr("dim", std::vector<int32_t>{-1}).Attr("keep_dim", true);
  return g.Apply("elementwise_add", {column, T(column)});
}

RecipeRef Formula::Crop(RecipeRef x, RecipeRef like) {
  RecipeRef to = g.Temp();
  g.Call("crop", {x, like}, {to});
  return to;
}

RecipeRef Formula::Pad(RecipeRef x, RecipeRef like) {
  RecipeRef to = g.Temp();
  g.Call("pad_constant_like", {like, x}, {to});
  return to;
}

RecipeRef Formula::Triangular(RecipeRef a, RecipeRef b, bool upper, bool transpose, bool unit) {
  RecipeRef to = g.Temp();
  g.Call("triangular_solve", {a, b}, {to})
      .Attr("upper", upper)
      .Attr("transpose", transpose)
      .Attr("unitriangular", unit);
  return to;
}

RecipeRef Formula::MinusOuter(RecipeRef a, RecipeRef y, RecipeRef w, bool trans_a) {
  RecipeRef to = g.Temp();
  g.Call("matmul_v2_grad", {a, y, Minus(w)}, {to, {}}).Attr("trans_x", trans_a);
  return to;
}

void Formula::Reduce(RecipeRef shape, RecipeRef whole, RecipeRef result) {
  g.Call("elementwise_add_grad", {shape, whole, whole}, {result, {}});
}

RecipeRef Formula::Refuse(RecipeRef x, const char* reason) {
  RecipeRef to = g.Temp();
  g.Call("missing_grad_formula", {x}, {to}).Attr("reason", std::string(reason));
  return to;
}

}  // namespace dygraph::linalg
