"""Programs from Python: `trace` records one call, `to_static` all paths through a function.

Programs are in ``dygraph.static``, which is imported at the first use of this module.
"""

import inspect
import os

from dygraph import _core
from dygraph.errors import ArgumentTypeError, DygraphError, OutOfRangeError
from dygraph.inspect.shown import Shown
from dygraph.jit import open_axes, tracing
from dygraph.jit.input_spec import InputSpec

__all__ = [
    "InputSpec",
    "ProgramTranslator",
    "TracedLayer",
    "declarative",
    "load",
    "to_static",
    "trace",
]


def trace(layer, inputs, dims=None):
    """Record a call of a layer, or a whole training step, as a program.

    After an ordinary call the function runs at two batch sizes; sizes that differ between them are
    left open in the program. Further runs at a third size are compared with the program, bit for
    bit. Afterwards all state is as after the ordinary call.

    Parameters
    ----------
    layer : Layer or callable
        A layer, or any function of Variables. In train mode the program trains (batch_norm updates
        its means in each run, and dropout drops values). A function that calls ``backward()`` and
        ``step()`` or ``minimize()`` of optimizers becomes a program that trains: it shares
        parameters, accumulators and running means with the eager objects, and learning rates are
        variables of it.
    inputs : Variable or list of Variable
        Positional arguments of the layer. The first axis of the first one (for a variable with LoD,
        its sequences) is the batch; other inputs with as many rows follow it.
    dims : list or dict, optional
        Further open sizes. For each input (in a dict: by name) an `InputSpec`, a list of sizes, or
        a dict of axes: ``(None, "length", 6)`` and ``{0: None, 1: "length"}`` are equivalent for
        ``[4, 5, 6]``. None is an open size, a name an open size that is equal on all axes of that
        name. The program, saved or not, raises if sizes of one name, or of the batch, differ
        between its inputs.

    Returns
    -------
    outputs
        The result of ``layer(*inputs)``.
    traced : TracedLayer
        Callable with Variables; saves an inference model or the whole program.

    Raises
    ------
    ValueError
        An operator, attribute or constant depends on the batch size, or Python reads a size that
        does; the message has the Python line. While a function is recorded, a size ``x.shape[0]``
        that depends on the batch may be used in arithmetic with Variables and with ints, and in
        reshape, expand, tile, zeros, ones and full; ``print`` and ``logging`` write its current
        value. Comparisons, ``int()``, ``len()``, ``range()``, NumPy and other uses of its text are
        refused, unless the result is the same for every batch.
    RuntimeError
        A recorded value was read (``numpy()``, ``float()``, ``if``), or the program does not repeat
        the function, which keeps state in Python between calls.

    Examples
    --------
    >>> import dygraph
    >>> net, x = dygraph.nn.Linear(3, 2), dygraph.ones([4, 3])
    >>> out, traced = dygraph.jit.trace(net, [x])
    >>> traced(x).tolist() == out.tolist(), traced(dygraph.ones([9, 3])).shape
    (True, (9, 2))

    A size may be computed with, not decided on:

    >>> mean, traced = dygraph.jit.trace(lambda x: x.sum() / x.shape[0], [x])
    >>> traced(dygraph.ones([9, 3])).item()
    3.0

    Sequences of any length:

    >>> lstm = dygraph.nn.LSTM(6, 3, batch_first=True)
    >>> out, traced = dygraph.jit.trace(lstm, [dygraph.ones([4, 5, 6])], dims=[(None, None, 6)])
    >>> traced(dygraph.ones([2, 8, 6]))[0].shape
    (2, 8, 3)

    A step of training. The schedule moves on when the traced step runs, as it does eagerly.

    >>> sgd = dygraph.optimizer.SGD(0.1, parameter_list=net.parameters())
    >>> def step(x):
    ...     loss = dygraph.mean(net(x) ** 2)
    ...     loss.backward()
    ...     sgd.step()
    ...     sgd.clear_gradients()
    ...     return loss
    >>> loss, traced = dygraph.jit.trace(step, [x])
    >>> losses = [traced(x).item() for _ in range(20)]
    >>> losses[-1] < losses[0] / 100, bool(dygraph.mean(net(x) ** 2) <= losses[-1])
    (True, True)
    """
    given = open_axes.make_inputs(layer, inputs, dims)
    observer, generator = tracing.Observer(), _core.generator_state()
    outputs, journal = tracing.observed(layer, given.at(given.sizes), observer)
    observer.played = journal.played
    state = tracing.state_of(layer)
    written = [variable for variable, _ in journal.written()]
    leaves = [leaf for leaf, _ in journal.leaves()]
    after = tracing.Moment([*state.values(), *written], leaves)
    named = tracing.names_of(state, written, leaves, observer.optimizers)

    def restored(run, size):
        try:
            return run(size)
        finally:
            after.restore()

    def record(sizes, several):
        inputs = [(v, s.name) for v, s in zip(given.at(sizes), given.samples, strict=True)]
        follow = given.axes if several else [[None] * len(keys) for keys in given.axes]
        return sizes, *tracing.record(layer, inputs, follow, named, observer)

    def replay(sizes):
        runs = 2 if written or recording.trains else 1
        tracing.check_replay(
            recording, lambda: given.at(sizes), layer, observer, runs, after.restore
        )

    def works(sizes):
        return restored(lambda s: tracing.works(layer, given.at(s), observer), sizes)

    def at_one_of(sizes, run):
        """Run at the first sizes that the function accepts."""
        for one in sizes[:-1]:
            try:
                return restored(run, one)
            except DygraphError:
                if works(one):
                    raise
        return restored(run, sizes[-1])

    def others(*rules):
        # If it accepts no other batch, its sizes are numbers.
        made = [given.other(rule) for rule in rules]
        return made if dims is not None else [*made, given.sizes]

    try:
        other, second, there = at_one_of(
            others(open_axes.fewer, open_axes.double), lambda s: record(s, s != given.sizes)
        )
        _, recording, here = restored(lambda s: record(s, other != given.sizes), given.sizes)
        tracing.check_same(here, there)
        recording.generalize(second)
        if dims is not None and works(given.other(open_axes.one)):
            restored(replay, given.other(open_axes.one))
        further = [] if dims is not None else [open_axes.one]
        at_one_of(others(*further, open_axes.more, open_axes.triple), replay)
        for key in given.sizes if here.asked_of_empty else ():
            if works({**given.sizes, key: 0}):
                restored(replay, {**given.sizes, key: 0})
    except BaseException:
        tracing.undo(journal, generator)
        raise
    scope = _core.Scope()
    if recording.trains:
        recording.share_scope(scope)
    else:  # copies, as they were before the call
        recording.fill_scope(scope)
        before = dict(journal.written())
        for name, variable in recording.sources.items():
            if variable in before:
                scope.var(name).set(before[variable])
    single = isinstance(outputs, _core.Variable)
    traced = TracedLayer(recording.program, scope, single, observer.optimizers)
    if recording.trains:
        traced._sources = recording.sources
    # The runs at other sizes left unused arenas and pages.
    _core.memory.release_free(_core.current_place())
    return outputs, traced


