"""What OpTest's checks on a CUDA device do, see op_contract.py."""

import numpy as np

import cuda_library
import op_contract
import op_test
from dygraph import _core


def runs_on_cuda(case):
    """With inputs on a CUDA device the host's numbers, forward and first gradients, in each float
    type; operators without a kernel there compute on the host."""
    place = cuda_library.place()
    if place is None:
        return
    info = case.info()
    dtypes = (
        [d for d in ("float32", "float64") if case.supports(d)]
        if op_contract.floats_in(case)
        else [None]
    )
    for dtype in dtypes:
        inputs = op_test.cast(case.inputs, dtype) if dtype else case.inputs
        rtol, atol = op_contract.tolerance_of(case, dtype or "float32")
        names = [] if info["no_gradient"] else case.differentiable_inputs()
        expected, slopes = results_and_slopes(case, inputs, names)
        with cuda_library.on(place):
            got, got_slopes = results_and_slopes(case, inputs, names)
        case.assertEqual(set(got), set(expected))
        for name, want in [*expected.items(), *slopes.items()]:
            given = got[name] if name in got else got_slopes[name]
            case.assertEqual(given.dtype, want.dtype, name)
            case.assertEqual(given.shape, want.shape, name)
            np.testing.assert_allclose(
                given, want, rtol, atol, err_msg=f"{case.op_type} on CUDA, {dtype}: {name}"
            )


def results_and_slopes(case, inputs, names):
    """Arrays by name of a call, and its gradients by "name'"."""
    run = case.run_slots(inputs)
    results = {n: op_test.dense(v) for n, v in run.results.items() if v.dtype is not None}
    outputs = case.differentiable_outputs(run) if case.info()["has_gradient"] and names else []
    if not outputs:
        return results, {}
    slopes = case.analytic(inputs, names, outputs, op_test.random_projection)
    return results, {f"{n}'": a for n, a in slopes.items()}


def higher_orders_on_cuda(case):
    """On a CUDA device the host's gradients of the first three orders, in float64."""
    place = cuda_library.place()
    setting = None if place is None else op_contract.gradient_setting(case)
    if not setting:
        return
    expected = gradients_by_order(case, *setting)
    with cuda_library.on(place):
        got = gradients_by_order(case, *setting)
    case.assertEqual(set(got), set(expected))
    rtol, atol = op_contract.tolerance_of(case, "float64")
    for name, want in expected.items():
        scale = max(1.0, np.abs(want).max(initial=0))
        np.testing.assert_allclose(
            got[name], want, rtol, atol * scale, err_msg=f"{case.op_type} on CUDA: {name}"
        )


def gradients_by_order(case, inputs, names, outputs):
    """Arrays by name and order, as in X'': each order with respect to the inputs and to the
    gradients that the first one starts from."""
    run = case.run_slots(inputs, grads_for=names)
    points = {n: run.variables[n] for n in names}
    tops = {o: run.results[o] for o in outputs if not run.results[o].stop_gradient}
    found = {}
    for order in ("'", "''", "'''"):
        if not tops:
            break
        weights = {
            n: _core.to_variable(op_test.random_projection(n + order, v.shape, 1))
            for n, v in tops.items()
        }
        for weight in weights.values():
            weight.stop_gradient = order != "'"
        grads = _core.grad(
            list(tops.values()), list(points.values()), list(weights.values()),
            order != "'''", True, True,
        )  # fmt: skip
        grads = {n: g for n, g in zip(points, grads, strict=True) if g is not None}
        found |= {n + order: op_test.dense(g) for n, g in grads.items()}
        if order == "'":
            points |= {f"{n}@GRAD": w for n, w in weights.items()}
        tops = {
            n + order: g
            for n, g in grads.items()
            if not g.stop_gradient and not _core.is_selected_rows(g)
        }
    return found
