"""Loops that never end, in programs from files: Ctrl-C and FLAGS_while_turns end them."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.errors import ResourceExhaustedError
from dygraph.static import layers

SECONDS = 60  # a busy machine may take until the loop runs; the interrupt itself takes 0.3


def save_endless(folder, kind):
    """A model whose loop goes on for ever, alone, around another one, or inside a choice."""
    x = static.data("x", [2])
    s, yes = layers.assign(x), layers.fill_constant([1], "bool", True)

    def endless():
        i = layers.fill_constant([1], "int64", 0)
        more = layers.less_equal(i, i)
        with layers.While(more, is_test=True).block():
            layers.assign(s * 0.5 + 1.0, output=s)
            if kind == "outer":
                j = layers.fill_constant([1], "int64", 0)
                three = layers.fill_constant([1], "int64", 3)
                again = layers.less_than(j, three)
                with layers.While(again, is_test=True).block():
                    layers.increment(j)
                    layers.less_than(j, three, cond=again)
            layers.less_equal(i, i, cond=more)

    if kind == "chosen":
        layers.cond(yes, endless, None)
    else:
        endless()
    static.save_inference_model(folder, ["x"], [s], static.Executor())


SCRIPT = """
import sys
import numpy as np
import dygraph
from dygraph import static

scope, executor = static.Scope(), static.Executor()
program, feeds, fetches = static.load_inference_model(sys.argv[1], executor, scope=scope)
print("ready", flush=True)
for _ in range(2):
    try:
        executor.run(program, {"x": np.ones(2, "float32")}, fetches, scope=scope)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
dygraph.set_flags({"FLAGS_while_turns": 7})
try:
    executor.run(program, {"x": np.ones(2, "float32")}, fetches, scope=scope)
except MemoryError as error:
    print(type(error).__name__, flush=True)
"""


@pytest.mark.parametrize("kind", ["alone", "outer", "chosen"])
def test_ctrl_c_ends_a_loop_of_a_loaded_program(tmp_path, kind):
    save_endless(str(tmp_path), kind)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            for _ in range(2):
                time.sleep(0.5)  # so that the loop runs by then
                assert child.poll() is None
                child.send_signal(signal.SIGINT)
                assert child.stdout.readline() == "interrupted\n"
            rest = child.stdout.read()  # what readline() took in ahead, too
            child.wait(SECONDS)
        finally:
            child.kill()
    assert (rest, child.returncode) == ("ResourceExhaustedError\n", 0)


@pytest.mark.parametrize("kind", ["alone", "outer", "chosen"])
def test_a_limit_ends_a_loop_of_a_loaded_program(tmp_path, kind):
    save_endless(str(tmp_path), kind)
    scope = static.Scope()
    program, _, fetches = static.load_inference_model(str(tmp_path), None, scope=scope)
    dygraph.set_flags({"FLAGS_while_turns": 100})
    try:
        with pytest.raises(
            ResourceExhaustedError,
            match=r"while: a loop may have 100 iterations .FLAGS_while_turns., but its condition "
            r"'.*' still holds \(operator \d+ of block \d",
        ):
            static.Executor().run(program, {"x": np.ones(2, "float32")}, fetches, scope=scope)
    finally:
        dygraph.set_flags({"FLAGS_while_turns": 0})
