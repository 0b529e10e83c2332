"""Fluid's names of modules and functions, as import lines of the documents have them."""

import importlib
import subprocess
import sys

import pytest

import dygraph
import dygraph.static as fluid

# What the documents write after ``fluid.``, beside layers.
NAMES = """
CPUPlace CUDAPlace CUDAPinnedPlace DataFeeder Executor ParamAttr Program Variable batch
backward.append_backward backward.gradients clip.GradientClipByGlobalNorm clip.GradientClipByNorm
clip.GradientClipByValue core.CPUPlace core.EOFException core.LoDTensor core.LoDTensorArray
core.Scope core.Tensor create_lod_tensor create_random_int_lodtensor data data_feeder.DataFeeder
dataset.uci_housing.train debugger.draw_graph debugger.pprint_block_codes
debugger.pprint_program_codes default_main_program default_startup_program dygraph.guard
dygraph.to_variable dygraph.Layer dygraph.nn.Linear evaluator.Accuracy evaluator.ChunkEvaluator
evaluator.EditDistance executor.Executor executor.global_scope executor.scope_guard
framework.Parameter framework.Program framework.Variable framework.default_main_program
framework.in_dygraph_mode framework.name_scope framework.program_guard framework.switch_main_program
get_flags global_scope gradients in_dygraph_mode initializer.Constant
initializer.ConstantInitializer initializer.UniformInitializer initializer.XavierInitializer
io.DataLoader io.PyReader io.load_inference_model io.load_persistables io.save_inference_model
io.save_persistables layers.data layers.fc LoDTensor LoDTensorArray Tensor metrics.Accuracy nets.glu
optimizer.Adam optimizer.SGD param_attr.ParamAttr profiler.profiler program_guard reader.shuffle
regularizer.L1Decay regularizer.L2Decay scope_guard set_flags unique_name.generate unique_name.guard
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_names_of_the_documents(name):
    value = fluid
    for part in name.split("."):
        value = getattr(value, part)
    assert callable(value)


LINES = """
import dygraph.static as fluid
import dygraph.static.core as core
import dygraph.static.layers as layers
import dygraph.static.framework as framework
from dygraph.static import core
from dygraph.static import debuger
from dygraph.static import debugger
from dygraph.static import framework
from dygraph.static.backward import append_backward
from dygraph.static.clip import GradientClipByValue
from dygraph.static.dataset import uci_housing
from dygraph.static.dygraph.base import to_variable
from dygraph.static.dygraph.nn import Linear
from dygraph.static.executor import Executor, global_scope, scope_guard
from dygraph.static.framework import Program, default_main_program, program_guard
from dygraph.static.initializer import Constant, UniformInitializer, Xavier
from dygraph.static.lod_tensor import create_lod_tensor
from dygraph.static.param_attr import ParamAttr
from dygraph.static.reader import shuffle
from dygraph.static.regularizer import L1Decay
from dygraph.static.unique_name import guard
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_import_lines(line):
    names = {}
    exec(line, names)
    assert len(names) > 1


def test_each_line_alone():
    """In a process that has imported nothing else."""
    code = "\n".join(f"exec({line!r}, {{}})" for line in LINES)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


SAME = {n: f"dygraph.{n}" for n in "dataset initializer reader regularizer unique_name".split()}
SAME |= {
    "data_feeder": "dygraph.io.data_feeder",
    "param_attr": "dygraph.nn.param_attr",
    "lod_tensor": "dygraph.io.data_feeder",
    "debuger": "dygraph.static.debugger",
}
SAME |= {f"dygraph.{name}": "dygraph.static.dygraph" for name in "base jit nn parallel".split()}
SAME |= {"dygraph.profiler": "dygraph.profiler"}


@pytest.mark.parametrize("name", SAME)
def test_they_are_the_same_modules(name):
    real = importlib.import_module(SAME[name])
    value = fluid
    for part in name.split("."):
        value = getattr(value, part)
    assert importlib.import_module(f"dygraph.static.{name}") is real is value
    assert real.__name__ == real.__spec__.name == SAME[name]


def test_the_eager_mode_has_all_its_names():
    assert fluid.fluid is fluid
    assert fluid.dygraph.Linear is dygraph.nn.Linear
    assert {"FC", "Linear", "guard", *dir(dygraph)} <= set(dir(fluid.dygraph))
    assert fluid.dygraph.lr is dygraph.lr
    with pytest.raises(AttributeError, match="Did you mean 'Linear'"):
        fluid.dygraph.Linaer  # noqa: B018


def test_specifications_have_paddles_name():
    """``paddle.static.InputSpec(shape, dtype, name)`` is the one of `dygraph.jit`."""
    from dygraph.static import InputSpec

    assert InputSpec is dygraph.jit.InputSpec is dygraph.static.InputSpec
    given = InputSpec([None, 3], "float32", "x")
    doubled = dygraph.jit.to_static(lambda x: x * 2, input_spec=[given])
    assert doubled(dygraph.ones([2, 3])).tolist() == [[2.0] * 3] * 2
    assert "InputSpec" in dir(fluid)


def test_what_is_not_there():
    from dygraph.static import debuger, debugger

    assert debuger is debugger
    for line in ("import dygraph.static.nothing", "import dygraph.static.dygraph.nothing"):
        with pytest.raises(ModuleNotFoundError, match="No module named 'dygraph.static"):
            exec(line, {})
    with pytest.raises(AttributeError, match="static has no 'framewrk'. Did you mean 'framework'"):
        fluid.framewrk  # noqa: B018
    assert {"framework", "debuger", "DataFeeder"} <= set(dir(fluid))


def test_no_module_is_called_paddle():
    """An installed Paddle stays importable beside this library."""
    code = "import sys, dygraph.static; print([n for n in sys.modules if n.startswith('paddle')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
    assert dygraph.batch is fluid.batch
