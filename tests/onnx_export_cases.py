"""The cases of tests/operators as programs, exported and run in ONNX Runtime.

``PYTHONPATH=tests python tests/onnx_export_cases.py --write`` writes docs/onnx_export.md, the table
of operators.
"""

import collections
import importlib.util
import sys
import unittest
from pathlib import Path

import numpy as np
import onnxruntime

import onnx
import op_test
from dygraph import _core, static
from dygraph.errors import UnimplementedError
from dygraph.onnx.exporting import supported, written

ROOT = Path(__file__).parent
_METHODS = "test_check_output", "test_auto_forward_float32"

onnxruntime.set_default_logger_severity(4)  # of shapes that differ from those a program knew


def all_cases():
    """A set-up case of each class below tests/operators."""
    for path in sorted((ROOT / "operators").glob("*/test_*.py")):
        name = "_".join(path.with_suffix("").relative_to(ROOT).parts)
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, path)
            sys.modules[name] = module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
    for kind in sorted(_below(op_test.OpTest), key=lambda k: (k.__module__, k.__qualname__)):
        method = next((m for m in _METHODS if getattr(kind, m, None)), None)
        if method is None:
            continue
        case = kind(method)
        try:
            case.setUp()
        except unittest.SkipTest:
            continue
        if case.op_type:
            yield case


def _below(kind):
    for sub in kind.__subclasses__():
        yield sub
        yield from _below(sub)


def case_of(type, inputs, attrs=None):
    """A case of arrays and attributes alone."""
    case = op_test.OpTest("check_output")
    case.op_type, case.inputs, case.attrs, case.outputs = type, inputs, attrs or {}, {}
    return case


class Recorded:
    """A case as a program, with its inputs and what the executor gives."""

    def __init__(self, case, open_sizes=False):
        recorder = _core.Recorder(lambda: "a case")
        given = op_test.cast(case.inputs, "float32") if case.supports("float32") else case.inputs
        run = case.run_slots(given, recorder=recorder)
        hidden = {s["name"] for s in case.info()["outputs"] if s["intermediate"] or s["extra"]}
        made = {
            n: v
            for n, v in run.results.items()
            if v.dtype is not None and n.split("[")[0] not in hidden
        }
        recording = recorder.finish(list(made.values()))
        self.program = static.Program(recording.program)
        self.feeds, self.fetches = list(recording.feeds), list(recording.fetches)
        self.given = {n: run.variables[n] for n in self.feeds}
        test = self.program.clone(for_test=True)
        prepared = _core.PreparedProgram(test.desc, _core.Scope(), self.feeds, self.fetches, None)
        self.values = prepared.run(list(self.given.values()), (7, 0))
        if open_sizes:
            for variable in self.program.global_block().vars.values():
                if variable.shape:
                    variable.desc.shape = [-1] * len(variable.shape)

    def difference(self, opset=20):
        """Export, check and run it: the first difference from the executor's values, or None.

        `nodes` holds the types of nodes after it.
        """
        exported = model_of(self.program, opset=opset, feeds=self.feeds, fetches=self.fetches)
        self.nodes = [node.op_type for node in exported.graph.node]
        outputs = run(exported, self.inputs())
        for name, variable in zip(self.fetches, self.values, strict=True):
            got, want = outputs[name], variable.numpy()
            if got.shape != want.shape or got.dtype != want.dtype:
                return f"{name}: {got.dtype}{got.shape} for {want.dtype}{want.shape}"
            try:
                np.testing.assert_allclose(*op_test.wide(got, want), rtol=2e-5, atol=1e-5)
            except AssertionError as error:
                return f"{name}: {str(error).strip()[:300]}"
            lod = _core.lod(variable)
            lengths = outputs.get(f"{name}.lengths")
            if lod and lengths is not None and lengths.tolist() != np.diff(lod[-1]).tolist():
                return f"{name}: lengths {lengths.tolist()} for {np.diff(lod[-1]).tolist()}"
        return None

    def inputs(self):
        """{name of an ONNX input: array}."""
        found = {}
        for name, variable in self.given.items():
            found[name] = variable.numpy()
            lod = _core.lod(variable)
            if lod:
                found[f"{name}.lengths"] = np.diff(lod[-1]).astype("int64")
        return found


def model_of(source, input_spec=None, opset=20, **options):
    """The checked ModelProto with its weights."""
    model, weights = written(source, input_spec, opset, **options)
    for name, array in weights.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.checker.check_model(model, full_check=True)
    return model


