"""An OpTest case traced: the call with its gradients, at the case's sizes and at another batch.

`op_contract` runs this for every case.
"""

import inspect

import numpy as np

import op_contract
import op_test
import op_values
from dygraph import _core, jit

_ROWS = 2  # a batch is made larger by this many


def traced(case):
    """The program of call and gradients has the bits of eager calls, or is refused by name."""
    inputs = case.inputs
    _check(case, inputs, case.outputs)
    if any(op_test.split_lod(e)[1] for e in op_test.entries(inputs).values()):
        _at_another_size(case, inputs, inputs)
        return
    larger = _with_rows(case)
    if larger is None:
        return
    wanted = {s: v for s, v in case.outputs.items() if isinstance(v, list)}
    try:
        case.run_slots(larger, outputs=wanted)
    except op_contract.TYPED:  # its first axis is no batch
        return
    _check(case, larger, wanted)
    _at_another_size(case, inputs, larger)


def _with_rows(case):
    """The case's inputs with more rows; None where there is nothing to lengthen."""
    arrays = op_contract.arrays_of(case.inputs)
    ranked = [a for a in arrays.values() if a.ndim]
    if not ranked or not ranked[0].shape[0]:
        return None
    batch = ranked[0].shape[0]
    order = np.arange(batch + _ROWS) % batch
    longer = {n: a[order] for n, a in arrays.items() if a.ndim and a.shape[0] == batch}
    return op_contract.with_arrays(case.inputs, longer)


def _function(case, wanted, names):
    """The call with the gradients of its floating outputs, as a function of its inputs."""
    layout = [
        (slot, list(op_test.entries({slot: value})), isinstance(value, list))
        for slot, value in case.inputs.items()
        if value is not None
    ]
    declared = case.info()
    extra = {s["name"] for s in declared["outputs"] if s["extra"]}
    lists = {s["name"] for s in declared["outputs"] if s["duplicable"]}
    counts = {s: len(v) for s, v in wanted.items() if s in lists and isinstance(v, list)}
    counts.update({s: 1 for s in case.outputs if s in extra and s not in counts})
    order = [name for _, members, _ in layout for name in members]

    def call(*variables):
        by_name = dict(zip(order, variables, strict=True))
        slots = {
            slot: [by_name[n] for n in members] if many else by_name[slot]
            for slot, members, many in layout
        }
        results = {}
        made = _core.run_op(case.op_type, op_values.bound(case, slots), case.call_attrs(), counts)
        for slot, value in op_values.unbound(case, made).items():
            for i, v in enumerate(value if isinstance(value, list) else [value]):
                if v is not None and v.dtype is not None:
                    results[f"{slot}[{i}]"] = v
        tops = [v for v in results.values() if not v.stop_gradient]
        inputs = [by_name[n] for n in names]
        if not tops or not inputs:
            return results
        grads = _core.grad(tops, inputs, op_contract.seeds_of(tops), False, False, True)
        found = {f"{n}@GRAD": g for n, g in zip(names, grads, strict=True) if g is not None}
        return {**results, **found}

    call.__signature__ = inspect.Signature()
    return call, order


def _variables(case, inputs, order, names):
    made = {}
    for name, entry in op_test.entries(inputs).items():
        array, lod = op_test.split_lod(entry)
        made[name] = _core.to_variable(np.asarray(array), lod=lod)
        if name in names:
            made[name].stop_gradient = False
    return [made[n] for n in order]


def _names(case):
    if not case.info()["has_gradient"] or case.info()["no_gradient"]:
        return []
    return case.differentiable_inputs()


def bits(variable):
    rows = variable.rows() if _core.is_selected_rows(variable) else None
    return rows, str(variable.dtype), op_test.dense(variable).tobytes()


def _check(case, inputs, wanted):
    """Recorded at these sizes, written to bytes, read, run."""
    names = _names(case)
    function, order = _function(case, wanted, names)
    _core.set_generator_state(7, 0)
    expected = function(*_variables(case, inputs, order, names))
    recorder = _core.Recorder(lambda: "a case")
    fed = _variables(case, inputs, order, names)
    for name, variable in zip(order, fed, strict=True):
        recorder.add_feed(variable, name)
    recorder.start()
    try:
        _core.set_generator_state(7, 0)
        results = function(*fed)
    finally:
        recorder.stop()
    if not results:
        return
    recording = recorder.finish(list(results.values()))
    program = _core.program_from_bytes(recording.program.to_bytes())
    scope = _core.Scope()
    recording.fill_scope(scope)
    prepared = _core.PreparedProgram(program, scope, recording.feeds, recording.fetches, None)
    got = prepared.run(_variables(case, inputs, order, names), (7, 0))
    case.assertEqual(list(results), list(expected))
    for (name, want), have in zip(expected.items(), got, strict=True):
        case.assertEqual(bits(have), bits(want), f"{case.op_type}: {name} in a program")


def _at_another_size(case, inputs, larger):
    """`jit.trace` at the case's size, then a run at a larger one."""
    names = _names(case)
    function, order = _function(case, {}, names)
    _core.set_generator_state(7, 0)
    try:
        _, program = jit.trace(function, _variables(case, inputs, order, names))
    except op_contract.TYPED as error:
        case.assertGreaterEqual(len(str(error)), 20, f"the refusal says too little: {error}")
        return
    _core.set_generator_state(7, 0)
    expected = function(*_variables(case, larger, order, names))
    _core.set_generator_state(7, 0)
    given = _variables(case, larger, order, names)
    try:
        got = program(given)
    except op_contract.TYPED as error:  # an input whose first axis is not the batch grew as well
        case.assertIn("must have the shape", str(error))
        return
    for (name, want), have in zip(expected.items(), got, strict=True):
        case.assertEqual(bits(have), bits(want), f"{case.op_type}: {name} for a larger batch")
