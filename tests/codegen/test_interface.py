"""The interface of a C file: sizes, statuses, names, determinism, what is refused."""

import ctypes
import glob
import os
import shutil
import subprocess
import sys
import sysconfig

import numpy as np
import pytest

import c_case
from dygraph import codegen, errors, static
from dygraph.static import layers

OK, BAD_CALL, BAD_SHAPE, BAD_TYPE, BAD_INDEX, BAD_LOD, NO_SPACE, UNSET, DEPENDS = range(9)
NASTY = '*/ x"; system("id"); /* \\ \n ?? é'


def described():
    """Words, sequences and a matrix; a name made to break out of comments and strings."""
    main, startup = static.Program(), static.Program()
    startup.random_seed = 1
    with static.program_guard(main, startup):
        words = static.data(NASTY, [-1, 1], "int64", lod_level=1)
        x = static.data("x", [-1, 4])
        found = layers.embedding(words, [10, 3])
        out = layers.fc(layers.sequence_pool(found, "sum"), 4)
        product = layers.matmul(out, x, transpose_y=True)
    static.Executor().run(startup)
    return main, [NASTY, "x"], [product]


@pytest.fixture(scope="module")
def made():
    main, feeds, fetches = described()
    return codegen.emit_c(main, feeds=feeds, fetches=fetches)


@pytest.fixture(scope="module")
def library(made):
    return c_case.Library(made, ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover"))


def words(*numbers, lod=None):
    return np.array(numbers, "int64").reshape(-1, 1), [lod or [0, len(numbers)]]


X = np.ones((2, 4), "float32")


def test_the_text_is_the_same_each_time(made):
    main, feeds, fetches = described()
    assert codegen.emit_c(main, feeds=feeds, fetches=fetches).text.count("\n") == made.text.count(
        "\n"
    )
    program, names, results = described()
    one = codegen.emit_c(program, feeds=names, fetches=results).text
    assert one == codegen.emit_c(program, feeds=names, fetches=results).text


def test_names_stand_in_escaped_strings_alone(made, library):
    assert 'system("' not in made.text and '*/ x"' not in made.text
    assert made.text.count("system") == 1  # in the string
    read = library.function("input_name")
    read.restype = ctypes.c_char_p
    assert read(0).decode() == NASTY
    assert read(1) == b"x" and read(2) is None and read(-1) is None


def test_what_it_says_of_inputs_and_outputs(library):
    ask = library.function
    assert (ask("input_count")(), ask("output_count")()) == (2, 1)
    assert (ask("input_type")(0), ask("input_type")(1), ask("input_type")(2)) == (3, 0, -1)
    assert (ask("input_rank")(1), ask("input_rank")(-1)) == (2, -1)
    dim = ask("input_dim")
    dim.restype = ctypes.c_int64
    assert [dim(1, 0), dim(1, 1), dim(1, 2)] == [-1, 4, -2]


def test_statuses(library):
    cases = [
        (OK, [words(1, 2, 3, lod=[0, 1, 3]), X]),
        (OK, [(np.zeros((0, 1), "int64"), [[0]]), X]),
        (BAD_INDEX, [words(1, 10), X]),
        (BAD_INDEX, [words(-1), X]),
        (BAD_TYPE, [(words(1)[0].astype("int32"), [[0, 1]]), X]),
        (BAD_SHAPE, [words(1), X[:, :3]]),
        (BAD_SHAPE, [words(1), X[0]]),
        (BAD_LOD, [words(1)[0], X]),
        (BAD_LOD, [words(1, 2, lod=[0, 3]), X]),
        (BAD_LOD, [words(1, 2, lod=[1, 2]), X]),
        (BAD_LOD, [words(1, 2, lod=[0, 2, 1, 2]), X]),
    ]
    for wanted, feeds in cases:
        assert library.status(feeds)[0] == wanted, feeds
    text = library.function("status_text")
    text.restype = ctypes.c_char_p
    assert all(text(s) for s in range(-1, 12))


def test_every_workspace_that_is_too_small_is_refused(library):
    feeds = [words(1, 2, 3), X]
    tensors, _ = library.tensors(feeds)
    needed = library.workspace(tensors)[1]
    for size in [*range(0, needed - 256, 97), needed - 257]:
        assert library.status(feeds, size)[0] == NO_SPACE, size
    assert library.status(feeds, needed)[0] == OK
    assert library.status(feeds, needed + 1)[0] == OK


def test_null_pointers_and_wild_sizes(library):
    run, ask = library.function("run"), library.function("workspace")
    tensors, held = library.tensors([words(1), X])
    assert run(tensors, None, None, None, ctypes.c_int64(10**6), None) == BAD_CALL
    assert ask(tensors, None, None) == BAD_CALL
    assert ask(None, ctypes.byref(ctypes.c_int64()), None) == BAD_CALL
    tensors[1].data = None
    assert library.workspace(tensors)[0] == OK  # data are not read
    for size in (-1, 2**62, 2**63 - 1):
        tensors[1].dims[0] = size
        assert library.workspace(tensors)[0] == BAD_SHAPE
    del held


def test_all_that_cannot_be_said_in_c_is_named_at_once(tmp_path):
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [3, 3])
        y = layers.unique(layers.reshape(x, [9]))[0] if hasattr(layers, "unique") else x
        z = static.layers.reduce_sum(layers.gaussian_random([3, 3]))
    with pytest.raises(errors.UnimplementedError, match="gaussian_random.*unique"):
        codegen.emit_c(main, feeds=["x"], fetches=[y, z])
    with static.program_guard(main):
        wave = layers.tan(x)
    with pytest.raises(errors.UnimplementedError, match="with exact=True.*tan"):
        codegen.emit_c(main, feeds=["x"], fetches=[wave], exact=True)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("name", ["Net", "1a", "int", "a-b", "", "a" * 50, None, "x;y", "while"])
