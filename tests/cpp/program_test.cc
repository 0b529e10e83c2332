// Programs that are edited: versions, snapshots that share parts, lists that stay whole, uses.
#include "program/program.h"

#include <cstdio>
#include <cstdlib>

#include "base/enforce.h"
#include "program/uses.h"

using namespace dygraph;
using namespace dygraph::program;

namespace {

void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

VarRef Named(const char* name) {
  VarDesc var;
  var.name = name;
  var.type.type = VarType::Type::LOD_TENSOR;
  return MakeRef<Var>(std::move(var));
}

OpRef Relu(const char* x, const char* out) {
  OpDesc op;
  op.type = "relu";
  op.inputs.push_back({"X", {x}, {}});
  op.outputs.push_back({"Out", {out}, {}});
  return MakeRef<Op>(std::move(op));
}

template <class F>
bool Throws(ErrorKind kind, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.kind() == kind;
  }
  return false;
}

void TestSnapshots() {
  Program program;
  Block& block = *program.blocks()[0];
  for (const char* name : {"x", "y", "z"}) block.Declare(Named(name));
  block.Insert(0, Relu("x", "y"));
  block.Insert(1, Relu("y", "z"));
  ProgramRef before = program.Snapshot();
  Check(program.Snapshot() == before, "one snapshot of a version");
  uint64_t version = program.version();
  block.ops()[0]->Edit().type = "tanh";
  Check(program.version() > version, "an edit moves the version");
  ProgramRef after = program.Snapshot();
  Check(before->blocks[0].ops[0].type == "relu", "a snapshot does not change");
  Check(after->blocks[0].ops[0].type == "tanh", "the next one has the edit");
  Check(&before->blocks[0].ops[1] == &after->blocks[0].ops[1], "what is not edited is shared");
  Program copy(after);
  Check(copy.version() != program.version(), "no two programs have one version");
  Check(&copy.blocks()[0]->ops()[1]->desc() == &after->blocks[0].ops[1], "copies share too");
}

void TestLists() {
  Program program, other;
  Block& block = *program.blocks()[0];
  block.Declare(Named("x"));
  OpRef op = Relu("x", "x");
  block.Insert(0, op);
  Check(Throws(ErrorKind::AlreadyExists, [&] { block.Insert(1, op); }), "twice in a block");
  Check(Throws(ErrorKind::AlreadyExists, [&] { other.blocks()[0]->Insert(0, op); }), "in two");
  Check(Throws(ErrorKind::AlreadyExists, [&] { block.SetOps({op, op}); }), "twice in a list");
  Check(Throws(ErrorKind::AlreadyExists, [&] { block.Declare(Named("x")); }), "a name twice");
  Check(Throws(ErrorKind::PreconditionNotMet, [&] { block.RemoveVar("x"); }), "it is read");
  Check(block.ops().size() == 1 && block.vars().size() == 1, "what throws changes nothing");
  uint64_t then = LastVersion();
  block.Insert(0, Relu("x", "x"));
  block.Declare(Named("y"));
  block.TakeBack(then);
  Check(block.ops().size() == 1 && block.ops()[0] == op && !block.Find("y"), "taken back");
  Check(block.Remove(0) == op && !op->block(), "taken out");
  block.RemoveVar("x");
  Check(block.vars().empty() && !block.Find("x"), "a variable without readers goes");
}

void TestUses() {
  Items<OpDesc> ops;
  for (auto [x, out] : {std::pair("x", "y"), {"y", "z"}, {"x", "y"}, {"w", "v"}})
    ops.Share(Relu(x, out)->part());
  Uses uses(ops);
  Check(uses.ReadersOf("x") == std::vector<size_t>{0, 2}, "readers");
  Check(uses.WritersOf("y") == std::vector<size_t>{0, 2}, "writers");
  Check(uses.ReadersOf("nothing").empty(), "a name that no operator has");
  Check(uses.LeadTo({"z"}, {}) == std::vector<bool>{false, true, true, false}, "the last writer");
  Check(uses.LeadTo({"z"}, {"y"}) == std::vector<bool>{false, true, false, false}, "an end");
}

}  // namespace

int main() {
  TestSnapshots();
  TestLists();
  TestUses();
  std::puts("program_test passed");
  return 0;
}
