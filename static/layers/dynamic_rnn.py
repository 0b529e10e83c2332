"""DynamicRNN: a recurrent network over sequences of different lengths."""

import contextlib

from dygraph import unique_name
from dygraph.core import check
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.nn import ragged
from dygraph.static import bodies
from dygraph.static.layers.arithmetic import increment
from dygraph.static.layers.arrays import array_read, array_write
from dygraph.static.layers.creation import fill_constant
from dygraph.static.layers.loops import While
from dygraph.static.layers.ranked import array_to_lod_tensor, shrink_memory
from dygraph.static.layers.steps import AFTER, BEFORE, Steps
from dygraph.static.variable import sizes_of

__all__ = ["DynamicRNN"]

_ARRAY = "LOD_TENSOR_ARRAY"


class DynamicRNN(Steps):
    """A recurrent network over sequences of different lengths. Its step is described once.

    Sequences are sorted by length, the longest first, and step t computes on those longer than t,
    so the batch shrinks as sequences end. The results have the order and the LoD of the first
    input.

    Parameters
    ----------
    name : str, optional
        Prefix of the names of its variables.

    Raises
    ------
    PreconditionNotMetError
        A method is called outside the block, or before the `step_input` that it needs.
    ArgumentTypeError
        A variable does not belong to a program. For eager Variables use `dygraph.nn.RNN` or
        Python's ``for``.
    InvalidArgumentError
        The step changes the shape of a memory; in a run, no sequence has a step.

    Examples
    --------
    >>> import numpy as np, dygraph
    >>> from dygraph import static
    >>> from dygraph.static import layers
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
        """The block of one step, for a single ``with`` statement."""
        self._begin()
        with bodies.taken_back(self._program):
            try:
                self._step = fill_constant([1], "int64", 0, force_cpu=True)
                with While(self._cond).block():
                    self._body = self._program.current_block()
                    yield
                    self._end()
                self.outputs = [array_to_lod_tensor(a, self._table) for a in self._results]
                self._check_outputs()
            except BaseException:
                self._status = BEFORE
                self._memories, self._updates, self._arrays, self._results = {}, {}, [], []
                self._table = self._longest = self._zero = None
                raise
        self._status = AFTER

    def _end(self):
        if self._table is None:
            raise PreconditionNotMetError(
                "DynamicRNN: the step needs an input, which gives the lengths of the sequences. "
                "Call rnn.step_input(x) in it"
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

    def _put(self, operator, inputs, slot, name, **declared):
        """The result of an operator of the enclosing block, in a variable of this name."""
        out = self._parent.create_var(name=unique_name.generate(name), **declared)
        self._parent.append_op(operator, inputs, {slot: out})
        return out

    def step_input(self, x, level=0):
        """The rows of `x` for this step, one for each sequence that is long enough.

        Parameters
        ----------
        x : Variable
            With LoD, the same for all inputs.
        level : int
            The level of LoD whose sequences are split into steps. The level given for the first
            input is used for all.

        Returns
        -------
        Variable
            The longest sequence comes first. With a deeper level of LoD, a row is a sequence.

        Raises
        ------
        ArgumentTypeError
            `x` does not belong to a program.
        InvalidArgumentError
            `x` is declared without LoD, or belongs to another program.
        PreconditionNotMetError
            It is called outside the block.
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
        """The parts of `x` for the sequences that are long enough for this step.

        Parameters
        ----------
        x : Variable
            One row, or one sequence of any length, for each sequence of the input.

        Returns
        -------
        Variable
            In the order of the step's rows.

        Raises
        ------
        PreconditionNotMetError
            It is called outside the block, or before `step_input`.

        Examples
        --------
        Each step adds a number of its sequence:

        >>> import numpy as np, dygraph
        >>> from dygraph import static
        >>> from dygraph.static import layers
        >>> with static.program_guard(static.Program()):
        ...     x = static.data("x", [None, 1], lod_level=1)
        ...     more = static.data("more", [None, 1])
        ...     rnn = layers.DynamicRNN()
        ...     with rnn.block():
        ...         now = rnn.step_input(x)
        ...         rnn.output(now + rnn.static_input(more))
        ...     ragged = dygraph.to_variable(np.zeros([3, 1], "float32"), lod=[[0, 1, 3]])
        ...     feed = {"x": ragged, "more": np.array([[5], [7]], "float32")}
        ...     static.Executor().run(feed=feed, fetch_list=[rnn()])[0].ravel().tolist()
        [5.0, 7.0, 7.0]
        """
        self._check_inside("static_input")
        self._variable(x, "static_input")
        self._check_table("static_input")
        ordered = self._reordered(x, "dynamic_rnn_static_input_reordered")
        return shrink_memory(ordered, self._step, self._table)

    def _check_table(self, what):
        if self._table is None:
            raise PreconditionNotMetError(
                f"DynamicRNN: {what} needs the order of the sequences. Call step_input() first"
            )

    def _reordered(self, x, name):
        return self._put(
            "reorder_lod_tensor_by_rank", {"X": x, "RankTable": self._table}, "Out", name,
            dtype=x.dtype, stop_gradient=x.stop_gradient,
        )  # fmt: skip

    def memory(self, init=None, shape=None, value=0.0, need_reorder=False, dtype="float32"):
        """A value that one step passes to the next.

        Parameters
        ----------
        init : Variable, optional
            The value in the first step, one row for each sequence. None: filled with `value`.
        shape : list of int, optional
            Without `init`: the shape of a row.
        value : float
        need_reorder : bool
            True: `init` is in the order of the input's sequences, and is sorted here. False: it is
            sorted already, with the row of the longest sequence first. An `init` with LoD is always
            sorted here.
        dtype : str
            Without `init`: its type.

        Returns
        -------
        Variable
            One row for each sequence that is long enough for this step. Pass it to
            `update_memory`.

        Raises
        ------
        ArgumentTypeError
            `init` does not belong to a program, or `shape` is not a list.
        InvalidArgumentError
            Neither `init` nor `shape` is given.
        PreconditionNotMetError
            It is called outside the block, or before `step_input`.
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
        """Make `new_mem` the value of `ex_mem` in the next step.

        Parameters
        ----------
        ex_mem : Variable
            A result of `memory`.
        new_mem : Variable
            Of the same type and shape.

        Raises
        ------
        AlreadyExistsError
            The memory has been updated in this step.
        ArgumentTypeError, InvalidArgumentError
            `new_mem` has another type or shape.
        PreconditionNotMetError
            `ex_mem` is not a memory of this network, or the call is outside the block.
        """
        self._update(ex_mem, new_mem)

    def output(self, *outputs):
        """Declare results of the step. After the block each is a batch of sequences.

        Parameters
        ----------
        *outputs : Variable
            A row for each sequence that is long enough for this step.

        Raises
        ------
        ArgumentTypeError
            A result does not belong to a program.
        PreconditionNotMetError
            It is called outside the block.
        """
        self._check_inside("output")
        for each in outputs:
            self._variable(each, "output")
            array = self._parent.create_var(
                name=unique_name.generate(f"{self.name}_output_array_{each.name}"), type=_ARRAY,
                dtype=each.dtype, stop_gradient=each.stop_gradient,
            )  # fmt: skip
            array_write(each, self._step, array)
            self._results.append(array)


ragged.Steps.dynamic_rnn = DynamicRNN
