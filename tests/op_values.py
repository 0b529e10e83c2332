"""Arrays and rank tables in OpTest cases.

A slot that takes an array is given a list of its elements, one that takes a rank table the batch
that the table is made of; results that are arrays are read element by element, as ``Out[0]``,
``Out[1]``, ... So a case and its checks see tensors alone, and gradients flow through the elements.
"""

import numpy as np

from dygraph import _core


def slots_that_take(case, what):
    """Names of the input slots, single ones, that take an array or a table."""
    return {s["name"] for s in case.info()["inputs"] if s[what] and not s["duplicable"]}


def number(i, like):
    """[i], in a program as a constant of it."""
    if _core.is_symbol(like):
        return _core.literal(np.array([i], "int64"))
    attrs = {"shape": [1], "dtype": "int64", "value": i}
    return _core.run_op("fill_constant", {}, attrs)["Out"]


def array_of(elements):
    """An array with these elements, written one after another."""
    array = None
    for i, element in enumerate(elements):
        given = {"X": element, "I": number(i, element)} | (
            {} if array is None else {"Array": array}
        )
        array = _core.run_op("write_to_array", given)["Out"]
    return array


def bound(case, slots):
    """What the call is given: lists become arrays, batches tables."""
    arrays, tables = slots_that_take(case, "array"), slots_that_take(case, "table")
    given = {}
    for slot, value in slots.items():
        if slot in arrays and isinstance(value, list):
            given[slot] = array_of(value)
        elif slot in tables:
            level = case.table_level
            given[slot] = _core.run_op("lod_rank_table", {"X": value}, {"level": level})["Out"]
        else:
            given[slot] = value
    return given


def unbound(case, results):
    """The results by slot, arrays as lists of their elements; None stays for one never written."""
    read = {}
    for slot, value in results.items():
        if isinstance(value, list) or value is None or _core.value_kind(value) != "TensorArray":
            read[slot] = value
            continue
        if _core.is_symbol(value):
            length = len(case.outputs[slot])
        else:
            length = _core.array_length(value)
        read[slot] = [
            _core.run_op("read_from_array", {"X": value, "I": number(i, value)})["Out"]
            for i in range(length)
        ]
    return read
