// Values that the iterations of a block keep for the gradient: handles, which copy on write keeps
// without copies.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tensor/value.h"

namespace dygraph::program {

class KeptSteps : public ValueObject {
 public:
  // `of`: the operator of the iterations.
  KeptSteps(size_t width, std::shared_ptr<const void> of) : width_(width), of_(std::move(of)) {}
  bool IsOf(const void* control) const { return of_.get() == control; }
  void Keep(Value value) {
    Reserve(count_ + 1);
    At(count_++) = std::move(value);
  }
  void EndTurn() { ++turns_; }
  int64_t turns() const { return turns_; }
  const Value& at(int64_t turn, size_t number) const {
    return At(turn * width_ + number);
  }
  // The same for the only reader of an iteration, which removes the values: the next iteration
  // reuses their memory.
  Value Take(int64_t turn, size_t number) const {
    return std::exchange(At(turn * width_ + number), Value());
  }
  void Set(int64_t turn, size_t number, Value value) {
    At(turn * width_ + number) = std::move(value);
  }
  // This number of iterations, with the values of those of `like`, or empty.
  void Fill(int64_t turns, const KeptSteps* like) {
    turns_ = turns;
    count_ = turns * width_;
    Reserve(count_);
    if (!like || like->turns() != turns) return;
    for (size_t i = 0; i < count_; ++i) At(i) = like->At(i);
  }

 private:
  size_t width_;
  std::shared_ptr<const void> of_;
  int64_t turns_ = 0;
  // Blocks of values, which stay where they are: std::deque makes one for every four.
  static constexpr size_t kBlock = 32;
  Value& At(size_t i) const { return blocks_[i / kBlock][i % kBlock]; }
  void Reserve(size_t count) {
    while (blocks_.size() * kBlock < count) blocks_.emplace_back(new Value[kBlock]);
  }
  size_t count_ = 0;
  std::vector<std::unique_ptr<Value[]>> blocks_;
};

}  // namespace dygraph::program
