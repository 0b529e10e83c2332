// A program as an SSA graph: every write of a variable is a new version with one producer and its
// consumers. Each block has a graph of its own; an operator that runs a block is a node that reads
// and writes what the block uses of the blocks around it (program/outer_uses.h).
//
// Edits are in terms of versions, and only those are made after which the program can be written
// down with its names: nothing is renamed, so that Write() of an unchanged graph changes no byte.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "program/program.h"

namespace dygraph::program {

// What a node or a version has instead of another one.
constexpr int kNone = -1;

class BlockGraph {
 public:
  struct Version {
    std::string name;
    int number = 0;              // 0: what the variable holds when the block begins
    int producer = kNone;        // the node that writes it; none for number 0
    std::vector<int> consumers;  // the nodes that read it, each once, in order
    const Var* var = nullptr;    // null: no block declares it
    int next = kNone;            // the version after it
    bool wanted = false;         // read by what the graph does not show
  };
  struct Node {
    OpRef op;
    std::vector<int> inputs, outputs;  // as the names of its slots, without empty ones
    // What it reads and writes without naming it: in its block, or an output that it changes.
    std::vector<int> hidden_inputs, hidden_outputs;
    int32_t body = kNone;  // the block that it runs
    bool removed = false;
    const OpDesc& desc() const { return op->desc(); }
  };

  Block& block() const { return *block_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Version>& versions() const { return versions_; }
  const Node& node(int n) const { return nodes_[n]; }
  const Version& version(int v) const { return versions_[v]; }
  // The version of the only variable of a slot; none where there is another number of variables.
  int Input(int node, std::string_view slot) const;
  int Output(int node, std::string_view slot) const;
  // The only node that reads it, where nothing else does; else none.
  int OnlyConsumer(int version) const;
  // The node that writes it, where that is one of these types and `reader` alone reads it.
  int MadeFor(int version, int reader, std::initializer_list<const char*> types) const;
  // An operator at this place that reads the variable by its name would read this version.
  bool StandsAt(int version, int node) const;
  // Nothing reads it, here or where the graph does not show it.
  bool IsUnread(int version) const;

  // Lets the nodes that read `version` read `by`. False, and no change, where a name would then
  // mean another version, or where what reads it does not name it.
  bool Replace(int version, int by);
  // Takes a node out. Its outputs must be unread.
  void Remove(int node);
  // Takes out those among these nodes, and those that only they needed, whose outputs are unread
  // and that do nothing else (IsPure).
  void RemoveUnread(std::vector<int> nodes);
  // Puts another operator in a node's place. `inputs` are what it reads, in the order in which it
  // names them. It may leave unread outputs out, and write variables that were declared for it.
  void Become(int node, OpDesc desc, const std::vector<int>& inputs);

 private:
  friend class Graph;
  bool Names(int node, int version) const;
  void Forget(int version, int consumer);

  Block* block_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<Version> versions_;
  std::unordered_set<std::string> entering_;  // read before they are written: perhaps fed
  bool changed_ = false;
};

class Graph {
 public:
  // Of the program as it is; `keep` names variables that are fetched. Where neither they nor fetch
  // operators say what is wanted, everything is that no operator reads.
  explicit Graph(Program* program, const std::vector<std::string>& keep = {});
  Program& program() const { return *program_; }
  std::vector<BlockGraph>& blocks() { return blocks_; }
  // Several blocks and gradients: the order in which terms are added depends on who made them and
  // who handed them on (execute/term_order.h), so that such operators have to stay.
  bool orders_terms() const { return orders_terms_; }
  // Writes the edits into the program: operators that were removed go, and variables that they
  // alone used.
  void Write();
  // A line for each node: its number, `outputs = type(inputs)`, with versions as `name:number`.
  std::string Text() const;

 private:
  void FindMentions();
  void Build(BlockGraph* graph, const std::unordered_set<std::string>& keep, bool said) const;
  bool IsWantedElsewhere(const Block& block, const std::string& name) const;

  Program* program_;
  std::vector<BlockGraph> blocks_;
  bool orders_terms_ = false;
  // The block that mentions a name; -2: several, or an operator that runs a block, in an attribute.
  std::unordered_map<std::string, int32_t> mentions_;
};

// Whether all that an operator does is to write its outputs, as its inputs and attributes say: it
// draws no numbers, runs no block, and reaches no file, no output and no function of the host.
bool IsPure(const OpDesc& op);
bool IsRandom(const OpDesc& op);  // draws numbers
// Pure, and what it writes does not depend on what its outputs held.
bool IsFunction(const BlockGraph& graph, int node);

}  // namespace dygraph::program
