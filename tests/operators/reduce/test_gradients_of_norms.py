"""Gradient operators of normalisations check their inputs, since programs may be untrusted."""

import numpy as np
import pytest

from dygraph import _core

X = np.zeros((2, 4, 3))
ROWS, CHANNELS, GROUPS = (2,), (4,), (2, 2)


def values(**shapes):
    return {name.replace("_GRAD", "@GRAD"): shape for name, shape in shapes.items()}


# operator: (attributes, shapes of its inputs, those that a second gradient reads besides)
CASES = {
    "layer_norm": (
        {}, values(X=(2, 12), Scale=(12,), Bias=(12,), Mean=ROWS, Variance=ROWS, Y_GRAD=(2, 12)),
        values(X_GRAD_GRAD=(2, 12), Scale_GRAD_GRAD=(12,), Bias_GRAD_GRAD=(12,)),
    ),
    "instance_norm": (
        {}, values(X=X.shape, Scale=CHANNELS, Bias=CHANNELS, SavedMean=(8,), SavedVariance=(8,),
                   Y_GRAD=X.shape),
        values(X_GRAD_GRAD=X.shape, Scale_GRAD_GRAD=CHANNELS, Bias_GRAD_GRAD=CHANNELS),
    ),
    "group_norm": (
        {"groups": 2},
        values(X=X.shape, Scale=CHANNELS, Bias=CHANNELS, Mean=GROUPS, Variance=GROUPS,
               Y_GRAD=X.shape),
        values(X_GRAD_GRAD=X.shape, Scale_GRAD_GRAD=CHANNELS, Bias_GRAD_GRAD=CHANNELS),
    ),
    "rms_norm": (
        {}, values(x=(2, 12), norm_weight=(12,), norm_bias=(12,), out_GRAD=(2, 12)),
        values(x_GRAD_GRAD=(2, 12), norm_weight_GRAD_GRAD=(12,), norm_bias_GRAD_GRAD=(12,)),
    ),
}  # fmt: skip


def calls():
    for name, (attrs, first, more) in CASES.items():
        yield f"{name}_grad", attrs, first
        second = {slot: shape for slot, shape in first.items() if slot not in ("Bias", "norm_bias")}
        yield f"{name}_grad_grad", attrs, {**second, **more}


CALLS = list(calls())


def run(operator, attrs, shapes):
    given = {slot: _core.to_variable(np.ones(shape)) for slot, shape in shapes.items()}
    return _core.run_op(operator, given, attrs)


@pytest.mark.parametrize("operator, attrs, shapes", CALLS, ids=[c[0] for c in CALLS])
def test_every_shape_is_checked(operator, attrs, shapes):
    assert run(operator, attrs, shapes)  # the shapes as they should be
    for slot, shape in shapes.items():
        if slot in ("X", "x"):
            continue
        for wrong in ((), (1,), (*shape[:-1], shape[-1] - 1), (*shape, 2)):
            with pytest.raises(ValueError, match=f"^{operator}: .*must .*{slot}|{slot}.* must "):
                run(operator, attrs, {**shapes, slot: wrong})
