// Mistakes made while a library loads. An exception in a static initialiser would end the process,
// so they are kept here until the registry freezes and throws them.
#pragma once

#include <string>

#include "base/enforce.h"

namespace dygraph {

void AddLoadProblem(ErrorKind kind, const std::string& text);
// Throws the stored problems as one error of the first one's kind, and clears them.
void ThrowLoadProblems();

}  // namespace dygraph
