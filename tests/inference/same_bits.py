"""Operators and models run every way there is, and the bits that come out.

The cases are those of tests/operators. `python tests/inference/test_same_bits.py --write` writes
the tables of docs/same_bits.md.
"""

import os
import tempfile
import unittest

import numpy as np

import c_case
import c_programs
import dygraph
import op_contract
from dygraph import _core, codegen, inference, nn, static
from dygraph import ops as F
from dygraph.errors import UnimplementedError
from dygraph.static import passes

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(TESTS, "..", "docs", "same_bits.md")
FAMILIES = sorted(
    f for f in os.listdir(os.path.join(TESTS, "operators"))
    if os.path.isdir(os.path.join(TESTS, "operators", f)) and not f.startswith("_")
)  # fmt: skip
PER_OPERATOR = 1
# In test mode they need values that their cases do not give.
LEFT_OUT = {"fake_channel_wise_quantize_abs_max", "fake_quantize_range_abs_max"}
RUNS = 4  # of a compiled program: the first ones only note sizes


def digest(variable):
    array = variable.numpy()
    return array.dtype.str, array.shape, array.tobytes(), [list(o) for o in _core.lod(variable)]


def cases_of(family):
    """Cases of the family's operators that draw nothing and can be recorded, with recordings."""
    counts, found = {}, []
    for cls in c_programs.classes_of(family):
        try:
            case = c_programs.Case(cls, "float32")
            if case.type in LEFT_OUT or case.case.info()["random"]:
                continue
            if counts.get(case.type, 0) >= PER_OPERATOR:
                continue
            recorded = c_programs.record([case])
        except (*op_contract.TYPED, unittest.SkipTest):
            continue  # a case that makes no call of its own
        if recorded[3]:
            counts[case.type] = counts.get(case.type, 0) + 1
            found.append((case, *recorded))
    return found


def prepared(desc, recording):
    return _core.PreparedProgram(desc, static.Scope(), recording.feeds, recording.fetches, None)


def ways_of(program, recording, feeds, results):
    """The bits of each result by the name of the way."""
    given = [feeds[name][2] for name in recording.feeds]
    ways = {"eager": [digest(v) for v in results]}
    ways["Executor"] = [digest(v) for v in prepared(program.desc, recording).run(given)]
    compiled = prepared(passes.keep_bits(program.desc, recording.fetches), recording)
    compiled.plan_memory()
    for _ in range(RUNS):
        ways["compiled"] = [digest(v) for v in compiled.run(given)]
    return ways


def by_predictor(program, recording, feeds):
    """The bits of the saved model, which is in test mode, by the Executor and by the Predictor."""
    given = [feeds[name][2] for name in recording.feeds]
    with tempfile.TemporaryDirectory() as folder:
        test, scope = program.clone(for_test=True), static.Scope()
        targets = [test.global_block().var(name) for name in recording.fetches]
        static.save_inference_model(folder, recording.feeds, targets, None, test, scope=scope)
        loaded, names, fetches = static.load_inference_model(folder, scope=scope)
        values = dict(zip(recording.feeds, given, strict=True))
        values = {name: values[name] for name in names}
        want = static.Executor().run(loaded, values, fetches, scope=scope, return_numpy=False)
        predictor = inference.Predictor(folder)
        for _ in range(RUNS):  # as it comes, noted, planned
            got = predictor.run(values, return_numpy=False)
    return [digest(v) for v in want], [digest(v) for v in got]


def compare(family):
    """How many operators give equal bits; raises where some differ."""
    types = set()
    for case, *recorded in cases_of(family):
        for way, bits in ways_of(*recorded).items():
            assert bits == [digest(v) for v in recorded[3]], f"{case.name}: {way}"
        want, got = by_predictor(*recorded[:3])
        assert got == want, f"{case.name}: predictor"
        types.add(case.type)
    return len(types)


# Models -------------------------------------------------------------------------------------------

# With these flags a C file has the Executor's bits: its kernels are our own, on AVX2 and FMA.
OWN = {"FLAGS_cpu_level": 3, "FLAGS_kernel_library": "plain", "FLAGS_matrix_product": "own"}


