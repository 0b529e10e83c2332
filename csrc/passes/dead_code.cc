// Operators whose results nothing reads.
#include <numeric>

#include "passes/graph.h"
#include "passes/pass.h"

namespace dygraph::program {
namespace {

void DropDeadCode(PassCall& call) {
  Graph graph(&call.program(), call.option<std::vector<std::string>>("keep"));
  for (BlockGraph& block : graph.blocks()) {
    std::vector<int> all(block.nodes().size());
    std::iota(all.begin(), all.end(), 0);
    block.RemoveUnread(std::move(all));
  }
  graph.Write();
}

void DefineDeadCode(PassDef& pass) {
  pass.Comment(
          "Operators whose results nothing reads are left out, in all blocks. What draws random "
          "numbers, runs a block, writes a persistable variable or acts otherwise stays.")
      .Option("keep", std::vector<std::string>(), "variables that are fetched")
      .Run(DropDeadCode);
}

REGISTER_PASS(dead_code, DefineDeadCode);

}  // namespace
}  // namespace dygraph::program