def to_static(function=None, input_spec=None, verify=True, dims=None):
    """Make calls of a function run a program that is right on every path through it.

    Python runs the function once for each path, on variables without values. Paths join where the
    state of Python is equal except for Variables, and a loop becomes a ``while`` if an iteration
    leads to such an equal state. So ``if``, ``while``, ``for``, ``and``, exceptions, closures,
    lists and classes work as in Python. Code that cannot become part of a program is refused with
    its line.

    Parameters
    ----------
    function : callable
        A function, a method or a Layer. None: returns a decorator.
    input_spec : list or dict, optional
        For each Variable among the arguments (in a dict: by name) an `InputSpec`, or an object with
        a ``shape``, whose sizes of None or -1 are open; sizes of one name are equal, and a call in
        which they differ raises. Default: axis 0 is open, and another axis after calls with two
        sizes of it.
    verify : bool or list
        True: compare each new program with eager calls, bit for bit, with gradients and errors: on
        every path through the function, whatever the values (loops make zero, one and two
        iterations), and on the path of the data at several batch sizes. A list holds further
        arguments for the comparison, a tuple for each call. ``proof`` lists what was compared.
        False: no comparison; saved files record that (`TracedLayer.verified`).
    dims : list or dict, optional
        Instead of `input_spec`, as in `trace`: ``{"x": {0: None, 1: "length"}}`` opens only these
        axes of ``x``.

    Returns
    -------
    callable
        Takes the arguments of the function. Its results and gradients have the bits of eager calls.

    Raises
    ------
    ArgumentTypeError
        `function` is not callable, or `verify` is neither a bool nor a list.
    RuntimeError
        At the first call: some code cannot become part of a program, or the program does not give
        the bits of eager calls. The message gives the line and what to write instead.

    Examples
    --------
    >>> import dygraph
    >>> @dygraph.jit.to_static
    ... def scaled(x, by=3):
    ...     return x * by - x.mean()
    >>> scaled(dygraph.ones([2, 3])).shape, scaled(dygraph.ones([5, 3])).shape
    ((2, 3), (5, 3))

    A program decides as Python does, and each way was compared with eager calls:

    >>> @dygraph.jit.to_static
    ... def halved(x):
    ...     while x.max() > 1:
    ...         x = x / 2
    ...     return x
    >>> halved(dygraph.ones([2]) * 7).tolist(), len(halved.proof.ways)
    ([0.875, 0.875], 3)
    """
    if function is None:
        return lambda f: to_static(f, input_spec, verify, dims)
    from dygraph.static.ways.function import Captured

    return Captured(function, input_spec, verify, dims)


