"""Files with damaged bytes, in a process with little memory: they load or raise, nothing else.

As test_fuzz_operators.py, which says how; ``python tests/test_fuzz_files.py FORMAT NUMBER`` makes
one file again. Truncations and single bits are tried one by one in the tests of each format.
"""

import os
import random
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import dygraph
import fuzzing
from dygraph import nn, saving, static
from dygraph.errors import DygraphError

ALLOWED = (DygraphError, MemoryError)
NUMBERS = [0, 1, 7, 8, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1]


def net():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm(4), nn.Linear(4, 2))


def traced(folder):
    layer = net()
    layer.eval()
    _, program = dygraph.jit.trace(layer, [dygraph.to_variable(np.ones((2, 3), "float32"))])
    program.save_inference_model(folder)


def load_model(folder):
    dygraph.static.load_inference_model(folder)


def trained():
    layer = net()
    adam = dygraph.optimizer.Adam(0.1, parameter_list=layer)
    dygraph.mean(layer(dygraph.to_variable(np.ones((2, 3), "float32")))).backward()
    adam.step()
    return layer, adam


def save_checkpoint(path):
    dygraph.checkpoint.save(path, *trained(), step=3)


def load_checkpoint(path):
    dygraph.checkpoint.load(path, *trained())


def one_file(save, load):
    return (
        lambda folder: save(os.path.join(folder, "file")),
        lambda folder: load(os.path.join(folder, "file")),
    )


def nested():
    ragged = dygraph.to_variable(np.ones((3, 2)), lod=[[0, 1, 3]])
    return {"net": net().state_dict(), "list": [1, 2.5, None, (ragged, "x")], "$odd": {"a": True}}


def program():
    """(program, its scope) with what Adam keeps."""
    main, startup = static.Program(), static.Program()
    with dygraph.unique_name.guard(), static.program_guard(main, startup):
        loss = static.layers.mean(static.layers.fc(static.data("x", [None, 3]), size=2, name="fc"))
        static.optimizer.Adam(0.1).minimize(loss)
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    return main, loss, scope


def save_values(folder, filename=None):
    main, _, scope = program()
    static.io.save_persistables(None, folder, main, filename, scope=scope)


def load_values(folder, filename=None):
    scope = static.Scope()
    try:
        static.io.load_persistables(None, folder, program()[0], filename, scope=scope)
    except DygraphError:
        assert scope.local_var_names() == []
        raise


def save_whole(path):
    main, _, scope = program()
    static.save(main, path, scope)


def load_whole(path):
    with open(path + ".pdmodel", "rb") as file:
        read = static.Program.parse_from_string(file.read())
    static.load(program()[0], path, scope=static.Scope())
    static.load(read, path, scope=static.Scope())


def save_split(folder):
    main, loss, scope = program()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        static.save_inference_model(folder, ["x"], [loss], None, main, program_only=True)
    static.io.save_params(None, folder, main, scope=scope)


def save_renamed(folder):
    main, loss, scope = program()
    static.save_inference_model(folder, ["x"], [loss], None, main, "m", "w", scope=scope)


# format: (writes into a folder, reads from it)
FORMATS = {
    "safetensors": one_file(lambda p: dygraph.save(net().state_dict(), p), dygraph.load),
    "nested": one_file(lambda p: dygraph.save(nested(), p), dygraph.load),
    "npz": one_file(
        lambda p: np.savez(Path(p).open("wb"), a=np.ones((2, 3)), b=np.arange(5)), dygraph.load
    ),
    "packed_npz": one_file(
        lambda p: np.savez_compressed(Path(p).open("wb"), a=np.ones((20, 30))), dygraph.load
    ),
    "fluid_params": one_file(
        lambda p: saving.save_fluid_params(net().state_dict(), *os.path.split(p)),
        lambda p: saving.load_fluid_params(p, sorted(STATE)),
    ),
    "checkpoint": one_file(save_checkpoint, load_checkpoint),
    "model": (traced, load_model),
    "variables": (save_values, load_values),
    "variables_in_one": (lambda f: save_values(f, "all"), lambda f: load_values(f, "all")),
    "program": one_file(save_whole, load_whole),
    "split_model": (save_split, load_model),
    "renamed_model": (
        save_renamed, lambda f: static.load_inference_model(f, None, "m", "w", scope=static.Scope())
    ),
}  # fmt: skip
OF_PROGRAMS = ["variables", "variables_in_one", "program", "split_model", "renamed_model"]
STATE = net().state_dict()
_written = {}


def written(name):
    """The sound files of a format: name -> bytes."""
    if name not in _written:
        with tempfile.TemporaryDirectory() as folder:
            FORMATS[name][0](folder)
            _written[name] = {f: Path(folder, f).read_bytes() for f in sorted(os.listdir(folder))}
    return _written[name]


def damaged(r, data, other):
    data = bytearray(data)
    for _ in range(r.choice([1, 1, 2, 3, 8])):
        at = r.randrange(len(data) + 1)
        if r.random() < 0.5:  # lengths and headers stand in front
            at = min(at, r.randrange(200))
        kind = r.random()
        if kind < 0.3 and at < len(data):
            data[at] = r.randrange(256)
        elif kind < 0.5:
            size = r.choice([1, 2, 4, 8])
            data[at : at + size] = (r.choice(NUMBERS) % (1 << 8 * size)).to_bytes(size, "little")
        elif kind < 0.6:
            del data[at : at + r.choice([1, 4, 100])]
        elif kind < 0.7:
            data[at:at] = bytes(r.randrange(256) for _ in range(r.choice([1, 8, 64])))
        elif kind < 0.8:
            data[at:at] = data[r.randrange(len(data) + 1) :][:200]
        elif kind < 0.9:
            data[at : at + 20] = other[r.randrange(len(other)) :][:20]
        else:
            digits = str(r.choice([*NUMBERS, -1, 1e400])).encode()
            data[at : at + r.choice([1, 2, len(digits)])] = digits
    return bytes(data)


def play(name, number):
    warnings.simplefilter("ignore")
    r = random.Random(f"{name}:{number}")
    files = dict(written(name))
    other = b"".join(written(r.choice(list(FORMATS))).values())
    victim = r.choice(list(files))
    files[victim] = damaged(r, files[victim], other)
    folder = tempfile.mkdtemp()
    try:
        for f, data in files.items():
            with open(os.path.join(folder, f), "wb") as file:
                file.write(data)
        FORMATS[name][1](folder)
    except ALLOWED:
        pass
    finally:
        shutil.rmtree(folder)


def describe(name, number):
    return f"{name}, file {number}"


@pytest.mark.parametrize("name", FORMATS)
def test_sound_files_load(name, tmp_path):
    FORMATS[name][0](str(tmp_path))
    FORMATS[name][1](str(tmp_path))


def test_damaged_files():
    fuzzing.run_group(
        __file__, describe, [name for name in FORMATS if name not in OF_PROGRAMS], 200, 60
    )


def test_damaged_files_of_programs():
    fuzzing.run_group(__file__, describe, OF_PROGRAMS, 400, 100)


@pytest.mark.slow
def test_many_damaged_files():
    fuzzing.run_group(__file__, describe, list(FORMATS), 4000, 280)


if __name__ == "__main__":
    fuzzing.main(play, describe)
