// Who keeps a gradient recipe: the operator for the calls that come again, the call's own node for
// long lists, of which every length would need another.
#pragma once

#include <cstddef>
#include <memory>

#include "op/op_registry.h"

namespace dygraph {

// What an operator keeps has a bound: 512 recipes of at most 64 inputs and outputs, some 20 MB.
constexpr size_t kMostKeptValues = 64, kMostKeptRecipes = 512;

// GetRecipe's where the operator keeps it, otherwise nullptr.
const Recipe* FindRecipe(const OpInfo& op, const Attrs& attrs, Span<const uint32_t> in_ends,
                         Span<const uint32_t> out_ends, const WantedSet& wanted);
// Made for the caller.
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
