// Marks of functions.
#pragma once

// Before a lambda that a loop calls for its elements. A pass that compiles the loops for a device
// defines it before: the lambda then exists there alone.
//
//   Map(x, y, n, [] DYGRAPH_FN(float v) { return v + 1; });
#ifndef DYGRAPH_FN
#define DYGRAPH_FN
#endif

// Before a function that such lambdas call, and that hosts call as well.
#ifndef DYGRAPH_BOTH
#define DYGRAPH_BOTH
#endif
