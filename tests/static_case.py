"""An OpTest case as a described program: shapes before anything runs, and gradients beside eager.

`op_contract` runs these for every case.
"""

import numpy as np

import op_test
import op_values
from dygraph import _core, static
from dygraph.errors import InvalidArgumentError


def opened(case):
    """{attribute: array} of what the case says and variables may say instead."""
    attrs, found = case.call_attrs(), {}
    for attr in case.info()["attrs"]:
        value = attrs.get(attr["name"])
        if attr["may_be_open"] and value not in (None, [], ()):
            dtype = "float32" if attr["type"] == "a float" else "int64"
            found[attr["name"]] = np.array(value, dtype).reshape(-1)
    return found


def described(case, run, unknown_rows, given=()):
    """(program, variables by input name, results by output name) of the case's call.

    `given`: attributes that variables give, as `opened`.
    """
    program = static.Program()
    block = program.global_block()
    variables, slots = {}, {}
    for slot, value in case.inputs.items():
        names = list(op_test.entries({slot: value}))
        for name in names:
            eager = run.variables[name]
            shape = list(eager.shape)
            if (
                unknown_rows
                and shape
                and shape[0] != 1
                and op_test.is_float(np.empty(0, str(eager.dtype)))
            ):
                shape[0] = -1
            variables[name] = block.create_var(
                name=name, shape=shape, dtype=eager.dtype, lod_level=len(_core.lod(eager)),
                stop_gradient=eager.stop_gradient,
            )  # fmt: skip
        of_slot = [variables[n] for n in names]
        slots[slot] = of_slot if isinstance(value, list) else of_slot[0]
    attrs = dict(case.call_attrs())
    for name, array in dict(given).items():
        attrs[name] = block.create_var(name=f"open {name}", shape=array.shape, dtype=array.dtype)
    declared = case.info()
    extra = {s["name"] for s in declared["outputs"] if s["extra"]}
    lists = {s["name"] for s in declared["outputs"] if s["duplicable"]}
    counts = {s: len(v) for s, v in case.outputs.items() if s in lists and isinstance(v, list)}
    counts.update({s: 1 for s in case.outputs if s in extra and s not in counts})
    results = {}
    with program.appending_to(block):
        slots = op_values.bound(case, slots)
        made = _core.run_op(case.op_type, slots, attrs, counts)
        for slot, value in op_values.unbound(case, made).items():
            if isinstance(value, list):
                given = case.outputs.get(slot)
                given = list(op_test.entries({slot: given})) if given else None
                names = given or [f"{slot}[{i}]" for i in range(len(value))]
                results.update(zip(names, value, strict=True))
            else:
                results[slot] = value
    return program, variables, results


def wants_gradient(case):
    info = case.info()
    return info["has_gradient"] and not any(
        _core.is_selected_rows(v) for v in op_test.Run(case, case.inputs).variables.values()
    )


def shapes(case):
    """Every shape known before a run is the shape of the run."""
    run = case.run_slots(case.inputs)
    if any(_core.is_selected_rows(v) for v in run.variables.values()):
        return
    for unknown_rows in (False, True):
        try:
            _, _, results = described(case, run, unknown_rows)
        except InvalidArgumentError as error:
            case.assertTrue(unknown_rows)
            case.assertIn("must not decide how many axes a result has", str(error))
            continue
        for name, variable in results.items():
            if variable is None or run.results[name].dtype is None:
                continue
            got = run.results[name]
            case.assertEqual(str(variable.dtype), str(got.dtype), f"type of {name}")
            if _core.is_selected_rows(got):
                continue
            case.assertEqual(len(variable.shape), got.ndim, f"rank of {name}")
            for size, true in zip(variable.shape, got.shape, strict=True):
                case.assertIn(size, (-1, true), f"{name}: {variable.shape}, {got.shape}")


def open_attributes(case):
    """A program in which variables give attributes has the results and gradients of values."""
    given = opened(case)
    if not given:
        return
    run = case.run_slots(case.inputs)
    if any(_core.is_selected_rows(v) for v in run.variables.values()):
        return
    program, _, results = described(case, run, False, given)
    fetched = {n: v for n, v in results.items() if v is not None and run.results[n].dtype}
    feeds = {**run.variables, **_feeds(given)}
    prepared = _core.PreparedProgram(
        program.desc, _core.Scope(), list(feeds), [v.name for v in fetched.values()], None
    )
    for name, value in zip(fetched, prepared.run(list(feeds.values()), (7, 0)), strict=True):
        want = run.results[name]
        case.assertEqual(value.shape, want.shape, name)
        case.assertEqual(op_test.dense(value).tobytes(), op_test.dense(want).tobytes(), name)
    gradients(case, given)


def _feeds(given):
    return {f"open {name}": _core.to_variable(array) for name, array in given.items()}


def gradients(case, given=()):
    """`static.gradients` gives the bits of `grad`."""
    given = dict(given)
    names = case.differentiable_inputs()
    if not names or not wants_gradient(case):
        return
    eager = case.run_slots(case.inputs, grads_for=names)
    tops = [
        n for n in case.differentiable_outputs(eager)
        if not eager.results[n].stop_gradient and not _core.is_selected_rows(eager.results[n])
    ]  # fmt: skip
    if not tops:
        return
    seeds = {n: np.random.standard_normal(eager.results[n].shape) for n in tops}
    seeds = {n: a.astype(str(eager.results[n].dtype)) for n, a in seeds.items()}
    expected = _core.grad(
        [eager.results[n] for n in tops],
        [eager.variables[n] for n in names],
        [_core.to_variable(seeds[n]) for n in tops], False, False, True,
    )  # fmt: skip
    run = case.run_slots(case.inputs, grads_for=names)
    program, variables, results = described(case, run, False, given)
    block = program.global_block()
    of_tops = [
        block.create_var(name=f"seed {n}", shape=seeds[n].shape, dtype=str(seeds[n].dtype))
        for n in tops
    ]
    found = static.gradients([results[n] for n in tops], [variables[n] for n in names], of_tops)
    fetched = [g for g in found if g is not None]
    for name, want, got in zip(names, expected, found, strict=True):
        case.assertEqual(want is None, got is None, f"gradient of {name}")
    feeds = {**run.variables, **{f"seed {n}": _core.to_variable(a) for n, a in seeds.items()}}
    feeds |= _feeds(given)
    prepared = _core.PreparedProgram(
        program.desc, _core.Scope(), list(feeds), [g.name for g in fetched], None
    )
    values = iter(prepared.run(list(feeds.values()), (7, 0)))
    for name, want in zip(names, expected, strict=True):
        if want is None:
            continue
        value = next(values)
        case.assertEqual(_core.is_selected_rows(value), _core.is_selected_rows(want), name)
        case.assertEqual(
            op_test.dense(value).tobytes(), op_test.dense(want).tobytes(), f"bits of {name}"
        )
