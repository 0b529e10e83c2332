"""StaticRNN: a recurrent network over sequences of equal length."""

import contextlib

from dygraph import unique_name
from dygraph.core import check
from dygraph.errors import InvalidArgumentError, PreconditionNotMetError
from dygraph.static import bodies
from dygraph.static.layers.steps import AFTER, BEFORE, Steps
from dygraph.static.variable import sizes_of

__all__ = ["StaticRNN"]

_NUMBERS = {
    "bool": 0, "int16": 1, "int32": 2, "int64": 3, "float16": 4, "float32": 5, "float64": 6,
    "uint8": 20, "int8": 21, "bfloat16": 22,
}  # fmt: skip  # of types in files


class StaticRNN(Steps):
    """A recurrent network over sequences of equal length. Its step is described once.

    Parameters
    ----------
    name : str, optional
        Prefix of the names of its variables.

    Raises
    ------
    PreconditionNotMetError
        A method is called outside the step, a memory is not updated, or there is no input.
    ArgumentTypeError
        A variable does not belong to a program. For eager Variables use `dygraph.nn.RNN` or
        Python's ``for``.
    InvalidArgumentError
        Inputs have different numbers of steps, or the step changes the shape of a memory.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program()):
    ...     x, zero = static.data("x", [3, 2]), layers.fill_constant([2], "float32", 0.0)
    ...     rnn = layers.StaticRNN()
    ...     with rnn.step():
    ...         now = rnn.step_input(x)
    ...         total = rnn.memory(init=zero)
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
        self._inputs, self._length, self._given = {}, None, []

    @contextlib.contextmanager
    def step(self):
        """The block of one step, for a single ``with`` statement."""
        self._begin()
        with bodies.taken_back(self._program):
            try:
                with bodies.body(self._program, "StaticRNN") as self._body:
                    yield
                    self._check_updates()
                    states = [self._passed_on(self._updates[name]) for name in self._memories]
                    # Last, so that the gradient of a step begins with its results, as in a Python
                    # loop.
                    self.outputs = [self._all_steps(value) for value in self._given]
                self._complete(states)
            except BaseException:
                self._status = BEFORE
                self._memories, self._updates, self.outputs = {}, {}, []
                self._inputs, self._length, self._given = {}, None, []
                raise
        self._status = AFTER

    def step_input(self, x):
        """The element of `x` for this step.

        Parameters
        ----------
        x : Variable
            ``[steps, ...]``. All inputs have the same number of steps.

        Returns
        -------
        Variable
            Of shape ``x.shape[1:]``. Inside the step it has the name of `x` and hides it.

        Raises
        ------
        ArgumentTypeError
            `x` does not belong to a program.
        InvalidArgumentError
            `x` has no axis, or another number of steps than the inputs before it.
        PreconditionNotMetError
            It is called outside the step.
        """
        self._check_inside("step_input")
        self._variable(x, "step_input")
        if x.name in self._inputs:
            return self._inputs[x.name]
        shape = x.desc.shape
        if not shape:
            raise InvalidArgumentError(
                f"StaticRNN: an input must have a time axis, got '{x.name}' of shape {shape}"
            )
        known = -1 if self._length is None else self._length
        if -1 not in (known, shape[0]) and known != shape[0]:
            raise InvalidArgumentError(
                f"StaticRNN: all inputs must have the same number of steps along axis 0, got "
                f"{shape[0]} for '{x.name}' and {known} before"
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
        """A value that one step passes to the next.

        Parameters
        ----------
        init : Variable, optional
            The value in the first step. None: filled with `init_value`.
        shape : list of int, optional
            Without `init`: its shape, in which axis `init_batch_dim_idx` takes the batch size.
        batch_ref : Variable, optional
            Without `init`: its axis `ref_batch_dim_idx` gives the batch size. For an input of the
            step, axes are counted in the whole input, whose axis 0 is time.
        init_value : float
        init_batch_dim_idx, ref_batch_dim_idx : int

        Returns
        -------
        Variable
            The value at the beginning of the step. Pass it to `update_memory`.

        Raises
        ------
        ArgumentTypeError
            `init` or `batch_ref` does not belong to a program.
        InvalidArgumentError
            Neither `init` nor both `shape` and `batch_ref` are given, or `batch_ref` is made in the
            step and no input of it.
        PreconditionNotMetError
            It is called outside the step.

        Examples
        --------
        A memory of zeros with a row for each row of the batch, which is axis 1 of the input:

        >>> import numpy as np
        >>> from dygraph import static
        >>> from dygraph.static import layers
        >>> with static.program_guard(static.Program()):
        ...     x = static.data("x", [2, None, 1])
        ...     rnn = layers.StaticRNN()
        ...     with rnn.step():
        ...         now = rnn.step_input(x)
        ...         total = rnn.memory(shape=[-1, 1], batch_ref=now)
        ...         rnn.update_memory(total, total + now)
        ...         rnn.output(total + now)
        ...     feed = {"x": np.array([[[1], [2]], [[3], [4]]], "float32")}
        ...     static.Executor().run(feed=feed, fetch_list=[rnn()])[0].tolist()
        [[[1.0], [2.0]], [[4.0], [6.0]]]
        """
        self._check_inside("memory")
        if init is None:
            init = self._first(shape, batch_ref, init_value, init_batch_dim_idx, ref_batch_dim_idx)
        self._variable(init, "memory")
        self._parent.check_sees(init, "StaticRNN.memory")
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
        if inside is batch_ref:  # its element: the size is that of the whole input
            batch_ref = self._parent.var_recursive(batch_ref.name)
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
        """Make `var` the value of `mem` in the next step.

        Parameters
        ----------
        mem : Variable
            A result of `memory`.
        var : Variable
            Of the same type and shape.

        Raises
        ------
        AlreadyExistsError
            The memory has been updated in this step.
        ArgumentTypeError, InvalidArgumentError
            `var` has another type or shape.
        PreconditionNotMetError
            `mem` is not a memory of this network, or the call is outside the step.
        """
        self._update(mem, var)

    def step_output(self, o):
        """Declare `o` a result. After the block it is a Variable ``[steps, ...]``.

        Parameters
        ----------
        o : Variable

        Raises
        ------
        ArgumentTypeError
            `o` does not belong to a program.
        PreconditionNotMetError
            It is called outside the step.
        """
        self._check_inside("step_output")
        self._given.append(self._variable(o, "step_output"))

    def output(self, *outputs):
        """Call `step_output` for each of the results.

        Parameters
        ----------
        *outputs : Variable
        """
        for each in outputs:
            self.step_output(each)

    def _passed_on(self, value):
        """The value under a new name, by which `recurrent` also finds it outside the step."""
        made = self._body.create_var(
            name=unique_name.generate(f"{self.name}.tmp"), dtype=value.dtype,
            stop_gradient=value.stop_gradient,
        )  # fmt: skip
        self._body.append_op(
            "rnn_memory_helper", {"X": value}, {"Out": made}, {"dtype": _NUMBERS[str(value.dtype)]}
        )
        return made

    def _all_steps(self, value):
        """The outer variable that holds the value of every step."""
        made = self._passed_on(value)
        steps = -1 if self._length is None else self._length
        return self._parent.create_var(
            name=made.name, shape=[steps, *made.desc.shape], dtype=made.dtype,
            stop_gradient=made.stop_gradient,
        )  # fmt: skip

    def _complete(self, states):
        if not self._inputs:
            raise PreconditionNotMetError(
                "StaticRNN: the step needs an input, which gives the number of steps. Call "
                "rnn.step_input(x) in it"
            )
        self._check_outputs()
        parent, body = self._parent, self._body
        reads, writes = bodies.outside_uses(body)
        if writes:
            raise PreconditionNotMetError(
                f"StaticRNN: a step must not write variables made before it, but it writes "
                f"'{writes[0]}'. Make it a memory, or use layers.While"
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
