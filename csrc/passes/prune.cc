#include "passes/prune.h"

#include <unordered_set>

#include "base/nearest.h"
#include "program/op_binding.h"

namespace dygraph::program {

namespace {

VarDesc HolderOf(const char* name, VarType::Type type) {
  VarDesc var;
  var.name = name;
  var.type.type = type;
  var.persistable = true;
  return var;
}

OpDesc Mover(const char* type, const std::string& from, const std::string& to, size_t column) {
  OpDesc op;
  op.type = type;
  op.inputs.push_back({"X", {from}, {}});
  op.outputs.push_back({"Out", {to}, {}});
  op.SetAttr("col", static_cast<int32_t>(column));
  return op;
}

void CheckNames(const BlockDesc& block, const std::vector<std::string>& names, const char* what) {
  std::unordered_set<std::string> seen;
  auto positions = block.VarPositions();
  for (const std::string& name : names) {
    ENFORCE(seen.insert(name).second || std::string(what) == "fetched", InvalidArgument,
            "a variable may be fed once, got '", name, "' twice");
    if (positions.count(name)) continue;
    std::vector<std::string> known;
    for (const VarDesc& v : block.vars) known.push_back(v.name);
    THROW(InvalidArgument, "what is ", what, " must be a variable of the program, got '", name,
          "'.", DidYouMean(name, known));
  }
}

}  // namespace

void AddFeedAndFetch(BlockDesc* block, const std::vector<std::string>& feeds,
                     const std::vector<std::string>& fetches) {
  block->vars.push_back(HolderOf("feed", VarType::Type::FEED_MINIBATCH));
  block->vars.push_back(HolderOf("fetch", VarType::Type::FETCH_LIST));
  Items<OpDesc> ops;
  for (size_t i = 0; i < feeds.size(); ++i) ops.push_back(Mover("feed", "feed", feeds[i], i));
  for (size_t i = 0; i < block->ops.size(); ++i) ops.Share(block->ops.TakePart(i));
  for (size_t i = 0; i < fetches.size(); ++i) ops.push_back(Mover("fetch", fetches[i], "fetch", i));
  block->ops = std::move(ops);
}

ProgramDesc Prune(const ProgramDesc& program, const std::vector<std::string>& feeds,
                  const std::vector<std::string>& fetches) {
  ENFORCE(!fetches.empty(), InvalidArgument,
          "a program needs at least one variable to fetch, got none");
  ENFORCE(program.blocks.size() == 1, Unimplemented,
          "only a program of one block is cut down, got ", program.blocks.size());
  const BlockDesc& block = program.blocks[0];
  CheckNames(block, feeds, "fed");
  CheckNames(block, fetches, "fetched");
  std::unordered_set<std::string> needed(fetches.begin(), fetches.end()), used(needed),
      fed(feeds.begin(), feeds.end());
  std::vector<size_t> kept;
  for (size_t i = block.ops.size(); i-- > 0;) {
    const OpDesc& op = block.ops[i];
    if (IsFetch(op)) continue;
    bool makes = false;
    for (const OpDesc::Var& slot : op.outputs) {
      for (const std::string& name : slot.arguments)
        makes |= needed.count(name) && !fed.count(name);
    }
    if (!makes) continue;
    ENFORCE(!IsFeed(op), PreconditionNotMet, "the fetched variables need '",
            op.Output("Out")->at(0), "', which must be among the feeds");
    kept.push_back(i);
    for (const OpDesc::Var& slot : op.outputs)
      used.insert(slot.arguments.begin(), slot.arguments.end());
    for (const OpDesc::Var& slot : op.inputs) {
      used.insert(slot.arguments.begin(), slot.arguments.end());
      needed.insert(slot.arguments.begin(), slot.arguments.end());
    }
  }
  used.insert(feeds.begin(), feeds.end());
  ProgramDesc pruned;
  pruned.version = program.version;
  pruned.op_compatible_map = program.op_compatible_map;
  pruned.op_version_map = program.op_version_map;
  BlockDesc& to = pruned.blocks.emplace_back();
  to.idx = 0;
  to.parent_idx = -1;
  for (auto op = kept.rbegin(); op != kept.rend(); ++op) to.ops.Share(block.ops.part(*op));
  for (size_t i = 0; i < block.vars.size(); ++i) {
    if (used.count(block.vars[i].name)) to.vars.Share(block.vars.part(i));
  }
  AddFeedAndFetch(&to, feeds, fetches);
  return pruned;
}

}  // namespace dygraph::program
