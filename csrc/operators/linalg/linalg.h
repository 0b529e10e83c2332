// What the operators on matrices share: stacks of matrices, loops over them, errors that name one,
// and the parts of gradient recipes.
#pragma once

#include <string>
#include <vector>

#include "kernels/lapack.h"
#include "kernels/parallel.h"
#include "kernels/transpose.h"
#include "op/op_registry.h"

namespace dygraph::linalg {

// A tensor as `count` matrices [m, n]; sizes may be -1 in descriptions.
struct Stack {
  Dims batch;
  int64_t m, n, count;
  int64_t least() const { return m < 0 || n < 0 ? std::min<int64_t>(m, n) : std::min(m, n); }
  int64_t k() const { return m < 0 || n < 0 ? -1 : std::min(m, n); }
  Dims With(std::initializer_list<int64_t> axes) const {
    Dims dims = batch;
    for (int64_t n : axes) dims.push_back(n);
    return dims;
  }
};
Stack StackOf(const Dims& x, const char* slot = "X");
// The same, with as many rows as columns.
Stack SquareOf(const Dims& x, const char* slot = "X");

// "the matrix" of a single one, "matrix 3 of the stack" otherwise.
std::string NameOf(const Stack& s, int64_t i);
// Index of the first that is not 0; -1: all are.
int64_t FirstOf(const std::vector<int64_t>& infos);
// The first of NaN and infinity would make LAPACK's iterations fail or not end.
template <class T>
void EnforceFinite(const Stack& s, const T* x, const char* slot);

// to = x^-1 of each matrix; one that is singular raises.
template <class T>
void Invert(const Stack& s, const T* x, const char* slot, T* to);

// body(i) for each matrix, some on each thread, each worth `cost` multiplications. `make()` gives
// each thread's working memory, which body takes too.
template <class Make, class Body>
void ForEach(int64_t count, double cost, const Make& make, const Body& body) {
  LapackOnOneThread alone(Lapack());
  const auto each = static_cast<int64_t>(std::min(cost + 256, 1e12));
  kernels::ParallelRows(count, each, [&](int64_t begin, int64_t end) {
    auto memory = make();
    for (int64_t i = begin; i < end; ++i) body(i, *memory);
  });
}

inline double Cube(const Stack& s) {
  return static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k());
}

// to [n, m] = the transpose of from [m, n].
template <class T>
void TransposeInto(const T* from, int64_t m, int64_t n, T* to) {
  const int64_t dims[] = {m, n};
  const int order[] = {1, 0};
  kernels::Permute(from, {dims, 2}, {order, 2}, to, sizeof(T));
}

// Recipes
// ------------------------------------------------------------------------------------------

// A builder with the functions of matrices. A call is left out where what it reads is absent, as a
// gradient that nothing gave; Sum adds what is there.
class Formula {
 public:
  explicit Formula(GradBuilder& builder) : g(builder) {}
  GradBuilder& g;

  RecipeRef T(RecipeRef x);  // of the last two axes
  RecipeRef MatMul(RecipeRef x, RecipeRef y, bool trans_x = false, bool trans_y = false);
  RecipeRef Minus(RecipeRef x) { return g.ApplyScale(x, -1.0); }
  RecipeRef Sum(std::initializer_list<RecipeRef> terms);
  RecipeRef Mul(RecipeRef x, RecipeRef y) { return g.Apply("elementwise_mul", {x, y}); }
  RecipeRef Div(RecipeRef x, RecipeRef y) { return g.Apply("elementwise_div", {x, y}); }
  RecipeRef AsRow(RecipeRef x) { return Unsqueeze(x, {-2}); }     // [..., n] to [..., 1, n]
  RecipeRef AsColumn(RecipeRef x) { return Unsqueeze(x, {-1}); }  // [..., n] to [..., n, 1]
  RecipeRef Unsqueeze(RecipeRef x, std::vector<int32_t> axes);
  RecipeRef Lower(RecipeRef x, int diagonal = 0) { return Triangle(x, true, diagonal); }
  RecipeRef Upper(RecipeRef x, int diagonal = 0) { return Triangle(x, false, diagonal); }
  RecipeRef Triangle(RecipeRef x, bool lower, int diagonal);
  RecipeRef IdentityLike(RecipeRef x);
  RecipeRef SquareOfRows(RecipeRef x);          // for its shape: [..., m, m] of x's [..., m, n]
  RecipeRef Crop(RecipeRef x, RecipeRef like);  // its first rows and columns
  RecipeRef Pad(RecipeRef x, RecipeRef like);   // with zeros, behind
  // op(a)^-1 b for triangular a.
  RecipeRef Triangular(RecipeRef a, RecipeRef b, bool upper, bool transpose = false,
                       bool unit = false);
  // x op(a)^-1.
  RecipeRef TriangularRight(RecipeRef x, RecipeRef a, bool upper, bool transpose = false,
                            bool unit = false) {
    return T(Triangular(a, T(x), upper, !transpose, unit));
  }
  // With a y = b and b@GRAD = w: a@GRAD = -w y^T, summed to the shape of a.
  RecipeRef MinusOuter(RecipeRef a, RecipeRef y, RecipeRef w, bool trans_a = false);
  // `whole` summed over the leading axes that broadcasting gave it, into `result`.
  void Reduce(RecipeRef shape, RecipeRef whole, RecipeRef result);
  // result = the sum of what is there.
  void Give(std::initializer_list<RecipeRef> terms, RecipeRef result);
  // Raises where `x`, a gradient, is there.
  RecipeRef Refuse(RecipeRef x, const char* reason);
};

}  // namespace dygraph::linalg
