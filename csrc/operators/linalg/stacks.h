// What the operators on matrices share: stacks of matrices, errors that name one, and the parts of
// gradient recipes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

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
