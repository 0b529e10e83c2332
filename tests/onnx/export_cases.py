"""The cases of tests/operators as programs, to export and to run in ONNX Runtime."""

import importlib.util
import sys
import unittest
from pathlib import Path

import numpy as np

import op_test
from dygraph import _core, static

ROOT = Path(__file__).parents[1]


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


_METHODS = "test_check_output", "test_auto_forward_float32"


def _below(kind):
    for sub in kind.__subclasses__():
        yield sub
        yield from _below(sub)


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
        self.name = f"{case.op_type} {type(case).__name__}"
        if open_sizes:
            for variable in self.program.global_block().vars.values():
                if variable.shape:
                    variable.desc.shape = [-1] * len(variable.shape)

    def inputs(self, prefix=""):
        """{name of an ONNX input: array}."""
        found = {}
        for name, variable in self.given.items():
            found[prefix + name] = variable.numpy()
            lod = _core.lod(variable)
            if lod:
                found[f"{prefix}{name}.lengths"] = np.diff(lod[-1]).astype("int64")
        return found

    def compare(self, outputs):
        """The first difference of {name of an ONNX output: array} from the executor's, or None."""
        for name, variable in zip(self.fetches, self.values, strict=True):
            got, want = outputs[name], variable.numpy()
            if got.shape != want.shape or got.dtype != want.dtype:
                return f"{name}: {got.dtype}{got.shape} for {want.dtype}{want.shape}"
            try:
                np.testing.assert_allclose(*op_test.wide(got, want), rtol=2e-5, atol=1e-5)
            except AssertionError as error:
                return f"{name}: {str(error).strip()[:300]}"
            lod = _core.lod(variable)
            if lod and f"{name}.lengths" in outputs:
                if outputs[f"{name}.lengths"].tolist() != np.diff(lod[-1]).tolist():
                    return f"{name}: other lengths"
        return None
