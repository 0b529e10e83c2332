// The pages of the library's code that are in memory.
#pragma once

namespace dygraph {

// Lets go of the code that has run so far. The system reads a page again when it runs, so this
// saves memory where much code runs once: declarations lie between the kernels of all operators.
void ForgetCodePages();

}  // namespace dygraph
