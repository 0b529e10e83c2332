#include "program/outer_uses.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace dygraph::program {

namespace {

// The same questions of programs that are edited and of descriptions.
struct Edited {
  const Program& program;
  size_t count() const { return program.blocks().size(); }
  bool Declares(int32_t block, const std::string& name) const {
    return program.blocks()[block]->Find(name) != nullptr;
  }
  template <class F>
  void ForOps(int32_t block, F&& each) const {
    for (const OpRef& op : program.blocks()[block]->ops()) each(op->desc());
  }
};

struct Described {
  const ProgramDesc& program;
  mutable std::unordered_map<int32_t, std::unordered_map<std::string_view, size_t>> places = {};
  size_t count() const { return program.blocks.size(); }
  bool Declares(int32_t block, const std::string& name) const {
    auto [at, is_new] = places.try_emplace(block);
    if (is_new) at->second = program.blocks[block].VarPositions();
    return at->second.count(name) > 0;
  }
  template <class F>
  void ForOps(int32_t block, F&& each) const {
    for (const OpDesc& op : program.blocks[block].ops) each(op);
  }
};

template <class Blocks>
class Collector {
 public:
  explicit Collector(Blocks blocks) : blocks_(std::move(blocks)) {}

  OuterUses Of(int32_t block, size_t depth = 0) const {
    constexpr size_t kDeepest = 64;
    OuterUses uses;
    if (block < 0 || static_cast<size_t>(block) >= blocks_.count() || depth > kDeepest) return uses;
    auto read = [&](const std::string& name) {
      if (blocks_.Declares(block, name) || !uses.read_.insert(name).second) return;
      uses.reads.push_back(name);
      if (!uses.written_.count(name)) uses.read_first.insert(name);
    };
    auto write = [&](const std::string& name) {
      if (blocks_.Declares(block, name) || !uses.written_.insert(name).second) return;
      uses.writes.push_back(name);
    };
    blocks_.ForOps(block, [&](const OpDesc& op) {
      const int32_t inner = BlockOf(op);
      if (inner < 0) {
        ForNames(op.inputs, read);
        ForNames(op.outputs, write);
        return;
      }
      // The lists of such an operator name what its block uses; the block itself knows better.
      for (const char* slot : {"Condition", "Cond", "initial_states", "inputs"}) {
        if (const auto* names = op.Input(slot)) std::for_each(names->begin(), names->end(), read);
      }
      const OuterUses of = Of(inner, depth + 1);
      std::for_each(of.reads.begin(), of.reads.end(), read);
      std::for_each(of.writes.begin(), of.writes.end(), write);
      for (const char* slot : {"StepScopes", "Scope", "outputs", "step_scopes"}) {
        if (const auto* names = op.Output(slot)) std::for_each(names->begin(), names->end(), write);
      }
      if (op.type.size() > 5 && op.type.compare(op.type.size() - 5, 5, "_grad") == 0) {
        ForNames(op.inputs, read);
        ForNames(op.outputs, write);
      }
    });
    return uses;
  }

 private:
  Blocks blocks_;
};

}  // namespace

int32_t BlockOf(const OpDesc& op) {
  const auto* block = op.FindAttr<BlockIndex>("sub_block");
  return block ? block->index : -1;
}

OuterUses UsesAround(const Program& program, int32_t block) {
  return Collector<Edited>(Edited{program}).Of(block);
}

OuterUses UsesAround(const ProgramDesc& program, int32_t block) {
  return Collector<Described>(Described{program}).Of(block);
}

}  // namespace dygraph::program
