// What a block of a program uses of the blocks around it, with the blocks that its operators run.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "program/program.h"

namespace dygraph::program {

struct OuterUses {
  std::vector<std::string> reads, writes;  // each once, in order of first use
  // Written, and read before: an operator of the block may ask for the value it began with.
  std::unordered_set<std::string> read_first;
  bool Writes(const std::string& name) const { return written_.count(name) > 0; }
  bool Reads(const std::string& name) const { return read_.count(name) > 0; }

  std::unordered_set<std::string> read_, written_;
};

OuterUses UsesAround(const Program& program, int32_t block);
OuterUses UsesAround(const ProgramDesc& program, int32_t block);

// The block that an operator runs; -1 for an ordinary operator.
int32_t BlockOf(const OpDesc& op);

}  // namespace dygraph::program
