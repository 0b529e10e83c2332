"""Every operator that has C text, by the cases of tests/operators, beside the Executor.

All cases stand in one C file: one run of the compiler serves the results within 1e-5, another one
those with the Executor's bits.
"""

import os
import warnings

import numpy as np
import pytest

import c_case
import c_programs as cases
import dygraph
from dygraph import _core, codegen, static
from dygraph.codegen import emitter, registry, source

FAMILIES = (
    "activation", "arithmetic", "control", "conv", "create", "index", "linear", "loss", "metric",
    "norm", "recurrent", "reduce", "sequence", "shape",
)  # fmt: skip
# Cases of one operator that are compared; the first ones of a file say most.
MOST = {"float32": 2, "float64": 1}
# Supported operators without a case of their own, and what runs them.
ELSEWHERE = {
    "select_output": "IfElse and cond of test_control.py", "while": "test_control.py",
    "conditional_block": "test_control.py",
    "conditional_block_infer": "test_control.py", "recurrent": "test_control.py",
    "merge_lod_tensor_infer": "the same text as merge_lod_tensor",
}  # fmt: skip
# At run time a status says that two levels of detail are not taken here.
LEFT_OUT = {
    "TestLodTensorToArrayTwoLevels",
    "TestArrayToLodTensorTwoLevels",
    "TestReorderTwoLevels",
}
FLAGS = {"FLAGS_cpu_level": 3, "FLAGS_kernel_library": "plain", "FLAGS_matrix_product": "own"}


def supported(case, exact):
    program, recording, _, _ = cases.record([case])
    model = source.model_of(program, None, static.Scope(), recording.feeds, recording.fetches, None)
    made = emitter.Emitter(model, "net", exact)
    try:
        made.text()
    except dygraph.errors.UnimplementedError:
        return None
    return {op.type for op in model.ops[0]}


@pytest.fixture(scope="module")
def all_cases():
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for family in FAMILIES:
            counts = {}
            for cls in cases.classes_of(family):
                if cls.__name__ in LEFT_OUT:
                    continue
                for dtype in ("float32", "float64"):
                    made = cases.Case(cls, dtype)
                    if made.type not in registry.OPERATORS:
                        break
                    key = made.type, dtype
                    if counts.get(key, 0) >= MOST[dtype]:
                        continue
                    try:
                        types = supported(made, False)
                    except (ValueError, TypeError, KeyError, RuntimeError):
                        continue  # no program of this call
                    if types:
                        counts[key] = counts.get(key, 0) + 1
                        found.append(made)
    return found + cases.direct_calls()


def compare(chosen, exact, flags):
    made, feeds, executed = cases.emitted(chosen, exact=exact)
    want = executed()
    got = c_case.Library(made, flags).run(feeds)
    names = [c.name for c in chosen for _ in range(c.results)]
    assert len(names) == len(got) == len(want)
    for name, (array, lod), variable in zip(names, got, want, strict=True):
        expected = variable.numpy()
        assert (array.shape, array.dtype) == (expected.shape, expected.dtype), name
        assert lod == [list(level) for level in _core.lod(variable)], name
        if exact:
            same = (array == expected) | ((array != array) & (expected != expected))
            assert same.all(), f"{name}: {(~same).sum()} of {same.size} have other bits"
        elif array.dtype.kind == "f":
            tolerance = 1e-5 if array.dtype == np.float32 else 1e-9
            np.testing.assert_allclose(array, expected, tolerance, tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(array, expected, err_msg=name)


def test_all_operators_are_close(all_cases):
    compare(all_cases, False, ("-O1",))


def test_operators_with_the_same_bits(all_cases):
    before = dygraph.get_flags(list(FLAGS))
    dygraph.set_flags(FLAGS)
    try:
        compare([c for c in all_cases if supported(c, True)], True, ("-O1", "-mavx2", "-mfma"))
    finally:
        dygraph.set_flags(before)


def test_every_supported_operator_has_a_case(all_cases):
    run = {c.type for c in all_cases}
    for c in all_cases:
        run |= supported(c, False)
    missing = set(registry.OPERATORS) - run - set(ELSEWHERE)
    assert not missing, " ".join(sorted(missing))


def test_the_table_in_the_docs_is_the_code():
    path = os.path.join(cases.TESTS, "..", "docs", "c_file.md")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    begin, end = "<!-- operators -->\n", "<!-- end of operators -->"
    assert text[text.index(begin) + len(begin) : text.index(end)] == codegen.registry.table_text()
