// The lists of an operator that runs the block of a gradient, put together by what they go with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "program/outer_uses.h"

namespace dygraph::program {

// What a gradient's block calls the gradient of a kept value that second order gives to it.
constexpr char kKeptGrad[] = "@GRAD@KEPT";

// Of while_grad and its like, and of block_grad_grad, which is the gradient of those. Names are
// empty or kEmptyName where there is none.
struct BlockGradient {
  // What goes from turn to turn: where it comes from, what a turn calls what it gets and what it
  // gives, where it goes to.
  struct Flow {
    std::string from, in, out, to;
  };
  // What adds up: what comes first, the terms of a turn, where it goes to.
  struct Gather {
    std::string before;
    std::vector<std::string> terms;
    std::string to;
  };
  // Of each turn one: the whole outside the block, the turn's inside; of `like` the shape.
  struct Steps {
    std::string outside, inside, like;
  };
  // The gradient of a value that the turns of the forward operator kept. `terms`: a turn's, which
  // block_grad_grad adds up; `made_as`: the number of the one that is the same value one turn
  // before, -1 for none; `first`: what comes before in the first turn; `last`: where that of the
  // last turn goes to, since it is the value that the forward operator left in a variable.
  struct Kept {
    std::string name;
    std::vector<std::string> terms;
    int made_as = -1;
    std::string first, last;
  };
  std::vector<Flow> flows;
  std::vector<Gather> gathers;
  std::vector<std::string> arrays;  // of gradients, one for all turns
  std::vector<Steps> sliced, stacked;
  std::vector<Kept> kept;
};

inline bool IsName(const std::string& name) { return !name.empty() && name != kEmptyName; }

// What the lists of an operator that runs a block, or of its gradient, are called.
struct ListNames {
  const char *reads, *writes, *steps;
};
ListNames ListsOfBlock(const OpDesc& op);

// `forward`: what the block that is differentiated uses. `where` ends the text of Format, which is
// thrown where lists do not fit.
BlockGradient ReadBlockGradient(const OpDesc& op, const OuterUses& forward,
                                const std::function<bool(const std::string&)>& is_array,
                                const std::string& where);

}  // namespace dygraph::program
