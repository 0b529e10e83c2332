#include "program/evaluate.h"

namespace dygraph::program {

Evaluator& TheEvaluator() {
  static Evaluator evaluator = nullptr;
  return evaluator;
}

}  // namespace dygraph::program
