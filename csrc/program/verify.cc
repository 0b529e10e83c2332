#include "program/verify.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/enforce.h"
#include "program/foreign_attrs.h"
#include "program/infer.h"
#include "program/op_binding.h"
#include "program/outer_uses.h"
#include "program/wire.h"

namespace dygraph::program {
namespace {

std::string Where(const BlockDesc& block) {
  return "ProgramDesc.blocks[" + std::to_string(block.idx) + "]";
}

std::string Where(const BlockDesc& block, size_t op) {
  return Where(block) + ".ops[" + std::to_string(op) + "] (" + block.ops[op].type + ")";
}

// True if following `next` from every block ends; depth[i] is then the number of steps. Each block
// is walked once, without recursion. Otherwise `cycle` is a block on the cycle or leading into it.
bool Ends(const std::vector<int32_t>& next, std::vector<size_t>* depth, size_t* cycle) {
  constexpr size_t kNew = SIZE_MAX, kOpen = SIZE_MAX - 1;
  depth->assign(next.size(), kNew);
  std::vector<size_t> chain;
  for (size_t first = 0; first < next.size(); ++first) {
    chain.clear();
    int32_t at = static_cast<int32_t>(first);
    for (; at >= 0 && (*depth)[at] == kNew; at = next[at]) {
      (*depth)[at] = kOpen;
      chain.push_back(at);
    }
    if (at >= 0 && (*depth)[at] == kOpen) {
      *cycle = at;
      return false;
    }
    size_t steps = at < 0 ? 0 : (*depth)[at] + 1;
    for (auto i = chain.rbegin(); i != chain.rend(); ++i) (*depth)[*i] = steps++;
  }
  return true;
}

void CheckTree(const ProgramDesc& program) {
  const auto& blocks = program.blocks;
  ENFORCE(!blocks.empty(), Format, "ProgramDesc: a program has at least one block, got none");
  std::vector<int32_t> parents;
  for (size_t i = 0; i < blocks.size(); ++i) {
    ENFORCE(blocks[i].idx == static_cast<int64_t>(i), Format, "ProgramDesc.blocks[", i,
            "]: idx must be the block's place, got ", blocks[i].idx);
    int32_t parent = blocks[i].parent_idx;
    if (i == 0) {
      ENFORCE(parent == -1, Format, Where(blocks[0]),
              ": parent_idx of the global block must be -1, got ", parent);
    } else {
      ENFORCE(parent >= 0 && static_cast<size_t>(parent) < blocks.size(), Format, Where(blocks[i]),
              ": parent_idx must be a block in [0, ", blocks.size(), "), got ", parent);
    }
    parents.push_back(parent);
  }
  std::vector<size_t> depth;
  size_t cycle = 0;
  ENFORCE(Ends(parents, &depth, &cycle), Format, Where(blocks[cycle]),
          ": the parents of blocks must lead to block 0, got a cycle");
  for (size_t i = 0; i < blocks.size(); ++i) {
    ENFORCE(depth[i] <= kMaxNesting, Format, Where(blocks[i]), ": blocks may nest ", kMaxNesting,
            " deep, got ", depth[i]);
  }
}

// Names of `elements`, given by a member, are distinct, but for elements that `may_repeat`.
template <class Elements, class Name, class MayRepeat>
void CheckDistinct(const Elements& elements, Name name, const std::string& where, const char* list,
                   MayRepeat may_repeat) {
  std::unordered_map<std::string_view, size_t> places;
  for (size_t i = 0; i < elements.size(); ++i) {
    auto [place, is_new] = places.emplace(elements[i].*name, i);
    ENFORCE(is_new || may_repeat(elements[i]), AlreadyExists, where, ".", list, "[", i,
            "]: names in a list must differ, got '", place->first, "' also at ", list, "[",
            place->second, "]");
  }
}

void CheckNames(const BlockDesc& block) {
  auto never = [](const auto&) { return false; };
  CheckDistinct(block.vars, &VarDesc::name, Where(block), "vars", never);
  for (size_t i = 0; i < block.ops.size(); ++i) {
    const OpDesc& op = block.ops[i];
    std::string where = Where(block, i);
    // Paddle writes some of its hints twice.
    CheckDistinct(op.attrs, &OpDesc::Attr::name, where, "attrs", HasNoEffect);
    CheckDistinct(op.inputs, &OpDesc::Var::parameter, where, "inputs", never);
    CheckDistinct(op.outputs, &OpDesc::Var::parameter, where, "outputs", never);
  }
}

// What is to become a tensor has a shape whose elements can be counted.
void CheckShapes(const BlockDesc& block) {
  for (size_t i = 0; i < block.vars.size(); ++i) {
    try {
      ValueOf(block.vars[i]);
    } catch (const Error& e) {
      THROW(Format, Where(block), ".vars[", i, "] (", block.vars[i].name,
            "): the sizes of a variable must have a product. ", e.message());
    }
  }
}

// A sub-block belongs to one attribute of one operator, so that walking from operators into their
// blocks ends and no two operators share state.
class SubBlockCheck {
 public:
  explicit SubBlockCheck(const ProgramDesc& program)
      : program_(program), owners_(program.blocks.size(), -1) {}

