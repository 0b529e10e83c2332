// The part of a program that leads from some variables to others.
#pragma once

#include <string>
#include <vector>

#include "program/desc.h"

namespace dygraph::program {

// Block 0 cut down to the operators that `fetches` need once `feeds` are given, with their
// variables, and with feed and fetch operators in this order. InvalidArgument for a name that is no
// variable; PreconditionNotMet if a variable that is fed in `program` is still needed and not among
// `feeds`.
ProgramDesc Prune(const ProgramDesc& program, const std::vector<std::string>& feeds,
                  const std::vector<std::string>& fetches);

// Feed and fetch operators with their columns and holder variables around the operators of a block,
// as Fluid writes them.
void AddFeedAndFetch(BlockDesc* block, const std::vector<std::string>& feeds,
                     const std::vector<std::string>& fetches);

}  // namespace dygraph::program
