"""The steps of `dygraph.jit.trace`: runs of a function, restored state, comparison."""

from dygraph import _core, unique_name
from dygraph.autograd.recording import modes
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.inspect.watch import user_line
from dygraph.jit import open_axes, size_tracker


def flatten(value, out):
    """Appends the Variables of nested lists, tuples and dicts to ``out``."""
    if isinstance(value, _core.Variable):
        out.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            flatten(item, out)
    elif isinstance(value, dict):
        for key in value:
            flatten(value[key], out)
    elif value is not None:
        raise ArgumentTypeError(
            "trace: the function must return Variables, or lists, tuples and dicts of them, "
            f"got {kind_of(value)}"
        )
    return out


def state_of(layer):
    """Name -> Variable of a layer's state: parameters, then buffers."""
    state = {}
    for method in ("named_parameters", "named_buffers"):
        if hasattr(layer, method):
            state.update(dict(getattr(layer, method)()))
    return state


class Moment:
    """The current variables, gradients and generator, to be restored.

    Parameters
    ----------
    written : list of Variable
    leaves : list of Variable
        Variables whose gradients are restored.
    """

    def __init__(self, written, leaves):
        self._values = [(v, _core.snapshot(v)) for v in written]
        grads = [(leaf, leaf.grad) for leaf in leaves]
        self._grads = [(leaf, g, g if g is None else _core.snapshot(g)) for leaf, g in grads]
        self._generator = _core.generator_state()

    def restore(self):
        """Restore the state."""
        _core.set_generator_state(*self._generator)
        for variable, value in self._values:
            _core.restore(variable, value)
        for leaf, gradient, value in self._grads:
            _restore_gradient(leaf, gradient)
            if gradient is not None:
                _core.restore(gradient, value)


def _restore_gradient(leaf, gradient):
    if gradient is None:
        leaf.clear_gradient()
    elif leaf.grad is not gradient:
        leaf.grad = gradient


class Observer:
    """Observes a running function: optimizers report their steps.

    The first run is an ordinary one. In the others no optimizer reads its learning rate: the rate
    is a variable, which is set before the program runs.
    """

    def __init__(self):
        self.optimizers = []
        self.played = True  # a backward pass was part of the first run
        self._first = True
        self._stepped = []

    def stepping(self, optimizer):
        """An optimizer's step begins."""
        if any(o is optimizer for o in self._stepped) and callable(optimizer._learning_rate):
            raise PreconditionNotMetError(
                f"{type(optimizer).__name__}.step: a traced function must call step() once where a "
                f"schedule or function gives the learning rate, got a second call at {user_line()}"
            )
        self._stepped.append(optimizer)
        if self._first:
            if not any(o is optimizer for o in self.optimizers):
                self.optimizers.append(optimizer)
            optimizer.ask_rate()

    def run(self, function, inputs):
        """Call it under observation."""
        before = modes.tracer
        modes.tracer, self._stepped = self, []
        rates = [_schedule_of(o) for o in self.optimizers]
        if not self.played:  # the values for the tape would be most of the memory of a run
            _core.push_saved_value_hooks(_drop, _refuse)
        try:
            result = function(*inputs)
        finally:
            modes.tracer = before
            if not self.played:
                _core.pop_saved_value_hooks()
        for optimizer, rate in zip(self.optimizers, rates, strict=False):
            if _schedule_of(optimizer) != rate:
                raise PreconditionNotMetError(
                    f"trace: the learning rate of {type(optimizer).__name__} must not be changed "
                    f"by the traced function, since a program does not run Python. Call set_lr(), "
                    f"or the "
                    "schedule's step(), between its runs"
                )
        self._first = False
        return result


def _drop(variable):
    """Hooks on the values of a tape whose backward pass never runs."""


def _refuse(packed):
    raise PreconditionNotMetError(
        "trace: a traced function must compute gradients in every call or in none, but the first "
        f"call did not and a later one does, at {user_line()}"
    )


def _schedule_of(optimizer):
    rate = optimizer._learning_rate
    return repr(rate.state_dict()) if hasattr(rate, "state_dict") else rate


def observed(function, inputs, observer):
    """The first run: its outputs and the `_core.Journal` of what it wrote.

    After an error, all state is restored.
    """
    journal, generator = _core.Journal(), _core.generator_state()
    journal.start()
    try:
        outputs = observer.run(function, inputs)
        flatten(outputs, [])
    except BaseException:
        journal.stop()
        undo(journal, generator)
        raise
    journal.stop()
    return outputs, journal


def undo(journal, generator):
    """Restore the state before a run."""
    _core.set_generator_state(*generator)
    for variable, value in journal.written():
        _core.restore(variable, value)
    for leaf, gradient in journal.leaves():
        _restore_gradient(leaf, gradient)


