// Use-def chains by name: which operators of a list write and read each variable. For a single
// query of a block that is being edited, use Reads and Writes of program/desc.h on each operator.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "program/program.h"

namespace dygraph::program {

// Of operators that stay where they are and as they are. Numbers are their places in the list, in
// order; an operator counts once for each argument.
class Uses {
 public:
  explicit Uses(std::vector<const OpDesc*> ops);
  explicit Uses(const Items<OpDesc>& ops);
  explicit Uses(const Block& block);

  const std::vector<size_t>& WritersOf(const std::string& name) const;
  const std::vector<size_t>& ReadersOf(const std::string& name) const;
  // Operators on a way to one of the variables. Of several writers the last one of the list counts,
  // or all that come before who reads it; behind a variable among `ends` the way is not followed.
  enum class Writers { kLast, kAllBefore };
  std::vector<bool> LeadTo(const std::vector<std::string>& names,
                           const std::unordered_set<std::string>& ends,
                           Writers which = Writers::kLast) const;

 private:
  struct Of {
    std::vector<size_t> writers, readers;
  };
  const Of& Find(const std::string& name) const;

  std::vector<const OpDesc*> ops_;
  std::unordered_map<std::string, Of> names_;
};

}  // namespace dygraph::program
