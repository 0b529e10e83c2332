"""The cases of tests/operators as programs: many calls, each with inputs of its own, in one."""

import glob
import importlib.util
import inspect
import os
import sys

import numpy as np

import op_test
import op_values
from dygraph import _core, codegen, static

TESTS = os.path.dirname(os.path.abspath(__file__))


def classes_of(family):
    """OpTest classes of a family's files, in the order of their names."""
    found = []
    for path in sorted(glob.glob(os.path.join(TESTS, "operators", family, "test_*.py"))):
        name = f"codegen_case_{family}_{os.path.basename(path)[:-3]}"
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        sys.path.insert(0, os.path.dirname(path))
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.pop(0)
        for _, cls in sorted(inspect.getmembers(module, inspect.isclass)):
            if issubclass(cls, op_test.OpTest) and cls is not op_test.OpTest:
                if cls.__module__ == name or "op_case" in cls.__module__:
                    found.append(cls)
    return list(dict.fromkeys(found))


# What an inference program does not read and no C file writes.
UNREAD = {"XShape", "MeanOut", "VarianceOut", "SavedMean", "SavedVariance", "Mask", "MidOut"}


class Case:
    """One call with inputs of an element type."""

    def __init__(self, cls, dtype):
        case = cls()
        case.setUp()
        self.name, self.case, self.dtype = cls.__name__, case, dtype
        self.type = case.op_type
        self.inputs = op_test.cast(case.inputs, dtype)

    def call(self, recorder, prefix):
        """Runs it while the recorder records; ({input name: entry}, results)."""
        case, variables, slots = self.case, {}, {}
        for slot, value in self.inputs.items():
            names = op_test.entries({slot: value})
            for name, entry in names.items():
                array, lod = op_test.split_lod(entry)
                v = _core.to_variable(np.asarray(array), lod=lod)
                recorder.add_feed(v, prefix + name)
                variables[prefix + name] = (np.asarray(array), lod or [], v)
            some = [variables[prefix + n][2] for n in names]
            slots[slot] = some if isinstance(value, list) else some[0]
        declared = case.info()
        extra = {s["name"] for s in declared["outputs"] if s["extra"]}
        lists = {s["name"] for s in declared["outputs"] if s["duplicable"]}
        wanted = case.outputs
        counts = {s: len(v) for s, v in wanted.items() if s in lists and isinstance(v, list)}
        counts.update({s: 1 for s, v in wanted.items() if s in extra and s not in counts})
        recorder.start()
        try:
            given = op_values.bound(case, slots)
            results = _core.run_op(case.op_type, given, case.call_attrs(), counts)
            results = op_values.unbound(case, results)
        finally:
            recorder.stop()
        flat = []
        unread = {s["name"] for s in declared["outputs"] if s["intermediate"] or s["extra"]}
        for slot, value in results.items():
            if slot in unread or slot in UNREAD:
                continue
            for v in value if isinstance(value, list) else [value]:
                if v is not None and v.dtype is not None:
                    flat.append(v)
        self.results = len(flat)
        return variables, flat


def record(cases):
    """(program, feeds by name, expected results) of calls one behind the other."""
    recorder = _core.Recorder(lambda: "cases")
    feeds, results, held = {}, [], []
    for i, case in enumerate(cases):
        variables, found = case.call(recorder, f"{i}.")
        feeds.update(variables)
        held.append(variables)
        results += found
    recording = recorder.finish(list(results))
    return static.Program(recording.program), recording, feeds, results


def emitted(cases, **options):
    program, recording, feeds, results = record(cases)
    made = codegen.emit_c(
        program, scope=static.Scope(), feeds=recording.feeds, fetches=recording.fetches, **options
    )
    given = [feeds[n][:2] for n in recording.feeds]
    return made, given, lambda: executed(program, recording, feeds, results)


def executed(program, recording, feeds, results):
    """What the Executor gives for the program as inference runs it."""
    test = program.clone(for_test=True)
    prepared = _core.PreparedProgram(
        test.desc, static.Scope(), recording.feeds, recording.fetches, None
    )
    return prepared.run([feeds[n][2] for n in recording.feeds], (7, 0))


class Direct:
    """A call without an OpTest case: inputs by slot, attributes, outputs that are compared."""

    def __init__(self, op_type, inputs, attrs=None, outputs=("Out",), counts=None):
        self.name = self.type = op_type
        self.given, self.attrs, self.outputs = inputs, attrs or {}, outputs
        self.counts, self.results = counts or {}, len(outputs)

    def call(self, recorder, prefix):
        variables, slots = {}, {}
        for slot, value in self.given.items():
            arrays = value if isinstance(value, list) else [value]
            made = []
            for i, array in enumerate(arrays):
                v = _core.to_variable(array)
                recorder.add_feed(v, f"{prefix}{slot}{i}")
                variables[f"{prefix}{slot}{i}"] = (array, [], v)
                made.append(v)
            slots[slot] = made if isinstance(value, list) else made[0]
        recorder.start()
        try:
            results = _core.run_op(self.type, slots, self.attrs, self.counts)
        finally:
            recorder.stop()
        flat = []
        for slot in self.outputs:
            value = results[slot]
            flat += value if isinstance(value, list) else [value]
        self.results = len(flat)
        return variables, flat


