// Text for the user, such as the operator print writes: to standard output, or to what the host
// language calls so.
#pragma once

#include <string>

namespace dygraph {

using TextSink = void (*)(const std::string& text);

void WriteText(const std::string& text);
// nullptr: standard output.
void SetTextSink(TextSink sink);
void WriteToStandardOutput(const std::string& text);

}  // namespace dygraph
