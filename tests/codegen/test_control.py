"""Loops, branches, arrays and sequences of whole programs, and six models."""

import os
import subprocess

import numpy as np
import pytest

import c_case
import dygraph
from dygraph import _core, codegen, nn, static
from dygraph.static import layers

RNG = np.random.default_rng(3)


def built(describe):
    """(program, feeds, fetches) of a description, with its weights in the global scope."""
    main, startup = static.Program(), static.Program()
    startup.random_seed = 5
    with static.program_guard(main, startup):
        feeds, fetches = describe()
    static.Executor().run(startup)
    return main, feeds, fetches


def loops():
    x, n = static.data("x", [-1, 4]), static.data("n", [1], "int64")
    i = layers.fill_constant([1], "int64", 0)
    going, states = layers.less_than(i, n), layers.create_array("float32")
    layers.array_write(layers.fc(x, 4), i, states)
    loop = layers.While(going)
    with loop.block():
        state = layers.fc(layers.array_read(states, i), 4, act="tanh")
        layers.increment(i)
        layers.array_write(state, i, states)
        layers.less_than(i, n, cond=going)
    chosen = layers.cond(n > 3, lambda: x * 2.0, lambda: x - 1.0)
    return ["x", "n"], [
        layers.tensor_array_to_tensor(states, 0)[0],
        layers.array_length(states),
        chosen,
    ]


def steps():
    words, s = static.data("w", [-1, 3], lod_level=1), static.data("s", [6, -1, 3])
    ragged = layers.DynamicRNN()
    with ragged.block():
        step = ragged.step_input(words)
        memory = ragged.memory(shape=[5], value=0.0)
        state = layers.fc([step, memory], 5, act="tanh")
        ragged.update_memory(memory, state)
        ragged.output(state)
    even = layers.StaticRNN()
    with even.step():
        memory = even.memory(shape=[-1, 5], batch_ref=s, ref_batch_dim_idx=1)
        state = layers.fc([even.step_input(s), memory], 5, act="tanh")
        even.update_memory(memory, state)
        even.step_output(state)
    out = ragged()
    return ["w", "s"], [out, layers.sequence_last_step(out), even()]


def parted():
    x = static.data("x", [-1, 2])
    way = layers.less_than(layers.reduce_sum(x, 1, keep_dim=True), layers.zeros([1, 1], "float32"))
    choice = layers.IfElse(way)
    with choice.true_block():
        choice.output(layers.fc(choice.input(x), 3))
    with choice.false_block():
        choice.output(layers.fc(choice.input(x), 3))
    return ["x"], [choice()[0]]


def f(*shape):
    return RNG.normal(size=shape).astype("float32")


def batches(describe):
    if describe is loops:
        return [{"x": f(3, 4), "n": np.array([n])} for n in (2, 5)]
    if describe is parted:
        return [{"x": f(7, 2)}, {"x": f(2, 2)}]
    return [
        {"w": (f(rows, 3), [lod]), "s": f(6, batch, 3)}
        for rows, lod, batch in ((7, [0, 2, 6, 7], 2), (5, [0, 5], 3))
    ]


