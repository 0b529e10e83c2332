#include "op/op_registry.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/nearest.h"

namespace dygraph {

namespace {

struct PendingKernels {
  std::string type;
  std::vector<Kernel> kernels;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<OpInfo>> ops;
  std::vector<PendingKernels> pending;
  std::vector<std::string> problems;  // what went wrong while the library loaded, told at freeze
  bool changed = false;
};

Registry& TheRegistry() {
  static Registry* registry = new Registry;  // outlives every user
  return *registry;
}

std::string At(const char* file, int line) { return std::string(file) + ":" + std::to_string(line); }

void AddKernel(OpInfo* op, const Kernel& k) {
  for (const Kernel& other : op->kernels) {
    if (other.key.device == k.key.device && other.key.dtype == k.key.dtype &&
        other.key.layout == k.key.layout && other.key.library == k.key.library &&
        other.key.customized == k.key.customized) {
      THROW(AlreadyExists, "operator ", op->type, " has two kernels for ", ToString(k.key), ": at ",
            At(other.file, other.line), " and at ", At(k.file, k.line));
    }
  }
  op->kernels.push_back(k);
}

void BuildKernelTable(OpInfo* op) {
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

void Freeze(Registry& r) {
  if (!r.problems.empty()) {
    std::string all;
    for (const std::string& p : r.problems) all += (all.empty() ? "" : "; ") + p;
    r.problems.clear();
    THROW(AlreadyExists, "operators did not register cleanly: ", all);
  }
  for (PendingKernels& p : r.pending) {
    auto it = r.ops.find(p.type);
    ENFORCE(it != r.ops.end(), NotFound, "kernels at ", At(p.kernels[0].file, p.kernels[0].line),
            " belong to an operator that nobody registered: '", p.type, "'");
    for (const Kernel& k : p.kernels) AddKernel(it->second.get(), k);
  }
  r.pending.clear();
  int id = 0;
  for (auto& [type, op] : r.ops) {
    op->id = id++;
    if (!op->attrs_of.empty()) {
      auto forward = r.ops.find(op->attrs_of);
      ENFORCE(forward != r.ops.end(), NotFound, "operator ", type, " at ", At(op->file, op->line),
              " takes the attributes of an operator that nobody registered: '", op->attrs_of, "'");
      ENFORCE(forward->second->attrs_of.empty(), PreconditionNotMet, "operator ", type,
              " must take its attributes from the operator that declares them, got ", op->attrs_of);
      op->attr_table = forward->second->attr_table;
    }
    if (!op->default_attrs) op->default_attrs = Attrs::Make(op->attr_table);
    BuildKernelTable(op.get());
  }
  constexpr size_t kSuffix = 5;  // "_grad"
  for (auto& [type, op] : r.ops) {
    if (type.size() <= kSuffix || type.compare(type.size() - kSuffix, kSuffix, "_grad") != 0) continue;
    auto forward = r.ops.find(type.substr(0, type.size() - kSuffix));
    if (forward != r.ops.end()) op->gradient_of = std::make_unique<GradientOf>(LinkGradient(*op, *forward->second));
  }
  r.changed = false;
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

OpRegistration::OpRegistration(const char* type, void (*define)(OpDef&), const char* file, int line) {
  Registry& r = TheRegistry();
  std::lock_guard<std::mutex> lock(r.mutex);
  r.changed = true;
  auto& entry = r.ops[type];
  if (entry) {
    r.problems.push_back("operator " + std::string(type) + " is registered at " +
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
  } catch (const Error& e) {  // an exception in a static initialiser would end the process
    r.problems.push_back(At(file, line) + ": " + e.message());
  }
}

KernelRegistration::KernelRegistration(const char* type, DeviceKind device, KernelLayout layout,
                                       Library library, std::vector<std::pair<DType, KernelFn>> kernels,
                                       bool (*accepts)(const Call&), const char* file, int line) {
  Registry& r = TheRegistry();
  std::lock_guard<std::mutex> lock(r.mutex);
  r.changed = true;
  PendingKernels p{type, {}};
  for (auto& [dtype, fn] : kernels) {
    Kernel k;
    k.key = {device, dtype, layout, library, 0};
    k.run = fn;
    k.accepts = accepts;
    k.file = file;
    k.line = line;
    p.kernels.push_back(k);
  }
  r.pending.push_back(std::move(p));
}

}  // namespace dygraph
