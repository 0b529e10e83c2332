#include "base/flags.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>

#include "base/enforce.h"
#include "base/nearest.h"

extern char** environ;

namespace dygraph {
namespace {

using FlagPointer = std::variant<bool*, int64_t*, double*, std::string*>;

struct Flag {
  std::string name;
  std::string help;
  FlagPointer value;
  FlagValue default_value;
};

struct Registry {
  std::mutex mutex;
  std::vector<Flag> flags;
  std::vector<std::string> problems;
};

// Flags register from static initialisers of many files and are read until the process ends.
Registry& GetRegistry() {
  static Registry* registry = new Registry;
  return *registry;
}

const char* Expected(const FlagPointer& p) {
  static const char* const kNames[] = {"true or false", "an integer", "a number", "a string"};
  return kNames[p.index()];
}

FlagValue Read(const FlagPointer& p) {
  return std::visit([](auto* value) { return FlagValue(*value); }, p);
}

bool Parse(const char* text, bool* value) {
  for (const char* yes : {"1", "true", "on", "True", "TRUE", "ON"}) {
    if (!std::strcmp(text, yes)) return *value = true, true;
  }
  for (const char* no : {"0", "false", "off", "False", "FALSE", "OFF"}) {
    if (!std::strcmp(text, no)) return *value = false, true;
  }
  return false;
}

bool Parse(const char* text, int64_t* value) {
  char* end = nullptr;
  errno = 0;
  long long parsed = std::strtoll(text, &end, 10);
  if (end == text || *end || errno) return false;
  *value = parsed;
  return true;
}

bool Parse(const char* text, double* value) {
  char* end = nullptr;
  errno = 0;
  double parsed = std::strtod(text, &end);
  if (end == text || *end || errno) return false;
  *value = parsed;
  return true;
}

bool Parse(const char* text, std::string* value) {
  *value = text;
  return true;
}

// The registry's mutex is held.
Flag* Find(Registry& registry, const std::string& name) {
  for (Flag& flag : registry.flags) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

std::vector<std::string> Names(const Registry& registry) {
  std::vector<std::string> names;
  for (const Flag& flag : registry.flags) names.push_back(flag.name);
  return names;
}

Flag& FindOrThrow(Registry& registry, const std::string& name) {
  Flag* flag = Find(registry, name);
  ENFORCE(flag, NotFound, "there is no flag '", name, "'.", DidYouMean(name, Names(registry)));
  return *flag;
}

template <class T>
void Register(T* value, const char* name, const char* help) {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  // A second definition under one name cannot throw here (it would end the process while loading).
  if (Find(registry, name)) {
    registry.problems.push_back(std::string("FLAGS_") + name +
                                " is defined twice; the first one counts.");
    return;
  }
  registry.flags.push_back({name, help, value, *value});
  const char* text = std::getenv((std::string("FLAGS_") + name).c_str());
  if (text && !Parse(text, value)) {
    registry.problems.push_back(std::string("FLAGS_") + name + " must be " +
                                Expected(registry.flags.back().value) + ", got '" + text +
                                "'. The default is kept.");
  }
}

bool Convert(const FlagValue& from, bool* to) {
  const int64_t* n = std::get_if<int64_t>(&from);
  if (!n || *n < 0 || *n > 1) return false;
  *to = *n == 1;
  return true;
}
bool Convert(const FlagValue& from, double* to) {
  const int64_t* n = std::get_if<int64_t>(&from);
  if (n) *to = static_cast<double>(*n);
  return n != nullptr;
}
bool Convert(const FlagValue&, int64_t*) { return false; }
bool Convert(const FlagValue&, std::string*) { return false; }

void Assign(const Flag& flag, const FlagValue& from) {
  bool fits = std::visit(
      [&](auto* to) {
        auto* same = std::get_if<std::remove_pointer_t<decltype(to)>>(&from);
        if (same) *to = *same;
        return same || Convert(from, to);
      },
      flag.value);
  if (fits) return;
  std::ostringstream got;
  got << std::boolalpha;
  std::visit([&](const auto& v) { got << v; }, from);
  THROW(Type, "FLAGS_", flag.name, " must be ", Expected(flag.value), ", got ", got.str());
}

}  // namespace

FlagRegistration::FlagRegistration(bool* value, const char* name, const char* help) {
  Register(value, name, help);
}
FlagRegistration::FlagRegistration(int64_t* value, const char* name, const char* help) {
  Register(value, name, help);
}
FlagRegistration::FlagRegistration(double* value, const char* name, const char* help) {
  Register(value, name, help);
}
FlagRegistration::FlagRegistration(std::string* value, const char* name, const char* help) {
  Register(value, name, help);
}

std::vector<FlagInfo> AllFlags() {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  std::vector<FlagInfo> all;
  for (const Flag& flag : registry.flags) {
    all.push_back({flag.name, flag.help, Read(flag.value), flag.default_value});
  }
  return all;
}

FlagValue GetFlag(const std::string& name) {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  return Read(FindOrThrow(registry, name).value);
}

void SetFlag(const std::string& name, const FlagValue& value) {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  Assign(FindOrThrow(registry, name), value);
}

std::vector<std::pair<std::string, std::string>> UnknownEnvironmentFlags() {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  std::vector<std::pair<std::string, std::string>> unknown;
  for (char** entry = environ; entry && *entry; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    if (!equals || std::strncmp(*entry, "FLAGS_", 6) || equals < *entry + 6) continue;
    std::string name(*entry + 6, equals - *entry - 6);
    if (Find(registry, name)) continue;
    std::vector<std::string> nearest = NearestNames(name, Names(registry), 1);
    unknown.emplace_back(name, nearest.empty() ? std::string() : nearest[0]);
  }
  return unknown;
}

std::vector<std::string> FlagProblems() {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  return registry.problems;
}

}  // namespace dygraph
