// What the names of a scope stand for, as Python sees it.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <utility>

#include "program/scope.h"
#include "tape/variable.h"

namespace dygraph::python {

// An eager variable that a scope's name stands for.
class SharedVariable final : public program::SharedValue {
 public:
  explicit SharedVariable(Ref<Variable> variable) : variable_(std::move(variable)) {}
  Value* value() override { return &variable_->fresh_value(); }
  void Set(Value value) override { variable_->SetValue(std::move(value)); }
  void Renew() override { variable_->value_number = 0; }

 private:
  Ref<Variable> variable_;
};

// A variable of a scope, or an element of the array that it holds; it keeps the scope alive. It is
// its own tensor, as Fluid's users know it: what is asked and set is the value in the scope, now.
struct ScopeVariable {
  std::shared_ptr<program::Scope> scope;
  program::ScopeVar* var;
  std::string name;
  int64_t element = -1;  // its number; -1: the variable itself

  Value Get() const;  // nothing where nothing is held
  void Set(Value value) const;
  bool empty() const { return Get().empty(); }
  Value value() const;  // PreconditionNotMet where nothing is held
  Tensor tensor() const;
  void SetLoD(LoDLevels lod) const;
};

// The array that a variable of a scope holds.
struct ScopeArray {
  std::shared_ptr<program::Scope> scope;
  program::ScopeVar* var;
  std::string name;

  ScopeArray(ScopeVariable of);  // an empty one where nothing is held
  Value value() const;
  size_t size() const { return value().array().items.size(); }
  ScopeVariable At(int64_t i) const;  // counted from the end where negative, as in Python
  void Append(Value value) const;
};

// The rank table that a variable of a scope holds, now.
struct ScopeRankTable {
  ScopeVariable of;
};

// Of an array, a variable, a scope's variable or its array; converted to `dtype` if it is set.
Value ValueFromPython(pybind11::handle o, DType dtype);

}  // namespace dygraph::python
