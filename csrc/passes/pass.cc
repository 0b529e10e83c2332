#include "passes/pass.h"

#include <map>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include "base/load_problems.h"
#include "base/nearest.h"
#include "program/op_binding.h"
#include "program/verify.h"

namespace dygraph::program {

namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<const Pass>> passes;  // they stay where they are
};

Registry& ThePasses() {
  static Registry* registry = new Registry;  // outlives every user
  return *registry;
}

bool Verifies(const ProgramDesc& program) {
  try {
    Verify(program);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::unordered_set<std::string_view> Written(const ProgramDesc& program) {
  std::unordered_set<std::string_view> names;
  for (const BlockDesc& block : program.blocks) {
    for (const OpDesc& op : block.ops)
      ForNames(op.outputs, [&](const std::string& name) { names.insert(name); });
  }
  return names;
}

// What operators of block 0 read before one of them writes it: it was fed.
std::unordered_set<std::string_view> Fed(const ProgramDesc& program) {
  std::unordered_set<std::string_view> written, fed;
  for (const OpDesc& op : program.blocks[0].ops) {
    ForNames(op.inputs, [&](const std::string& name) {
      if (!written.count(name)) fed.insert(name);
    });
    ForNames(op.outputs, [&](const std::string& name) { written.insert(name); });
  }
  return fed;
}

bool IsPersistable(const ProgramDesc& program, const std::string& name) {
  for (const BlockDesc& block : program.blocks) {
    const VarDesc* var = block.FindVar(name);
    if (var && var->persistable.value_or(false)) return true;
  }
  return false;
}

// What an operator reads that was written before and no longer is would have to be fed.
void CheckWriters(const ProgramDesc& before, const ProgramDesc& after) {
  const std::unordered_set<std::string_view> were = Written(before), are = Written(after),
                                             fed = Fed(before);
  for (const BlockDesc& block : after.blocks) {
    for (size_t i = 0; i < block.ops.size(); ++i) {
      const OpDesc& op = block.ops[i];
      ForNames(op.inputs, [&](const std::string& name) {
        ENFORCE(
            are.count(name) || !were.count(name) || fed.count(name) || IsPersistable(after, name),
            PreconditionNotMet, "what an operator reads must still be written, but ", op.type,
            PositionText(op, i, block.idx), " reads '", name,
            "', whose writer was taken out. Rename its input, or keep the writer");
      });
    }
  }
}

}  // namespace

PassCall::PassCall(const Pass& pass, Program* program, std::shared_ptr<Scope> scope)
    : pass_(pass), program_(program), scope_(std::move(scope)) {
  for (const PassOption& option : pass.options) values_.push_back(option.initial);
}

size_t PassCall::Find(const std::string& name) const {
  std::string known;
  for (size_t i = 0; i < pass_.options.size(); ++i) {
    if (pass_.options[i].field.name == name) return i;
    known += (known.empty() ? "" : ", ") + pass_.options[i].field.name;
  }
  THROW(NotFound, "the options of the pass ", pass_.name, " are ", known.empty() ? "none" : known,
        ", got '", name, "'");
}

void PassCall::Set(const std::string& name, dygraph::AttrValue value) {
  size_t at = Find(name);
  ENFORCE(value.index() == values_[at].index(), Type, "the option '", name, "' of the pass ",
          pass_.name, " must be ", Name(pass_.options[at].field.type), ", got ",
          Name(static_cast<dygraph::AttrType>(value.index())));
  values_[at] = std::move(value);
}

PassDef& PassDef::AddOption(dygraph::AttrType type, dygraph::AttrValue initial, const char* name,
                            const char* help) {
  PassOption option;
  option.field.name = name;
  option.field.help = help;
  option.field.type = type;
  option.initial = std::move(initial);
  pass_.options.push_back(std::move(option));
  return *this;
}

std::vector<std::string> PassNames() {
  Registry& r = ThePasses();
  std::lock_guard<std::mutex> lock(r.mutex);
  std::vector<std::string> names;
  for (const auto& [name, pass] : r.passes) names.push_back(name);
  return names;
}

const Pass& GetPass(const std::string& name) {
  {
    Registry& r = ThePasses();
    std::lock_guard<std::mutex> lock(r.mutex);
    auto found = r.passes.find(name);
    if (found != r.passes.end()) return *found->second;
  }
  THROW(NotFound, "there must be a pass of the given name, got '", name, "'.",
        DidYouMean(name, PassNames()));
}

void AddPass(std::unique_ptr<Pass> pass) {
  Registry& r = ThePasses();
  std::lock_guard<std::mutex> lock(r.mutex);
  auto found = r.passes.find(pass->name);
  ENFORCE(found == r.passes.end(), AlreadyExists, "the pass ", pass->name, " is registered at ",
          found->second->place, " and at ", pass->place);
  ENFORCE(pass->run, InvalidArgument, "the pass ", pass->name, " at ", pass->place,
          " must say what it runs, got no Run");
  std::string name = pass->name;
  r.passes.emplace(std::move(name), std::move(pass));
}

PassRegistration::PassRegistration(const char* name, void (*define)(PassDef&), const char* file,
                                   int line) {
  auto pass = std::make_unique<Pass>();
  pass->name = name;
  pass->place = std::string(file) + ":" + std::to_string(line);
  try {
    PassDef def(pass.get());
    define(def);
    AddPass(std::move(pass));
  } catch (const Error& e) {
    AddLoadProblem(e.kind(), e.message());
  }
}

void ApplyPass(const std::string& name, Program* program, const PassOptions& options,
               std::shared_ptr<Scope> scope) {
  const Pass& pass = GetPass(name);
  PassCall call(pass, program, std::move(scope));
  for (const auto& [option, value] : options) call.Set(option, value);
  ProgramRef before = program->Snapshot();
  pass.run(call);
  ProgramRef after = program->Snapshot();
  if (after == before) return;  // nothing was edited
  try {
    Verify(*after);
    CheckWriters(*before, *after);
  } catch (Error& e) {
    if (!Verifies(*before)) return;  // the fault was there before
    e.Append("\nin what the pass " + name + " made of the program");
    throw;
  }
}

ProgramRef ApplyPass(const std::string& name, ProgramRef program, const PassOptions& options,
                     std::shared_ptr<Scope> scope) {
  Program edited(std::move(program));
  ApplyPass(name, &edited, options, std::move(scope));
  return edited.Snapshot();
}

}  // namespace dygraph::program
