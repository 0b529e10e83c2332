// A stack of their own for the handlers of signals.
#pragma once

namespace dygraph {

// Handlers on this thread run on a stack of their own from now on, where they ask for it
// (SA_ONSTACK), as Python's do. oneDNN's products point the stack register into an array of the
// heap, where a handler's frame would overwrite what lies before it.
void GuardFromSignals();

}  // namespace dygraph
