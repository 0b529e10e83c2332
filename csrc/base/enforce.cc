#include "base/enforce.h"

#include <sstream>

namespace dygraph::detail {

void WriteText(std::ostream& out, const void* at) { out << static_cast<const char*>(at); }

void ThrowParts(ErrorKind kind, const MessagePart* parts, size_t count) {
  std::ostringstream text;
  text << std::boolalpha;
  for (size_t i = 0; i < count; ++i) parts[i].write(text, parts[i].at);
  throw Error(kind, text.str());
}

}  // namespace dygraph::detail
