"""All functions and layers with open axes: programs are right at other sizes, or refused.

The calls are those of the examples in docstrings and of the tables of the trace tests, so that a
new function or layer is here too. ``open_axes`` says which axes are opened, and how.
"""

import functools

import pytest

import dygraph
import example_calls
import op_contract
import open_axes
import static
from dygraph import _core, functional
from dygraph.errors import DygraphError
from program import test_trace_functions, test_trace_layers
from refusals import unhelpful
from static import layers

NO_COMPUTATION = {"save", "save_dygraph", "save_fluid_params", "explain", "summary"}
# Fluid's rule: an open axis counts as one element where it is named, as several where it is not.
FLUIDS_RANK = {"squeeze", "squeeze2"}
LEAST_RIGHT = 1500  # of some 1600 calls with sets of open axes
LEAST_EQUAL = 100  # calls with inputs of different batches
LEAST_EMPTY = 600  # calls of functions that were first called without elements


@functools.lru_cache
def calls():
    """[(call, places, trials)]"""
    made = []
    for name, (make, _) in test_trace_layers.TABLE.items():
        layer = make()
        layer.eval()
        made.append(open_axes.Call(name, layer, test_trace_layers.inputs_of(name, 4)))
    for name, (function, _) in test_trace_functions.CASES.items():
        inputs = test_trace_functions.inputs_of(name, 4)
        made.append(open_axes.Call(name, function, inputs))
    modules = [functional, dygraph, layers, _core.ops, static]
    for module in (functional, dygraph):
        for name, function in example_calls.functions_of(module).items():
            if name not in NO_COMPUTATION:
                found = example_calls.calls_of(name, function, modules)
                made += [open_axes.Call(name, function, *given) for given in found]
    made = [call for call in made if call.dense and all(a.size for a in call.arrays)]
    return [(call, places, trials) for call in made for places, trials in call.free()]


@pytest.mark.parametrize("way", [open_axes.described, open_axes.traced, open_axes.captured])
def test_right_at_other_sizes_or_refused(way):
    right, wrong = 0, []
    for call, places, trials in calls():
        if way is open_axes.described and call.name in FLUIDS_RANK:
            continue
        try:
            refusal = open_axes.check(call, places, trials, way)
        except open_axes.Wrong as error:
            wrong.append(str(error))
            continue
        right += refusal is None
        assert refusal is None or len(refusal) > 40, refusal
        if refusal is not None and way is open_axes.captured:
            assert unhelpful(refusal) is None
    assert not wrong, "\n".join(wrong)
    assert right > LEAST_RIGHT


def all_calls():
    return {id(call): call for call, _, _ in calls()}.values()


def test_batches_that_were_equal_and_are_not():
    """As eager calls of these sizes, which may refuse what a program would broadcast."""
    wrong, compared = [], 0
    for call in all_calls():
        places = call.first_axes
        if len(places) < 2:
            continue
        try:
            run = open_axes.captured(call, places, are_named=False)
        except (*op_contract.TYPED, RuntimeError):
            continue
        for arrays, want in call.apart():
            try:
                got = run(arrays)
            except (*op_contract.TYPED, RuntimeError):
                continue
            compared += want is not None
            if got != want:
                wrong.append(f"{call.name} at {[a.shape for a in arrays]}: {got}, not {want}")
    assert not wrong, "\n".join(wrong)
    assert compared > LEAST_EQUAL


def test_first_calls_without_elements():
    wrong, compared = [], 0
    for call in all_calls():
        arrays, want = call.empty()
        if want is None:
            continue
        try:
            run = open_axes.captured(call, call.first_axes, are_named=False, first=arrays)
        except DygraphError as error:
            assert unhelpful(str(error)) is None
            continue
        full = call.eager(call.arrays)
        for found, right in ((run(arrays), want), (run(call.arrays), full)):
            compared += 1
            wrong += [f"{call.name}: {found}, not {right}"] * (found != right)
    assert not wrong, "\n".join(wrong)
    assert compared > LEAST_EMPTY
