// What the variables of the running call are called: for messages, and for operators that tell.
#pragma once

#include <string>

#include "op/call.h"

namespace dygraph {

// Of the inputs by flat number; null or missing where there is none.
using NameList = Span<const std::string* const>;

// On this thread while it lives.
class CallNames {
 public:
  explicit CallNames(NameList names);
  CallNames(const CallNames&) = delete;
  CallNames& operator=(const CallNames&) = delete;
  ~CallNames();

 private:
  NameList outer_;
};

// nullptr where it has none.
const std::string* NameOfInput(const Call& call, int slot, int i = 0);

}  // namespace dygraph
