// A tape of single numbers: a function written with Scalar gives its gradient, both as Jets. So the
// gradient comes with its derivatives along two directions. Meant for derivatives of high order,
// where a formula would be long and speed matters less: it takes some 150 bytes for an operation.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/jet.h"

namespace dygraph::kernels {

// A number of the tape that this thread works on; -1: minus infinity, for AddLogs.
struct Scalar {
  int32_t id = -1;
  bool never() const { return id < 0; }
};

class ScalarTape {
 public:
  ScalarTape();  // this thread works on it from now on
  ~ScalarTape();
  ScalarTape(const ScalarTape&) = delete;
  ScalarTape& operator=(const ScalarTape&) = delete;
  static ScalarTape& Current();

  Scalar Leaf(const Jet& value) { return Add({-1, -1, 0, 0, {}, {}}, value); }
  Scalar Make(Scalar x, const Jet& value, const Jet& slope) {
    return Add({x.id, -1, 0, 0, slope, {}}, value);
  }
  Scalar Make(Scalar x, Scalar y, const Jet& value, const Jet& slope_x, const Jet& slope_y) {
    return Add({x.id, y.id, 0, 0, slope_x, slope_y}, value);
  }
  // start + the sum of x[i * x_step] y[i * y_step]
  Scalar Dot(Scalar start, const Scalar* x, int64_t x_step, const Scalar* y, int64_t y_step,
             int64_t n);
  // The sum of x[i * step].
  Scalar Sum(const Scalar* x, int64_t step, int64_t n);

  const Jet& value(Scalar x) const { return values_[x.id]; }
  // Seeds add up; after Play() `gradient` is complete.
  void Seed(Scalar x, const Jet& g) { gradients_[x.id] += g; }
  void Play();
  const Jet& gradient(Scalar x) const { return gradients_[x.id]; }
  void Clear();

 private:
  struct Entry {
    int32_t x, y;        // -1: none
    int64_t begin, end;  // of pairs_, in place of x and y
    Jet slope_x, slope_y;
  };
  Scalar Add(const Entry& entry, const Jet& value);

  ScalarTape* outer_;
  std::vector<Entry> entries_;
  std::vector<Jet> values_, gradients_;
  std::vector<int32_t> pairs_;  // two a term
};

Scalar operator+(Scalar x, Scalar y);
Scalar operator-(Scalar x, Scalar y);
Scalar operator*(Scalar x, Scalar y);
Scalar operator/(Scalar x, Scalar y);
Scalar operator+(Scalar x, double c);
Scalar operator*(Scalar x, double c);
inline Scalar operator-(Scalar x, double c) { return x + -c; }
inline Scalar operator-(double c, Scalar x) { return x * -1.0 + c; }
Scalar Constant(double c);
double ValueOf(Scalar x);
Scalar Exp(Scalar x);
Scalar Log(Scalar x);
Scalar Tanh(Scalar x);
Scalar Sigmoid(Scalar x);
Scalar Softplus(Scalar x);
Scalar Pow(Scalar x, double p);
Scalar AddLogs(Scalar x, Scalar y);  // log(exp(x) + exp(y))

}  // namespace dygraph::kernels
