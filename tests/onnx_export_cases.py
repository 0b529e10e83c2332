"""The cases of tests/operators as programs, exported and run in ONNX Runtime."""

import importlib.util
import sys
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

import op_test
from dygraph import _core, static
from dygraph.onnx.exporting import written

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
        """Export, check and run it: the first difference from the executor's values, or None."""
        exported = model_of(self.program, opset=opset, feeds=self.feeds, fetches=self.fetches)
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
