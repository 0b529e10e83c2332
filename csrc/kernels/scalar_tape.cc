#include "kernels/scalar_tape.h"

#include <limits>

#include "base/enforce.h"

namespace dygraph::kernels {

namespace {
thread_local ScalarTape* current = nullptr;

const Jet kOne(1);

const Jet& At(Scalar x) { return ScalarTape::Current().value(x); }
}  // namespace

ScalarTape::ScalarTape() : outer_(current) { current = this; }
ScalarTape::~ScalarTape() { current = outer_; }
ScalarTape& ScalarTape::Current() { return *current; }

Scalar ScalarTape::Add(const Entry& entry, const Jet& value) {
  ENFORCE(entries_.size() < static_cast<size_t>(std::numeric_limits<int32_t>::max()),
          ResourceExhausted,
          "a derivative of this order takes more than 2^31 operations here. Use "
          "smaller inputs, or ordinary operators for higher orders");
  entries_.push_back(entry);
  values_.push_back(value);
  gradients_.emplace_back();
  return {static_cast<int32_t>(entries_.size() - 1)};
}

Scalar ScalarTape::Dot(Scalar start, const Scalar* x, int64_t x_step, const Scalar* y,
                       int64_t y_step, int64_t n) {
  Jet total = start.never() ? Jet(0) : value(start);
  int64_t begin = static_cast<int64_t>(pairs_.size());
  for (int64_t i = 0; i < n; ++i) {
    Scalar p = x[i * x_step], q = y[i * y_step];
    total += value(p) * value(q);
    pairs_.push_back(p.id);
    pairs_.push_back(q.id);
  }
  return Add({start.id, -1, begin, static_cast<int64_t>(pairs_.size()), kOne, {}}, total);
}

Scalar ScalarTape::Sum(const Scalar* x, int64_t step, int64_t n) {
  Scalar one = Leaf(kOne);
  return Dot({}, x, step, &one, 0, n);
}

void ScalarTape::Play() {
  for (size_t k = entries_.size(); k-- > 0;) {
    const Entry& e = entries_[k];
    const Jet g = gradients_[k];
    if (e.x >= 0) gradients_[e.x] += e.slope_x * g;
    if (e.y >= 0) gradients_[e.y] += e.slope_y * g;
    for (int64_t i = e.begin; i < e.end; i += 2) {
      gradients_[pairs_[i]] += values_[pairs_[i + 1]] * g;
      gradients_[pairs_[i + 1]] += values_[pairs_[i]] * g;
    }
  }
}

void ScalarTape::Clear() {
  entries_.clear();
  values_.clear();
  gradients_.clear();
  pairs_.clear();
}

Scalar operator+(Scalar x, Scalar y) {
  return ScalarTape::Current().Make(x, y, At(x) + At(y), kOne, kOne);
}
Scalar operator-(Scalar x, Scalar y) {
  return ScalarTape::Current().Make(x, y, At(x) - At(y), kOne, Jet(-1));
}
Scalar operator*(Scalar x, Scalar y) {
  return ScalarTape::Current().Make(x, y, At(x) * At(y), At(y), At(x));
}
Scalar operator/(Scalar x, Scalar y) {
  Jet inverse = Inverse(At(y)), value = At(x) * inverse;
  return ScalarTape::Current().Make(x, y, value, inverse, Jet(-1) * value * inverse);
}
Scalar operator+(Scalar x, double c) { return ScalarTape::Current().Make(x, At(x) + Jet(c), kOne); }
Scalar operator*(Scalar x, double c) {
  return ScalarTape::Current().Make(x, At(x) * Jet(c), Jet(c));
}
Scalar Constant(double c) { return ScalarTape::Current().Leaf(Jet(c)); }
double ValueOf(Scalar x) { return At(x).v; }
Scalar Exp(Scalar x) {
  Jet e = Exp(At(x));
  return ScalarTape::Current().Make(x, e, e);
}
Scalar Log(Scalar x) { return ScalarTape::Current().Make(x, Log(At(x)), Inverse(At(x))); }
Scalar Tanh(Scalar x) {
  Jet t = Tanh(At(x));
  return ScalarTape::Current().Make(x, t, kOne - t * t);
}
Scalar Sigmoid(Scalar x) {
  Jet s = Sigmoid(At(x));
  return ScalarTape::Current().Make(x, s, s * (kOne - s));
}
Scalar Softplus(Scalar x) { return ScalarTape::Current().Make(x, Softplus(At(x)), Sigmoid(At(x))); }
Scalar Pow(Scalar x, double p) {
  if (p == 0) return Constant(1);
  return ScalarTape::Current().Make(x, Pow(At(x), p), Jet(p) * Pow(At(x), p - 1));
}
Scalar AddLogs(Scalar x, Scalar y) {
  if (x.never()) return y;
  if (y.never()) return x;
  if (At(x).v < At(y).v) std::swap(x, y);
  Jet behind = At(y) - At(x), share = Sigmoid(behind);
  return ScalarTape::Current().Make(x, y, At(x) + Softplus(behind), kOne - share, share);
}

}  // namespace dygraph::kernels
