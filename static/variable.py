"""Variables of programs: names with a shape and a type, which hold values while a program runs.

Every function of the library accepts them: a call on one appends to the program instead of
computing.
"""

import math
import sys

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError, kind_of
from dygraph.functions.arguments import place_and_type
from dygraph.inspect.watch import is_own_file
from dygraph.static import views
from dygraph.static.unknown_sizes import Unknown

__all__ = ["Parameter", "Variable"]


class Variable(_core.Symbol):
    """A variable of a block. `Block.create_var` and the functions that append operators make them.

    Attributes
    ----------
    block : Block
        The block of its declaration.
    name : str
    shape : tuple of int
        -1 for sizes that are known when the program runs.
    dtype
        Element type.
    lod_level : int
        Depth of its level of detail; 0 for an ordinary tensor.
    persistable : bool
        True: it outlives a run, as parameters do.
    stop_gradient : bool
        True: no gradient is computed for it.

    Examples
    --------
    >>> from dygraph import static
    >>> block = static.Program().global_block()
    >>> x = block.create_var(name="x", shape=[-1, 16], dtype="float32")
    >>> x.name, x.shape, x.persistable
    ('x', (-1, 16), False)
    """

    is_data = False

    name = property(
        vars(_core.Variable)["name"].__get__,
        lambda self, new: self.block.rename_var(self.name, new),
        doc="Its name in the block. Assignment renames it, as `Block.rename_var` does.",
    )

    @property
    def shape(self):
        """Sizes, -1 for unknown ones; None if it is no tensor.

        In arithmetic with a Variable, or in a shape, a size of -1 is the size of the run. Uses that
        only Python would compute (``range``, ``> 4``, NumPy) raise InvalidArgumentError.
        """
        shape = self.desc.shape
        if shape is None or -1 not in shape or is_own_file(sys._getframe(1).f_code.co_filename):
            return shape  # -1 is a number for the library
        return self.followed_shape()

    def followed_shape(self):
        """The ``shape``, with symbolic sizes of the run in place of -1."""
        if -1 not in self.desc.shape:
            return self.desc.shape
        return self.block.program.sizes.of(self)

    @property
    def size(self):
        """Number of elements. PreconditionNotMetError if a size is unknown."""
        shape = self.desc.shape or ()
        if any(n < 0 for n in shape):
            if modes.ways is not None:
                return modes.ways.size_of(self)
            raise check.open_size(
                f"the number of elements of '{self.name}', {list(shape)}, is known when the "
                "program runs",
                "Use static.layers.size(x), or declare the sizes",
            )
        return math.prod(shape)

    @property
    def dtype(self):
        """Element type, or None."""
        return self.desc.dtype

    @property
    def type(self):
        """``LOD_TENSOR``, ``SELECTED_ROWS``, ``READER``, ...: VarType's names."""
        return self.desc.type

    @property
    def lod_level(self):
        """Depth of the level of detail."""
        return self.desc.lod_level or 0

    @lod_level.setter
    def lod_level(self, level):
        self.desc.lod_level = level_of(level, f"lod_level of '{self.name}'")

    @property
    def persistable(self):
        """True: it stays in the scope after a run."""
        return bool(self.desc.persistable)

    @persistable.setter
    def persistable(self, value):
        self.desc.persistable = bool(value)

    @property
    def op(self):
        """The last operator of its block that writes it; None if there is none."""
        return self.block.core.writer_of(self.name)

    @property
    def grad_name(self):
        """The name its gradient has by default."""
        return self.name + "@GRAD"

    def to_string(self, throw_on_error=True, with_details=False):
        """The description as protobuf text. Both arguments are Fluid's and not used."""
        return self.desc.to_string()

    __str__ = to_string

    def _repr_html_(self):
        return views.variable(self)

    def __reduce__(self):
        raise PreconditionNotMetError(
            f"'{self.name}' is a variable of a program and cannot be copied or pickled by itself: "
            "use Program.clone() or Program.serialize_to_string()"
        )

    # Reads of values: `to_static` answers them while it explores a function.

    def __bool__(self):
        ways = modes.ways
        return super().__bool__() if ways is None else ways.ask(self)

    def __len__(self):
        ways = modes.ways
        return super().__len__() if ways is None else ways.length(self)

    def __iter__(self):
        ways = modes.ways
        return super().__iter__() if ways is None else ways.rows(self)

    def __getitem__(self, index):
        ways = modes.ways
        return super().__getitem__(index if ways is None else ways.index(index))

    def __setitem__(self, index, value):
        ways = modes.ways
        super().__setitem__(index if ways is None else ways.index(index), value)

    def detach(self):
        """The same values without a gradient."""
        copy = _core.ops.assign(self)
        copy.stop_gradient = True
        return copy

    def set_value(self, value):
        """Not possible here: values live in a scope."""
        if modes.ways is not None:
            raise modes.ways.not_here("set_value()", "Bind a new value: self.count = value")
        raise PreconditionNotMetError(
            f"'{self.name}' is a variable of a program and holds no value: set it in the scope, "
            f"static.global_scope().var('{self.name}').set(array)"
        )

    def to(self, place=None, dtype=None):
        """The variable itself where that is its place: values lie where the program runs."""
        place, dtype = place_and_type(place, dtype)
        if dtype is not None:
            return self.astype(dtype).to(place)
        if place is None or place == self.place:
            return self
        if modes.ways is not None:
            raise modes.ways.not_here("to()", "Move what the function returns")
        raise PreconditionNotMetError(
            f"'{self.name}' is a variable of a program, whose values lie at the place of its "
            "Executor: static.Executor(place)"
        )

    def backward(self, *args, **kwargs):
        """Not possible here: programs get their backward pass from `append_backward`."""
        if modes.ways is not None:
            raise modes.ways.not_here("backward()", "Call it on what the function returns")
        raise PreconditionNotMetError(
            f"backward(): '{self.name}' must be an eager Variable, got a variable of a program. "
            "Call static.append_backward(loss), or optimizer.minimize(loss)"
        )


