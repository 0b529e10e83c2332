"""A child of test_killed_savers.py: saves the same thing again and again, killed at each file call.

``python killed_saver.py FORMAT FOLDER`` with file_calls.c preloaded. FOLDER/old holds what was
saved before. For n = 1, 2, ... a fork copies it to FOLDER/n, saves new values there and is killed
at its n-th call (or has it fail, in FOLDER/f...), until one gets through.
"""

import ctypes
import errno
import os
import shutil
import sys
from pathlib import Path

import numpy as np

import dygraph
from dygraph import jit, nn, static
from dygraph.static import io

FORMATS = {}


def a_format(function):
    FORMATS[function.__name__] = function
    return function


class Saved:
    """What one format writes and reads: a program with two weights, all of one value."""

    def __init__(self):
        self.program = static.Program()
        block = self.program.global_block()
        x = block.create_var(name="x", shape=[-1, 3], dtype="float32")
        self.names = ["a", "b", "c"]
        with static.program_guard(self.program):
            for name in self.names:
                w = block.create_parameter([3], "float32", name)
                x = x * w
        self.out = x

    def scope(self, value):
        scope = static.Scope()
        for name in self.names:
            scope.var(name).set(np.full(3, value, "float32"))
        return scope

    def values(self, scope):
        (value,) = {v for n in self.names for v in scope.get_var(n).get().numpy().tolist()}
        return value


SAVED = Saved()


@a_format
def separate(folder, value=None):
    scope = static.Scope() if value is None else SAVED.scope(value)
    (io.load_persistables if value is None else io.save_persistables)(
        None, folder, SAVED.program, scope=scope
    )
    return SAVED.values(scope)


@a_format
def fluid_params(folder, value=None):
    if value is None:
        found = dygraph.load_fluid_params(folder)
        (value,) = {v for array in found.values() for v in array.numpy().tolist()}
        assert sorted(found) == SAVED.names
        return value
    held = SAVED.scope(value)
    dygraph.save_fluid_params({n: held.get_var(n).get() for n in SAVED.names}, folder)


@a_format
def combined(folder, value=None):
    scope = static.Scope() if value is None else SAVED.scope(value)
    (io.load_persistables if value is None else io.save_persistables)(
        None, folder, SAVED.program, "all", scope=scope
    )
    return SAVED.values(scope)


def model(folder, value, *names):
    """The program has the weights' value as an attribute: a mixture would be seen."""
    if value is None:
        scope = static.Scope()
        program, _, fetches = static.load_inference_model(folder, None, *names, scope=scope)
        assert program.global_block().ops[-2].attr("scale") == SAVED.values(scope)
        return SAVED.values(scope)
    program = SAVED.program.clone()
    with static.program_guard(program):
        out = static.layers.scale(program.global_block().var(SAVED.out.name), scale=float(value))
    static.save_inference_model(
        folder, ["x"], [out], None, program, *names, scope=SAVED.scope(value)
    )


@a_format
def inference(folder, value=None):
    return model(folder, value)


@a_format
def renamed(folder, value=None):
    return model(folder, value, "m", "w")


@a_format
def whole(folder, value=None):
    path = os.path.join(folder, "net")
    if value is None:
        scope = static.Scope()
        program = static.Program.parse_from_string(Path(path + ".pdmodel").read_bytes())
        static.load(program, path, scope=scope)
        return SAVED.values(scope)
    static.save(SAVED.program, path, SAVED.scope(value))


@a_format
def traced(folder, value=None):
    if value is None:
        scope = static.Scope()
        static.load_inference_model(folder, scope=scope)
        (value,) = {v for n in scope.local_var_names()
                    for v in scope.get_var(n).get().numpy().reshape(-1).tolist()}  # fmt: skip
        return value
    constant = dygraph.initializer.Constant(float(value))
    with dygraph.unique_name.guard():
        net = nn.Linear(3, 2, param_attr=dygraph.ParamAttr(initializer=constant),
                        bias_attr=dygraph.ParamAttr(initializer=constant))  # fmt: skip
    jit.trace(net, [dygraph.ones([2, 3])])[1].save_inference_model(folder)


@a_format
def checkpoint(folder, value=None):
    path = os.path.join(folder, "checkpoint")
    net = nn.Linear(3, 2)
    if value is None:
        assert dygraph.checkpoint.load(path, net).step == net.weight.numpy()[0, 0]
    else:
        for p in net.parameters():
            p.set_value(np.full(p.shape, value, "float32"))
        dygraph.checkpoint.save(path, net, step=value)
    (value,) = {v for p in net.parameters() for v in p.numpy().reshape(-1).tolist()}
    return value


def children(name, folder):
    """Prints, for each fork, its folder and how it ended: ``killed``, ``failed``, ``saved``."""
    calls = ctypes.CDLL(None)
    save = FORMATS[name]
    for kind, error in (("k", 0), ("f", errno.ENOSPC), ("e", errno.EIO)):
        for n in range(1, 1000):
            copy = os.path.join(folder, f"{kind}{n}")
            shutil.copytree(os.path.join(folder, "old"), copy)
            pid = os.fork()
            if pid == 0:
                calls.file_calls_after(ctypes.c_long(n), error)
                try:
                    save(copy, 2)
                    ending = 0 if calls.file_calls_left() > 0 else 2
                except dygraph.errors.DygraphError:
                    ending = 1
                finally:
                    calls.file_calls_after(ctypes.c_long(-1), 0)
                os._exit(ending)
            status = os.waitpid(pid, 0)[1]
            outcome = "killed" if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            print(copy, {0: "saved", 1: "failed", 2: "saved all the same"}.get(outcome, outcome))
            if outcome == 0:
                break


if __name__ == "__main__":
    children(*sys.argv[1:])
