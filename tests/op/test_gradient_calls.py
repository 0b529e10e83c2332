"""Gradient operators called by name, or by a program: what does not follow from a forward call is
refused before a kernel runs.

Without the refusal each of these calls reads or writes outside of its arrays, or ends the process.
"""

import re

import numpy as np
import pytest

from dygraph import _core, errors, static


def array(*shape, dtype="float64"):
    return _core.to_variable(np.ones(shape, dtype))


def variables(slots):
    def one(v):
        if isinstance(v, np.ndarray):
            return _core.to_variable(v)
        return array(*v)

    return {s: [one(x) for x in v] if isinstance(v, list) else one(v) for s, v in slots.items()}


BATCH_NORM = {
    "X": (2, 3, 4), "Scale": (3,), "SavedMean": (3,), "SavedVariance": (3,), "Y@GRAD": (2, 3, 4),
}  # fmt: skip
BATCH_NORM_2 = {**BATCH_NORM, "X@GRAD@GRAD": (2, 3, 4), "Scale@GRAD@GRAD": (3,),
                "Bias@GRAD@GRAD": (3,)}  # fmt: skip
MASK = np.array([[True, False], [True, True]])
EXTREME = {"X": (2, 3), "Out": (2,), "X@GRAD@GRAD": (2, 3)}
LIST = [(2, 3), (1, 3)]

