// Marks of functions.
#pragma once

// Before a function or a lambda that a loop calls for its elements. A pass that compiles the loops
// for a device defines it before: the function then exists there too.
//
//   Map(x, y, n, [] DYGRAPH_FN(float v) { return v + 1; });
#ifndef DYGRAPH_FN
#define DYGRAPH_FN
#endif