def _reader(name):
    """A method that needs values, which exist only in a run."""
    read = getattr(Variable, name)

    def method(self, *args, **kwargs):
        ways = modes.ways
        if ways is None:
            return read(self, *args, **kwargs)
        if name in _READERS:
            raise ways.read(_READERS[name])
        if is_own_file(sys._getframe(1).f_code.co_filename):
            return read(self, *args, **kwargs)
        return ways.text(f"a Variable of shape {list(self.desc.shape or ())}")

    method.__name__, method.__doc__ = name, read.__doc__
    return method


_READERS = {
    "numpy": "numpy()", "item": "item()", "tolist": "tolist()", "__float__": "float()",
    "__int__": "int()", "__index__": "an index", "__array__": "NumPy", "__dlpack__": "DLPack",
    "__contains__": "`in`",
}  # fmt: skip
_TEXTS = {"__format__", "__str__", "__repr__", "_repr_html_", "to_string"}
for _name in (*_READERS, *_TEXTS):
    setattr(Variable, _name, _reader(_name))


class Parameter(Variable):
    """A persistable variable that training changes. `Block.create_parameter` makes them.

    Attributes
    ----------
    trainable : bool
        Whether training changes it.
    optimize_attr : dict
        ``learning_rate``: a factor on the optimizer's.
    regularizer, gradient_clip : object
        Its own, before the optimizer's.
    do_model_average : bool
        Whether `ModelAverage` averages it.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     w = static.create_parameter([2], "float32", name="w")
    >>> isinstance(w, static.Parameter), w.trainable
    (True, True)
    """

    optimize_attr = {"learning_rate": 1.0}
    regularizer = gradient_clip = None
    do_model_average = True

    @property
    def trainable(self):
        """Whether training changes it."""
        return self.__dict__.get("_trainable", not self.desc.stop_gradient)

    @trainable.setter
    def trainable(self, value):
        self._trainable = value

    @property
    def learning_rate(self):
        """Factor on the optimizer's learning rate."""
        return self.optimize_attr["learning_rate"]


def level_of(level, what):
    """A depth of level of detail, checked."""
    if isinstance(level, bool) or not hasattr(level, "__index__"):
        raise ArgumentTypeError(f"{what} must be an integer, got {kind_of(level)}")
    if not 0 <= level <= 16:
        raise InvalidArgumentError(f"{what} must be in [0, 16], got {level}")
    return int(level)


def sizes_of(shape, what):
    """Sizes of a shape as integers, -1 for None."""
    if isinstance(shape, str) or not hasattr(shape, "__iter__"):
        raise ArgumentTypeError(f"{what}: shape must be a list of sizes, got {kind_of(shape)}")
    sizes = []
    for size in shape:
        if isinstance(size, Unknown):
            size = None
        if size is not None and (isinstance(size, bool) or not hasattr(size, "__index__")):
            raise ArgumentTypeError(
                f"{what}: shape must hold integers, or None for any size, got {kind_of(size)}"
            )
        sizes.append(-1 if size is None else int(size))
    return sizes


def as_names(value, what):
    """Names of a variable, a name, or a list of either."""
    values = value if isinstance(value, (list, tuple)) else [value]
    names = []
    for item in values:
        if isinstance(item, str):
            names.append(item)
        elif isinstance(item, Variable):
            names.append(item.name)
        else:
            raise ArgumentTypeError(
                f"{what} must be a variable of a program, its name, or a list of them, "
                f"got {kind_of(item)}"
            )
    return names
