"""Tracing: a layer called at two batch sizes becomes a program that runs without its Python.

The program lives in ``static``, which is imported only when something here is called.
"""

import inspect
import os
import sys

import numpy as np

from dygraph import _core
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    PreconditionNotMetError,
    kind_of,
)

__all__ = ["TracedLayer", "trace"]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _where():
    """The innermost Python line outside this package: ``model.py:12 in forward``."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None:
        return "an unknown line"
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


def _flatten(value, out):
    """Appends the Variables of nested lists, tuples and dicts to ``out``."""
    if isinstance(value, _core.Variable):
        out.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _flatten(item, out)
    elif isinstance(value, dict):
        for key in value:
            _flatten(value[key], out)
    elif value is not None:
        raise ArgumentTypeError(
            "trace: a layer must return Variables, or lists, tuples and dicts of them, "
            f"got {kind_of(value)}"
        )
    return out


def _state(layer):
    """Name -> Variable of everything the layer remembers: parameters, then buffers."""
    state = {}
    for method in ("named_parameters", "named_buffers"):
        if hasattr(layer, method):
            state.update(dict(getattr(layer, method)()))
    return state


class _Input:
    """One input of the traced layer, which can be made for any batch size."""

    def __init__(self, variable, name):
        self.name = name
        self.array = variable.numpy()
        self.lod = _core.lod(variable)
        if self.lod:
            self.batch = len(self.lod[0]) - 1
        else:
            self.batch = self.array.shape[0] if self.array.ndim else None

    def at(self, batch, size):
        """A Variable of ``size`` rows (or sequences), repeating what was given for ``batch``."""
        if self.batch != batch or size == batch:
            return _core.to_variable(self.array, lod=self.lod or None)
        order = np.arange(size) % batch
        if not self.lod:
            return _core.to_variable(self.array[order])
        lod = []
        for offsets in self.lod:
            spans = [np.arange(offsets[i], offsets[i + 1]) for i in order]
            lod.append(np.cumsum([0] + [len(span) for span in spans]).tolist())
            order = np.concatenate(spans) if spans else np.arange(0)
        return _core.to_variable(self.array[order.astype(np.int64)], lod=lod)


def _make_inputs(layer, inputs):
    given = [inputs] if isinstance(inputs, _core.Variable) else list(inputs)
    if not given:
        raise InvalidArgumentError("trace: there must be at least one input, got none")
    names = []
    try:
        signature = inspect.signature(getattr(layer, "forward", layer))
        names = [p.name for p in signature.parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):  # a callable that has no signature
        pass
    result = []
    for i, variable in enumerate(given):
        if not isinstance(variable, _core.Variable):
            raise ArgumentTypeError(
                f"trace: inputs must be Variables, got {kind_of(variable)} at {i}. "
                "Convert arrays with dygraph.to_variable()"
            )
        result.append(_Input(variable, names[i] if i < len(names) else f"input_{i}"))
    batch = next((i.batch for i in result if i.batch is not None), None)
    if not batch:
        raise InvalidArgumentError(
            "trace: the first axis of an input is its batch and must hold at least one row, "
            f"got shapes {[list(i.array.shape) for i in result]}"
        )
    return result, batch


class _Restored:
    """Puts back what a layer remembers and where the random numbers stand."""

    def __init__(self, state):
        self.values = {name: _core.snapshot(var) for name, var in state.items()}
        self.state = state
        self.generator = _core.generator_state()

    def restore(self):
        _core.set_generator_state(*self.generator)
        for name, var in self.state.items():
            _core.restore(var, self.values[name])


def _record(layer, state, inputs):
    """Runs the layer once while recording."""
    recorder = _core.Recorder(_where)
    for variable, name in inputs:
        recorder.add_feed(variable, name)
    for name, variable in state.items():
        recorder.add_parameter(variable, variable.name or name)
    recorder.start()
    try:
        outputs = layer(*(variable for variable, _ in inputs))
    finally:
        recorder.stop()
    flat = _flatten(outputs, [])
    return outputs, flat, recorder.finish(flat)


def _check_replay(recording, inputs, layer):
    """The program must give an eager call's bits at a size it has not seen."""
    scope = _core.Scope()
    recording.fill_scope(scope)
    prepared = _core.PreparedProgram(
        recording.program, scope, recording.feeds, recording.fetches, None
    )
    feeds = [_core.to_variable(v.numpy(), lod=_core.lod(v) or None) for v in inputs]
    streams = _core.generator_state()
    expected = _flatten(layer(*inputs), [])
    actual = prepared.run(feeds, streams)
    for i, (want, got) in enumerate(zip(expected, actual, strict=True)):
        lods = _core.lod(want), _core.lod(got)
        want, got = want.numpy(), got.numpy()
        same = want.dtype == got.dtype and want.shape == got.shape
        if not same or want.tobytes() != got.tobytes() or lods[0] != lods[1]:
            raise PreconditionNotMetError(
                f"trace: the program must repeat the layer bit for bit, but output {i} differs "
                f"for inputs of shapes {[list(v.shape) for v in inputs]}: "
                f"{want.dtype} {list(want.shape)} eagerly, {got.dtype} {list(got.shape)} from the "
                "program. The layer computes something that depends on the batch outside operators"
            )


