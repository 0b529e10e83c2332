// A door to the executor for those who may not include it: passes that compute a part of a program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "program/desc.h"
#include "tensor/value.h"

namespace dygraph::program {

// Runs a program once, on the CPU and in a scope of its own, and gives what is fetched. Throws what
// the executor throws.
using Evaluator = std::vector<Value> (*)(const std::shared_ptr<const ProgramDesc>& program,
                                         const std::vector<std::string>& feeds,
                                         const std::vector<Value>& values,
                                         const std::vector<std::string>& fetches);
Evaluator& TheEvaluator();  // the executor's, set while the library loads

}  // namespace dygraph::program
