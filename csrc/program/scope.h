// Variables of a running program: names to values, with a parent. Persistable variables live in the
// scope a program is given, temporaries in a child that ends with the run.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "op/kept_form.h"
#include "tensor/value.h"

namespace dygraph::program {

// A value that lives elsewhere, such as an eager variable's.
class SharedValue {
 public:
  virtual ~SharedValue() = default;
  virtual Value* value() = 0;  // the address does not change
  virtual void Set(Value value) = 0;
  virtual void Renew() = 0;  // through value() it may have become another value
};

// What a name stands for; its address does not change while its scope lives.
class ScopeVar {
 public:
  // The value, sharing its storage. A weight that a program keeps in another form alone is restored
  // from it, for the caller.
  Value Get() const;
  bool empty() const;
  void Set(Value value);
  // From here on the name stands for that value: what either side writes both see.
  // PreconditionNotMet once a prepared program knows the variable.
  void Share(std::shared_ptr<SharedValue> value);
  const std::shared_ptr<SharedValue>& shared() const { return shared_; }
  // For prepared programs, which read and write the variable by its address. Once a second one does
  // so, the value is whole again and stays it. `plan` ends with the program.
  Value* Bind(const std::shared_ptr<const void>& plan);
  // The value, or a shape where the program's other form is all there is.
  Value Held() const;
  // Lets the form take the weight's place, if this program alone reads and holds it; how many bytes
  // that was.
  size_t GiveUp(KeptForm* kept);

 private:
  mutable std::mutex mutex_;  // between GiveUp() and the others, which any thread may call
  Value own_;
  std::shared_ptr<const KeptForm::Form> form_;  // in place of its data
  std::shared_ptr<SharedValue> shared_;
  bool bound_ = false, by_several_ = false;
  std::weak_ptr<const void> plan_;
};

class Scope : public std::enable_shared_from_this<Scope> {
 public:
  static std::shared_ptr<Scope> Make() { return std::shared_ptr<Scope>(new Scope); }
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  ScopeVar& Var(const std::string& name);  // of this scope; made if it is not there
  ScopeVar* FindLocalVar(const std::string& name) const;
  ScopeVar* FindVar(const std::string& name) const;  // here, then in the parents; null if nowhere
  ScopeVar& GetVar(
      const std::string& name) const;  // NotFound naming what the scopes on the way hold

  std::shared_ptr<Scope> NewScope();
  void DropKids();
  // A scope made elsewhere is a kid for a while: how the executor reuses the scope of a run.
  void Adopt(const std::shared_ptr<Scope>& kid);
  void Drop(const Scope* kid);

  std::shared_ptr<Scope> parent() const { return parent_.lock(); }
  std::vector<std::shared_ptr<Scope>> kids() const;
  std::vector<std::string> LocalNames() const;  // sorted

 private:
  Scope() = default;
  mutable std::mutex mutex_;  // runs of one program in several threads share the outer scope
  std::unordered_map<std::string, std::unique_ptr<ScopeVar>> vars_;
  std::weak_ptr<Scope> parent_;
  std::vector<std::shared_ptr<Scope>> kids_;
};

}  // namespace dygraph::program