def declarative(dygraph_func=None):
    """The same as :func:`to_static`, under Fluid's name.

    Parameters
    ----------
    dygraph_func : callable, optional
        The function to capture; None: a decorator.

    Returns
    -------
    Captured or callable
        What :func:`to_static` returns.

    Examples
    --------
    >>> import dygraph
    >>> @dygraph.jit.declarative
    ... def doubled(x):
    ...     return x * 2
    >>> doubled(dygraph.ones([2])).tolist()
    [2.0, 2.0]
    """
    return to_static(dygraph_func)


class ProgramTranslator(Shown):
    """Fluid's switch for all captured functions; a singleton.

    Examples
    --------
    >>> import dygraph
    >>> f = dygraph.jit.to_static(lambda x: x * 2)
    >>> dygraph.jit.ProgramTranslator().enable(False)  # calls are eager again
    >>> f(dygraph.ones([2])).tolist()
    [2.0, 2.0]
    >>> dygraph.jit.ProgramTranslator().enable(True)
    """

    _one = None

    def __new__(cls):
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    @staticmethod
    def enable(enable_declarative):
        """Whether captured functions run programs (True, the default) or Python."""
        to_static(len)
        from dygraph.static.ways.function import Captured

        Captured.enabled = bool(enable_declarative)

    @staticmethod
    def get_func(dygraph_func):
        """The result of :func:`to_static`; a captured function is returned unchanged."""
        return dygraph_func if hasattr(dygraph_func, "entry") else to_static(dygraph_func)

    @classmethod
    def get_program(cls, dygraph_func, *args, **kwargs):
        """The ``static.Program`` that a call with these arguments runs."""
        return cls.get_func(dygraph_func).entry(*args, **kwargs).program

    @classmethod
    def get_output(cls, dygraph_func, *args, **kwargs):
        """The results of that program."""
        return cls.get_func(dygraph_func)(*args, **kwargs)

    @staticmethod
    def get_code(dygraph_func):
        """The source of the function, which is explored unchanged."""
        return inspect.getsource(getattr(dygraph_func, "captured_function", dygraph_func))


