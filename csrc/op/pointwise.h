// Pointwise operators: an element of a result depends on the elements of the inputs at its place
// alone, inputs broadcast. So a program may run several of them block by block, on rows of their
// arrays (execute/chain.h).
#pragma once

#include <string>

namespace dygraph {

bool IsPointwise(const std::string& type);

// Stands where an operator is defined. Its kernels must not read sizes, except for broadcasting.
struct PointwiseRegistration {
  explicit PointwiseRegistration(const char* type);
};
#define REGISTER_POINTWISE(type) \
  static ::dygraph::PointwiseRegistration pointwise_registration_##type(#type)

}  // namespace dygraph
