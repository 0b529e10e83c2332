"""What DYGRAPH_SMALL leaves out of a file of an operator, and what a call of that says.

`make test-small` compiles the whole library; this compiles one operator beside its own registry.
"""

import os
import subprocess
from pathlib import Path

import plugins

SOURCES = Path(__file__).resolve().parents[2] / "csrc"
PROGRAM = """
#include <cstdio>
#include "op/op_info.cc"
#include "op/op_registry.cc"
#include "operators/activation/relu_op.cc"

int main() {
  for (const std::string& name : dygraph::OpNames()) std::printf("%s\\n", name.c_str());
  const dygraph::OpInfo& relu = dygraph::GetOp("relu");
  std::printf("%zu kernels, %zu letters of help, %d makers of gradients\\n", relu.kernels.size(),
              relu.comment.size() + std::string(relu.example).size() + relu.inputs[0].help.size(),
              relu.grad_maker != nullptr);
  try {
    dygraph::GetOp("relu_grad");
  } catch (const dygraph::Error& e) {
    std::printf("%s\\n", e.message().c_str());
  }
}
"""


def test_a_small_library_has_no_gradients(tmp_path):
    source, program = tmp_path / "small.cc", tmp_path / "small"
    source.write_text(PROGRAM)
    libs = plugins.PACKAGE / "libs"
    subprocess.run(
        [os.environ.get("CXX", "g++"), "-std=c++17", "-O1", "-DDYGRAPH_SMALL", "-Wall", "-Wextra",
         "-Werror", "-fopenmp", f"-I{SOURCES}", source, "-o", program,
         f"-L{libs}", "-ldygraph", f"-Wl,-rpath,{libs}"],
        check=True,
    )  # fmt: skip
    names, relu, message = subprocess.check_output(program, text=True).splitlines()
    assert (names, relu) == ("relu", "4 kernels, 0 letters of help, 0 makers of gradients")
    assert "got 'relu_grad'" in message and "without gradients and optimizers" in message
    symbols = subprocess.check_output(["nm", "-C", program], text=True)
    kernels = [line for line in symbols.splitlines() if "activation::Kernel<" in line]
    assert kernels and "GradKernel" not in symbols and "DefineGrad" not in symbols
