#include "op/op_registry.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>

#include "base/load_problems.h"
#include "base/nearest.h"

namespace dygraph {

namespace {

struct PendingKernels {
  std::string type;
  std::string device;  // looked up at freeze: a plug-in's device may register after its kernels
  std::vector<Kernel> kernels;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<OpInfo>> ops;
  std::vector<PendingKernels> pending;
  int ids = 0;  // given away
  bool changed = false;
};

Registry& TheRegistry() {
  static Registry* registry = new Registry;  // outlives every user
  return *registry;
}

std::string At(const char* file, int line) {
  return std::string(file) + ":" + std::to_string(line);
}

void AddKernel(OpInfo* op, const Kernel& k) {
  for (const Kernel& other : op->kernels) {
    if (other.key.device == k.key.device && other.key.dtype == k.key.dtype &&
        other.key.layout == k.key.layout && other.key.library == k.key.library) {
      AddLoadProblem(ErrorKind::AlreadyExists,
                     "operator " + op->type + " has two kernels for " + ToString(k.key) + ": at " +
                         At(other.file, other.line) + " and at " + At(k.file, k.line));
      return;
    }
  }
  op->kernels.push_back(k);
}

void JoinKernels(Registry& r, PendingKernels& p) {
  std::string here = At(p.kernels[0].file, p.kernels[0].line);
  auto op = r.ops.find(p.type);
  if (op == r.ops.end()) {
    return AddLoadProblem(
        ErrorKind::NotFound,
        "kernels at " + here + " belong to an operator that is not registered: '" + p.type + "'");
  }
  DeviceKind device;
  if (!FindDeviceKind(p.device, &device)) {
    return AddLoadProblem(ErrorKind::NotFound, "kernels of " + p.type + " at " + here +
                                                   " are for a device that is not registered: '" +
                                                   p.device + "'");
  }
  for (Kernel& k : p.kernels) {
    k.key.device = device;
    AddKernel(op->second.get(), k);
  }
}

// False, with the problem noted, when the operator must not join.
bool JoinOperator(Registry& r, OpInfo* op) {
  const std::string who = "operator " + op->type + " at " + At(op->file, op->line);
  if (!op->attrs_of.empty()) {
    auto forward = r.ops.find(op->attrs_of);
    if (forward == r.ops.end()) {
      AddLoadProblem(ErrorKind::NotFound,
                     who + " takes the attributes of an operator that is not registered: '" +
                         op->attrs_of + "'");
      return false;
    }
    if (!forward->second->attrs_of.empty()) {
      AddLoadProblem(ErrorKind::PreconditionNotMet,
                     who + " must take its attributes from the operator that declares them, got " +
                         op->attrs_of);
      return false;
    }
    op->attr_table = forward->second->attr_table;
  }
  if (op->lod_from >= static_cast<int>(op->inputs.size())) {
    AddLoadProblem(ErrorKind::PreconditionNotMet,
                   who + " must take its LoD from one of its " + std::to_string(op->inputs.size()) +
                       " inputs, got ShareLoD(" + std::to_string(op->lod_from) + ")");
    return false;
  }
  if (op->allocates && !op->outputs.empty() && !op->shape_rule && !op->var_type_rule) {
    AddLoadProblem(ErrorKind::PreconditionNotMet,
                   who +
                       " must have a shape rule, for its outputs are allocated by it. Add "
                       ".Shape(...) or .SameShape(...), or .KernelAllocates()");
    return false;
  }
  op->default_attrs = Attrs::Make(op->attr_table);
  return true;
}

void BuildKernelTable(OpInfo* op) {
  op->one_output =
      op->outputs.size() == 1 && !op->outputs[0].duplicable() && !op->outputs[0].extra();
  // Libraries before our own loops: they may decline, ours takes what is left.
  std::stable_sort(op->kernels.begin(), op->kernels.end(), [](const Kernel& a, const Kernel& b) {
    return (a.accepts != nullptr) > (b.accepts != nullptr);
  });
  for (int d = 0; d < kMaxDeviceKinds; ++d) {
    for (int t = 0; t < kNumDTypes; ++t) {
      auto found = op->Candidates(static_cast<DeviceKind>(d), static_cast<DType>(t));
      op->sole_kernel[d][t] = found.size() == 1 && !found[0]->accepts ? found[0] : nullptr;
    }
  }
}

// Adds the valid registrations, so that a mistake in one plug-in leaves the rest usable, then
// throws the mistakes.
void Freeze(Registry& r) {
  r.changed = false;
  for (auto it = r.ops.begin(); it != r.ops.end();) {
    bool joined = it->second->default_attrs || JoinOperator(r, it->second.get());
    it = joined ? std::next(it) : r.ops.erase(it);
  }
  for (PendingKernels& p : r.pending) JoinKernels(r, p);
  r.pending.clear();
  for (auto& [type, op] : r.ops) {
    if (op->id < 0) {  // one that has an id keeps it: what was found out of it is kept by it
      ENFORCE(r.ids < kMostOperators, ResourceExhausted, "there may be ", kMostOperators,
              " operators, those of plug-ins included; ", type, " is one more");
      op->id = r.ids++;
    }
    BuildKernelTable(op.get());
  }
  constexpr size_t kSuffix = 5;  // "_grad"
  for (auto& [type, op] : r.ops) {
    if (type.size() <= kSuffix || type.compare(type.size() - kSuffix, kSuffix, "_grad") != 0)
      continue;
    auto forward = r.ops.find(type.substr(0, type.size() - kSuffix));
    if (op->gradient_of) continue;  // linked by an earlier freeze; calls may be reading it
    if (forward != r.ops.end())
      op->gradient_of = std::make_unique<GradientOf>(LinkGradient(*op, *forward->second));
  }
  ThrowLoadProblems();
}

}  // namespace

void FreezeRegistry() {
  Registry& r = TheRegistry();
  std::lock_guard<std::mutex> lock(r.mutex);
  if (r.changed) Freeze(r);
}

const OpInfo* FindOp(const std::string& type) {
  FreezeRegistry();
  Registry& r = TheRegistry();
  auto it = r.ops.find(type);
  return it == r.ops.end() ? nullptr : it->second.get();
}

const OpInfo& GetOp(const std::string& type) {
  const OpInfo* op = FindOp(type);
  ENFORCE(op, NotFound, "there must be an operator of the given type, got '", type, "'.",
          kSmall ? " This library was built small (DYGRAPH_SMALL), without gradients and "
                   "optimizers. Save the model for inference, or use a library built without that."
                 : "",
          DidYouMean(type, OpNames()));
  return *op;
}

std::vector<const OpInfo*> AllOps() {
  FreezeRegistry();
  std::vector<const OpInfo*> all;
  for (auto& [type, op] : TheRegistry().ops) all.push_back(op.get());
  return all;
}

std::vector<std::string> OpNames() {
  std::vector<std::string> names;
  for (const OpInfo* op : AllOps()) names.push_back(op->type);
  return names;
}

OpRegistration::OpRegistration(const char* type, void (*define)(OpDef&), const char* file,
                               int line) {
  Registry& r = TheRegistry();
  std::lock_guard<std::mutex> lock(r.mutex);
  r.changed = true;
  auto& entry = r.ops[type];
  if (entry) {
    AddLoadProblem(ErrorKind::AlreadyExists,
                   "operator " + std::string(type) + " is registered at " +
                       At(entry->file, entry->line) + " and at " + At(file, line));
    return;
  }
  entry = std::make_unique<OpInfo>();
  entry->type = type;
  entry->recipes = MakeRecipeCache();
  entry->file = file;
  entry->line = line;
  OpDef def(entry.get());
  try {
    define(def);
  } catch (const Error& e) {
    AddLoadProblem(e.kind(), At(file, line) + ": " + e.message());
    r.ops.erase(type);
  }
}

KernelRegistration::KernelRegistration(const char* type, DeviceKind device, KernelLayout layout,
                                       Library library, KernelList kernels,
                                       bool (*accepts)(const Call&), const char* file, int line)
    : KernelRegistration(type, DeviceKindName(device).c_str(), layout, library, kernels, accepts,
                         file, line) {}

KernelRegistration::KernelRegistration(const char* type, const char* device, KernelLayout layout,
                                       Library library, KernelList kernels,
                                       bool (*accepts)(const Call&), const char* file, int line) {
  Registry& r = TheRegistry();
  std::lock_guard<std::mutex> lock(r.mutex);
  r.changed = true;
  PendingKernels p{type, device, {}};
  for (size_t i = 0; i < kernels.count; ++i) {
    Kernel k;
    k.key = {DeviceKind::kCPU, kernels.kernels[i].dtype, layout, library};
    k.run = kernels.kernels[i].run;
    k.accepts = accepts;
    k.file = file;
    k.line = line;
    p.kernels.push_back(k);
  }
  r.pending.push_back(std::move(p));
}

}  // namespace dygraph
