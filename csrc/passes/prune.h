// Feed and fetch operators around a block, which prune writes and so do recorded programs.
#pragma once

#include <string>
#include <vector>

#include "program/desc.h"

namespace dygraph::program {

// What Fluid writes: two holder variables, and an operator for each variable, with its column.
struct FeedAndFetch {
  FeedAndFetch(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches);
  std::vector<VarDesc> holders;
  std::vector<OpDesc> before, after;
};

}  // namespace dygraph::program