class Residual(dygraph.Layer):
    def __init__(self, channels):
        super().__init__()
        self.conv, self.norm = nn.Conv2D(channels, channels, 3, padding=1), nn.BatchNorm2D(channels)

    def forward(self, x):
        return F.relu(x + self.norm(self.conv(x)))


class Sentences(dygraph.Layer):
    """The last state of an LSTM over words, in batches without padding."""

    def __init__(self):
        super().__init__()
        self.table, self.lstm, self.out = nn.Embedding([50, 8]), nn.LSTM(8, 12), nn.Linear(12, 3)

    def forward(self, words):
        return self.out(self.lstm(self.table(words))[1][0][0])


class Halved(dygraph.Layer):
    """A loop that ends when the data say so."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        while (y * y).sum() > 1.0:
            y = y * 0.5
        return y


def numbers(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype("float32")


def models():
    """(name, layer, input, its offsets)"""
    yield "MLP", nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 10)), numbers(5, 20), []
    lenet = nn.Sequential(
        nn.Conv2D(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2D(2, 2), nn.Conv2D(6, 16, 5),
        nn.ReLU(), nn.MaxPool2D(2, 2), nn.Flatten(), nn.Linear(400, 10), nn.Softmax(),
    )  # fmt: skip
    yield "LeNet", lenet, numbers(2, 1, 28, 28), []
    residual = nn.Sequential(nn.Conv2D(3, 8, 3), Residual(8), Residual(8), nn.Flatten())
    yield "ResNet", residual, numbers(2, 3, 10, 10), []
    yield "Transformer", nn.TransformerEncoderLayer(16, 2, 24, 0.0, "gelu"), numbers(2, 9, 16), []
    words = np.random.default_rng(3).integers(0, 50, 9)
    yield "LSTM of sentences", Sentences(), words, [[0, 2, 6, 9]]
    yield "loop", Halved(), numbers(3, 4) * 9, []


def model_ways(layer, array, lod, folder):
    """{way: bits} of a layer; "C" is missing where a program cannot be written with these bits."""
    layer.eval()
    x = dygraph.to_variable(array, lod=lod)
    with dygraph.no_grad():
        ways = {"eager": [digest(layer(x))]}
        if isinstance(layer, Halved):
            dygraph.jit.save(layer, folder, [x])
        else:
            dygraph.jit.trace(layer, [x])[1].save_inference_model(folder)
    scope = static.Scope()
    program, (feed,), fetches = static.load_inference_model(folder, scope=scope)
    for way, runs in (("Executor", program), ("compiled", static.CompiledProgram(program))):
        executor = static.Executor()
        for _ in range(RUNS):
            got = executor.run(runs, {feed: x}, fetches, scope=scope, return_numpy=False)
        ways[way] = [digest(v) for v in got]
    predictor = inference.Predictor(folder)
    for _ in range(RUNS):
        got = predictor.run([x], return_numpy=False)
    ways["Predictor"] = [digest(v) for v in got]
    try:
        made = codegen.emit_c(folder, exact=True, embed=False)
    except UnimplementedError:
        return ways
    library = c_case.Library(made, ("-O1", "-mavx2", "-mfma"))
    ways["C"] = [
        (a.dtype.str, a.shape, a.tobytes(), offsets) for a, offsets in library.run([(array, lod)])
    ]
    return ways


# The page -----------------------------------------------------------------------------------------

BEGIN, END = "<!-- counts -->\n", "<!-- end of counts -->"


def written(counts, ways):
    """The page's tables."""
    lines = ["| family | operators |", "|---|---|"]
    lines += [f"| {family} | {count} |" for family, count in counts.items()]
    lines += [f"| together | {sum(counts.values())} |", ""]
    names = ["eager", "Executor", "compiled", "Predictor", "C"]
    lines += ["| model | ways with equal bits |", "|---|---|"]
    lines += [
        f"| {m} | {', '.join(n for n in names if found.get(n) == found['eager'])} |"
        for m, found in ways.items()
    ]
    return "\n".join(lines) + "\n"
