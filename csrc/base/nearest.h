// Near spellings, for errors about unknown names.
#pragma once

#include <string>
#include <vector>

namespace dygraph {

// The names closest to `name` (edit distance, at most a third of its length), best first, at most
// `most`.
std::vector<std::string> NearestNames(const std::string& name,
                                      const std::vector<std::string>& known, size_t most = 3);
// " Did you mean 'a' or 'b'?" or an empty string.
std::string DidYouMean(const std::string& name, const std::vector<std::string>& known);
// The same; if none is near, a short list of the known names.
std::string DidYouMeanOrAll(const std::string& name, const std::vector<std::string>& known);

}  // namespace dygraph
