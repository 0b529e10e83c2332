// Passes rewrite whole programs; ApplyPass applies one by name. A pass registers itself, as an
// operator does, without a central list; docs/new_pass.md adds one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "op/attribute.h"
#include "program/program.h"
#include "program/scope.h"

namespace dygraph::program {

struct Pass;

// One application of a pass: the program to edit, and the options.
class PassCall {
 public:
  PassCall(const Pass& pass, Program* program, std::shared_ptr<Scope> scope);
  Program& program() const { return *program_; }
  // The scope with the values of its variables; null if none was given.
  const std::shared_ptr<Scope>& scope() const { return scope_; }
  template <class T>
  const T& option(const char* name) const {
    return std::get<T>(values_[Find(name)]);
  }
  const std::vector<dygraph::AttrValue>& values() const { return values_; }  // as Pass::options
  // NotFound for a name that is no option's; Type for a value of another type than the option's.
  void Set(const std::string& name, dygraph::AttrValue value);

 private:
  size_t Find(const std::string& name) const;
  const Pass& pass_;
  Program* program_;
  std::shared_ptr<Scope> scope_;
  std::vector<dygraph::AttrValue> values_;
};

struct PassOption {
  AttrField field;  // name, help and type
  dygraph::AttrValue initial;
};

struct Pass {
  std::string name, what;
  std::vector<PassOption> options;
  std::function<void(PassCall&)> run;
  std::string place;  // file and line
};

// Filled in by REGISTER_PASS's function.
class PassDef {
 public:
  explicit PassDef(Pass* pass) : pass_(*pass) {}
  PassDef& Comment(const char* text) {
    pass_.what = text;
    return *this;
  }
  // Of a type that attributes of operators may have.
  template <class T>
  PassDef& Option(const char* name, T initial, const char* help) {
    return AddOption(AttrTypeOf<T>(), dygraph::AttrValue(std::move(initial)), name, help);
  }
  // Edits the program, or throws.
  PassDef& Run(std::function<void(PassCall&)> run) {
    pass_.run = std::move(run);
    return *this;
  }

 private:
  PassDef& AddOption(dygraph::AttrType type, dygraph::AttrValue initial, const char* name,
                     const char* help);
  Pass& pass_;
};

std::vector<std::string> PassNames();           // sorted
const Pass& GetPass(const std::string& name);   // NotFound with near spellings
void AddPass(std::unique_ptr<Pass> pass);       // AlreadyExists for a name that is taken

// Applies a pass. `options` are those that differ from their initial values. If Verify accepts the
// program before the pass, it must accept it afterwards.
using PassOptions = std::vector<std::pair<std::string, dygraph::AttrValue>>;
void ApplyPass(const std::string& name, Program* program, const PassOptions& options,
               std::shared_ptr<Scope> scope = nullptr);
// The same for a snapshot, which is not changed.
ProgramRef ApplyPass(const std::string& name, ProgramRef program, const PassOptions& options,
                     std::shared_ptr<Scope> scope = nullptr);

class PassRegistration {
 public:
  PassRegistration(const char* name, void (*define)(PassDef&), const char* file, int line);
};

}  // namespace dygraph::program

// REGISTER_PASS(prune, DefinePrune);
#define REGISTER_PASS(name, define)                                                           \
  static ::dygraph::program::PassRegistration pass_registration_##name(#name, define, __FILE__, \
                                                                       __LINE__)