def save(layer, path, input_spec=None):
    """Write a layer or a function as an inference model, for `load` and other languages.

    Parameters
    ----------
    layer : Layer, callable or TracedLayer
        What `to_static` or `trace` gave, or what `to_static` takes.
    path : str or path
        Directory, made if it is not there. A model in it is replaced at once or not at all.
    input_spec : list of InputSpec or of Variable, optional
        One for each input. May be left out if `to_static` got it, and for a `TracedLayer`.

    Raises
    ------
    ArgumentTypeError
        (a TypeError) without a specification of the inputs.

    Examples
    --------
    >>> import dygraph, tempfile
    >>> net, folder = dygraph.nn.Linear(3, 2), tempfile.mkdtemp()
    >>> dygraph.jit.save(net, folder, [dygraph.jit.InputSpec([None, 3])])
    >>> dygraph.jit.load(folder)(dygraph.ones([4, 3])).shape
    (4, 2)
    """
    if isinstance(layer, TracedLayer):
        layer.save(path)
        return
    if input_spec is not None:
        specs = input_spec if isinstance(input_spec, (list, tuple)) else [input_spec]
        specs = [InputSpec.from_tensor(s) if isinstance(s, _core.Variable) else s for s in specs]
        layer = to_static(getattr(layer, "captured_function", None) or layer, specs)
    elif getattr(layer, "_spec", None) is None:
        raise ArgumentTypeError(
            "jit.save: input_spec must be given: jit.save(layer, path, "
            "[dygraph.jit.InputSpec([None, 3])])"
        )
    layer.save(path)


def load(dirname):
    """Load the program of :meth:`TracedLayer.save`, to run or train it without its Python code.

    Parameters
    ----------
    dirname : str or path
        A directory that `TracedLayer.save` or `TracedLayer.save_inference_model` wrote.

    Returns
    -------
    TracedLayer
        With its own variables. Learning rates are kept; `TracedLayer.set_lr` changes them.

    Raises
    ------
    FileNotFoundError, FormatError
        The model does not exist, or it is damaged.

    Examples
    --------
    >>> import dygraph, tempfile
    >>> net, x, folder = dygraph.nn.Linear(3, 2), dygraph.ones([4, 3]), tempfile.mkdtemp()
    >>> out, traced = dygraph.jit.trace(net, [x])
    >>> traced.save(folder)
    >>> dygraph.jit.load(folder)(x).tolist() == out.tolist()
    True
    """
    scope = _core.Scope()
    desc = _core.load_inference_model(os.fspath(dirname), scope)
    return TracedLayer(desc, scope, len(desc.fetch_names) == 1)