  void Run() {
    for (const BlockDesc& block : program_.blocks) {
      int32_t forward = block.forward_block_idx.value_or(-1);
      ENFORCE(forward >= -1 && forward < Count() && forward != block.idx, OutOfRange, Where(block),
              ": forward_block_idx must be -1 or another block in [0, ", Count(), "), got ",
              forward);
      for (size_t i = 0; i < block.ops.size(); ++i) {
        for (const OpDesc::Attr& attr : block.ops[i].attrs) {
          if (auto* index = std::get_if<BlockIndex>(&attr.value)) {
            Own(block, i, attr.name, index->index);
          } else if (auto* indices = std::get_if<std::vector<BlockIndex>>(&attr.value)) {
            for (BlockIndex each : *indices) Own(block, i, attr.name, each.index);
          }
        }
      }
    }
    std::vector<size_t> depth;
    size_t cycle = 0;
    ENFORCE(Ends(owners_, &depth, &cycle), Format, Where(program_.blocks[cycle]),
            ": sub-blocks must not contain each other, got a cycle");
  }

 private:
  int64_t Count() const { return static_cast<int64_t>(program_.blocks.size()); }

  void Own(const BlockDesc& block, size_t op, const std::string& attr, int32_t index) {
    ENFORCE(index > 0 && index < Count(), OutOfRange, Where(block, op), ": the attribute '", attr,
            "' must name a sub-block in [1, ", Count(), "), got ", index);
    ENFORCE(owners_[index] < 0, Format, Where(block, op), ": the attribute '", attr,
            "' must have its sub-block for itself, got block ", index,
            ", which an operator of block ", owners_[index], " already has");
    owners_[index] = block.idx;
  }

  const ProgramDesc& program_;
  std::vector<int32_t> owners_;  // the block whose operator has the sub-block
};

void CheckInputs(const ProgramDesc& program) {
  std::vector<std::unordered_map<std::string_view, size_t>> declared;
  for (const BlockDesc& block : program.blocks) declared.push_back(block.VarPositions());
  for (const BlockDesc& block : program.blocks) {
    std::vector<int32_t> visible = program.VisibleBlocks(block.idx);
    // Keeps a hostile chain of gradient blocks from making every look-up long.
    ENFORCE(visible.size() <= 4 * kMaxNesting, Format, Where(block), ": a block may see ",
            4 * kMaxNesting, " blocks, got ", visible.size());
    auto is_declared = [&](const std::string& name) {
      for (int32_t i : visible) {
        if (declared[i].count(name)) return true;
      }
      return false;
    };
    for (size_t i = 0; i < block.ops.size(); ++i) {
      for (const OpDesc::Var& slot : block.ops[i].inputs) {
        for (const std::string& name : slot.arguments) {
          if (name.empty() || name == kEmptyName || is_declared(name)) continue;
          THROW(NotFound, Where(block, i), ": the input ", slot.parameter,
                " must be declared in its block or an outer one, got '", name, "'");
        }
      }
    }
  }
}

// What operators with blocks ask of variables: a condition is one bool, and what turns keep is read
// and written by such operators alone.
class ControlCheck {
 public:
  explicit ControlCheck(const ProgramDesc& program) : program_(program) {
    for (const BlockDesc& block : program.blocks) declared_.push_back(block.VarPositions());
  }

