#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dygraph {
namespace {

// Edit distance where swapping two neighbours is one edit: the commonest typing error.
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string> NearestNames(const std::string& name,
                                      const std::vector<std::string>& known, size_t most) {
  size_t limit = name.size() / 3;
  std::vector<std::pair<size_t, std::string>> found;
  for (const std::string& candidate : known) {
    size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) > limit) continue;
    size_t distance = Distance(name, candidate);
    if (distance <= limit) found.emplace_back(distance, candidate);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() > most) found.resize(most);
  std::vector<std::string> names;
  for (auto& item : found) names.push_back(std::move(item.second));
  return names;
}

std::string DidYouMean(const std::string& name, const std::vector<std::string>& known) {
  std::vector<std::string> names = NearestNames(name, known);
  if (names.empty()) return "";
  std::string text = " Did you mean '" + names[0];
  for (size_t i = 1; i < names.size(); ++i) {
    text += (i + 1 < names.size() ? "', '" : "' or '") + names[i];
  }
  return text + "'?";
}

std::string DidYouMeanOrAll(const std::string& name, const std::vector<std::string>& known) {
  constexpr size_t kMost = 16;
  std::string text = DidYouMean(name, known);
  if (!text.empty() || known.empty() || known.size() > kMost) return text;
  for (const std::string& k : known) text += (text.empty() ? " It takes " : ", ") + k;
  return text;
}

}  // namespace dygraph
