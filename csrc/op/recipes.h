// Owners of gradient recipes. For short lists the operator keeps them for good. For long lists, of
// which every length needs another recipe, the call's node keeps one, and the operator the latest.
#pragma once

#include <cstddef>
#include <memory>

#include "op/op_registry.h"

namespace dygraph {

// What an operator keeps has bounds: for good 512 recipes of at most 64 inputs and outputs; beside
// them the latest others, of so many inputs and outputs together. An input takes up to 1 KB.
constexpr size_t kMostKeptValues = 64, kMostKeptRecipes = 512, kMostPassingValues = 4096;

// GetRecipe's where the operator keeps it for good, otherwise nullptr.
const Recipe* FindRecipe(const OpInfo& op, const Attrs& attrs, Span<const uint32_t> in_ends,
                         Span<const uint32_t> out_ends, const WantedSet& wanted);
// Where it does not: made, or one of the latest.
std::shared_ptr<const Recipe> MakeRecipe(const OpInfo& op, const Attrs& attrs,
                                         Span<const uint32_t> in_ends,
                                         Span<const uint32_t> out_ends, const WantedSet& wanted);
// One of the two.
std::shared_ptr<const Recipe> HoldRecipe(const OpInfo& op, const Attrs& attrs,
                                         Span<const uint32_t> in_ends,
                                         Span<const uint32_t> out_ends, const WantedSet& wanted);
// How many the operator keeps.
size_t KeptRecipes(const OpInfo& op);

}  // namespace dygraph
