#include "program/scope.h"

#include <algorithm>

#include "base/nearest.h"

namespace dygraph::program {

Value ScopeVar::Get() const {
  if (shared_) return *shared_->value();
  std::shared_ptr<const KeptForm::Form> form;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!form_) return own_;
    form = form_;
  }
  return Value(form->Restore());
}

Value ScopeVar::Held() const {
  if (shared_) return *shared_->value();
  std::lock_guard<std::mutex> lock(mutex_);
  return own_;
}

bool ScopeVar::empty() const { return Held().empty(); }

void ScopeVar::Set(Value value) {
  if (shared_) return shared_->Set(std::move(value));
  std::shared_ptr<const KeptForm::Form> form;  // ends outside the lock, as the value before does
  std::lock_guard<std::mutex> lock(mutex_);
  std::swap(own_, value);
  form_.swap(form);
}

Value* ScopeVar::Bind(const std::shared_ptr<const void>& plan) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<const void> before = plan_.lock();
  by_several_ |= before && before != plan;
  plan_ = plan;
  bound_ = true;
  if (shared_) return shared_->value();
  if (form_ && before != plan) {
    own_ = Value(form_->Restore());
    form_ = nullptr;
  }
  return &own_;
}

size_t ScopeVar::GiveUp(KeptForm* kept) {
  if (shared_) return 0;
  std::lock_guard<std::mutex> lock(mutex_);
  if (by_several_ || form_ || !own_.is_tensor() || own_.tensor().lod()) return 0;
  form_ = kept->TakeOver(&own_.MutableTensor());
  return form_ ? own_.tensor().bytes() : 0;
}

void ScopeVar::Share(std::shared_ptr<SharedValue> value) {
  if (shared_ && shared_->value() == value->value()) return;
  ENFORCE(!bound_, PreconditionNotMet,
          "a variable of a scope must be shared before a program runs with it. Take a new scope");
  shared_ = std::move(value);
  own_ = Value();
}

Scope::~Scope() = default;

ScopeVar& Scope::Var(const std::string& name) {
  ENFORCE(!name.empty(), InvalidArgument,
          "a variable of a scope must have a name, got an empty one");
  std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<ScopeVar>& var = vars_[name];
  if (!var) var = std::make_unique<ScopeVar>();
  return *var;
}

ScopeVar* Scope::FindLocalVar(const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = vars_.find(name);
  return found == vars_.end() ? nullptr : found->second.get();
}

ScopeVar* Scope::FindVar(const std::string& name) const {
  if (ScopeVar* var = FindLocalVar(name)) return var;
  for (std::shared_ptr<Scope> scope = parent(); scope; scope = scope->parent()) {
    if (ScopeVar* var = scope->FindLocalVar(name)) return var;
  }
  return nullptr;
}

ScopeVar& Scope::GetVar(const std::string& name) const {
  if (ScopeVar* var = FindVar(name)) return *var;
  std::vector<std::string> known = LocalNames();
  size_t scopes = 1;
  for (std::shared_ptr<Scope> scope = parent(); scope; scope = scope->parent(), ++scopes) {
    std::vector<std::string> outer = scope->LocalNames();
    known.insert(known.end(), outer.begin(), outer.end());
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::string list;
  for (size_t i = 0; i < known.size() && i < 8; ++i) list += (i ? ", '" : "'") + known[i] + "'";
  if (known.size() > 8) list += ", ...";
  THROW(NotFound, "the scope and its parents (", scopes, " in all) hold no variable '", name,
        "', got ", known.size(), " others", list.empty() ? "" : ": ", list, ".",
        DidYouMean(name, known));
}

std::shared_ptr<Scope> Scope::NewScope() {
  std::shared_ptr<Scope> kid = Make();
  Adopt(kid);
  return kid;
}

void Scope::DropKids() {
  std::vector<std::shared_ptr<Scope>> dropped;  // destroyed outside the lock
  std::lock_guard<std::mutex> lock(mutex_);
  dropped.swap(kids_);
}

void Scope::Adopt(const std::shared_ptr<Scope>& kid) {
  kid->parent_ = weak_from_this();
  std::lock_guard<std::mutex> lock(mutex_);
  kids_.push_back(kid);
}

void Scope::Drop(const Scope* kid) {
  std::lock_guard<std::mutex> lock(mutex_);
  kids_.erase(
      std::remove_if(kids_.begin(), kids_.end(), [&](const auto& k) { return k.get() == kid; }),
      kids_.end());
}

std::vector<std::shared_ptr<Scope>> Scope::kids() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return kids_;
}

std::vector<std::string> Scope::LocalNames() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& entry : vars_) names.push_back(entry.first);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace dygraph::program