# operator: (sound inputs, attributes, [(slot, what it holds instead)])
CALLS = {
    "batch_norm_grad": (BATCH_NORM, {}, [
        ("Scale", (1,)), ("SavedMean", (2,)), ("SavedVariance", ()), ("Y@GRAD", (2, 3, 3)),
        ("Y@GRAD", ()), ("X", (2, 1000, 4)), ("X", (2,)),
    ]),
    "batch_norm_grad_grad": (BATCH_NORM_2, {}, [
        ("Scale", (1,)), ("SavedMean", (2,)), ("SavedVariance", ()), ("Y@GRAD", (2,)),
        ("X@GRAD@GRAD", (1,)), ("Scale@GRAD@GRAD", ()), ("Bias@GRAD@GRAD", (2,)),
        ("X", (2, 1000, 4)), ("X", ()),
    ]),
    "fused_batch_norm_act_grad": ({**BATCH_NORM, "Y": (2, 3, 4)}, {}, [
        ("Y", (2, 3)), ("Scale", (1,)), ("SavedMean", ()), ("SavedVariance", (2,)),
        ("Y@GRAD", (1,)), ("X", (2, 1000, 4)),
    ]),
    "fused_bn_add_activation_grad": ({**BATCH_NORM, "Y": (2, 3, 4)}, {}, [
        ("Y", (2, 3)), ("Scale", (1,)), ("SavedMean", ()), ("SavedVariance", (2,)),
        ("Y@GRAD", (1,)), ("X", (2, 1000, 4)),
    ]),
    "conv2d_grad": (
        {"Input": (1, 2, 5, 5), "Filter": (4, 2, 3, 3), "Bias": (4,), "Output@GRAD": (1, 4, 3, 3)},
        {}, [
            ("Output@GRAD", (1, 4, 1, 1)), ("Output@GRAD", ()), ("Output@GRAD", (1, 1, 3, 3)),
            ("Input", (9, 2, 5, 5)), ("Filter", (40, 2, 3, 3)), ("Bias", (1,)), ("Bias", (400,)),
        ]),
    "depthwise_conv2d_grad": (
        {"Input": (1, 2, 5, 5), "Filter": (2, 1, 3, 3), "Bias": (2,), "Output@GRAD": (1, 2, 3, 3)},
        {"groups": 2}, [
            ("Output@GRAD", (1, 2, 1, 1)), ("Output@GRAD", ()), ("Input", (9, 2, 5, 5)),
        ]),
    "conv3d_grad": (
        {"Input": (1, 2, 3, 5, 5), "Filter": (4, 2, 3, 3, 3), "Output@GRAD": (1, 4, 1, 3, 3)}, {},
        [("Output@GRAD", (1, 4, 1, 1, 1)), ("Output@GRAD", (4,)), ("Input", (9, 2, 3, 5, 5))]),
    "reduce_max_grad_grad": (EXTREME, {"dim": [1]}, [
        ("Out", ()), ("Out", (1,)), ("X@GRAD@GRAD", (2, 1)), ("X", (200, 300)),
    ]),
    "reduce_min_grad_grad": (EXTREME, {"dim": [1]}, [
        ("Out", ()), ("Out", (1,)), ("X@GRAD@GRAD", (2, 1)), ("X", (200, 300)),
    ]),
    "concat_grad_grad": ({"X": LIST, "X@GRAD@GRAD": LIST}, {}, [
        ("X@GRAD@GRAD", [(2, 3)]), ("X@GRAD@GRAD", [(2, 3), (1, 3), (1, 3)]),
        ("X@GRAD@GRAD", [(1, 3), (2, 3)]),
        ("X@GRAD@GRAD", [np.ones((2, 3), "float32"), np.ones((1, 3), "float32")]),
        ("X@GRAD@GRAD", [np.ones((2, 3), "int8"), np.ones((1, 3), "int8")]),
    ]),
    "masked_select_grad": ({"X": (2, 2), "Mask": MASK, "Y@GRAD": (3,)}, {}, [
        ("Y@GRAD", (2,)), ("Y@GRAD", ()), ("Y@GRAD", (3, 1)),
        ("Y@GRAD", np.ones(3, "float32")), ("X", np.ones((2, 2), "float32")),
        ("X", np.ones((2, 2), "int8")),
    ]),
    "unstack_grad": ({"X": (2, 3), "Y@GRAD": [(3,), (3,)]}, {}, [
        ("Y@GRAD", [(3,)]), ("Y@GRAD", [(3,)] * 3), ("Y@GRAD", [(3,), (1,)]),
        ("Y@GRAD", [np.ones(3, "int8"), np.ones(3, "int8")]),
        ("Y@GRAD", [np.ones(3), np.ones(3, "float32")]),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("operator", CALLS)
def test_calls_by_name(operator):
    sound, attrs, changes = CALLS[operator]
    _core.run_op(operator, variables(sound), attrs)
    for slot, wrong in changes:
        inputs = variables({**sound, slot: wrong})
        with pytest.raises((ValueError, TypeError, IndexError), match=f"^{operator}: ") as caught:
            _core.run_op(operator, inputs, attrs)
        assert isinstance(caught.value, errors.DygraphError)


@pytest.mark.parametrize("operator", CALLS)
def test_calls_of_a_program(operator):
    sound, attrs, changes = CALLS[operator]
    outputs = [s["name"] for s in _core.describe_op(operator)["outputs"] if not s["duplicable"]]

    def run(slots):
        program = static.Program()
        block, feed, names = program.global_block(), {}, {}
        for slot, values in variables(slots).items():
            names[slot] = []
            for i, v in enumerate(values if isinstance(values, list) else [values]):
                name = f"{slot}_{i}"
                block.create_var(name=name, shape=[-1] * v.ndim, dtype=v.dtype.name)
                names[slot].append(name)
                feed[name] = v.numpy()
        for name in outputs:
            block.create_var(name=f"to_{name}")
        block.append_op(
            operator, inputs=names, outputs={n: [f"to_{n}"] for n in outputs}, attrs=attrs
        )
        exe = static.Executor()
        return exe.run(program, feed=feed, fetch_list=[f"to_{n}" for n in outputs])

    run(sound)
    for slot, wrong in changes:
        with pytest.raises((ValueError, TypeError, IndexError), match=operator) as caught:
            run({**sound, slot: wrong})
        assert isinstance(caught.value, errors.DygraphError)


def test_the_message_says_what_the_forward_call_gives():
    inputs = {**BATCH_NORM, "Y@GRAD": (2, 3, 3)}
    text = "Input(Y@GRAD) must have the shape of Y, [2, 3, 4], got [2, 3, 3]"
    with pytest.raises(ValueError, match=re.escape(text)):
        _core.run_op("batch_norm_grad", variables(inputs))
    text = "Input(Y@GRAD) must be one for each Y of the forward call, 2, got 3"
    with pytest.raises(ValueError, match=re.escape(text)):
        _core.run_op("unstack_grad", variables({"X": (2, 3), "Y@GRAD": [(3,)] * 3}))
    text = "Input(Y@GRAD) must have the element type of Y, float64, got float32"
    wrong = {"X": (2, 2), "Mask": MASK, "Y@GRAD": np.ones(3, "float32")}
    with pytest.raises(TypeError, match=re.escape(text)):
        _core.run_op("masked_select_grad", variables(wrong))


@pytest.mark.parametrize("count", [1, 3, 17])
def test_lists_of_results_are_as_long_as_what_they_belong_to(count):
    inputs = variables({"X": LIST, "Out@GRAD": (3, 3)})
    results = _core.run_op("concat_grad", inputs, {}, {"X@GRAD": 2})["X@GRAD"]
    assert [tuple(g.shape) for g in results] == LIST
    text = f"Output(X@GRAD) must be one for each X of the forward call, 2, got {count}"
    with pytest.raises(ValueError, match=re.escape(text)):
        _core.run_op("concat_grad", inputs, {}, {"X@GRAD": count})


@pytest.mark.parametrize("states", [2, 17])
def test_rnn_has_as_many_states_as_its_mode(states):
    inputs = variables({
        "Input": (3, 2, 2), "PreState": [(1, 2, 2)],
        "WeightList": [(6, 2), (6, 2), (6,), (6,)],
    })  # fmt: skip
    attrs = {"mode": "GRU", "input_size": 2, "hidden_size": 2, "num_layers": 1}
    assert len(_core.run_op("rnn", inputs, attrs)["State"]) == 1
    with pytest.raises(
        ValueError, match=f"rnn: State must hold 1 tensors .* got a request for {states}"
    ):
        _core.run_op("rnn", inputs, attrs, {"State": states})


def test_errors_of_the_standard_library_are_typed():
    """Sizes that no memory holds, in operators that make tables of them."""
    huge = _core.to_variable(np.zeros((0, 2**40), "float32"))
    ids = _core.to_variable(np.zeros((0,), "int64"))
    crop = {"X": array(2, 4, 4), "Seed": ids}
    with pytest.raises(
        ValueError, match=r"random_crop: Seed must hold one integer, got shape \[0\]"
    ):
        _core.run_op("random_crop", crop, {"shape": [2, 2]})
    out = _core.run_op("add_position_encoding", {"X": _core.to_variable(
        np.zeros((0, 3, 2**40), "float32"))})["Out"]  # fmt: skip
    assert tuple(out.shape) == (0, 3, 2**40)
    wide = [_core.to_variable(np.zeros(2**20, "float32")) for _ in range(4)]
    inputs = {"X": huge, "Scale": wide[0], "SavedMean": wide[1], "SavedVariance": wide[2],
              "Y@GRAD": huge}  # fmt: skip
    with pytest.raises(ValueError, match="batch_norm_grad: "):
        _core.run_op("batch_norm_grad", inputs)


def test_small_hostile_calls_end_soon():
    empty = _core.to_variable(np.zeros((0, 2**40), "float32"))
    empty.stop_gradient = False
    out = _core.run_op("argsort", {"X": empty}, {"axis": 0})["Out"]
    _core.backward([out], [], False, False)
    weight = variables({"Weight": (3, 2), "U": (3,), "V": (2,)})
    with pytest.raises(ValueError, match=r"power_iters .* got 2147483647"):
        _core.run_op("spectral_norm", weight, {"power_iters": 2**31 - 1})
