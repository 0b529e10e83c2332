"""ONNX's own node tests through `dygraph.onnx.load`.

``python tests/onnx_node_tests.py`` prints the counts and each failure, ``--write`` writes the table
of docs/onnx_operators.md, ``NAME`` runs the tests whose name holds it.
"""

import collections
import dataclasses
import os
import pathlib
import sys
import warnings

import numpy as np
from onnx.backend.test.loader import load_model_tests

import dygraph
import dygraph.onnx
import onnx
from dygraph.errors import DygraphError

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "onnx_operators.md"
TYPES = set(
    "FLOAT DOUBLE INT64 INT32 INT16 INT8 UINT8 BOOL FLOAT16 BFLOAT16 COMPLEX64 COMPLEX128".split()
)
# What fails, by the beginning of its name, and why. A test that passes must not stand here.
REASONS = {
    "test_attention_": "one unit in the last place of a half type, rounded in another order",
    "test_bernoulli": "random: the test has the numbers that NumPy drew",
    "test_bitcast_": "no operator of the library reads bits as another type in a run",
    "test_dft_inverse": "the test expects the noise of float32, where the sum is 0",
    "test_image_decoder": "no rule: the library decodes no images",
    "test_roialign_mode_max": "RoiAlign has no maximum in the library",
    "test_training_dropout": "random: the test has the mask that NumPy drew",
    "test_ai_onnx_ml_tree_ensemble": "no rule for trees",
}


@dataclasses.dataclass
class Outcome:
    """What one test did: `given` names inputs that were constants of the program."""

    name: str
    operator: str
    given: tuple = ()
    error: str = ""
    eager_error: str = ""


