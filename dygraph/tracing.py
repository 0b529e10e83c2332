"""How `dygraph.jit.trace` makes a program: runs of a function, what they leave and repeat."""

from dygraph import _core, open_axes, size_tracker, unique_name
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.recording import modes
from dygraph.watch import user_line


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
            "trace: what is traced must return Variables, or lists, tuples and dicts of them, "
            f"got {kind_of(value)}"
        )
    return out


def state_of(layer):
    """Name -> Variable of everything a layer remembers: parameters, then buffers."""
    state = {}
    for method in ("named_parameters", "named_buffers"):
        if hasattr(layer, method):
            state.update(dict(getattr(layer, method)()))
    return state


class Moment:
    """What variables, gradients and the generator are now, to be brought back.

    Parameters
    ----------
    written : list of Variable
    leaves : list of Variable
        Their gradients are brought back.
    """

    def __init__(self, written, leaves):
        self._values = [(v, _core.snapshot(v)) for v in written]
        grads = [(leaf, leaf.grad) for leaf in leaves]
        self._grads = [(leaf, g, g if g is None else _core.snapshot(g)) for leaf, g in grads]
        self._generator = _core.generator_state()

    def restore(self):
        """Bring it back."""
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
    """Stands by while a function runs: optimizers tell of their steps.

    The first run is an ordinary one. In the others no optimizer asks for its learning rate: the
    rate is a variable, and who runs the program asks before.
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
                f"{type(optimizer).__name__}.step: a traced function may step an optimizer whose "
                f"learning rate is computed once, got a second step at {user_line()}"
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
        if not self.played:  # what the tape would keep is most of what a run takes
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
                    f"trace: the learning rate of {type(optimizer).__name__} must not be moved by "
                    "what is traced, since a program does not run Python. Call set_lr(), or the "
                    "schedule's step(), between its runs"
                )
        self._first = False
        return result


def _drop(variable):
    """Hooks on what a tape keeps that will never be played."""


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

    Everything is as before if it raises.
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
    """Bring back what was before a run."""
    _core.set_generator_state(*generator)
    for variable, value in journal.written():
        _core.restore(variable, value)
    for leaf, gradient in journal.leaves():
        _restore_gradient(leaf, gradient)


def works(function, inputs, observer):
    """Whether the function can be called with inputs of these sizes at all."""
    try:
        observer.run(function, inputs)
    except Exception:  # of the function's own, too: it may assert that there are rows
        return False
    return True


def names_of(state, written, leaves, optimizers):
    """(variable, name) of all that a program keeps from run to run: of layer and optimizers, and
    what the first run wrote."""
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
    """A size that Python had as a number must be the same in both recordings.

    So must the number of results of each operator, which Python has as the length of a list, also
    where the program needs none of them.
    """
    for made, others in zip(one.calls, two.calls, strict=False):
        if made[:1] != others[:1]:
            break
        if len(made) != len(others):
            raise InvalidArgumentError(
                "trace: what Python does must not depend on the batch size, but the operator that "
                f"makes '{made[0]}' makes {len(made)} values at the first size and {len(others)} "
                "at the second"
            )
    for (name, axis), (size, line) in one.closed.items():
        other = two.closed.get((name, axis), (size, line))[0]
        if other != size:
            raise InvalidArgumentError(
                f"trace: what Python does must not depend on the batch size, but the size of axis "
                f"{axis} of '{name}' is {size} at the first size and {other} at the second, at "
                f"{line}"
            )


def check_replay(recording, inputs, function, observer, runs, restore):
    """The program must give the bits of eager calls at a size it has not seen.

    With `runs` of 2 or more also in the next call, which finds what Python keeps. The eager calls
    come first and leave only digests, and each run starts from the same variables, so that memory
    holds them twice at most: as they were and as one run makes them.
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
            _compare(f"the variable '{name}', which is kept,", want, got, shapes, run)


def _compare(what, want, got, shapes, run):
    got = _core.digest(got)
    if want != got:
        described = [f"{digest[0]} {list(digest[1])}" for digest in (want, got)]
        raise PreconditionNotMetError(
            f"trace: the program must repeat the layer bit for bit, but {what} differs "
            f"{'in the second run ' if run else ''}for inputs of shapes {shapes}: "
            f"{described[0]} eagerly, {described[1]} from the "
            "program. The layer computes something that depends on the batch outside operators, "
            "or keeps something in Python from one call to the next"
        )
