"""Lists of sizes of which some are known only in a run, computed while a model is loaded.

``Shape`` of a variable with open axes gives such a list: an array of objects, ints and Sizes
(`dygraph.core.sizes`). What exporters compute with it, picking, joining, adding and multiplying, is
done here on the array, so that ``Reshape`` reads sizes by their names. Every other operator gets a
Variable for it, which is the sizes in each run.
"""

import numpy as np

from dygraph import _core
from dygraph.core.sizes import ONE, Size
from dygraph.errors import DygraphError

SIZES: dict = {}  # name of the operator: function on arrays


def sized(*names):
    def register(function):
        for name in names:
            SIZES[name] = function
        return function

    return register


def is_sizes(value):
    return isinstance(value, np.ndarray)


def array_of(values):
    """A 1-D array of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def simplified(array):
    """An eager Variable if every size is an int after all."""
    if all(not isinstance(n, Size) for n in array.reshape(-1)):
        return _core.to_variable(array.astype("int64"))
    return array


def tensor_of(n):
    """The int32 Variable of one element for a Size, made once in a block."""
    place = n._tracker.place(n.terms)
    if place is None:
        return n.tensor()
    variable, axis = place
    place = id(variable), axis  # the tracker keeps the variable alive
    program = variable.block.program
    made = n._tracker.__dict__.setdefault("tensors", {})
    block = program.current_block()
    while True:
        found = made.get((block.idx, place))
        if found is not None and block.core.find(found.name) is found:
            return found  # unless its description was taken back
        if block.parent_idx < 0:
            break
        block = program.block(block.parent_idx)
    found = _core.ops.slice(_core.ops.shape(variable), axes=[0], starts=[axis], ends=[axis + 1])
    made[program.current_block().idx, place] = found
    return found


def variable_of(array):
    """The Variable of a program for an array of sizes: int64, of its shape."""
    ops = _core.ops
    each = [
        tensor_of(n).astype("int64")
        if isinstance(n, Size)
        else ops.fill_constant(shape=[1], dtype="int64", value=float(n), str_value=str(n))
        for n in array.reshape(-1)
    ]
    if array.ndim == 0:
        return each[0].reshape([])
    joined = ops.concat(each, axis=0) if len(each) > 1 else each[0]
    return joined if array.ndim == 1 else joined.reshape(list(array.shape))


def computed(name, call, values):
    """The result of an operator on arrays of sizes and numbers; None if a run must compute it."""
    function = SIZES.get(name)
    if function is None:
        return None
    arrays = []
    for value in values:
        if value is not None and not is_sizes(value):
            value = call.importer.numbers(value)
            if value is None:
                return None
        arrays.append(value)
    try:
        result = function(call, *arrays)
    except (DygraphError, IndexError, ValueError, TypeError):
        return None
    if result is None:
        return None
    if isinstance(result, list):
        return [simplified(as_array(r)) for r in result]
    return simplified(as_array(result))


def as_array(result):
    if isinstance(result, np.ndarray) and result.dtype == object:
        return result
    array = np.empty(np.shape(result), object)
    array[...] = result
    return array


def product(sizes):
    """The product of sizes, a Size or an int."""
    total = 1
    for n in sizes:
        total = total * n if isinstance(total, Size) or not isinstance(n, Size) else n * total
    return total


def terms_of(n):
    return n.terms if isinstance(n, Size) else ({ONE: int(n)} if n else {})


def quotient(total, part):
    """``total / part`` where it is exact for all sizes, else None."""
    below = terms_of(part)
    if len(below) != 1:
        return None
    ((monomial, factor),) = below.items()
    terms = {}
    for above, number in terms_of(total).items():
        rest = list(above)
        for atom in monomial:
            if atom not in rest:
                return None
            rest.remove(atom)
        if number % factor:
            return None
        terms[tuple(rest)] = number // factor
    if not terms or list(terms) == [ONE]:
        return terms.get(ONE, 0)
    of = total if isinstance(total, Size) else part
    return type(of)(of._tracker, terms)


def equal(a, b):
    """Whether two sizes are equal in every run."""
    return terms_of(a) == terms_of(b)


# Operators ----------------------------------------------------------------------------------------


@sized("Identity")
def _identity(call, x):
    return x


@sized("Cast")
def _cast(call, x):
    return x if call.attr("to") in (6, 7) else None


@sized("Gather")
def _gather(call, x, index):
    return np.take(x, index.astype(int), axis=call.attr("axis", 0))


@sized("Slice")
def _slice(call, x, starts=None, ends=None, axes=None, steps=None):
    if starts is None:
        starts, ends, axes = call.attr("starts"), call.attr("ends"), call.attr("axes")
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if x.ndim != 1 or list(axes) not in ([0], [-1]):
        return None
    (start,), (end,), (step,) = map(list, (starts, ends, steps))
    n = len(x)
    if step <= 0:
        return x[slice(int(start), int(end) if end >= -n else None, int(step))]
    return x[slice(int(start), int(end), int(step))]


@sized("Concat")
def _concat(call, *parts):
    return np.concatenate([as_array(p) for p in parts], axis=call.attr("axis", 0))


@sized("Unsqueeze")
def _unsqueeze(call, x, axes=None):
    axes = call.attr("axes") if axes is None else axes
    return np.expand_dims(x, tuple(int(a) for a in axes))


@sized("Squeeze")
def _squeeze(call, x, axes=None):
    axes = call.attr("axes") if axes is None else axes
    return np.squeeze(x, axis=None if axes is None else tuple(int(a) for a in axes))


@sized("Reshape")
def _reshape(call, x, shape):
    return x.reshape([int(n) for n in shape])


@sized("Split")
def _split(call, x, sizes=None):
    sizes = call.attr("split") if sizes is None else sizes
    if sizes is None or x.ndim != 1:
        return None
    return np.split(x, np.cumsum([int(n) for n in sizes])[:-1])


@sized("ReduceProd")
def _reduce_prod(call, x, axes=None):
    total = product(x.reshape(-1))
    return as_array(total) if not call.attr("keepdims", 1) else array_of([total])


@sized("Add")
def _add(call, a, b):
    return np.frompyfunc(_plus, 2, 1)(a, b)


@sized("Sub")
def _sub(call, a, b):
    return np.frompyfunc(_minus, 2, 1)(a, b)


@sized("Mul")
def _mul(call, a, b):
    return np.frompyfunc(_times, 2, 1)(a, b)


@sized("Div")
def _div(call, a, b):
    result = np.frompyfunc(_over, 2, 1)(a, b)
    return None if None in np.asarray(result, object).reshape(-1).tolist() else result


@sized("Neg")
def _neg(call, a):
    return np.frompyfunc(lambda n: _times(n, -1), 1, 1)(a)


def _plain(n):
    return n if isinstance(n, Size) else int(n)


def _plus(a, b):
    return _plain(a) + _plain(b)


def _minus(a, b):
    return _plain(a) - _plain(b)


def _times(a, b):
    return _plain(a) * _plain(b)


def _over(a, b):
    a, b = _plain(a), _plain(b)
    if type(a) is int and type(b) is int:
        return int(a / b) if b and abs(a) < 1 << 52 else None
    return quotient(a, b)
