#include "passes/graph.h"

#include <algorithm>
#include <sstream>

#include "base/nearest.h"
#include "op/op_registry.h"
#include "passes/same.h"
#include "program/op_binding.h"
#include "program/outer_uses.h"

namespace dygraph::program {

namespace {

constexpr int32_t kSeveral = -2;

bool RunsBlock(const OpDesc& op) {
  bool runs = false;
  ForBlocks(op, [&](int32_t) { runs = true; });
  return runs;
}

// Names in attributes: operators that run blocks say there which states and gradients are whose.
template <class F>
void ForNamesInAttrs(const OpDesc& op, F&& each) {
  for (const OpDesc::Attr& attr : op.attrs) {
    if (const auto* one = std::get_if<std::string>(&attr.value)) each(*one);
    if (const auto* list = std::get_if<std::vector<std::string>>(&attr.value))
      std::for_each(list->begin(), list->end(), each);
  }
}

const OpInfo* Known(const std::string& type) {
  try {
    return &GetOp(type);
  } catch (const Error&) {
    return nullptr;
  }
}

bool Has(const std::vector<int>& list, int item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

bool IsPure(const OpDesc& op) {
  // What they do lies beside their outputs, or decides by itself which of them it writes.
  static const std::unordered_set<std::string> kActs = {"feed",
                                                        "fetch",
                                                        "read",
                                                        "create_py_reader",
                                                        "print",
                                                        "py_func",
                                                        "py_func_grad",
                                                        "assert",
                                                        "delete_var",
                                                        "save",
                                                        "save_combine",
                                                        "load",
                                                        "load_combine",
                                                        "coalesce_tensor",
                                                        "third_grad_limit",
                                                        "select_output",
                                                        "clear_array_element"};
  if (kActs.count(op.type) || RunsBlock(op)) return false;
  const OpInfo* info = Known(op.type);
  if (!info || info->random || info->control != Control::kNone) return false;
  bool writes = false;
  ForNames(op.outputs, [&](const std::string&) { writes = true; });
  return writes;
}

bool IsRandom(const OpDesc& op) {
  const OpInfo* info = Known(op.type);
  return info && info->random;
}

bool IsFunction(const BlockGraph& graph, int n) {
  const BlockGraph::Node& node = graph.node(n);
  if (!IsPure(node.desc()) || !node.hidden_inputs.empty() || !node.hidden_outputs.empty())
    return false;
  for (int out : node.outputs) {
    for (int in : node.inputs) {
      if (graph.version(in).name == graph.version(out).name) return false;
    }
  }
  return true;
}

// The graph of a block
// -----------------------------------------------------------------------------

namespace {

int OnlyOf(const std::vector<OpDesc::Var>& slots, std::string_view wanted,
           const std::vector<int>& versions) {
  size_t at = 0;
  for (const OpDesc::Var& slot : slots) {
    const auto named = static_cast<size_t>(
        std::count_if(slot.arguments.begin(), slot.arguments.end(),
                      [](const std::string& name) { return name != kEmptyName; }));
    if (slot.parameter == wanted) return named == 1 ? versions[at] : kNone;
    at += named;
  }
  return kNone;
}

}  // namespace

int BlockGraph::Input(int n, std::string_view slot) const {
  return OnlyOf(nodes_[n].desc().inputs, slot, nodes_[n].inputs);
}

int BlockGraph::Output(int n, std::string_view slot) const {
  return OnlyOf(nodes_[n].desc().outputs, slot, nodes_[n].outputs);
}

bool BlockGraph::IsUnread(int v) const {
  return !versions_[v].wanted && versions_[v].consumers.empty();
}

int BlockGraph::OnlyConsumer(int v) const {
  const Version& version = versions_[v];
  return !version.wanted && version.consumers.size() == 1 ? version.consumers[0] : kNone;
}

int BlockGraph::MadeFor(int v, int reader, std::initializer_list<const char*> types) const {
  if (v == kNone || OnlyConsumer(v) != reader) return kNone;
  const int n = versions_[v].producer;
  auto is = [&](const char* type) { return nodes_[n].desc().type == type; };
  return n != kNone && std::any_of(types.begin(), types.end(), is) ? n : kNone;
}

bool BlockGraph::StandsAt(int v, int n) const {
  const int next = versions_[v].next;
  return versions_[v].producer < n && (next == kNone || versions_[next].producer >= n);
}

bool BlockGraph::Names(int n, int v) const { return Has(nodes_[n].inputs, v); }

bool BlockGraph::Replace(int v, int by) {
  Version &version = versions_[v], &other = versions_[by];
  if (v == by) return true;
  const int next =
      other.next == kNone ? static_cast<int>(nodes_.size()) : versions_[other.next].producer;
  for (int n : version.consumers) {
    const Node& node = nodes_[n];
    if (node.body != kNone || Has(node.hidden_inputs, v) || !Names(n, v) || n <= other.producer ||
        n >= next)
      return false;
    // An operator that writes the variable which it reads may do so in place.
    for (const auto* outputs : {&node.outputs, &node.hidden_outputs}) {
      for (int out : *outputs) {
        if (versions_[out].name == version.name) return false;
      }
    }
  }
  if (version.consumers.empty()) return true;
  for (int n : version.consumers) {
    Node& node = nodes_[n];
    size_t at = 0;
    ForNames(node.op->Edit().inputs, [&](std::string& name) {
      int& input = node.inputs[at++];
      if (input != v) return;
      input = by;
      name = other.name;
    });
  }
  std::vector<int> all;
  std::merge(version.consumers.begin(), version.consumers.end(), other.consumers.begin(),
             other.consumers.end(), std::back_inserter(all));
  all.erase(std::unique(all.begin(), all.end()), all.end());
  other.consumers = std::move(all);
  version.consumers.clear();
  changed_ = true;
  return true;
}

void BlockGraph::Forget(int v, int consumer) {
  std::vector<int>& list = versions_[v].consumers;
  list.erase(std::remove(list.begin(), list.end(), consumer), list.end());
}

void BlockGraph::Remove(int n) {
  Node& node = nodes_[n];
  ENFORCE(!node.removed, PreconditionNotMet, "an operator is taken out once, but ",
          node.desc().type, " was taken out before");
  for (const auto* outputs : {&node.outputs, &node.hidden_outputs}) {
    for (int v : *outputs) {
      ENFORCE(IsUnread(v), PreconditionNotMet,
              "the outputs of an operator that is removed must be ", "unread, but '",
              versions_[v].name, "' of ", node.desc().type, " is read");
    }
  }
  for (const auto* inputs : {&node.inputs, &node.hidden_inputs}) {
    for (int v : *inputs) Forget(v, n);
  }
  node.removed = changed_ = true;
}

void BlockGraph::RemoveUnread(std::vector<int> waiting) {
  while (!waiting.empty()) {
    const int n = waiting.back();
    waiting.pop_back();
    const Node& node = nodes_[n];
    auto unread = [&](int v) { return IsUnread(v); };
    if (node.removed || !std::all_of(node.outputs.begin(), node.outputs.end(), unread) ||
        !std::all_of(node.hidden_outputs.begin(), node.hidden_outputs.end(), unread) ||
        !IsPure(node.desc()))
      continue;
    std::vector<int> before = node.inputs;
    before.insert(before.end(), node.hidden_inputs.begin(), node.hidden_inputs.end());
    Remove(n);
    for (int v : before) {
      if (versions_[v].producer != kNone) waiting.push_back(versions_[v].producer);
    }
  }
}

void BlockGraph::Become(int n, OpDesc desc, const std::vector<int>& inputs) {
  Node& node = nodes_[n];
  std::vector<int> outputs;
  ForNames(desc.outputs, [&](const std::string& name) {
    auto is = [&](int v) { return versions_[v].name == name; };
    auto at = std::find_if(node.outputs.begin(), node.outputs.end(), is);
    if (at == node.outputs.end()) {  // a new variable
      Version made;
      made.name = name;
      made.number = 1;
      made.producer = n;
      made.var = block_->Find(name);
      versions_.push_back(std::move(made));
    }
    outputs.push_back(at == node.outputs.end() ? static_cast<int>(versions_.size()) - 1 : *at);
  });
  for (int v : node.outputs) {
    ENFORCE(Has(outputs, v) || IsUnread(v), PreconditionNotMet,
            "what is read must still be written, but '", versions_[v].name, "' of ",
            node.desc().type, " is not");
  }
  for (int v : node.inputs) Forget(v, n);
  for (int v : inputs) {
    std::vector<int>& list = versions_[v].consumers;
    auto at = std::lower_bound(list.begin(), list.end(), n);
    if (at == list.end() || *at != n) list.insert(at, n);
  }
  node.inputs = inputs;
  node.outputs = std::move(outputs);
  node.op->Edit() = std::move(desc);
  changed_ = true;
}

// The graph of a program
// ---------------------------------------------------------------------------

Graph::Graph(Program* program, const std::vector<std::string>& keep) : program_(program) {
  bool said = !keep.empty();
  for (const BlockRef& block : program->blocks()) {
    for (const OpRef& op : block->ops()) {
      said |= IsFetch(op->desc());
      orders_terms_ |= program->blocks().size() > 1 && IsBackward(op->desc());
    }
  }
  for (const std::string& name : keep) {
    if (program->Declares(name)) continue;
    std::vector<std::string> known;
    for (const VarRef& var : program->blocks().at(0)->vars()) known.push_back(var->name());
    THROW(InvalidArgument, "what is kept must be a variable of the program, got '", name, "'.",
          DidYouMean(name, known));
  }
  FindMentions();
  const std::unordered_set<std::string> kept(keep.begin(), keep.end());
  blocks_.resize(program->blocks().size());
  for (size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].block_ = program->blocks()[i].get();
    Build(&blocks_[i], kept, said);
  }
}

void Graph::FindMentions() {
  mentions_.clear();
  for (const BlockRef& block : program_->blocks()) {
    auto mention = [&](const std::string& name) {
      auto [at, is_new] = mentions_.emplace(name, block->idx());
      if (!is_new && at->second != block->idx()) at->second = kSeveral;
    };
    for (const OpRef& op : block->ops()) {
      ForNames(op->desc().inputs, mention);
      ForNames(op->desc().outputs, mention);
      if (!RunsBlock(op->desc())) continue;
      ForNamesInAttrs(op->desc(), [&](const std::string& name) { mentions_[name] = kSeveral; });
    }
  }
}

// Whether what no graph of the block shows may read the variable.
bool Graph::IsWantedElsewhere(const Block& block, const std::string& name) const {
  const Var* var = block.Find(name);
  if (!var || var->desc().persistable.value_or(false)) return true;
  auto at = mentions_.find(name);
  return at != mentions_.end() && at->second != block.idx();
}

void Graph::Build(BlockGraph* graph, const std::unordered_set<std::string>& keep, bool said) const {
  const Block& block = *graph->block_;
  auto& versions = graph->versions_;
  std::unordered_map<std::string, int> latest;
  auto current = [&](const std::string& name) {
    auto [at, is_new] = latest.emplace(name, static_cast<int>(versions.size()));
    if (is_new) {
      BlockGraph::Version first;
      first.name = name;
      first.var = block.FindRecursive(name);
      first.wanted = IsWantedElsewhere(block, name);
      versions.push_back(std::move(first));
    }
    return at->second;
  };
  auto read = [&](int n, const std::string& name, std::vector<int>* list) {
    const int v = current(name);
    list->push_back(v);
    if (versions[v].number == 0) graph->entering_.insert(name);
    std::vector<int>& consumers = versions[v].consumers;
    if (consumers.empty() || consumers.back() != n) consumers.push_back(n);
  };
  auto write = [&](int n, const std::string& name, std::vector<int>* list) {
    const int before = current(name), v = static_cast<int>(versions.size());
    BlockGraph::Version next;
    next.name = name;
    next.number = versions[before].number + 1;
    next.producer = n;
    next.var = versions[before].var;
    next.wanted = versions[before].wanted;
    versions.push_back(std::move(next));
    versions[before].next = v;
    latest[name] = v;
    list->push_back(v);
  };
  for (const OpRef& op : block.ops()) {
    const int n = static_cast<int>(graph->nodes_.size());
    BlockGraph::Node& node = graph->nodes_.emplace_back();
    node.op = op;
    const OpDesc& desc = op->desc();
    ForBlocks(desc, [&](int32_t body) { node.body = body; });
    ForNames(desc.inputs, [&](const std::string& name) { read(n, name, &node.inputs); });
    std::vector<std::string> hidden;
    if (node.body != kNone) {
      std::unordered_set<std::string> inside;
      ForBlocks(desc, [&](int32_t body) {
        OuterUses uses = UsesAround(*program_, body);
        for (const std::string& name : uses.reads) read(n, name, &node.hidden_inputs);
        for (const std::string& name : uses.writes) {
          if (inside.insert(name).second) hidden.push_back(name);
        }
      });
      // A block that does not run leaves what was there.
      for (const std::string& name : hidden) read(n, name, &node.hidden_inputs);
      ForNames(desc.outputs, [&](const std::string& name) {
        inside.erase(name);
        read(n, name, &node.hidden_inputs);
      });
      hidden.erase(std::remove_if(hidden.begin(), hidden.end(),
                                  [&](const std::string& name) { return !inside.count(name); }),
                   hidden.end());
    } else if (const OpInfo* info = Known(desc.type)) {
      for (const SlotInfo& slot : info->outputs) {
        const auto* names = slot.updated() ? desc.Output(slot.name) : nullptr;
        for (size_t i = 0; names && i < names->size(); ++i) {
          if ((*names)[i] != kEmptyName) read(n, (*names)[i], &node.hidden_inputs);
        }
      }
      if (desc.type == "delete_var")
        ForNames(desc.inputs, [&](const std::string& name) { hidden.push_back(name); });
    }
    ForNames(desc.outputs, [&](const std::string& name) { write(n, name, &node.outputs); });
    for (const std::string& name : hidden) write(n, name, &node.hidden_outputs);
  }
  for (const auto& [name, v] : latest) {
    BlockGraph::Version& last = versions[v];
    last.wanted |= keep.count(name) > 0 || (!said && last.consumers.empty());
  }
}

void Graph::Write() {
  bool changed = false;
  std::vector<std::unordered_set<std::string>> gone(blocks_.size());
  for (size_t i = 0; i < blocks_.size(); ++i) {
    BlockGraph& graph = blocks_[i];
    if (!graph.changed_) continue;
    changed = true;
    std::vector<OpRef> kept;
    for (const BlockGraph::Version& version : graph.versions_) {
      if (version.producer != kNone && !version.wanted && !graph.entering_.count(version.name))
        gone[i].insert(version.name);
    }
    for (const BlockGraph::Node& node : graph.nodes_) {
      if (!node.removed) kept.push_back(node.op);
    }
    if (kept.size() != graph.nodes_.size()) graph.block_->SetOps(std::move(kept));
  }
  if (!changed) return;
  FindMentions();
  for (size_t i = 0; i < blocks_.size(); ++i) {
    std::unordered_set<std::string> unused;
    for (const std::string& name : gone[i]) {
      const Var* var = blocks_[i].block_->Find(name);
      if (var && !mentions_.count(name) && !var->desc().need_check_feed.value_or(false))
        unused.insert(name);
    }
    if (!unused.empty()) blocks_[i].block_->RemoveVars(unused);
  }
}

std::string Graph::Text() const {
  std::ostringstream text;
  for (const BlockGraph& graph : blocks_) {
    text << "block " << graph.block_->idx() << "\n";
    auto list = [&](const std::vector<int>& versions) {
      std::string names;
      for (int v : versions) {
        names += (names.empty() ? "" : ", ") + graph.version(v).name + ":" +
                 std::to_string(graph.version(v).number);
      }
      return names;
    };
    for (size_t n = 0; n < graph.nodes_.size(); ++n) {
      const BlockGraph::Node& node = graph.nodes_[n];
      if (node.removed) continue;
      text << n << ": " << list(node.outputs);
      if (!node.hidden_outputs.empty()) text << " {" << list(node.hidden_outputs) << "}";
      text << " = " << node.desc().type << "(" << list(node.inputs) << ")";
      if (!node.hidden_inputs.empty()) text << " {" << list(node.hidden_inputs) << "}";
      if (node.body != kNone) text << " runs block " << node.body;
      text << "\n";
    }
  }
  return text.str();
}

}  // namespace dygraph::program
