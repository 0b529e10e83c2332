"""Readers in programs: a run reads its batch from a generator instead of a feed.

A reader is a variable of type READER. The startup program has a ``create_py_reader`` operator that
writes it, the main program a ``read`` operator that takes a batch of it. Neither has a kernel: the
executor handles them, like ``feed`` and ``fetch``. The generator is not part of the description: a
clone shares it, a saved program has none.
"""

import functools
import threading

import numpy as np

from dygraph import _core, reader, unique_name
from dygraph.core import check
from dygraph.errors import (
    ArgumentTypeError,
    EOFException,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.inspect.shown import Shown
from dygraph.io.ahead import copied_ahead
from dygraph.io.collate import one_place
from dygraph.io.data_feeder import DataFeeder
from dygraph.static.program import Program, default_main_program, default_startup_program
from dygraph.static.variable import Variable

__all__ = ["Reader", "Source", "declare_reader", "read", "split"]

_CREATE, _READ = "create_py_reader", "read"


def _named(owner, names, batch):
    """A batch as a dict. No method: the thread that calls it must not keep its Source alive."""
    if isinstance(batch, dict):
        if batch.keys() != set(names):
            raise InvalidArgumentError(
                f"{owner}: a batch must have the names {names}, got {sorted(batch)}"
            )
        return batch
    if isinstance(batch, (_core.Variable, np.ndarray)) and len(names) == 1:
        batch = [batch]
    if not isinstance(batch, (list, tuple)):
        raise ArgumentTypeError(
            f"{owner}: a batch must be a list or a dict with {names}, got {kind_of(batch)}"
        )
    if len(batch) != len(names):
        raise InvalidArgumentError(
            f"{owner}: a batch must have {len(names)} parts, {names}, got {len(batch)}"
        )
    return dict(zip(names, batch, strict=True))


def device_among(places, where):
    """The CUDA device that `places` asks for: a place, a list of one, or places of the host."""
    listed = places if isinstance(places, (list, tuple)) else [places]
    if all(p is None or (isinstance(p, _core.Place) and p.kind == "CPUPlace") for p in listed):
        return None
    place = one_place(places, where)
    return place if place.kind == "CUDAPlace" else None


class Source(Shown):
    """Batches of a generator, each a dict of values by the names of its fields.

    Parameters
    ----------
    fields : list
        As for `DataFeeder`.
    capacity : int
        The number of batches that a thread reads ahead.
    owner : str
        Its name in messages.
    """

    def __init__(self, fields, capacity, owner):
        self.owner = owner
        self._feeder = DataFeeder(fields)
        self.names = self._feeder.names
        self._capacity = check.integer(capacity, f"{owner}: capacity", 1)
        self._make = self._pass = self._error = None
        self._device = self._ahead = None  # places: of all batches, and of the pass
        self._lock = threading.Lock()

    # What it reads --------------------------------------------------------------------------------

    # To the CUDA device among `places` batches are copied while others are used.

    def set_sample_generator(self, generator, batch_size, drop_last=True, places=None):
        """A generator function of samples, each a tuple with a part for every field."""
        self.set_sample_list_generator(reader.batch(generator, batch_size, drop_last), places)

    def set_sample_list_generator(self, generator, places=None):
        """A generator function of lists of samples."""
        self._set(reader.map_readers(self._feeder.feed, self._checked(generator)), places)

    def set_batch_generator(self, generator, places=None):
        """A generator function of batches: lists of arrays or Variables, or dicts of them."""
        named = functools.partial(_named, self.owner, self.names)
        self._set(reader.map_readers(named, self._checked(generator)), places)

    def _checked(self, generator):
        if not callable(generator):
            raise ArgumentTypeError(
                f"{self.owner}: a generator must be a function that gives an iterator, got "
                f"{kind_of(generator)}. Pass the function itself, without calling it"
            )
        return generator

    def _set(self, make, places):
        if self._pass is not None:
            raise PreconditionNotMetError(
                f"{self.owner}: its generator cannot be replaced while it runs. Call reset() first"
            )
        self._make, self._device = make, device_among(places, f"{self.owner}: places")

    def batches(self):
        """An iterator of its batches, which a thread reads ahead."""
        if self._make is None:
            raise PreconditionNotMetError(
                f"{self.owner}: a generator must be set before it is read, got none. Call "
                "set_sample_generator, set_sample_list_generator or set_batch_generator"
            )
        batches = reader.buffered(self._make, self._capacity)()
        return batches if self._device is None else copied_ahead(batches, self._device)

    # One pass, taken batch by batch ---------------------------------------------------------------

    def start(self):
        """Begin a pass."""
        with self._lock:
            if self._pass is not None:
                raise PreconditionNotMetError(
                    f"{self.owner}: it was started already. Call reset() before another start()"
                )
            self._pass, self._error, self._ahead = self.batches(), None, self._device

    def reset(self):
        """End the pass, also before its last batch."""
        with self._lock:
            running, self._pass, self._error = self._pass, None, None
            if running is not None:
                running.close()

    def next(self, place):
        """The next batch of the pass. Those after it are copied to a CUDA `place` meanwhile."""
        with self._lock:
            if self._pass is None:
                raise PreconditionNotMetError(
                    f"{self.owner}: it must be started before a program reads from it. Call "
                    "start(), and after core.EOFException reset()"
                )
            if self._error is not None:
                raise PreconditionNotMetError(
                    f"{self.owner}: its pass ended by an error ({self._error}). Call reset(), then "
                    "start()"
                )
            if self._ahead is None and place.kind == "CUDAPlace":
                self._pass, self._ahead = copied_ahead(self._pass, place), place
            try:
                return next(self._pass)
            except StopIteration:
                pass
            except BaseException as error:
                self._error = f"{type(error).__name__}: {str(error)[:100]}"
                raise
        raise EOFException(
            f"{self.owner}: all batches of the pass are read. Call reset(), and start() for "
            "another pass"
        )


class Reader(Variable):
    """A reader of a program, for ``layers.read_file``. ``layers.py_reader`` makes them.

    Attributes
    ----------
    source : Source
    fields : list of dict
        ``name``, ``shape``, ``dtype`` and ``lod_level`` of each part.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> main, startup = static.Program(), static.Program()
    >>> with static.program_guard(main, startup):
    ...     reader = static.layers.py_reader(2, shapes=[[-1, 2]], dtypes=["float32"])
    ...     x = static.layers.read_file(reader)
    ...     total = static.layers.reduce_sum(x)
    >>> reader.decorate_batch_generator(lambda: ([np.full((3, 2), i, "float32")] for i in (1, 2)))
    >>> executor = static.Executor()
    >>> _ = executor.run(startup)
    >>> reader.start()
    >>> try:
    ...     while True:
    ...         print(float(executor.run(main, fetch_list=[total])[0]))
    ... except static.core.EOFException:
    ...     reader.reset()
    6.0
    12.0
    """

    source, fields = None, ()

    def __repr__(self):
        return f"<Reader '{self.name}' of {len(self.fields)} parts>"

    def decorate_sample_generator(self, sample_generator, batch_size, drop_last=True, places=None):
        """Read samples, tuples with a part for each field, and collate them.

        Batches are copied to the executor's CUDA place while others are used, without `places`,
        too; so in the next two.
        """
        self.source.set_sample_generator(sample_generator, batch_size, drop_last, places)

    def decorate_sample_list_generator(self, reader, places=None):
        """Read lists of samples, as `batch` gives them."""
        self.source.set_sample_list_generator(reader, places)

    def decorate_batch_generator(self, reader, places=None):
        """Read batches: lists of arrays or Variables."""
        self.source.set_batch_generator(reader, places)

    decorate_paddle_reader = decorate_sample_list_generator
    decorate_tensor_provider = decorate_batch_generator

    def start(self):
        """Begin a pass; RuntimeError if one has begun or no generator is set."""
        self.source.start()

    def reset(self):
        """End the pass, after its last batch or before."""
        self.source.reset()


# Descriptions -------------------------------------------------------------------------------------


def field_of(variable):
    """A variable of a program as a field."""
    if not isinstance(variable, Variable):
        raise ArgumentTypeError(
            f"feed_list must hold variables of a program, got {kind_of(variable)}"
        )
    return {
        "name": variable.name, "shape": variable.shape, "dtype": str(variable.dtype),
        "lod_level": variable.lod_level,
    }  # fmt: skip


def declare_reader(capacity, fields, name, owner):
    """A `Reader` in the main program's current block, made by the startup program."""
    queue = f"{name}_queue" if name else unique_name.generate("lod_tensor_blocking_queue")
    name = f"{name}_reader" if name else unique_name.generate(_CREATE)
    source = Source(fields, capacity, f"{owner} '{name}'")
    startup = default_startup_program().global_block()
    startup.create_var(name=queue, type="RAW", persistable=True)
    made = _reader_in(startup, name, source, fields)
    desc = _core.Op(_CREATE)
    desc.set_input("blocking_queue", [queue])
    desc.set_output("Out", [name])
    sizes = [int(n) for field in fields for n in field["shape"]]
    for key, values in {
        "shape_concat": sizes,
        "ranks": [len(field["shape"]) for field in fields],
        "lod_levels": [field["lod_level"] for field in fields],
        "dtypes": [_core.dtype_of(field["dtype"]).wire for field in fields],
        "need_check_feed": [1] * len(fields),
    }.items():
        desc.set_attr(key, values, "INTS")
    startup.put_op(startup.take(desc))
    block = default_main_program().current_block()
    return made if block is startup else _reader_in(block, name, source, fields)


def _reader_in(block, name, source, fields):
    made = block.create_as(Reader, name, None, None, None, True, False, "READER")
    made.source, made.fields = source, fields
    return made


def read(made, outputs):
    """Append the operator by which a run fills `outputs` from a reader."""
    block = default_main_program().current_block()
    desc = _core.Op(_READ)
    desc.set_input("Reader", [made.name])
    desc.set_output("Out", [v.name for v in outputs])
    desc.set_attr("throw_eof_exp", True, "BOOLEAN")
    desc.set_attr("drop_last", True, "BOOLEAN")
    block.put_op(block.take(desc))


# Running ------------------------------------------------------------------------------------------


class Reads:
    """The reader operators of a program, for its executor.

    Attributes
    ----------
    desc : ProgramDesc
        The program without them.
    outputs : list of str
        The variables that are read, in the order of `values`.
    """

    def __init__(self, program, fed, place):
        self._place = _core.current_place() if place is None else place
        block = program.global_block()
        self.created, self._taken, self.outputs = [], [], []
        for op in block.ops:
            if op.type == _CREATE:
                self.created += op.outputs.get("Out", [])
            elif op.type == _READ:
                self._take(op, block, fed)
        rest = Program(program.desc)
        ops = rest.global_block().ops
        ops.put([op for op in ops if op.type not in (_CREATE, _READ)])
        self.desc = rest.desc

    def _take(self, op, block, fed):
        names, outputs = op.inputs.get("Reader", []), op.outputs.get("Out", [])
        if len(names) != 1 or not outputs:
            raise InvalidArgumentError(
                f"read: Reader must name one variable and Out at least one, got {names} and "
                f"{outputs}"
            )
        name = names[0]
        given = [out for out in outputs if out in fed]
        if len(given) == len(outputs):
            return  # fed variables are not read
        if given:
            raise InvalidArgumentError(
                f"Executor.run: of {outputs}, which are read from '{name}', all or none must be "
                f"fed, got {given}"
            )
        source = getattr(block.find_var_recursive(name), "source", None)
        if source is None:
            raise PreconditionNotMetError(
                f"Executor.run: the reader '{name}' has no generator, since the program was loaded "
                f"from a description. Feed {outputs} instead"
            )
        if len(source.names) != len(outputs):
            raise InvalidArgumentError(
                f"read: Out must name {len(source.names)} variables for {source.names}, got "
                f"{outputs}"
            )
        self._taken.append((name, source))
        self.outputs += outputs

    def make(self, scope):
        """Make the readers of the program in `scope`."""
        for name in self.created:
            scope.var(name)

    def values(self, scope):
        """A batch of every reader."""
        values = []
        for name, source in self._taken:
            if scope.find_var(name) is None:
                raise PreconditionNotMetError(
                    f"Executor.run: the reader '{name}' has not been made in this scope. Run the "
                    "startup program first: executor.run(static.default_startup_program())"
                )
            batch = source.next(self._place)
            values += [batch[field] for field in source.names]
        return values


def split(program, fed, place):
    """`Reads` of a program for runs on a place; None if it has no reader operators."""
    has = any(op.type in (_CREATE, _READ) for op in program.global_block().ops)
    return Reads(program, fed, place) if has else None
