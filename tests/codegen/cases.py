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

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


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
