// The lists of an operator that runs the block of a gradient, put together by what they go with.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "program/outer_uses.h"

namespace dygraph::program {

// Of while_grad and its like, and of block_grad_grad, which is the gradient of those. Names are
// empty or kEmptyName where there is none.
struct BlockGradient {
  // What goes from turn to turn: where it comes from, what a turn calls what it gets and what it
  // gives, where it goes to; of `like` the shape. `first`: what comes before the turn that is run
  // last has a term from outside.
  struct Flow {
    std::string from, in, out, to, like, first;
  };
  // What adds up: what comes first, the terms of a turn, where it goes to.
  struct Gather {
    std::string before;
    std::vector<std::string> terms;
    std::string to, like;
  };
  // Of each turn one: the whole outside the block, the turn's inside; of `like` the shape.
  struct Steps {
    std::string outside, inside, like;
  };
  std::vector<Flow> flows;
  std::vector<Gather> gathers;
  std::vector<std::string> arrays;  // of gradients, one for all turns
  std::vector<Steps> sliced, stacked;
};

// What the lists of such an operator are called.
struct ListNames {
  const char *reads, *writes, *steps;
};
ListNames ListsOfBlockGradient(const OpDesc& op);

// `forward`: what the block that is differentiated uses. `where` ends the text of Format, which is
// thrown where lists do not fit.
BlockGradient ReadBlockGradient(const OpDesc& op, const OuterUses& forward,
                                const std::function<bool(const std::string&)>& is_array,
                                const std::string& where);

}  // namespace dygraph::program