def test_the_name_is_an_identifier(name):
    main, feeds, fetches = described()
    with pytest.raises(errors.InvalidArgumentError, match="C identifier"):
        codegen.emit_c(main, feeds=feeds, fetches=fetches, name=name)


def test_wrong_models_and_outputs():
    with pytest.raises(TypeError, match="path, a static.Program"):
        codegen.emit_c(3)
    with pytest.raises(TypeError, match="inputs="):
        codegen.emit_c(__import__("dygraph").nn.ReLU())
    with pytest.raises(ValueError, match="outputs"):
        codegen.emit_c(static.Program())
    main, feeds, fetches = described()
    net = codegen.emit_c(main, feeds=feeds, fetches=fetches)
    with pytest.raises(ValueError, match=".c or .cu"):
        net.write("net.txt")


def test_sizes_that_depend_on_data():
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [-1])
        found = layers.where(x > 0.0)
        sizes = [layers.fill_constant([1], "int32", n) for n in (2, -1)]
        shaped = layers.reshape(x, layers.concat(sizes))
    library = c_case.Library(codegen.emit_c(main, feeds=["x"], fetches=[found]))
    x = np.array([1, -1, 2, 0, 5, 6], "float32")
    tensors, held = library.tensors([x])
    assert library.workspace(tensors)[0] == DEPENDS
    assert library.run([x])[0][0].tolist() == [[0], [2], [4], [5]]
    known = c_case.Library(codegen.emit_c(main, feeds=["x"], fetches=[shaped]))
    assert known.workspace(tensors)[0] == OK
    assert known.run([x])[0][0].tolist() == [[1, -1, 2], [0, 5, 6]]
    del held


def nvcc():
    """nvcc on the path or in its wheel, or None."""
    wheels = glob.glob(os.path.join(sysconfig.get_path("purelib"), "nvidia", "*", "bin", "nvcc"))
    return shutil.which("nvcc") or next(iter(wheels), None)


def test_loops_as_kernels(tmp_path):
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [-1, 8])
        y = layers.softmax(layers.relu(layers.reduce_sum(layers.reshape(x, [-1, 2, 4]), 1)))
    made = codegen.emit_c(main, feeds=["x"], fetches=[y], cuda=True)
    assert made.text.count("__global__") == 3 and "<<<" in made.text
    path = tmp_path / "net.cu"
    made.write(path)
    if nvcc():
        subprocess.run([nvcc(), "-ptx", str(path), "-o", str(tmp_path / "net.ptx")], check=True)
    with pytest.raises(ValueError, match="cuda=True must come without exact"):
        codegen.emit_c(main, feeds=["x"], fetches=[y], cuda=True, exact=True)


def test_the_command(tmp_path):
    main, feeds, fetches = described()
    folder, output = str(tmp_path / "model"), str(tmp_path / "net.c")
    static.save_inference_model(folder, feeds, fetches, static.Executor(), main)

    def run(*arguments):
        command = [sys.executable, "-m", "dygraph", "compile", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = run(folder, "-o", output, "--so", "--exact")
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path)) == ["model", "net.c", "net.so"]
    loaded = ctypes.CDLL(str(tmp_path / "net.so"))
    assert loaded.net_input_count() == 2
    missing = run(str(tmp_path / "none"), "-o", output)
    assert missing.returncode == 1 and missing.stderr.startswith("compile:")
    assert run("x").returncode == 2


def test_damaged_model_files_are_refused_or_compiled(tmp_path):
    main, feeds, fetches = described()
    folder = tmp_path / "model"
    static.save_inference_model(str(folder), feeds, fetches, static.Executor(), main)
    path = folder / "__model__"
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    seen = {"refused": 0, "made": 0}
    for _ in range(150):
        data = bytearray(whole)
        for at in rng.integers(0, len(data), rng.integers(1, 4)):
            data[at] = rng.integers(0, 256)
        path.write_bytes(bytes(data))
        try:
            codegen.emit_c(str(folder))
            seen["made"] += 1
        except errors.DygraphError:
            seen["refused"] += 1
    assert seen["refused"] > 20, seen


def test_what_files_may_claim_is_refused_by_name():
    def refused(describe, text):
        main = static.Program()
        with static.program_guard(main):
            feeds, fetched = describe(static.data("x", [2, 2]))
        with pytest.raises(errors.UnimplementedError, match=text):
            codegen.emit_c(main, feeds=feeds, fetches=[fetched])

    def changed(x, **attrs):
        """A constant with other attributes than Python lets through."""
        y = layers.fill_constant([2, 2], "float32", 1.0)
        y.op.desc.set_attr(*next(iter(attrs.items())))
        return ["x"], x + y

    def product(x):
        y = layers.mul(x, layers.scale(x, 2.0))
        block = x.block
        array = layers.array_write(x, layers.fill_constant([1], "int64", 0))
        y.op.desc.rename_input("x", array.name)
        return ["x"], block.var(y.name)

    refused(lambda x: changed(x, str_value="one"), "fill_constant .the value one of float32")
    refused(product, "mul .of an array, float32")
    refused(lambda x: (["h"], layers.assign(static.data("h", [2], "float16"))), "h is float16")
    refused(lambda x: (["n"], layers.scale(static.data("n", [1] * 9), 2.0)), "n has 9 axes")
