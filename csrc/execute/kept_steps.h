// Values that the iterations of a block keep for the gradient: handles, which copy on write keeps
// without copies.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/value.h"

namespace dygraph::program {

class KeptSteps : public ValueObject {
 public:
  // `of`: the operator of the iterations.
  KeptSteps(size_t width, std::shared_ptr<const void> of) : width_(width), of_(std::move(of)) {}
  bool IsOf(const void* control) const { return of_.get() == control; }
  // The place of the next kept value, which is empty.
  Value& Next() {
    Reserve(count_ + 1);
    return At(count_++);
  }
  void EndTurn() { ++turns_; }
  int64_t turns() const { return turns_; }
  const Value& at(int64_t turn, size_t number) const { return At(turn * width_ + number); }
  // The same for the only reader of an iteration, which removes the values: the next iteration
  // reuses their memory.
  Value Take(int64_t turn, size_t number) const {
    return std::exchange(At(turn * width_ + number), Value());
  }
  void Set(int64_t turn, size_t number, Value value) {
    At(turn * width_ + number) = std::move(value);
  }
  // This number of iterations, with the values of those of `like`, or empty.
  void Fill(int64_t turns, const KeptSteps* like);

 private:
  size_t width_;
  std::shared_ptr<const void> of_;
  int64_t turns_ = 0;
  // Values stay where they are: a run that keeps thousands takes the blocks of the run before.
  struct Block {
    static void* operator new(size_t bytes);
    static void operator delete(void* p);
    ~Block();
    Value values[32];
  };
  static constexpr size_t kBlock = std::extent_v<decltype(Block::values)>;
  Value& At(size_t i) const { return blocks_[i / kBlock]->values[i % kBlock]; }
  void Reserve(size_t count) {
    while (blocks_.size() * kBlock < count) blocks_.emplace_back(new Block);
  }
  size_t count_ = 0;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace dygraph::program
