#include "base/output.h"

#include <atomic>
#include <cstdio>

namespace dygraph {

namespace {
std::atomic<TextSink> g_sink{nullptr};
}

void SetTextSink(TextSink sink) { g_sink = sink; }

void WriteToStandardOutput(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void WriteText(const std::string& text) {
  TextSink sink = g_sink;
  (sink ? sink : &WriteToStandardOutput)(text);
}

}  // namespace dygraph