def direct_calls():
    """Calls of operators whose tests elsewhere are no OpTest cases, and larger sizes of others."""
    rng = np.random.default_rng(7)

    def r(*shape, dtype="float32"):
        return rng.normal(size=shape).astype(dtype)

    calls = [Direct(op, {"X": r(3, 5) * 4}) for op in ("floor", "ceil", "round", "sign", "trunc")]
    calls += [
        Direct("atan2", {"X1": r(4), "X2": r(4)}),
        Direct("eye", {}, {"num_rows": 2, "num_columns": 3}),
        Direct("assign_value", {}, {"shape": [2], "fp32_values": [0.5, -1.0]}),
        Direct("range", {"Start": np.array([1], "int64"), "End": np.array([9], "int64"),
                         "Step": np.array([3], "int64")}),
        Direct("dropout", {"X": r(3, 4)}, {"is_test": True, "dropout_prob": 0.25}),
        Direct("depthwise_conv2d", {"Input": r(2, 4, 6, 6), "Filter": r(4, 1, 3, 3)},
               {"groups": 4, "paddings": [1, 1]}, ("Output",)),
    ]  # fmt: skip
    for dtype in ("float32", "float64"):
        for op in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min"):
            for shape, dim in (((3, 5000), [1]), ((700, 30), [0]), ((6, 5, 4, 3), [1, 3])):
                calls.append(Direct(op, {"X": r(*shape, dtype=dtype)}, {"dim": dim}))
        for m, k, n in ((3, 700, 1), (1, 301, 7), (5, 600, 70), (50, 50, 50)):
            for tx in (False, True):
                # sums of the size of a number, as a network's weights give them
                x = r(*((k, m) if tx else (m, k)), dtype=dtype)
                attrs = {"trans_x": tx, "trans_y": False}
                calls.append(
                    Direct("matmul_v2", {"X": x, "Y": r(k, n, dtype=dtype) / k**0.5}, attrs)
                )
        parts = {"X": r(5, 600, dtype=dtype), "Y": r(600, 9, dtype=dtype) / 25}
        calls.append(Direct("matmul", parts, {"alpha": 0.3}))
        for shape, axis in (((40, 300), 1), ((3, 40, 17), 1), ((100, 3), 1)):
            for op in ("softmax", "log_softmax"):
                calls.append(Direct(op, {"X": r(*shape, dtype=dtype)}, {"axis": axis}))
        for n in (5, 77, 6000):
            parts = {
                "X": r(9, n, dtype=dtype),
                "Scale": r(n, dtype=dtype),
                "Bias": r(n, dtype=dtype),
            }
            calls.append(Direct("layer_norm", parts, {}, ("Y",)))
        for c, o, size, stride, groups in ((3, 6, 5, 1, 1), (8, 4, 3, 2, 2), (64, 9, 1, 1, 1)):
            calls.append(
                Direct("conv2d", {"Input": r(2, c, 13, 13, dtype=dtype),
                                  "Filter": r(o, c // groups, size, size, dtype=dtype)},
                       {"strides": [stride] * 2, "groups": groups}, ("Output",))
            )  # fmt: skip
        wide = np.concatenate([r(900), r(300) * 30, [0, -0.0, np.inf, -np.inf, np.nan]]).astype(
            dtype
        )
        for op in ("exp", "log", "tanh", "sigmoid", "erf", "gelu", "silu", "log1p", "mish", "expm1",
                   "swish", "elu"):  # fmt: skip
            calls.append(Direct(op, {"X": wide}))
    return calls + _of_sequences(r)


def _of_sequences(r):
    """Attention in several blocks of scores and heads, recurrent layers wider than a tile."""
    calls = []
    for queries, keys, heads, attrs in ((7, 300, 2, {}), (300, 300, 1, {"is_causal": True})):
        parts = {"Query": r(2, queries, 40), "Key": r(2, keys, 40), "Value": r(2, keys, 40)}
        attrs = {**attrs, "num_heads": heads, "is_test": True}
        calls.append(Direct("scaled_dot_product_attention", parts, attrs))
    for mode, gates in (("LSTM", 4), ("GRU", 3), ("RNN_TANH", 1)):
        d, layers = 40, 2
        weights = [r(gates * d, n) * 0.3 for n in (24, d, d, d)]
        weights += [r(gates * d) for _ in range(2 * layers)]
        states = [r(layers, 5, d) for _ in range(2 if mode == "LSTM" else 1)]
        attrs = {"mode": mode, "hidden_size": d, "input_size": 24, "num_layers": layers,
                 "is_test": True}  # fmt: skip
        given = {"Input": r(6, 5, 24), "PreState": states, "WeightList": weights}
        calls.append(Direct("rnn", given, attrs, ("Out", "State"), {"State": len(states)}))
    return calls