def works(function, inputs, observer):
    """Whether the function accepts inputs of these sizes."""
    try:
        observer.run(function, inputs)
    except Exception:  # also the function's own errors: it may assert that there are rows
        return False
    return True


def names_of(state, written, leaves, optimizers):
    """(variable, name) of the persistent state of a program: of layer and optimizers, and the
    variables that the first run wrote."""
    named = [(variable, variable.name or name) for name, variable in state.items()]
    for optimizer in optimizers:
        for name, p in optimizer._named():
            for slot, variable in optimizer._states.get(id(p), {}).items():
                named.append((variable, f"{p.name or name}_{unique_name.snake(slot)}_0"))
        for variable in optimizer._rates.values():
            named.append((variable, "learning_rate_0"))
    for leaf in leaves:
        if leaf.grad is not None:
            named.append((leaf.grad, f"{leaf.name or 'leaf'}@GRAD"))
    named.extend((variable, variable.name or "state_0") for variable in written)
    return named


def record(function, inputs, follow, named, observer):
    """Runs the function once while recording: the recording, and the `Tracker` of its sizes.

    Parameters
    ----------
    inputs : list of (Variable, str)
    follow : list of list
        For each axis of each input the key of the open size that it has, or None.
    """
    recorder = _core.Recorder(user_line)
    with size_tracker.following(recorder) as tracker:
        names = open_axes.names_of_shared(follow)
        for (variable, name), keys, sizes in zip(inputs, follow, names, strict=True):
            name = recorder.add_feed(variable, name, sizes)
            tracker.feed(variable, name, keys)
        for variable, name in named:
            if not _core.is_empty(variable):
                recorder.add_parameter(variable, name)
        recorder.start()
        try:
            outputs = observer.run(function, [variable for variable, _ in inputs])
        finally:
            recorder.stop()
        tracker.note_calls()
    return recorder.finish(flatten(outputs, [])), tracker


def check_same(one, two):
    """Check that sizes that Python read as numbers are equal in both recordings.

    The number of results of each operator, which Python sees as the length of a list, must be equal
    too, even if the program needs none of them.
    """
    for made, others in zip(one.calls, two.calls, strict=False):
        if made[:1] != others[:1]:
            break
        if len(made) != len(others):
            raise InvalidArgumentError(
                "trace: Python code must not depend on the batch size, but the operator that "
                f"makes '{made[0]}' makes {len(made)} values at the first size and {len(others)} "
                "at the second"
            )
    for (name, axis), (size, line) in one.closed.items():
        other = two.closed.get((name, axis), (size, line))[0]
        if other != size:
            raise InvalidArgumentError(
                f"trace: Python code must not depend on the batch size, but the size of axis "
                f"{axis} of '{name}' is {size} at the first size and {other} at the second, at "
                f"{line}"
            )


def check_replay(recording, inputs, function, observer, runs, restore):
    """Check that the program gives the bits of eager calls at another size.

    With `runs` of 2 or more also in the next call, which detects state kept in Python. The eager
    calls run first and leave only digests, and each run starts from the same variables, so memory
    holds the variables at most twice.
    """
    scope = _core.Scope()
    prepared = _core.PreparedProgram(
        recording.program, scope, recording.feeds, recording.fetches, None
    )
    shapes, expected = [list(v.shape) for v in inputs()], []
    for _ in range(runs):
        restore()
        streams = _core.generator_state()
        outputs = flatten(observer.run(function, inputs()), [])
        drawn = _core.generator_state()[1] - streams[1]
        if drawn != prepared.random_operators:
            raise PreconditionNotMetError(
                f"trace: the program must draw as the function does, but {drawn} random operators "
                f"ran for inputs of shapes {shapes} and the program has "
                f"{prepared.random_operators}"
            )
        kept = {name: _core.digest(variable) for name, variable in recording.sources.items()}
        expected.append((streams, [_core.digest(v) for v in outputs], kept))
        del outputs
    restore()
    for run, (streams, digests, kept) in enumerate(expected):
        recording.fill_scope(scope)
        actual = prepared.run(inputs(), streams)
        for i, (want, got) in enumerate(zip(digests, actual, strict=True)):
            _compare(f"output {i}", want, got, shapes, run)
        del actual
        for name, want in kept.items():
            got = scope.find_var(name).get()
            _compare(f"the variable '{name}', which outlives the run,", want, got, shapes, run)


def _compare(what, want, got, shapes, run):
    got = _core.digest(got)
    if want != got:
        described = [f"{digest[0]} {list(digest[1])}" for digest in (want, got)]
        raise PreconditionNotMetError(
            f"trace: the program must repeat the layer bit for bit, but {what} differs "
            f"{'in the second run ' if run else ''}for inputs of shapes {shapes}: "
            f"{described[0]} eagerly, {described[1]} from the "
            "program. The layer computes values that depend on the batch outside operators, or "
            "keeps state in Python between calls"
        )
