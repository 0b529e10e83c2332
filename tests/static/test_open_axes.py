"""All functions and layers with open axes: programs are right at other sizes, or refused.

The calls are those of the examples in docstrings and of the tables of other tests, so that a new
function or layer is here too. ``open_axes`` says which axes are opened, and how; ``open_cases``
has further calls of layer functions, indices and NumPy's functions.
"""

import functools
import re

import pytest
import test_layers_learnt
import test_layers_values

import dygraph
import example_calls
import op_contract
import open_axes
import open_cases
from dygraph import _core, nets, ops, static
from dygraph.errors import DygraphError
from dygraph.static import layers
from program import test_trace_functions, test_trace_layers
from refusals import unhelpful

NO_COMPUTATION = {"save", "save_dygraph", "save_fluid_params", "rank", "explain", "summary"}
MODULES = [ops, dygraph, nets, layers, _core.ops, static]
# What a refusal owes: what to write instead, and the line of the call.
FIX = re.compile(r"(^|[.,:;] )(Declare|Fetch|Give|Name|Reduce|Take|Use|Write|or) [^:]")
LINE = re.compile(r"((open_axes|open_cases|test_\w+)\.py|<\w+>):\d+ in ")
# Fluid's rule: these write a variable anew in a program, whatever its shape was.
WRITES_ANEW = {"iadd", "in place"}
LEAST_EQUAL = 100  # calls with inputs of different batches
LEAST_EMPTY = 600  # calls of functions that were first called without elements


def examples(module):
    """Calls with eager Variables that docstrings of a module make."""
    for name, function in example_calls.functions_of(module).items():
        for given in example_calls.calls_of(name, function, MODULES):
            variables = [v for v in example_calls.leaves(given) if isinstance(v, _core.Variable)]
            if name not in NO_COMPUTATION and not any(map(_core.is_symbol, variables)):
                yield open_axes.Call(name, function, *given)


def usable(calls):
    return [call for call in calls if call.dense and all(a.size for a in call.arrays)]


@functools.lru_cache
def functions_and_layers():
    made = []
    for name, (make, _) in test_trace_layers.TABLE.items():
        layer = make()
        layer.eval()
        made.append(open_axes.Call(name, layer, test_trace_layers.inputs_of(name, 4)))
    for name, (function, _) in test_trace_functions.CASES.items():
        inputs = test_trace_functions.inputs_of(name, 4)
        made.append(open_axes.Call(name, function, inputs))
    for module in (ops, dygraph, nets, dygraph.linalg):
        made += examples(module)
    return usable(made)


def describes_only(function, given):
    """Whether a function makes parameters, or variables of the program without being given one."""
    try:
        made = example_calls.leaves(function(*given))
    except (TypeError, ValueError, RuntimeError):
        return True
    return any(_core.is_symbol(v) for v in made if isinstance(v, _core.Variable))


@functools.lru_cache
def layer_functions():
    made = []
    eager = test_layers_values.eager
    for name, args, kwargs in test_layers_values.CALLS:
        args = test_layers_values.mapped(eager, args)
        kwargs = {k: test_layers_values.mapped(eager, v) for k, v in kwargs.items()}
        made.append(open_axes.Call(name, getattr(layers, name), args, kwargs))
    for name, (feeds, ragged, write, _, _) in test_layers_learnt.CASES.items():
        lod = test_layers_learnt.LOD
        given = [_core.to_variable(a, lod=lod if k in ragged else None) for k, a in feeds.items()]
        made.append(open_axes.Call(name, write, given, parameters=True))
    for name, (arrays, function) in open_cases.CASES.items():
        given = [eager(a) for a in arrays]
        # Fluid's attention makes projections, the eager one none.
        parameters = name == "attention" or describes_only(function, given)
        made.append(open_axes.Call(name, function, given, parameters=parameters))
    made += [call for call in examples(layers) if not call.name.startswith("array_")]
    return usable(made)


def sweep(calls, way):
    """(programs that are right, refusals, what is wrong)"""
    right, refused, wrong = 0, [], []
    for call in calls:
        described = way is open_axes.described
        for places, trials in call.free(together=described):
            if not described and call.opens_sequences(places):
                continue
            try:
                refusal = open_axes.check(call, places, trials, way)
            except open_axes.Wrong as error:
                wrong.append(str(error))
                continue
            right += refusal is None
            if refusal is not None:
                refused.append(f"{call.name}: {refusal}")
    return right, refused, wrong


# The least number of sets of open axes that are right: some tens fewer than there are.
@pytest.mark.parametrize("calls, least", [(functions_and_layers, 1750), (layer_functions, 2800)])
def test_described_programs_are_right_at_other_sizes_or_refused(calls, least):
    right, refused, wrong = sweep(calls(), open_axes.described)
    assert not wrong, "\n".join(wrong)
    assert right > least
    unclear = [r for r in refused if not (FIX.search(r) and LINE.search(r))]
    assert not unclear, "\n".join(unclear)


@pytest.mark.parametrize("way", [open_axes.traced, open_axes.captured])
def test_traced_and_captured_programs_are_right_at_other_sizes_or_refused(way):
    right, refused, wrong = sweep(functions_and_layers(), way)
    assert not wrong, "\n".join(wrong)
    assert right > 1500
    assert all(len(refusal) > 40 for refusal in refused), refused
    if way is open_axes.captured:
        assert [unhelpful(refusal) for refusal in refused if unhelpful(refusal)] == []


def test_sizes_that_do_not_fit_each_other_are_refused_by_the_run():
    computed, tried = [], 0
    for call in [*functions_and_layers(), *layer_functions()]:
        if call.name in WRITES_ANEW:
            continue
        places, trials = open_axes.mismatched(call)
        try:
            run = open_axes.described(call, places) if trials else None
        except open_axes.REFUSALS:
            continue
        for trial in trials:
            tried += 1
            try:
                run(trial)
            except open_axes.REFUSALS:
                continue
            computed.append(f"{call.name} at {trial.sizes()}")
    assert not computed, "\n".join(computed)
    assert tried > 2000


def test_batches_that_were_equal_and_are_not():
    """As eager calls of these sizes, which may refuse what a program would broadcast."""
    wrong, compared = [], 0
    for call in functions_and_layers():
        places = call.first_axes
        if len(places) < 2:
            continue
        try:
            run = open_axes.captured(call, places, are_named=False)
        except (*op_contract.TYPED, RuntimeError):
            continue
        for trial, want in call.apart():
            try:
                got = run(trial)
            except (*op_contract.TYPED, RuntimeError):
                continue
            compared += want is not None
            if got != want:
                wrong.append(f"{call.name} at {trial.sizes()}: {got}, not {want}")
    assert not wrong, "\n".join(wrong)
    assert compared > LEAST_EQUAL


def test_first_calls_without_elements():
    wrong, compared = [], 0
    for call in functions_and_layers():
        trial, want = call.empty()
        if want is None:
            continue
        try:
            run = open_axes.captured(call, call.first_axes, are_named=False, first=trial)
        except DygraphError as error:
            assert unhelpful(str(error)) is None
            continue
        whole = open_axes.Trial(call.arrays, call.lods)
        for found, right in ((run(trial), want), (run(whole), call.right(whole))):
            compared += 1
            wrong += [f"{call.name}: {found}, not {right}"] * (found != right)
    assert not wrong, "\n".join(wrong)
    assert compared > LEAST_EMPTY