def trace(layer, inputs):
    """Record what a layer does as a program.

    The layer runs at two batch sizes; what differs between them is left open in the program. A
    third run is compared with the program, bit for bit. Afterwards the layer remembers what one
    call with ``inputs`` leaves behind.

    Parameters
    ----------
    layer : Layer
        A layer, or any function of Variables. In train mode it is recorded as it trains (batch_norm
        updates its means when the program runs, dropout draws); for deployment call
        ``layer.eval()`` first.
    inputs : Variable or list of Variable
        Positional arguments of the layer. The first axis of the first one (for a variable with LoD,
        its sequences) is the batch; other inputs with as many rows follow it.

    Returns
    -------
    outputs
        What ``layer(*inputs)`` returned.
    traced : TracedLayer
        Callable with Variables; saves itself as an inference model.

    Raises
    ------
    ValueError
        An operator, attribute or constant depends on the batch size; the message has the Python
        line.
    RuntimeError
        A recorded value was read (``numpy()``, ``float()``, ``if``), or the program does not repeat
        the layer.

    Examples
    --------
    >>> import dygraph
    >>> net, x = dygraph.nn.Linear(3, 2), dygraph.ones([4, 3])
    >>> out, traced = dygraph.jit.trace(net, [x])
    >>> traced(x).tolist() == out.tolist(), traced(dygraph.ones([9, 3])).shape
    (True, (9, 2))
    """
    given, batch = _make_inputs(layer, inputs)
    state = _state(layer)
    saved = _Restored(state)

    def at(size):
        return [i.at(batch, size) for i in given]

    def run(size):
        names = [i.name for i in given]
        return _record(layer, state, list(zip(at(size), names, strict=True)))

    try:
        _, _, second = run(batch + 1)
        saved.restore()
        outputs, _, recording = run(batch)
        recording.generalize(second)
        after = _Restored(state)
        saved.restore()
        _check_replay(recording, at(1 if batch > 1 else 3), layer)
        after.restore()
    except BaseException:
        saved.restore()
        raise
    return outputs, TracedLayer(recording, isinstance(outputs, _core.Variable))


class TracedLayer:
    """A layer that became a program. Made by :func:`trace`.

    >>> import dygraph
    >>> out, traced = dygraph.TracedLayer.trace(dygraph.nn.ReLU(), [dygraph.ones([4, 3])])
    >>> traced(dygraph.to_variable([[-1.0, 0.0, 2.0]], dtype="float32")).tolist()
    [[0.0, 0.0, 2.0]]
    """

    def __init__(self, recording, single=False):
        self._recording = recording
        self._single = single  # the layer returned one Variable, not a container
        self._scope = _core.Scope()
        recording.fill_scope(self._scope)
        self._prepared = None
        self._program = None

    @staticmethod
    def trace(layer, inputs):
        """The same as :func:`dygraph.jit.trace`, under Fluid's name."""
        return trace(layer, inputs)

    @property
    def program(self):
        """The recorded ``static.Program``."""
        if self._program is None:
            from static.program import Program

            self._program = Program(self._recording.program)
        return self._program

    @property
    def feed_names(self):
        """Names of the inputs, in the order of the layer's arguments."""
        return self._recording.feeds

    @property
    def fetch_names(self):
        """Names of the outputs."""
        return self._recording.fetches

    def __call__(self, *inputs):
        """Run the program: ``traced(x, y)``, or Fluid's ``traced([x, y])``, which gives a list."""
        as_list = len(inputs) == 1 and isinstance(inputs[0], (list, tuple))
        if as_list:
            inputs = inputs[0]
        if self._prepared is None:
            self._prepared = _core.PreparedProgram(
                self.program.desc, self._scope, self.feed_names, self.fetch_names, None
            )
        outputs = self._prepared.run(list(inputs))
        return outputs[0] if self._single and not as_list else outputs

    def save_inference_model(self, dirname, feed=None, fetch=None):
        """Save program and weights for ``static.load_inference_model``.

        Parameters
        ----------
        dirname : str or path
            Directory, made if it is not there. A model in it is replaced at once or not at all.
        feed, fetch : list of int, optional
            Numbers of the inputs and outputs that the saved program keeps, in their order. Default:
            all.

        Raises
        ------
        IndexError
            A number is not one of the inputs or outputs.
        """
        feeds = _choose(self.feed_names, feed, "feed")
        fetches = _choose(self.fetch_names, fetch, "fetch")
        pruned = _core.prune(self.program.desc, feeds, fetches)
        _core.save_inference_model(os.fspath(dirname), pruned, self._scope)


def _choose(names, numbers, what):
    if numbers is None:
        return names
    for i in numbers:
        if not 0 <= i < len(names):
            raise OutOfRangeError(
                f"save_inference_model: {what} must hold numbers in [0, {len(names)}), got {i}"
            )
    return [names[i] for i in numbers]
