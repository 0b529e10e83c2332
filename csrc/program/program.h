// A program that is edited: its blocks, and their variables and operators in order. This is the one
// place where names and order live; what Python shows are views of it.
//
// Every edit moves the version. Versions are unique over all programs, so that plans and caches are
// keyed by the version, and edits after a version can be undone. A snapshot is immutable and shares
// all parts; an edit copies the one part it changes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "program/desc.h"

namespace dygraph::program {

class Block;
class Program;
struct GradientBlock;
using ProgramRef = std::shared_ptr<const ProgramDesc>;

// A part of a program may have one object of the host language, which the part owns while it is in
// its block.
class Faced {
 public:
  struct Hooks {
    void (*release)(void* face) = nullptr;
    void (*changed)(void* face, const VarDesc& desc) = nullptr;  // of a variable
  };
  static Hooks& hooks();

  Faced() = default;
  Faced(const Faced&) = delete;
  Faced& operator=(const Faced&) = delete;
  void* face() const { return face_; }
  void set_face(void* face) { face_ = face; }
  void ReleaseFace() {
    if (void* face = std::exchange(face_, nullptr)) hooks().release(face);
  }

 protected:
  ~Faced() { ReleaseFace(); }

 private:
  void* face_ = nullptr;
};

uint64_t LastVersion();  // of any program

class Op : public RefCounted<Op>, public Faced {
 public:
  explicit Op(Ref<Part<OpDesc>> part) : part_(std::move(part)) {}
  explicit Op(OpDesc desc) : Op(MakeRef<Part<OpDesc>>(std::move(desc))) {}
  const OpDesc& desc() const { return part_->value; }
  const Ref<Part<OpDesc>>& part() const { return part_; }
  OpDesc& Edit();                         // to be written at once: the version has moved
  Block* block() const { return block_; }  // null while it stands in none
  // The block that comes into a program with a gradient operator; null once it has come.
  std::shared_ptr<GradientBlock> brings;

 private:
  friend class Block;
  friend class Program;
  Ref<Part<OpDesc>> part_;
  Block* block_ = nullptr;
  uint64_t since_ = 0;  // the version with which it came into its block
};
using OpRef = Ref<Op>;

class Var : public RefCounted<Var>, public Faced {
 public:
  explicit Var(Ref<Part<VarDesc>> part);
  explicit Var(VarDesc desc) : Var(MakeRef<Part<VarDesc>>(std::move(desc))) {}
  const VarDesc& desc() const { return part_->value; }
  const std::string& name() const { return part_->value.name; }
  const Ref<Part<VarDesc>>& part() const { return part_; }
  // `change` writes anything but the name, which is the block's to give. All or nothing: where it
  // throws, or gives what no variable can be, the variable stays as it was.
  template <class F>
  void Edit(F&& change) {
    auto next = MakeRef<Part<VarDesc>>(VarDesc(part_->value));
    change(next->value);
    Replace(std::move(next));
  }
  Block* block() const { return block_; }  // null while it stands in none

  // True: no gradient goes through it. Written down where the description says it already.
  bool stop_gradient() const { return stop_gradient_; }
  void set_stop_gradient(bool stop);
  std::string made_at;  // the line that created it

 private:
  friend class Block;
  friend class Program;
  void Replace(Ref<Part<VarDesc>> next);
  Ref<Part<VarDesc>> part_;
  Block* block_ = nullptr;
  uint64_t since_ = 0;
  bool stop_gradient_ = true;
};
using VarRef = Ref<Var>;

class Block : public RefCounted<Block>, public Faced {
 public:
  ~Block();
  Program* program() const { return program_; }  // null once the program is gone
  int32_t idx() const { return frame_.idx; }
  int32_t parent_idx() const { return frame_.parent_idx; }
  const std::optional<int32_t>& forward_idx() const { return frame_.forward_block_idx; }

  // Operators: in the order they run. One that stands in a block cannot be put into another place
  // before it is taken out; AlreadyExists.
  const std::vector<OpRef>& ops() const { return ops_; }
  void Insert(size_t index, OpRef op);
  OpRef Remove(size_t index);
  void SetOps(std::vector<OpRef> ops);      // replaces all
  int64_t IndexOf(const Op& op) const;      // -1: it stands in another place, or in none

  // Variables: in order of declaration, each name once.
  const std::vector<VarRef>& vars() const { return vars_; }
  Var* Find(const std::string& name) const;           // in this block
  Var* FindRecursive(const std::string& name) const;  // or in one that it sees
  Var& Declare(VarRef var);                           // AlreadyExists for a name that is there
  // The text of the operator that reads or writes the variable; empty if none does.
  std::string UserOf(const std::string& name) const;
  void RemoveVar(const std::string& name);  // PreconditionNotMet while an operator uses it
  void RemoveVars(const std::unordered_set<std::string>& names);
  void TakeBack(uint64_t version);  // operators and variables that came after it
  // The name changes in every operator that means this variable, in its slots and attributes.
  // AlreadyExists where another variable that they see has the new one.
  void Rename(const std::string& from, const std::string& to);

 private:
  friend class Program;
  friend class Op;
  friend class Var;
  Block(Program* program, BlockDesc frame) : program_(program), frame_(std::move(frame)) {}
  void Touch();
  void Forget(Op* op);
  void Dissolve();  // when the program ends: the faces could not be collected after it
  bool Sees(const Block& other) const;

  Program* program_;
  BlockDesc frame_;  // what it is but for variables and operators
  std::vector<OpRef> ops_;
  std::vector<VarRef> vars_;
  std::unordered_map<std::string, Var*> by_name_;
};
using BlockRef = Ref<Block>;

// What every operator that is described carries beside its own attributes.
struct Marks {
  int32_t role = 0;
  std::vector<std::string> role_var;
  std::string name_scope = "/", device;
};

class Program {
 public:
  Program();  // one empty block
  explicit Program(ProgramRef whole);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  uint64_t version() const { return version_; }
  const ProgramRef& Snapshot();  // of this version, made once
  const std::vector<BlockRef>& blocks() const { return blocks_; }
  Block& CreateBlock(int32_t parent, std::optional<int32_t> forward);
  // As BlockDesc's: the blocks whose variables a block sees, nearest first.
  std::vector<int32_t> VisibleBlocks(int32_t block) const;
  bool Declares(const std::string& name) const;  // in any block
  void Touch();                                  // an edit was made
  // Variables of `before`, a snapshot of this program, that are described otherwise by now.
  std::vector<std::pair<VarDesc, VarRef>> ChangedSince(const ProgramDesc& before) const;
  // What came after the version, with the blocks behind the first `blocks`; variables are described
  // as in the snapshot again.
  void TakeBack(uint64_t version, size_t blocks, const ProgramDesc& before);
  // Blocks that no attribute of an operator names go, and the others move up.
  void RemoveUnownedBlocks();

  Marks marks;
  std::vector<int32_t> stack{0};  // blocks that calls append to, innermost last
  // Layers that are being described, innermost last: what their results are named after.
  struct Layer {
    std::string name;
    uint64_t results = 0;
  };
  std::vector<Layer> layers;

 private:
  ProgramDesc frame_;  // what it is but for the blocks
  std::vector<BlockRef> blocks_;
  uint64_t version_;
  ProgramRef snapshot_;
};

}  // namespace dygraph::program
