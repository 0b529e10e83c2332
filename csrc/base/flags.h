// Run-time switches: FLAGS_name in the environment, set_flags / get_flags in Python.
// A flag is defined once, beside the code it steers:
//   FLAG(double, fraction_of_cpu_memory_to_use, 1.0, "share of memory for arenas");
// and read as FLAGS_fraction_of_cpu_memory_to_use.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dygraph {

using FlagValue = std::variant<bool, int64_t, double, std::string>;

struct FlagInfo {
  std::string name;  // without FLAGS_
  std::string help;
  FlagValue value;
  FlagValue default_value;
};

// Registers at static-initialisation time and takes the value from the environment where it is set.
class FlagRegistration {
 public:
  FlagRegistration(bool* value, const char* name, const char* help);
  FlagRegistration(int64_t* value, const char* name, const char* help);
  FlagRegistration(double* value, const char* name, const char* help);
  FlagRegistration(std::string* value, const char* name, const char* help);
};

std::vector<FlagInfo> AllFlags();
FlagValue GetFlag(const std::string& name);  // NotFound names the nearest flag
// Type if the kind of value does not fit.
void SetFlag(const std::string& name, const FlagValue& value);
// FLAGS_... of the environment that no flag answers to: (name, nearest known name). Python warns
// about each.
std::vector<std::pair<std::string, std::string>> UnknownEnvironmentFlags();
// One sentence for each FLAGS_... whose text did not fit its flag; such a flag keeps its default.
std::vector<std::string> FlagProblems();

}  // namespace dygraph

#define FLAG(type, name, default_value, help) \
  type FLAGS_##name = default_value;          \
  static ::dygraph::FlagRegistration flag_registration_##name(&FLAGS_##name, #name, help)
