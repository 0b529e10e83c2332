"""Networks over time whose step is a block of the program: StaticRNN and DynamicRNN."""

import contextlib

from dygraph import check, unique_name
from dygraph.errors import (
    AlreadyExistsError,
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from static import bodies
from static.layers.arithmetic import increment
from static.layers.arrays import array_read, array_to_lod_tensor, array_write, shrink_memory
from static.layers.loops import While
from static.layers.tensor import fill_constant
from static.program import default_main_program
from static.variable import sizes_of

__all__ = ["DynamicRNN", "StaticRNN"]

_ARRAY = "LOD_TENSOR_ARRAY"
_BEFORE, _INSIDE, _AFTER = range(3)


class _Steps:
    """What both have: a block for one ``with`` statement, memories by name, results."""

    def __init__(self, name, kind):
        self.name = name or unique_name.generate(kind)
        self._status, self._program, self._body = _BEFORE, default_main_program(), None
        self._memories, self._updates, self.outputs = {}, {}, []

    @property
    def _kind(self):
        return type(self).__name__

    def _begin(self):
        if self._status != _BEFORE:
            raise PreconditionNotMetError(
                f"{self._kind}: its step is described once, but was begun again. Make another "
                f"{self._kind}"
            )
        self._status = _INSIDE

    def _check_inside(self, what):
        opened = f"with rnn.{self._opened}():"
        if self._status != _INSIDE or self._program.current_block() is not self._body:
            raise PreconditionNotMetError(
                f"{self._kind}: {what}() must be called inside `{opened}`, and in no block within it"
            )

    def _variable(self, value, what):
        program = bodies.program_of(
            value, f"{self._kind}.{what}", "For those take dygraph.nn, or a loop of Python"
        )
        if program is not self._program:
            raise InvalidArgumentError(
                f"{self._kind}: it belongs to the program it was made in, but {what} was called "
                "under the guard of another"
            )
        return value

    @property
    def _parent(self):
        return self._program.block(self._body.parent_idx)

    def _update(self, memory, value):
        """Note what a memory is after the step."""
        self._check_inside("update_memory")
        for given in (memory, value):
            self._variable(given, "update_memory")
        if memory.name not in self._memories:
            raise PreconditionNotMetError(
                f"{self._kind}: update_memory() needs a memory of memory(), got '{memory.name}', "
                f"made at {bodies.made_at(memory)}"
            )
        if memory.name in self._updates:
            raise AlreadyExistsError(
                f"{self._kind}: a memory is updated once in a step, but update_memory() was called "
                f"twice for '{memory.name}'"
            )
        if str(memory.dtype) != str(value.dtype):
            raise ArgumentTypeError(
                f"{self._kind}: a memory must keep its type, got {memory.dtype} before the step and "
                f"{value.dtype} after it, made at {bodies.made_at(value)}"
            )
        old, new = memory.desc.shape, value.desc.shape
        fits = len(old) == len(new) and all(
            m == n or -1 in (m, n) for m, n in zip(old, new, strict=True)
        )
        if not fits:
            raise InvalidArgumentError(
                f"{self._kind}: a memory must keep its shape, got {old} before the step and {new} "
                f"after it, made at {bodies.made_at(value)}"
            )
        self._updates[memory.name] = value

    def _check_updates(self):
        missing = [name for name in self._memories if name not in self._updates]
        if missing:
            raise PreconditionNotMetError(
                f"{self._kind}: every memory must be updated in the step, but '{missing[0]}', made "
                f"at {self._body.created_at(missing[0])}, is not. Call update_memory(memory, value)"
            )

    def __call__(self):
        """The results over all steps: one Variable, or a list of them."""
        if self._status != _AFTER:
            raise PreconditionNotMetError(
                f"{self._kind}: its results are read after `with rnn.{self._opened}():` has ended"
            )
        if not self.outputs:
            raise PreconditionNotMetError(
                f"{self._kind}: the step gives no result. Call rnn.output(variable) in it"
            )
        return self.outputs[0] if len(self.outputs) == 1 else list(self.outputs)


class StaticRNN(_Steps):
    """A network over time for sequences of one length: its step is described once.

    Parameters
    ----------
    name : str, optional

    Raises
    ------
    PreconditionNotMetError
        A method is called outside the step, a memory is not updated, or there is no input.
    ArgumentTypeError
        A variable is none of the program. Eager Variables take `dygraph.nn.RNN`, or Python's
        ``for``.
    InvalidArgumentError
        Inputs have different numbers of steps, or a memory another shape after the step.

    Examples
    --------
    >>> import numpy as np, static
    >>> from static import layers
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [3, 2], "float32")
    ...     rnn = layers.StaticRNN()
    ...     with rnn.step():
    ...         now = rnn.step_input(x)
    ...         total = rnn.memory(init=layers.fill_constant([2], "float32", 0.0))
    ...         rnn.update_memory(total, total + now)
    ...         rnn.output(total + now)
    ...     feed = {"x": np.arange(6, dtype="float32").reshape(3, 2)}
    ...     static.Executor().run(feed=feed, fetch_list=[rnn()])
    [array([[0., 1.],
           [2., 4.],
           [6., 9.]], dtype=float32)]
    """

    _opened = "step"

    def __init__(self, name=None):
        super().__init__(name, "static_rnn")
        self._inputs, self._length = {}, None

    @contextlib.contextmanager
    def step(self):
        """The block of a step, for one ``with`` statement."""
        self._begin()
        with bodies.taken_back(self._program):
            try:
                with bodies.body(self._program, "StaticRNN") as self._body:
                    yield
                    self._check_updates()
                    states = [self._passed_on(self._updates[name]) for name in self._memories]
                self._complete(states)
            except BaseException:
                self._status = _BEFORE
                self._memories, self._updates, self.outputs = {}, {}, []
                self._inputs, self._length = {}, None
                raise
        self._status = _AFTER

    def step_input(self, x):
        """The element of `x` of this step.

        Parameters
        ----------
        x : Variable
            ``[steps, ...]``, all inputs with the same number of steps.

        Returns
        -------
        Variable
            ``x.shape[1:]``. In the step its name is that of `x`, which cannot be read there.
        """
        self._check_inside("step_input")
        self._variable(x, "step_input")
        if x.name in self._inputs:
            return self._inputs[x.name]
        shape = x.desc.shape
        if not shape:
            raise InvalidArgumentError(
                f"StaticRNN: an input must have an axis of steps, got '{x.name}' of shape {shape}"
            )
        known = -1 if self._length is None else self._length
        if -1 not in (known, shape[0]) and known != shape[0]:
            raise InvalidArgumentError(
                f"StaticRNN: inputs must have one number of steps along axis 0, got {shape[0]} for "
                f"'{x.name}' and {known} before"
            )
        self._length = shape[0] if known == -1 else known
        inside = self._body.create_var(
            name=x.name, shape=shape[1:], dtype=x.dtype, type=x.type, stop_gradient=x.stop_gradient
        )
        self._inputs[x.name] = inside
        return inside

    def memory(
        self, init=None, shape=None, batch_ref=None, init_value=0.0, init_batch_dim_idx=0,
        ref_batch_dim_idx=1,
    ):  # fmt: skip
        """What one step hands to the next.

        Parameters
        ----------
        init : Variable, optional
            Its value in the first step. None: `init_value` everywhere.
        shape : list of int, optional
            Without `init`: the shape, its size `init_batch_dim_idx` that of `batch_ref`.
        batch_ref : Variable, optional
            Without `init`: whose size `ref_batch_dim_idx` is the batch; of a step's input, too.
        init_value : float
        init_batch_dim_idx, ref_batch_dim_idx : int

        Returns
        -------
        Variable
        """
        self._check_inside("memory")
        if init is None:
            init = self._first(
                shape, batch_ref, init_value, init_batch_dim_idx, ref_batch_dim_idx
            )
        self._variable(init, "memory")
        made = self._body.create_var(
            name=unique_name.generate(f"{self.name}@mem"), dtype=init.dtype, shape=init.desc.shape
        )
        self._memories[made.name] = init
        return made

    def _first(self, shape, batch_ref, value, axis, ref_axis):
        if shape is None or batch_ref is None:
            raise InvalidArgumentError(
                "StaticRNN: memory() needs init, or shape and batch_ref, got "
                f"shape={shape!r} and batch_ref={'None' if batch_ref is None else 'a Variable'}"
            )
        self._variable(batch_ref, "memory")
        ref_axis = check.integer(ref_axis, "StaticRNN.memory: ref_batch_dim_idx", 0)
        inside = self._inputs.get(batch_ref.name)
        if inside is batch_ref:  # its element: outside the step it has the axis of steps as well
            batch_ref = self._parent.var_recursive(batch_ref.name)
            ref_axis += 1
        elif batch_ref.block is self._body:
            raise InvalidArgumentError(
                f"StaticRNN: batch_ref must be made before the step or be one of its inputs, got "
                f"'{batch_ref.name}', made at {bodies.made_at(batch_ref)}"
            )
        shape = sizes_of(shape, "StaticRNN.memory")
        made = self._parent.create_var(
            name=unique_name.generate(f"{self.name}@memory_boot"), shape=shape,
            dtype=batch_ref.dtype, persistable=False,
        )  # fmt: skip
        self._parent.append_op(
            "fill_constant_batch_size_like", {"Input": batch_ref}, {"Out": made},
            {
                "value": check.number(value, "StaticRNN.memory: init_value"), "shape": shape,
                "dtype": str(made.dtype), "input_dim_idx": ref_axis,
                "output_dim_idx": check.integer(axis, "StaticRNN.memory: init_batch_dim_idx", 0),
            },
        )  # fmt: skip
        return made

    def update_memory(self, mem, var):
        """Have the next step see `var` as `mem`."""
        self._update(mem, var)

    def step_output(self, o):
        """Make `o` a result: ``[steps, ...]`` of it after the step."""
        self._check_inside("step_output")
        self._variable(o, "step_output")
        made = self._passed_on(o)
        steps = -1 if self._length is None else self._length
        self.outputs.append(
            self._parent.create_var(
                name=made.name, shape=[steps, *made.desc.shape], dtype=made.dtype,
                stop_gradient=made.stop_gradient,
            )  # fmt: skip
        )

    def output(self, *outputs):
        """`step_output` of each."""
        for each in outputs:
            self.step_output(each)

    def _passed_on(self, value):
        """The value under a name of its own, which `recurrent` knows outside the step too."""
        made = self._body.create_var(
            name=unique_name.generate(f"{self.name}.tmp"), dtype=value.dtype,
            stop_gradient=value.stop_gradient,
        )  # fmt: skip
        self._body.append_op(
            "rnn_memory_helper", {"X": value}, {"Out": made}, {"dtype": str(value.dtype)}
        )
        return made

    def _complete(self, states):
        if not self._inputs:
            raise PreconditionNotMetError(
                "StaticRNN: the step needs an input, which says how many steps there are. Call "
                "rnn.step_input(x) in it"
            )
        parent, body = self._parent, self._body
        reads, writes = bodies.outside_uses(body)
        if writes:
            raise PreconditionNotMetError(
                f"StaticRNN: a step must not write variables from before it, but it writes "
                f"'{writes[0]}'. Make it a memory, or write layers.While"
            )
        parent.append_op(
            "recurrent",
            {
                "inputs": list(self._inputs), "initial_states": list(self._memories.values()),
                "parameters": reads,
            },
            {"outputs": self.outputs, "step_scopes": bodies.steps(parent)},
            {
                "has_states": bool(states), "ex_states": list(self._memories),
                "states": [s.name for s in states], "sub_block": body,
            },
        )  # fmt: skip


class DynamicRNN(_Steps):
    """A network over time for sequences of different lengths: its step is described once.

    The sequences are sorted, the longest first, and step t computes on those longer than t; the
    results have the order and the LoD of the first input.

    Parameters
    ----------
    name : str, optional

    Raises
    ------
    PreconditionNotMetError
        A method is called outside the block, or before `step_input` where it needs one.
    ArgumentTypeError
        A variable is none of the program. Eager Variables take `dygraph.nn.RNN`, or Python's
        ``for``.
    InvalidArgumentError
        A memory has another shape after the step.

    Examples
    --------
    >>> import numpy as np, dygraph, static
    >>> from static import layers
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [None, 1], "float32", lod_level=1)
    ...     rnn = layers.DynamicRNN()
    ...     with rnn.block():
    ...         now = rnn.step_input(x)
    ...         total = rnn.memory(shape=[1], value=0.0)
    ...         rnn.update_memory(total, total + now)
    ...         rnn.output(total + now)
    ...     ragged = dygraph.to_variable(np.ones([5, 1], "float32"), lod=[[0, 2, 5]])
    ...     static.Executor().run(feed={"x": ragged}, fetch_list=[rnn()])[0].ravel().tolist()
    [1.0, 2.0, 1.0, 2.0, 3.0]
    """

    _opened = "block"

    def __init__(self, name=None):
        super().__init__(name, "dynamic_rnn")
        self._cond = self._program.current_block().create_var(
            name=unique_name.generate(f"{self.name}.tmp"), dtype="bool", shape=[1], lod_level=0,
            persistable=False,
        )  # fmt: skip
        self._table = self._longest = self._zero = self._step = None
        self._arrays, self._results = [], []

    @contextlib.contextmanager
    def block(self):
        """The block of a step, for one ``with`` statement."""
        self._begin()
        with bodies.taken_back(self._program):
            try:
                self._step = fill_constant([1], "int64", 0, force_cpu=True)
                with While(self._cond).block():
                    self._body = self._program.current_block()
                    yield
                    self._end()
                self.outputs = [array_to_lod_tensor(a, self._table) for a in self._results]
            except BaseException:
                self._status = _BEFORE
                self._memories, self._updates, self._arrays, self._results = {}, {}, [], []
                self._table = self._longest = self._zero = None
                raise
        self._status = _AFTER

    def _end(self):
        if self._table is None:
            raise PreconditionNotMetError(
                "DynamicRNN: the step needs an input, which says how long the sequences are. Call "
                "rnn.step_input(x) in it"
            )
        self._check_updates()
        increment(self._step, 1.0, in_place=True)
        for name, value in self._updates.items():
            array_write(value, self._step, self._memories[name])
        self._compare(self._body)

    def _compare(self, block):
        block.append_op(
            "less_than", {"X": self._step, "Y": self._longest}, {"Out": self._cond},
            {"force_cpu": True},
        )  # fmt: skip

    def _put(self, type, inputs, slot, name, **declared):
        """The result of an operator of the block around, in a variable of this name."""
        out = self._parent.create_var(name=unique_name.generate(name), **declared)
        self._parent.append_op(type, inputs, {slot: out})
        return out

    def step_input(self, x, level=0):
        """The rows of `x` of this step, one for each sequence that is long enough.

        Parameters
        ----------
        x : Variable
            With LoD; all inputs have the same.
        level : int
            Of the LoD, whose sequences are split into steps; that of the first input counts.
        """
        self._check_inside("step_input")
        self._variable(x, "step_input")
        if x.is_data and not x.lod_level:
            raise InvalidArgumentError(
                f"DynamicRNN: an input must hold sequences, but '{x.name}', made at "
                f"{bodies.made_at(x)}, has no LoD. Declare it with lod_level=1"
            )
        if self._table is None:
            level = check.integer(level, "DynamicRNN.step_input: level", 0)
            self._table = self._parent.create_var(
                name=unique_name.generate("lod_rank_table"), type="LOD_RANK_TABLE"
            )
            self._parent.append_op("lod_rank_table", {"X": x}, {"Out": self._table},
                                   {"level": level})  # fmt: skip
            self._longest = self._put(
                "max_sequence_len", {"RankTable": self._table}, "Out", "dynamic_rnn_max_seq_len",
                dtype="int64",
            )  # fmt: skip
            self._compare(self._parent)
        array = self._put(
            "lod_tensor_to_array", {"X": x, "RankTable": self._table}, "Out",
            "dynamic_rnn_input_array", type=_ARRAY, dtype=x.dtype, stop_gradient=x.stop_gradient,
        )  # fmt: skip
        self._arrays.append(array)
        return array_read(array, self._step)

    def static_input(self, x):
        """The rows or sequences of `x` of those sequences that are long enough for this step.

        Parameters
        ----------
        x : Variable
            A row or a sequence for each sequence of the input.
        """
        self._check_inside("static_input")
        self._variable(x, "static_input")
        self._check_table("static_input")
        ordered = self._reordered(x, "dynamic_rnn_static_input_reordered")
        return shrink_memory(ordered, self._step, self._table)

    def _check_table(self, what):
        if self._table is None:
            raise PreconditionNotMetError(
                f"DynamicRNN: {what} needs the order of the sequences. Call step_input() before it"
            )

    def _reordered(self, x, name):
        return self._put(
            "reorder_lod_tensor_by_rank", {"X": x, "RankTable": self._table}, "Out", name,
            dtype=x.dtype, stop_gradient=x.stop_gradient,
        )  # fmt: skip

    def memory(self, init=None, shape=None, value=0.0, need_reorder=False, dtype="float32"):
        """What one step hands to the next.

        Parameters
        ----------
        init : Variable, optional
            Its value in the first step, a row for each sequence. None: `value` everywhere.
        shape : list of int, optional
            Without `init`: the shape of a row.
        value : float
        need_reorder : bool
            `init` has the order of the sequences of the input. False: it is sorted already, the
            row of the longest sequence first. An `init` with LoD is sorted in any case.
        dtype : str
            Without `init`.

        Returns
        -------
        Variable
            A row for each sequence that is long enough for this step.
        """
        self._check_inside("memory")
        if init is None and shape is None:
            raise InvalidArgumentError("DynamicRNN: memory() needs init, or shape, got neither")
        if self._zero is None:
            self._zero = self._parent.create_var(
                name=unique_name.generate("zero_idx"), dtype="int64"
            )
            attrs = {"shape": [1], "dtype": "int64", "value": 0.0, "force_cpu": True}
            self._parent.append_op("fill_constant", {}, {"Out": self._zero}, attrs)
        if init is None:
            init = self._first(shape, value, dtype)
        self._variable(init, "memory")
        if need_reorder or init.lod_level:
            self._check_table("memory(need_reorder=True)")
            init = self._reordered(init, "dynamic_rnn_mem_init_reordered")
        self._check_table("memory()")
        array = self._put(
            "write_to_array", {"X": init, "I": self._zero}, "Out", "dynamic_rnn_mem_array",
            type=_ARRAY, dtype=init.dtype,
        )  # fmt: skip
        made = shrink_memory(array_read(array, self._step), self._step, self._table)
        self._memories[made.name] = array
        return made

    def _first(self, shape, value, dtype):
        if not isinstance(shape, (list, tuple)):
            raise ArgumentTypeError(
                f"DynamicRNN.memory: shape must be a list of sizes, got {kind_of(shape)}"
            )
        self._check_table("memory(shape=...)")
        rows = self._put(
            "read_from_array", {"X": self._arrays[0], "I": self._zero}, "Out", "in0",
            dtype=self._arrays[0].dtype,
        )  # fmt: skip
        made = self._parent.create_var(name=unique_name.generate("mem_init"), dtype=dtype)
        attrs = {
            "shape": [-1, *sizes_of(shape, "DynamicRNN.memory")], "dtype": str(made.dtype),
            "value": check.number(value, "DynamicRNN.memory: value"),
        }  # fmt: skip
        self._parent.append_op(
            "fill_constant_batch_size_like", {"Input": rows}, {"Out": made}, attrs
        )
        return made

    def update_memory(self, ex_mem, new_mem):
        """Have the next step see `new_mem` as `ex_mem`."""
        self._update(ex_mem, new_mem)

    def output(self, *outputs):
        """Make variables results: sequences of them after the block."""
        self._check_inside("output")
        for each in outputs:
            self._variable(each, "output")
            array = self._parent.create_var(
                name=unique_name.generate(f"{self.name}_output_array_{each.name}"), type=_ARRAY,
                dtype=each.dtype, stop_gradient=each.stop_gradient,
            )  # fmt: skip
            array_write(each, self._step, array)
            self._results.append(array)
