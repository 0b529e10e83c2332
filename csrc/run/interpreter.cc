#include "run/interpreter.h"

namespace dygraph::detail {

InterpreterHooks interpreter_hooks;

}  // namespace dygraph::detail
