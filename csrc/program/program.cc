#include "program/program.h"

#include <algorithm>

#include "base/enforce.h"
#include "program/op_binding.h"

namespace dygraph::program {

namespace {

constexpr int64_t kVersion = 1008005;  // of Fluid whose programs these are

std::atomic<uint64_t> last_version{0};

uint64_t NextVersion() { return last_version.fetch_add(1, std::memory_order_relaxed) + 1; }

// Attributes that hold names of variables.
bool NamedInAttrs(const OpDesc& op, const std::string& name) {
  for (const OpDesc::Attr& attr : op.attrs) {
    if (const auto* one = std::get_if<VarName>(&attr.value); one && one->value == name) return true;
    const auto* names = std::get_if<VarNames>(&attr.value);
    const auto* list = names ? &names->values : nullptr;
    if (attr.name == "op_role_var") list = std::get_if<std::vector<std::string>>(&attr.value);
    if (list && std::find(list->begin(), list->end(), name) != list->end()) return true;
  }
  return false;
}

void RenameIn(OpDesc* op, const std::string& from, const std::string& to) {
  auto all = [&](std::vector<std::string>& names) {
    std::replace(names.begin(), names.end(), from, to);
  };
  for (auto* side : {&op->inputs, &op->outputs}) RenameArguments(side, from, to);
  for (OpDesc::Attr& attr : op->attrs) {
    if (auto* one = std::get_if<VarName>(&attr.value); one && one->value == from) one->value = to;
    if (auto* names = std::get_if<VarNames>(&attr.value)) all(names->values);
    auto* role = std::get_if<std::vector<std::string>>(&attr.value);
    if (role && attr.name == "op_role_var") all(*role);
  }
}

}  // namespace

Faced::Hooks& Faced::hooks() {
  static Hooks hooks;
  return hooks;
}

uint64_t LastVersion() { return last_version.load(std::memory_order_relaxed); }

// Operators ---------------------------------------------------------------------------------------

OpDesc& Op::Edit() {
  if (block_) block_->Touch();
  return Own(part_);
}

void Block::Touch() {
  if (program_) program_->Touch();
}

void Block::Insert(size_t index, OpRef op) {
  ENFORCE(!op->block_, AlreadyExists, op->desc().type,
          ": an operator stands in one place, but this one is in block ", op->block_->idx(),
          " already. Take it out first, with block.remove_op(op.idx)");
  op->block_ = this;
  Touch();
  op->since_ = LastVersion();
  ops_.insert(ops_.begin() + static_cast<ptrdiff_t>(index), std::move(op));
}

void Block::Forget(Op* op) {
  op->block_ = nullptr;
  op->ReleaseFace();
}

OpRef Block::Remove(size_t index) {
  OpRef op = std::move(ops_[index]);
  ops_.erase(ops_.begin() + static_cast<ptrdiff_t>(index));
  Touch();
  Forget(op.get());
  return op;
}

void Block::SetOps(std::vector<OpRef> ops) {
  std::unordered_set<const Op*> kept;
  for (const OpRef& op : ops) {
    ENFORCE(kept.insert(op.get()).second && (!op->block_ || op->block_ == this), AlreadyExists,
            op->desc().type, ": an operator stands in one place, but this one is in block ",
            op->block_ ? op->block_->idx() : idx(),
            " already. Take it out first, with block.remove_op(op.idx)");
  }
  Touch();
  for (const OpRef& op : ops) {
    if (!op->block_) op->since_ = LastVersion();
    op->block_ = this;
  }
  ops_.swap(ops);
  for (const OpRef& op : ops) {
    if (!kept.count(op.get())) Forget(op.get());
  }
}

int64_t Block::IndexOf(const Op& op) const {
  if (op.block_ != this) return -1;
  for (size_t i = ops_.size(); i-- > 0;) {
    if (ops_[i].get() == &op) return static_cast<int64_t>(i);
  }
  return -1;
}

// Variables ---------------------------------------------------------------------------------------

Var::Var(Ref<Part<VarDesc>> part) : part_(std::move(part)) {
  const VarDesc& now = desc();
  if (now.stop_gradient && (*now.stop_gradient || IsInexact(ElementType(now))))
    stop_gradient_ = *now.stop_gradient;
}

void Var::Replace(Ref<Part<VarDesc>> next) {
  if (face()) hooks().changed(face(), next->value);  // may throw
  part_ = std::move(next);
  if (block_) block_->Touch();
}

void Var::set_stop_gradient(bool stop) {
  stop_gradient_ = stop;
  const VarDesc& now = desc();
  if (now.stop_gradient && *now.stop_gradient != stop && IsInexact(ElementType(now)))
    return Edit([&](VarDesc& desc) { desc.stop_gradient = stop; });
  if (face()) hooks().changed(face(), now);
}

Block::~Block() { Dissolve(); }

void Block::Dissolve() {
  program_ = nullptr;
  for (const OpRef& op : ops_) Forget(op.get());
  for (const VarRef& var : vars_) {
    var->block_ = nullptr;
    var->ReleaseFace();
  }
  ReleaseFace();
}

Var* Block::Find(const std::string& name) const {
  auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second;
}

Var* Block::FindRecursive(const std::string& name) const {
  if (Var* var = Find(name)) return var;
  if (!program_ || program_->blocks().size() == 1) return nullptr;
  for (int32_t i : program_->VisibleBlocks(idx())) {
    if (Var* var = program_->blocks()[i]->Find(name)) return var;
  }
  return nullptr;
}

Var& Block::Declare(VarRef var) {
  ENFORCE(!var->block_, AlreadyExists, "a variable stands in one block, but '", var->name(),
          "' is in block ", var->block_->idx(), " already");
  auto [at, fresh] = by_name_.emplace(var->name(), var.get());
  ENFORCE(fresh, AlreadyExists, "block ", idx(), " has a variable '", var->name(), "' already");
  var->block_ = this;
  Touch();
  var->since_ = LastVersion();
  vars_.push_back(std::move(var));
  return *at->second;
}

// Whether names of this block may mean variables of the other.
bool Block::Sees(const Block& other) const {
  if (&other == this) return true;
  for (int32_t i : program_->VisibleBlocks(idx())) {
    if (i == other.idx()) return true;
  }
  return false;
}

std::string Block::UserOf(const std::string& name) const {
  Var* var = Find(name);
  for (const BlockRef& block : program_->blocks()) {
    for (size_t i = 0; i < block->ops_.size(); ++i) {
      const OpDesc& op = block->ops_[i]->desc();
      bool reads = Reads(op, name);
      if (!reads && !Writes(op, name)) continue;
      if (block.get() != this && block->FindRecursive(name) != var) continue;
      return op.type + PositionText(op, i, block->idx()) + (reads ? ", reads it" : ", writes it");
    }
  }
  return "";
}

void Block::RemoveVar(const std::string& name) {
  std::string user = UserOf(name);
  ENFORCE(user.empty(), PreconditionNotMet, "the variable '", name, "' of block ", idx(),
          " must be one that no operator uses, but ", user,
          ". Take the operator out first, with block.remove_op(index)");
  RemoveVars({name});
}

void Block::RemoveVars(const std::unordered_set<std::string>& names) {
  std::vector<VarRef> kept, gone;
  for (VarRef& var : vars_) (names.count(var->name()) ? gone : kept).push_back(std::move(var));
  vars_.swap(kept);
  for (const VarRef& var : gone) {
    by_name_.erase(var->name());
    var->block_ = nullptr;
  }
  Touch();
  for (const VarRef& var : gone) var->ReleaseFace();
}

void Block::TakeBack(uint64_t version) {
  std::vector<OpRef> ops;
  for (const OpRef& op : ops_) {
    if (op->since_ <= version) ops.push_back(op);
  }
  std::unordered_set<std::string> names;
  for (const VarRef& var : vars_) {
    if (var->since_ > version) names.insert(var->name());
  }
  if (ops.size() != ops_.size()) SetOps(std::move(ops));
  if (!names.empty()) RemoveVars(names);
}

void Block::Rename(const std::string& from, const std::string& to) {
  Var* var = Find(from);
  std::vector<Block*> meant;  // blocks in which the name means this variable
  for (const BlockRef& block : program_->blocks()) {
    bool sees = block->Sees(*this);
    if (!sees && !Sees(*block)) continue;
    ENFORCE(!block->Find(to), AlreadyExists, "block ", block->idx(), " has a variable '", to,
            "' already, so that '", from, "' of block ", idx(), " cannot get its name");
    if (sees && block->FindRecursive(from) == var) meant.push_back(block.get());
  }
  for (Block* block : meant) {
    for (const OpRef& op : block->ops_) {
      const OpDesc& desc = op->desc();
      if (Reads(desc, from) || Writes(desc, from) || NamedInAttrs(desc, from))
        RenameIn(&op->Edit(), from, to);
    }
  }
  auto node = by_name_.extract(from);
  node.key() = to;
  by_name_.insert(std::move(node));
  var->Edit([&](VarDesc& desc) { desc.name = to; });
}

// Programs ----------------------------------------------------------------------------------------

Program::Program() : version_(NextVersion()) {
  frame_.version.emplace().version = kVersion;
  BlockDesc first;
  blocks_.push_back(BlockRef(new Block(this, std::move(first))));
}

Program::Program(ProgramRef whole) : version_(NextVersion()), snapshot_(std::move(whole)) {
  const ProgramDesc& desc = *snapshot_;
  frame_.op_compatible_map = desc.op_compatible_map;
  frame_.version = desc.version;
  frame_.op_version_map = desc.op_version_map;
  frame_.unknown = desc.unknown;
  for (const BlockDesc& from : desc.blocks) {
    BlockDesc frame;
    frame.idx = static_cast<int32_t>(blocks_.size());
    frame.parent_idx = from.parent_idx;
    frame.forward_block_idx = from.forward_block_idx;
    frame.unknown = from.unknown;
    Block& block = *blocks_.emplace_back(BlockRef(new Block(this, std::move(frame))));
    block.ops_.reserve(from.ops.size());
    for (size_t i = 0; i < from.ops.size(); ++i) {
      block.ops_.push_back(MakeRef<Op>(from.ops.part(i)));
      block.ops_.back()->block_ = &block;
    }
    block.vars_.reserve(from.vars.size());
    block.by_name_.reserve(from.vars.size());
    for (size_t i = 0; i < from.vars.size(); ++i) {
      VarRef var = MakeRef<Var>(from.vars.part(i));
      var->block_ = &block;
      block.by_name_.emplace(var->name(), var.get());  // the first, where names repeat
      block.vars_.push_back(std::move(var));
    }
  }
}

Program::~Program() {
  for (const BlockRef& block : blocks_) block->Dissolve();
}

void Program::Touch() {
  version_ = NextVersion();
  snapshot_.reset();
}

const ProgramRef& Program::Snapshot() {
  if (snapshot_) return snapshot_;
  auto made = std::make_shared<ProgramDesc>(frame_);
  made->blocks.reserve(blocks_.size());
  for (const BlockRef& block : blocks_) {
    BlockDesc& to = made->blocks.emplace_back(block->frame_);
    to.vars.reserve(block->vars_.size());
    for (const VarRef& var : block->vars_) to.vars.Share(var->part());
    to.ops.reserve(block->ops_.size());
    for (const OpRef& op : block->ops_) to.ops.Share(op->part());
  }
  snapshot_ = std::move(made);
  return snapshot_;
}

Block& Program::CreateBlock(int32_t parent, std::optional<int32_t> forward) {
  BlockDesc frame;
  frame.idx = static_cast<int32_t>(blocks_.size());
  frame.parent_idx = parent;
  frame.forward_block_idx = forward;
  blocks_.push_back(BlockRef(new Block(this, std::move(frame))));
  Touch();
  return *blocks_.back();
}

std::vector<std::pair<VarDesc, VarRef>> Program::ChangedSince(const ProgramDesc& before) const {
  std::vector<std::pair<VarDesc, VarRef>> changed;
  for (size_t b = 0; b < before.blocks.size() && b < blocks_.size(); ++b) {
    const auto& old = before.blocks[b].vars;
    for (size_t i = 0; i < old.size(); ++i) {
      Var* now = blocks_[b]->Find(old[i].name);
      if (now && now->part() != old.part(i)) changed.emplace_back(old[i], VarRef(now));
    }
  }
  return changed;
}

void Program::TakeBack(uint64_t version, size_t blocks, const ProgramDesc& before) {
  while (blocks_.size() > blocks) {
    blocks_.back()->Dissolve();
    blocks_.pop_back();
    Touch();
  }
  for (const BlockRef& block : blocks_) block->TakeBack(version);
  for (const auto& [old, now] : ChangedSince(before)) {
    const VarDesc& desc = old;
    now->Edit([&](VarDesc& to) { to = desc; });
  }
}

void Program::RemoveUnownedBlocks() {
  std::vector<bool> owned(blocks_.size());
  std::vector<int32_t> stack{0};
  while (!stack.empty()) {
    const int32_t at = stack.back();
    stack.pop_back();
    if (at < 0 || static_cast<size_t>(at) >= blocks_.size() || owned[at]) continue;
    owned[at] = true;
    for (const OpRef& op : blocks_[at]->ops_)
      ForBlocks(op->desc(), [&](int32_t i) { stack.push_back(i); });
    stack.push_back(blocks_[at]->parent_idx());
    stack.push_back(blocks_[at]->forward_idx().value_or(-1));
  }
  std::vector<int32_t> moved(blocks_.size(), -1);
  std::vector<BlockRef> kept;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (!owned[i]) {
      blocks_[i]->Dissolve();
      continue;
    }
    moved[i] = static_cast<int32_t>(kept.size());
    kept.push_back(blocks_[i]);
  }
  if (kept.size() == blocks_.size()) return;
  blocks_.swap(kept);
  auto at = [&](int32_t i) {  // of a program that is not checked yet: what names no block stays
    return i < 0 || static_cast<size_t>(i) >= moved.size() ? i : moved[i];
  };
  for (const BlockRef& block : blocks_) {
    block->frame_.idx = at(block->frame_.idx);
    block->frame_.parent_idx = at(block->frame_.parent_idx);
    if (block->frame_.forward_block_idx)
      block->frame_.forward_block_idx = at(*block->frame_.forward_block_idx);
    for (const OpRef& op : block->ops_) {
      bool owns = false;
      ForBlocks(op->desc(), [&](int32_t) { owns = true; });
      if (!owns) continue;
      for (OpDesc::Attr& attr : op->Edit().attrs) {
        if (auto* one = std::get_if<BlockIndex>(&attr.value)) one->index = at(one->index);
        if (auto* list = std::get_if<std::vector<BlockIndex>>(&attr.value)) {
          for (BlockIndex& each : *list) each.index = at(each.index);
        }
      }
    }
  }
  Touch();
}

std::vector<int32_t> Program::VisibleBlocks(int32_t block) const {
  return program::VisibleBlocks(block, blocks_.size(), [&](int32_t i) {
    return std::make_pair(blocks_[i]->parent_idx(), blocks_[i]->forward_idx().value_or(-1));
  });
}

bool Program::Declares(const std::string& name) const {
  for (const BlockRef& block : blocks_) {
    if (block->Find(name)) return true;
  }
  return false;
}

}  // namespace dygraph::program