class TracedLayer:
    """A layer, or a training step, as a program. Made by :func:`trace`.

    Attributes
    ----------
    scope : Scope
        Holds its persistable variables: those of the eager objects if it trains, else copies.

    Examples
    --------
    >>> import dygraph
    >>> out, traced = dygraph.TracedLayer.trace(dygraph.nn.ReLU(), [dygraph.ones([4, 3])])
    >>> traced(dygraph.to_variable([[-1.0, 0.0, 2.0]], dtype="float32")).tolist()
    [[0.0, 0.0, 2.0]]
    """

    def __init__(self, desc, scope, single=False, optimizers=()):
        self._desc = desc
        self._single = single  # the layer returned one Variable, not a container
        self._optimizers = list(optimizers)
        self._sources = {}
        self._prepared = None
        self._program = None
        self.scope = scope

    def __repr__(self):
        return f"TracedLayer({', '.join(self.feed_names)} -> {', '.join(self.fetch_names)})"

    @staticmethod
    def trace(layer, inputs, dims=None):
        """The same as :func:`dygraph.jit.trace`, under Fluid's name."""
        return trace(layer, inputs, dims)

    @property
    def program(self):
        """The recorded ``static.Program``.

        An Executor runs it with ``scope=traced.scope``, or in a scope without its variables; if it
        trains, it uses the eager parameters in both cases. The Executor does not advance schedules:
        set the variable ``learning_rate_0``.
        """
        if self._program is None:
            from dygraph import static

            self._program = static.Program(self._desc)
            self._program.hold(self._sources)
        return self._program

    @property
    def verified(self):
        """Whether it was compared with eager calls; False for a file saved by a function with
        ``verify=False``."""
        ops = self.program.global_block().ops
        return all(
            op.attr("verified") for op in ops if op.type == "fetch" and op.has_attr("verified")
        )

    @property
    def feed_names(self):
        """Names of the inputs, in the order of the layer's arguments."""
        return self._desc.feed_names

    @property
    def fetch_names(self):
        """Names of the outputs."""
        return self._desc.fetch_names

    def __call__(self, *inputs):
        """Run the program: ``traced(x, y)``, or Fluid's ``traced([x, y])``, which gives a list.

        Random operators draw the same numbers as the layer. Schedules give the rate, as in the
        optimizer's step.
        """
        as_list = len(inputs) == 1 and isinstance(inputs[0], (list, tuple))
        if as_list:
            inputs = inputs[0]
        if self._prepared is None:
            # If `program` was never read, without `static`, whose modules take 8 MB.
            desc = self._desc if self._program is None else self._program.desc
            self._prepared = _core.PreparedProgram(
                desc, self.scope, self.feed_names, self.fetch_names, None
            )
        for optimizer in self._optimizers:
            optimizer.ask_rate()
        outputs = self._prepared.run(list(inputs))
        return outputs[0] if self._single and not as_list else outputs

    def set_lr(self, value, name="learning_rate_0"):
        """Set the learning rate of a loaded training step, which has no optimizer object.

        Raises
        ------
        KeyError
            The program has no learning rate of this name.
        """
        variable = self.scope.get_var(name)
        variable.set(_core.to_variable([value], None, str(variable.get().dtype)))

    def save(self, dirname):
        """Save the whole program and all its variables, for :func:`load` or
        ``static.load_inference_model``.

        A training step continues from the file, also in another process, with the same bits: the
        accumulators of optimizers are variables of the program. Random numbers depend on
        ``dygraph.seed``, which is not saved.

        Parameters
        ----------
        dirname : str or path
            Directory, made if it is not there. A model in it is replaced at once or not at all.
        """
        _core.save_inference_model(os.fspath(dirname), self.program.desc, self.scope)

    def save_inference_model(self, dirname, feed=None, fetch=None):
        """Save the part that computes the outputs, for ``static.load_inference_model``.

        Backward and update are left out, and ``dropout`` and ``batch_norm`` run as in inference, as
        in `static.io.save_inference_model`.

        Parameters
        ----------
        dirname : str or path
            Directory, made if it is not there. A model in it is replaced at once or not at all.
        feed, fetch : list of int, optional
            Indices of the inputs and outputs that the saved program keeps, in order. Default: all.

        Raises
        ------
        IndexError
            An index is out of range.
        """
        feeds = _choose(self.feed_names, feed, "feed")
        fetches = _choose(self.fetch_names, fetch, "fetch")
        test = self.program.clone(for_test=True)
        pruned = _core.apply_pass(test.desc, "prune", {"feeds": feeds, "fetches": fetches})
        _core.save_inference_model(os.fspath(dirname), pruned, self.scope)


def _choose(names, numbers, what):
    if numbers is None:
        return names
    for i in numbers:
        if not 0 <= i < len(names):
            raise OutOfRangeError(
                f"save_inference_model: {what} must hold numbers in [0, {len(names)}), got {i}"
            )
    return [names[i] for i in numbers]