def cases(part=""):
    """The tests whose types the library has, and the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    ours, others = [], []
    for case in found:
        if part not in case.name:
            continue
        model = case.model or onnx.load(os.path.join(case.model_dir, "model.onnx"))
        (ours if types_of(model.graph) <= TYPES else others).append(
            dataclasses.replace(case, model=model)
        )
    return ours, others


def types_of(graph):
    """The names of the element types that a graph has."""
    found, name = set(), onnx.TensorProto.DataType.Name
    for value in [*graph.input, *graph.output, *graph.value_info]:
        kind = value.type.WhichOneof("value")
        if kind == "tensor_type":
            found.add(name(value.type.tensor_type.elem_type))
        elif kind is not None:
            found.add(kind)
    found.update(name(tensor.data_type) for tensor in graph.initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == attribute.TENSOR:
                found.add(name(attribute.t.data_type))
            elif attribute.type == attribute.GRAPH:
                found |= types_of(attribute.g)
            elif node.op_type == "Cast" and attribute.name == "to":
                found.add(name(attribute.i))
    return found - {"UNDEFINED"}


def operator_of(model, name):
    """The operator that a test is about: the rarest name of its nodes that its name holds."""
    kinds = [node.op_type for node in model.graph.node]
    plain = name.removeprefix("test_").replace("_", "").lower()
    held = [kind for kind in kinds if plain.startswith(kind.lower())]
    return max(held, key=len) if held else kinds[-1] if len(set(kinds)) == 1 else ""


def array(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _steers(value):
    """Whether a value may be one that decides how a program looks, rather than its data."""
    value = np.asarray(value)
    return (
        value.size <= 1
        or value.size <= 16
        and value.dtype in (np.int64, np.int32)
        or (value.size <= 8 and value.ndim == 1)
    )


def run(case, eager=False):
    """The `Outcome` of one test, on the program; with `eager` on the layer as well."""
    outcome = Outcome(case.name, operator_of(case.model, case.name))
    names = [value.name for value in case.model.graph.input]
    for inputs, wanted in case.data_sets:
        inputs = dict(zip(names, map(array, inputs), strict=True))
        wanted = [np.asarray(array(value)) for value in wanted]
        try:
            try:
                loaded, found = _computed(case.model, inputs, {})
            except DygraphError:
                given = {name: v for name, v in inputs.items() if _steers(v)}
                if not given or outcome.operator == "BitCast":  # whose small input is the data
                    raise
                loaded, found = _computed(case.model, inputs, given)
                outcome.given = tuple(given)
            _compare(found, wanted, case)
        except (DygraphError, AssertionError) as error:
            outcome.error = f"{type(error).__name__}: {error}".split("\n")[0]
            return outcome
        if eager:
            try:
                results = loaded.layer(*[_variable(inputs[n]) for n in loaded.layer.input_names])
                results = results if isinstance(results, tuple) else (results,)
                _compare([r.numpy() for r in results], wanted, case)
            except (DygraphError, AssertionError) as error:
                outcome.eager_error = f"{type(error).__name__}: {error}"
    return outcome


def _variable(value):
    return dygraph.to_variable(np.asarray(value))


def _computed(model, inputs, values):
    loaded = dygraph.onnx.load(model, values=values)
    return loaded, loaded.run({name: _variable(inputs[name]) for name in loaded.feed_names})


def _compare(found, wanted, case):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        if str(b.dtype) == "bfloat16":
            b = b.astype("float32")
        assert (str(a.dtype), a.shape) == (str(b.dtype), b.shape), f"{a.dtype}{a.shape}"
        np.testing.assert_allclose(a, b, rtol=case.rtol, atol=case.atol)


def reason(name):
    """Why a test fails; None if it should pass."""
    return next((why for start, why in REASONS.items() if name.startswith(start)), None)


def all_outcomes(part="", eager_every=0):
    ours, others = cases(part)
    dygraph.seed(1)
    found = [run(c, eager_every and i % eager_every == 0) for i, c in enumerate(ours)]
    return found, len(others)


def page(outcomes, others):
    """The text of docs/onnx_operators.md."""
    passed = [o for o in outcomes if not o.error]
    failed = [o for o in outcomes if o.error]
    given = [o for o in passed if o.given]
    share = 100 * len(passed) / len(outcomes)
    text = [
        "# Operators that `dygraph.onnx.load` reads",
        "",
        "`python tests/onnx_node_tests.py --write` makes this page from the node tests of the",
        f"wheel `onnx` {onnx.__version__}; a test compares it.",
        "",
        "| tests | count |",
        "|---|---|",
        f"| found | {len(outcomes) + others} |",
        f"| of types that the library lacks: strings, sequences, optionals, float8, int4 and other "
        f"small types, uint16, uint32, uint64 | {others} |",
        f"| of types that it has | {len(outcomes)} |",
        f"| passed by the program, with ONNX's own tolerance | {len(passed)} ({share:.1f} %) |",
        f"| of these, with inputs such as axes or scales given by `values=` | {len(given)} |",
        f"| failed | {len(failed)} |",
        "",
        "## By operator",
        "",
        '"Given": tests in which small inputs, which steer the operator, were constants of the',
        "program (`values=`), since the library must know them when it describes one. In models",
        "they are constants. An operator of which ONNX has a body needs no rule: the body is read.",
        "",
        "| operator | tests | passed | given |",
        "|---|---|---|---|",
    ]
    rows = collections.defaultdict(lambda: [0, 0, 0])
    for o in outcomes:
        row = rows[o.operator or "(several)"]
        row[0] += 1
        row[1] += not o.error
        row[2] += bool(o.given) and not o.error
    text += [f"| {name} | {a} | {b} | {c or ''} |" for name, (a, b, c) in sorted(rows.items())]
    text += ["", "## Failed", "", "| test | why |", "|---|---|"]
    text += [f"| {o.name} | {reason(o.name) or o.error} |" for o in failed]
    return "\n".join(text) + "\n"


def main(arguments):
    write = "--write" in arguments
    part = next((a for a in arguments if not a.startswith("-")), "")
    outcomes, others = all_outcomes(part)
    failed = [o for o in outcomes if o.error]
    for o in failed:
        print(f"{o.name}: {reason(o.name) or '?'} ({o.error})")
    given = sum(bool(o.given) for o in outcomes if not o.error)
    print(
        f"{len(outcomes) + others} tests, {len(outcomes)} of types that the library has, "
        f"{len(outcomes) - len(failed)} passed ({given} with values given), {len(failed)} failed"
    )
    if write and not part:
        PAGE.write_text(page(outcomes, others))


if __name__ == "__main__":
    main(sys.argv[1:])
