// Values that the iterations of a block keep for the gradient: handles, which copy on write keeps
// without copies.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "tensor/value.h"

namespace dygraph::program {

class KeptSteps : public ValueObject {
 public:
  // `of`: the operator of the iterations.
  KeptSteps(size_t width, std::shared_ptr<const void> of) : width_(width), of_(std::move(of)) {}
  bool IsOf(const void* control) const { return of_.get() == control; }
  void Keep(Value value) { values_.push_back(std::move(value)); }
  void EndTurn() { ++turns_; }
  int64_t turns() const { return turns_; }
  const Value& at(int64_t turn, size_t number) const { return values_[turn * width_ + number]; }
  // The same for the only reader of an iteration, which removes the values: the next iteration
  // reuses their memory.
  Value Take(int64_t turn, size_t number) const {
    return std::exchange(values_[turn * width_ + number], Value());
  }
  void Set(int64_t turn, size_t number, Value value) {
    values_[turn * width_ + number] = std::move(value);
  }
  // This number of iterations, with the values of those of `like`, or empty.
  void Fill(int64_t turns, const KeptSteps* like) {
    turns_ = turns;
    values_.resize(turns * width_);
    if (like && like->turns() == turns) values_ = like->values_;
  }

 private:
  size_t width_;
  std::shared_ptr<const void> of_;
  int64_t turns_ = 0;
  mutable std::deque<Value> values_;
};

}  // namespace dygraph::program
