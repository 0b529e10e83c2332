"""What OpTest's check of the third order does, see op_contract.py."""

import op_contract
import op_test
from dygraph import _core


def third_order(case):
    """The gradient of the second gradients along one dense direction of everything they depend on,
    against their central difference, in float64."""
    setting = op_contract.gradient_setting(case)
    if not setting:
        return
    inputs, names, outputs = setting
    arrays = op_contract.arrays_of(inputs)
    run = case.run_slots(inputs)
    point = {n: arrays[n] for n in names}
    point |= {f"{o}@GRAD": op_test.random_projection(o, run.results[o].shape, 1) for o in outputs}
    point |= {f"{n}'": op_test.random_projection(n + "'", arrays[n].shape, 1) for n in names}

    def second(at, create_graph):
        """(variables of the point, second gradients with the weights they are summed with)."""
        moved = op_test.map_arrays(inputs, lambda n, a: at.get(n, a))
        run = case.run_slots(moved, grads_for=names)
        v = {n: run.variables[n] for n in names}
        for name in at.keys() - v.keys():
            v[name] = _core.to_variable(at[name])
            v[name].stop_gradient = False
        tops = [o for o in outputs if not run.results[o].stop_gradient]
        first = _core.grad(
            [run.results[o] for o in tops], [v[n] for n in names],
            [v[f"{o}@GRAD"] for o in tops], True, True, True,
        )  # fmt: skip
        live = [
            (g, n)
            for g, n in zip(first, names, strict=True)
            if g is not None and not g.stop_gradient and not _core.is_selected_rows(g)
        ]
        if not live:
            return v, []
        of = [*names, *(f"{o}@GRAD" for o in tops)]
        got = _core.grad(
            [g for g, _ in live], [v[n] for n in of], [v[n + "'"] for _, n in live],
            True, create_graph, True,
        )  # fmt: skip
        return v, [
            (g, op_test.random_projection(n + "''", g.shape, 1))
            for g, n in zip(got, of, strict=True)
            if g is not None
        ]

    v, found = second(point, True)
    live = [(g, w) for g, w in found if not g.stop_gradient]
    if not live:
        return
    third = _core.grad(
        [g for g, _ in live], list(v.values()), [_core.to_variable(w) for _, w in live],
        False, False, True,
    )  # fmt: skip
    along = {n: op_test.random_projection(n + " along", a.shape, 1) for n, a in point.items()}
    step, ends = 1e-5, []
    for sign in (1, -1):
        _, found = second({n: a + sign * step * along[n] for n, a in point.items()}, False)
        ends.append(sum(float((op_test.dense(g) * w).sum()) for g, w in found))
    slope = (ends[0] - ends[1]) / (2 * step)
    got = sum(
        float((op_test.dense(g) * along[n]).sum())
        for n, g in zip(v, third, strict=True)
        if g is not None
    )
    case.assertLessEqual(
        abs(got - slope),
        10 * case.grad_tolerance * max(1.0, abs(slope), abs(ends[0])),
        f"{case.op_type}: third derivative along a direction: {got} for {slope}",
    )
