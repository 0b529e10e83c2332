// How long the operators of a program took.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace dygraph::program {

struct PlanOp;

// Sums over the runs of one prepared program; of one run at a time.
class OpTimes {
 public:
  struct Entry {
    std::string operators;  // "conv2d+relu" where one kernel or one loop does several
    int block, position;    // of the first, in the program
    uint64_t calls, nanoseconds;
  };
  // `count` operators that follow each other, of which the first is `op`. The time of an operator
  // with a block includes that of the block.
  void Add(const PlanOp* op, size_t count, uint64_t nanoseconds);
  std::vector<Entry> Entries() const;  // in the order of the program
  void Clear() { sums_.clear(); }

 private:
  struct Sum {
    size_t count = 1;
    uint64_t calls = 0, nanoseconds = 0;
  };
  std::unordered_map<const PlanOp*, Sum> sums_;
};

}  // namespace dygraph::program
