#include "passes/prune.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "base/nearest.h"
#include "passes/pass.h"
#include "program/op_binding.h"
#include "program/uses.h"

namespace dygraph::program {

namespace {

using Names = std::vector<std::string>;

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

// Whether the program says, on its fetch operators, that nothing compared it with what it was made
// of (dygraph.jit.to_static with verify=False).
constexpr char kVerifiedAttr[] = "verified";

bool IsUnverified(const std::deque<OpDesc>& ops) {
  return std::any_of(ops.begin(), ops.end(), [](const OpDesc& op) {
    const bool* verified = op.FindAttr<bool>(kVerifiedAttr);
    return op.type == "fetch" && verified && !*verified;
  });
}

void CheckNames(const Block& block, const Names& names, const char* what) {
  std::unordered_set<std::string> seen;
  for (const std::string& name : names) {
    ENFORCE(seen.insert(name).second || std::string(what) == "fetched", InvalidArgument,
            "a variable may be fed once, got '", name, "' twice");
    if (block.Find(name)) continue;
    Names known;
    for (const VarRef& v : block.vars()) known.push_back(v->name());
    THROW(InvalidArgument, "what is ", what, " must be a variable of the program, got '", name,
          "'.", DidYouMean(name, known));
  }
}

// The operators, those that run blocks with all that the blocks read and write outside themselves.
// A block may not run, and then leaves what was there: what it writes it reads, too.
std::deque<OpDesc> WithBlocks(const Program& program, const std::vector<OpRef>& ops) {
  std::deque<OpDesc> whole;
  for (const OpRef& op : ops) {
    OpDesc& desc = whole.emplace_back(op->desc());
    std::vector<int32_t> blocks;
    ForBlocks(desc, [&](int32_t i) { blocks.push_back(i); });
    if (blocks.empty()) continue;
    std::unordered_set<std::string> reads, writes;
    ForNames(desc.outputs, [&](const std::string& name) { reads.insert(name); });
    for (size_t k = 0; k < blocks.size(); ++k) {
      const Block& body = *program.blocks().at(blocks[k]);
      auto outside = [&](const std::string& name) {
        const Var* var = body.FindRecursive(name);
        return var && var->block()->idx() == 0;
      };
      for (const OpRef& inner : body.ops()) {
        ForBlocks(inner->desc(), [&](int32_t i) {
          if (std::find(blocks.begin(), blocks.end(), i) == blocks.end()) blocks.push_back(i);
        });
        ForNames(inner->desc().inputs, [&](const std::string& name) {
          if (outside(name)) reads.insert(name);
        });
        ForNames(inner->desc().outputs, [&](const std::string& name) {
          if (outside(name)) writes.insert(name);
        });
      }
    }
    reads.insert(writes.begin(), writes.end());
    desc.inputs.push_back({"", {reads.begin(), reads.end()}, {}});
    desc.outputs.push_back({"", {writes.begin(), writes.end()}, {}});
  }
  return whole;
}

void Prune(PassCall& call) {
  const Names &feeds = call.option<Names>("feeds"), &fetches = call.option<Names>("fetches");
  const Names& states = call.option<Names>("states");
  ENFORCE(!fetches.empty(), InvalidArgument,
          "a program needs at least one variable to fetch, got none");
  Block& block = *call.program().blocks()[0];
  CheckNames(block, feeds, "fed");
  CheckNames(block, fetches, "fetched");
  CheckNames(block, states, "a state");

  const std::vector<OpRef> all = block.ops();
  std::unordered_set<std::string> fed(feeds.begin(), feeds.end()), used(fed);
  Names made;
  for (const Names* wanted : {&fetches, &states}) {
    for (const std::string& name : *wanted) {
      if (used.insert(name).second) made.push_back(name);
    }
  }
  const std::deque<OpDesc> whole = WithBlocks(call.program(), all);
  std::vector<const OpDesc*> each;
  for (const OpDesc& op : whole) each.push_back(&op);
  std::vector<bool> needed = Uses(each).LeadTo(made, fed, Uses::Writers::kAllBefore);
  for (size_t i = all.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const OpDesc& op = whole[i];
    ENFORCE(!IsFeed(op), PreconditionNotMet, "the fetched variables need '",
            op.Output("Out")->at(0), "', which must be among the feeds");
    for (const auto* slots : {&op.inputs, &op.outputs}) {
      for (const OpDesc::Var& slot : *slots)
        used.insert(slot.arguments.begin(), slot.arguments.end());
    }
  }

  FeedAndFetch ends(feeds, fetches);
  if (IsUnverified(whole)) {
    for (OpDesc& op : ends.after) op.SetAttr(kVerifiedAttr, false);
  }
  for (const VarDesc& holder : ends.holders) {
    ENFORCE(!used.count(holder.name), AlreadyExists,
            "the variables that are left must be called other than 'feed' and 'fetch', where a "
            "program takes its feeds and leaves its results, got '",
            holder.name, "'. Rename it with block.rename_var");
  }
  std::vector<OpRef> ops;
  for (OpDesc& op : ends.before) ops.push_back(MakeRef<Op>(std::move(op)));
  for (size_t i = 0; i < all.size(); ++i) {
    if (needed[i]) ops.push_back(all[i]);
  }
  for (OpDesc& op : ends.after) ops.push_back(MakeRef<Op>(std::move(op)));
  block.SetOps(std::move(ops));
  std::unordered_set<std::string> unused;
  for (const VarRef& var : block.vars()) {
    if (!used.count(var->name())) unused.insert(var->name());
  }
  block.RemoveVars(unused);
  call.program().RemoveUnownedBlocks();
  for (VarDesc& holder : ends.holders) block.Declare(MakeRef<Var>(std::move(holder)));
}

void DefinePrune(PassDef& pass) {
  pass.Comment(
          "The operators that the fetched variables and the states need, given the fed ones, with "
          "their variables and with feed and fetch operators in this order; nothing else.")
      .Option("feeds", Names(), "the variables that are given")
      .Option("fetches", Names(), "the variables that are wanted, at least one")
      .Option("states", Names(), "variables whose values the next run reads")
      .Run(Prune);
}

}  // namespace

FeedAndFetch::FeedAndFetch(const Names& feeds, const Names& fetches) {
  holders.push_back(HolderOf("feed", VarType::Type::FEED_MINIBATCH));
  holders.push_back(HolderOf("fetch", VarType::Type::FETCH_LIST));
  for (size_t i = 0; i < feeds.size(); ++i) before.push_back(Mover("feed", "feed", feeds[i], i));
  for (size_t i = 0; i < fetches.size(); ++i)
    after.push_back(Mover("fetch", fetches[i], "fetch", i));
}

REGISTER_PASS(prune, DefinePrune);

}  // namespace dygraph::program