def session(model):
    """An ONNX Runtime session on one thread; of a ModelProto or a path."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    source = model if isinstance(model, str) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run(model, inputs):
    """{name: array} of a run on {name: array}, of which the model takes those it has."""
    runner = session(model)
    names = {i.name for i in runner.get_inputs()}
    results = runner.run(None, {n: a for n, a in inputs.items() if n in names})
    return dict(zip((o.name for o in runner.get_outputs()), results, strict=True))


# No output, and an output that holds nothing in test mode.
NOT_RUN = {
    ("assert", "TestAssert"),
    ("fake_channel_wise_quantize_abs_max", "TestChannels"),
    ("fake_channel_wise_quantize_abs_max", "TestRows"),
    ("fake_quantize_range_abs_max", "TestRange"),
}
# Blocks of a program: test_export_control.py.
ELSEWHERE = {
    "assert": "nothing: the model goes on",
    "conditional_block": "If",
    "conditional_block_infer": "If",
    "delete_var": "nothing",
    "lod_rank_table": "TopK",
    "fake_quantize_range_abs_max": "as fake_quantize_moving_average_abs_max",
    "recurrent": "Scan",
    "select_output": "nothing: all take the value",
    "tensor_array_to_tensor": "ConcatFromSequence",
    "while": "Loop",
}

X = np.array([[-2.5, -0.5, 0.0, 0.4], [0.5, 1.5, 2.5, -1.4]])
BOXES = np.cumsum(np.random.RandomState(3).uniform(0, 4, (2, 30, 4)), 2)[:, :, [0, 1, 3, 2]]
SCORES = np.random.RandomState(4).uniform(size=(2, 3, 30))
MORE = [
    *(
        ("multiclass_nms", {"BBoxes": BOXES, "Scores": SCORES}, attrs)
        for attrs in (
            {"nms_threshold": 0.4, "background_label": -1},
            {"nms_threshold": 0.2, "background_label": 1, "nms_top_k": 9, "keep_top_k": 5},
            {"score_threshold": 0.6, "keep_top_k": 0, "nms_top_k": 4},
        )
    ),
    ("multiclass_nms", {"BBoxes": BOXES, "Scores": SCORES}, {"score_threshold": 2.0}),
    ("multiclass_nms3", {"BBoxes": BOXES, "Scores": SCORES}, {"keep_top_k": 7}),
    *((type, {"X": X}, {}) for type in ("ceil", "floor", "round", "sign", "trunc")),
    ("clip_by_norm", {"X": X}, {"max_norm": 1.0}),
    ("clip_by_norm", {"X": X}, {"max_norm": 100.0}),
    (
        "check_finite_and_unscale",
        {"X": [("a", X), ("b", np.full_like(X, np.inf))], "Scale": np.array([4.0])},
        {},
    ),
    ("eye", {}, {"num_rows": 2, "num_columns": 3}),
    ("assign_value", {}, {"shape": [2], "dtype": 3, "int64_values": [4, -5]}),
    ("fill", {}, {"shape": [2, 1], "value": [1.5, 2.0]}),
    ("linspace", {"Start": np.array([1.0]), "Stop": np.array([2.0]), "Num": np.array([5])}, {}),
    ("range", {s: np.array([n]) for s, n in (("Start", 7), ("End", 0), ("Step", -3))}, {}),
    ("matrix_is_tall", {"X": X}, {}),
    ("tril_indices", {}, {"rows": 3, "cols": 4, "offset": 1}),
    ("triu_indices", {}, {"row": 3, "col": 4, "offset": -1}),
    ("fake_channel_wise_quantize_abs_max", {"X": X, "InScale": abs(X).max(1)}, {"is_test": True}),
]


def outcomes(cases, open_sizes=False, opset=20):
    """(operators whose cases pass, failures, [(type, name, why)] of those refused, nodes by
    operator)."""
    known, passed, failed, refused = set(supported()), collections.Counter(), [], []
    nodes = collections.defaultdict(set)
    for case in cases:
        name = type(case).__name__
        if case.op_type not in known or (case.op_type, name) in NOT_RUN:
            continue
        try:
            recorded = Recorded(case, open_sizes)
            difference = recorded.difference(opset)
            nodes[case.op_type].update(set(recorded.nodes) - {"Identity"})
        except UnimplementedError as error:
            refused.append((case.op_type, name, str(error)))
            continue
        except Exception as error:  # all failures are listed at once
            difference = f"{type(error).__name__} {error}"
        if difference:
            failed.append(f"{case.op_type} {name}: {difference}")
        else:
            passed[case.op_type] += 1
    return passed, failed, refused, nodes


PAGE = ROOT.parent / "docs" / "onnx_export.md"
HEAD = """# Operators that dygraph.onnx.export writes

`PYTHONPATH=tests python tests/onnx_export_cases.py --write` writes this page from the cases of
tests/operators, each of which is exported, checked and run in ONNX Runtime (opset 20). `onnx.md`
says how to export.

The second column has the ONNX operators of all cases of an operator together, those of other
opsets left out; "nothing" where a value is only handed on or is computed during the export.

{count} operators.

| operator | ONNX operators |
| --- | --- |
"""


def page(nodes):
    """The table of operators, from the nodes of their cases."""
    lines = []
    for type in supported():
        made = ELSEWHERE.get(type) or ", ".join(sorted(nodes[type])) or "nothing"
        lines.append(f"| `{type}` | {made} |")
    return HEAD.format(count=len(lines)) + "\n".join(lines) + "\n"


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    passed, failed, _, nodes = outcomes([*all_cases(), *(case_of(*one) for one in MORE)])
    PAGE.write_text(page(nodes), encoding="utf-8")
    print(f"{len(passed)} operators with cases, {sum(passed.values())} cases, failed: {failed}")