@pytest.mark.parametrize("describe", [loops, steps, parted])
def test_programs_with_blocks(describe):
    main, feeds, fetches = built(describe)
    made = codegen.emit_c(main, feeds=feeds, fetches=fetches)
    library = c_case.Library(made, ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover"))
    executor = static.Executor()
    for batch in batches(describe):
        given = {
            k: _core.to_variable(v[0], lod=v[1]) if isinstance(v, tuple) else v
            for k, v in batch.items()
        }
        want = executor.run(main.clone(for_test=True), given, fetches, return_numpy=False)
        got = library.run([batch[name] for name in feeds])
        for (array, lod), variable in zip(got, want, strict=True):
            np.testing.assert_allclose(array, variable.numpy(), 1e-5, 1e-5)
            assert lod == [list(level) for level in _core.lod(variable)]


# Models ---------------------------------------------------------------------------------------


class Block(dygraph.Layer):
    """A residual block of two convolutions with normalisation."""

    def __init__(self, n_in, n):
        super().__init__()
        self.first, self.second = nn.Conv2D(n_in, n, 3, 2, 1), nn.Conv2D(n, n, 3, 1, 1)
        self.one, self.two = nn.BatchNorm2D(n), nn.BatchNorm2D(n)
        self.way = nn.Conv2D(n_in, n, 1, 2)

    def forward(self, x):
        from dygraph import ops

        main = self.two(self.second(ops.relu(self.one(self.first(x)))))
        return ops.relu(main + self.way(x))


class Words(dygraph.Layer):
    """Words, a layer over their sequence, and classes."""

    def __init__(self, over):
        super().__init__()
        self.table, self.over, self.out = nn.Embedding([50, 16]), over, nn.Linear(16, 7)

    def forward(self, words):
        found = self.over(self.table(words))
        return self.out(found[0] if isinstance(found, tuple) else found)


def models():
    yield "MLP", nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 10)), f(5, 20)
    lenet = nn.Sequential(
        nn.Conv2D(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2D(2, 2), nn.Conv2D(6, 16, 5),
        nn.ReLU(), nn.MaxPool2D(2, 2), nn.Flatten(), nn.Linear(400, 10),
    )  # fmt: skip
    yield "LeNet", lenet, f(2, 1, 28, 28)
    yield (
        "ResNet",
        nn.Sequential(Block(3, 8), Block(8, 12), nn.Flatten(), nn.Linear(192, 4)),
        f(2, 3, 16, 16),
    )
    encoder = Words(nn.TransformerEncoderLayer(16, 2, 24, 0.0, "gelu"))
    yield "Transformer", encoder, RNG.integers(0, 50, (2, 9))
    yield "LSTM", Words(nn.LSTM(16, 16, time_major=True)), RNG.integers(0, 50, (6, 3))
    yield "GRU", Words(nn.GRU(16, 16, time_major=True)), RNG.integers(0, 50, (6, 3))


@pytest.fixture(scope="module")
def made_models(tmp_path_factory):
    """name -> (model as C, input, result); all compiled at once, with both sanitizers."""
    found = {}
    folder = tmp_path_factory.mktemp("models")
    running = []
    for i, (name, layer, x) in enumerate(models()):
        layer.eval()
        with dygraph.guard():
            want = layer(dygraph.to_variable(x)).numpy()
        made = codegen.emit_c(layer, [x], name=f"m{i}", embed=i == 0)
        stem = str(folder / f"m{i}")
        made.write(stem + ".c")
        x.tofile(stem + ".in")
        source = made.text + codegen.build.program(made, stem + ".weights")
        with open(stem + ".main.c", "w", encoding="utf-8") as file:
            file.write(source)
        command = ["gcc", *c_case.WARNINGS, "-O1", "-fsanitize=address,undefined",
                   "-fno-sanitize-recover", stem + ".main.c", "-o", stem, "-lm"]  # fmt: skip
        running.append(
            (name, stem, made, x, want, subprocess.Popen(command, stderr=subprocess.PIPE))
        )
    for name, stem, made, x, want, compiler in running:
        _, errors = compiler.communicate()
        assert compiler.returncode == 0, errors.decode()[:3000]
        found[name] = stem, made, x, want
    return found


@pytest.mark.parametrize("name", ["MLP", "LeNet", "ResNet", "Transformer", "LSTM", "GRU"])
def test_models_as_programs(made_models, name):
    stem, made, x, want = made_models[name]
    sizes = "x".join(map(str, x.shape))
    done = subprocess.run([stem, f"{stem}.in@{sizes}"], capture_output=True, check=False,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    got = np.frombuffer(done.stdout, "float32").reshape(want.shape)
    np.testing.assert_allclose(got, want, 1e-5, 1e-5)
    assert len(made.text) < 200_000 or not made.weights


def test_a_model_with_the_bits_of_the_executor():
    flags = {"FLAGS_cpu_level": 3, "FLAGS_kernel_library": "plain", "FLAGS_matrix_product": "own"}
    before = dygraph.get_flags(list(flags))
    dygraph.set_flags(flags)
    try:
        for name, layer, x in models():
            if name not in ("LeNet", "ResNet"):
                continue
            layer.eval()
            made = codegen.emit_c(layer, [x], exact=True, embed=False)
            _, traced = dygraph.jit.trace(layer, [dygraph.to_variable(x)])
            want = traced(dygraph.to_variable(x)).numpy()
            got = c_case.Library(made, ("-O1", "-mavx2", "-mfma")).run([x])[0][0]
            assert got.tobytes() == want.tobytes(), name
    finally:
        dygraph.set_flags(before)