  void Run() {
    for (const BlockDesc& block : program_.blocks) {
      visible_ = program_.VisibleBlocks(block.idx);
      for (size_t i = 0; i < block.ops.size(); ++i) {
        const OpDesc& op = block.ops[i];
        const bool* scalar = op.FindAttr<bool>("is_scalar_condition");
        const std::string where = PositionText(op, i, block.idx);
        if (op.type == "while") CheckConditions(op, op.Input("Condition"), where);
        if (op.type.rfind("conditional_block", 0) == 0 && scalar && *scalar)
          CheckConditions(op, op.Input("Cond"), where);
        if (RunsBlocks(op)) continue;
        auto check = [&](const std::string& name) {
          const VarDesc* var = Find(name);
          ENFORCE(
              !var || var->type.type != VarType::Type::STEP_SCOPES, Format, op.type, ": '", name,
              "' must be left to the operator that runs the block and to its gradient, since it "
              "holds what the iterations keep (STEP_SCOPES)",
              where);
        };
        ForNames(op.inputs, check);
        ForNames(op.outputs, check);
      }
    }
  }

 private:
  static bool RunsBlocks(const OpDesc& op) {
    for (const char* type : {"while", "conditional_block", "recurrent"}) {
      if (op.type.rfind(type, 0) == 0) return true;
    }
    return BlockOf(op) >= 0;
  }

  const VarDesc* Find(const std::string& name) const {
    for (int32_t i : visible_) {
      auto at = declared_[i].find(name);
      if (at != declared_[i].end()) return &program_.blocks[i].vars[at->second];
    }
    return nullptr;
  }

  void CheckConditions(const OpDesc& op, const std::vector<std::string>* names,
                       const std::string& where) const {
    if (!names) return;
    for (const std::string& name : *names) {
      const VarDesc* var = Find(name);
      if (!var) continue;
      const VarType::TensorDesc* tensor = TensorOf(*var);
      ENFORCE(tensor, Format, op.type, ": the condition '", name, "' must be one bool, got ",
              EnumName(var->type.type), where);
      const DType dtype = ElementType(*var);
      const Dims dims = DimsOf(*tensor);
      ENFORCE((dtype == DType::kUnset || dtype == DType::kBool) &&
                  (dims.HasUnknown() || Numel(dims) == 1),
              Format, op.type, ": the condition '", name, "' must be one bool, got ", dtype,
              " of shape ", dims, ". Compare to get a bool, and reduce it to one", where);
    }
  }

  const ProgramDesc& program_;
  std::vector<std::unordered_map<std::string_view, size_t>> declared_;
  std::vector<int32_t> visible_;
};

// Values are fed before the first operator runs and fetched after the last one.
void CheckFeedsAndFetches(const ProgramDesc& program) {
  const auto& ops = program.blocks[0].ops;
  size_t last_feed = 0, first_fetch = ops.size();
  for (size_t i = 0; i < ops.size(); ++i) {
    if (IsFeed(ops[i])) last_feed = i;
    if (IsFetch(ops[i])) first_fetch = std::min(first_fetch, i);
  }
  std::unordered_set<std::string> used, fetched;  // before a feed, by a fetch
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpDesc& op = ops[i];
    if (IsFetch(op)) ForNames(op.inputs, [&](const std::string& name) { fetched.insert(name); });
    if (IsFeed(op)) {
      ForNames(op.outputs, [&](const std::string& name) {
        ENFORCE(!used.count(name), Format, "feed: it must stand before the operators that use '",
                name, "'", PositionText(op, i, 0));
      });
    }
    if (IsFeed(op) || IsFetch(op) || (i > last_feed && i < first_fetch)) continue;
    auto read = [&](const std::string& name) { used.insert(name); };
    auto write = [&](const std::string& name) {
      ENFORCE(!fetched.count(name), Format, op.type, ": it must stand before the fetch of '", name,
              "', which it writes", PositionText(op, i, 0));
      used.insert(name);
    };
    const int32_t body = BlockOf(op);
    if (body >= 0) {
      const OuterUses uses = UsesAround(program, body);
      std::for_each(uses.reads.begin(), uses.reads.end(), read);
      std::for_each(uses.writes.begin(), uses.writes.end(), write);
    }
    ForNames(op.inputs, read);
    ForNames(op.outputs, write);
  }
}

}  // namespace

void Verify(const ProgramDesc& program) {
  CheckTree(program);
  for (const BlockDesc& block : program.blocks) CheckNames(block);
  for (const BlockDesc& block : program.blocks) CheckShapes(block);
  SubBlockCheck(program).Run();
  CheckInputs(program);
  ControlCheck(program).Run();
  CheckFeedsAndFetches(program);
}

}  // namespace dygraph::program
