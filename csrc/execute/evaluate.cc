// The executor behind program/evaluate.h.
#include "program/evaluate.h"

#include "execute/executor.h"

namespace dygraph::program {

namespace {

std::vector<Value> Evaluate(const std::shared_ptr<const ProgramDesc>& program,
                            const std::vector<std::string>& feeds, const std::vector<Value>& values,
                            const std::vector<std::string>& fetches) {
  PreparedProgram prepared(program, Scope::Make(), feeds, fetches, CPUPlace());
  return prepared.Run(values);
}

const bool set = (TheEvaluator() = &Evaluate, true);

}  // namespace

}  // namespace dygraph::program
