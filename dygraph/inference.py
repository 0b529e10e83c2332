"""Saved models that run: the predictor of the C library, for Python.

`Predictor` calls the functions of ``inference/c_api.h``, as programs in C and C++ do; see
``docs/deployment.md``. It gives the bits of `static.Executor`.

>>> import numpy as np, tempfile
>>> import dygraph
>>> from dygraph import inference
>>> folder = tempfile.mkdtemp()
>>> with dygraph.guard():
...     layer = dygraph.nn.Linear(3, 2)
...     x = dygraph.to_variable(np.ones((4, 3), "float32"))
...     _, traced = dygraph.jit.trace(layer, [x])
...     traced.save_inference_model(folder)
>>> predictor = inference.Predictor(folder)
>>> (y,) = predictor.run([np.ones((5, 3), "float32")])
>>> y.shape
(5, 2)
"""

import json
import os
import threading
import typing
import weakref

from dygraph import _core
from dygraph.core import check
from dygraph.core.base import to_variable
from dygraph.core.files import path_of
from dygraph.errors import (
    ArgumentTypeError,
    DygraphError,
    InvalidArgumentError,
    PreconditionNotMetError,
    did_you_mean,
    kind_of,
)
from dygraph.inspect.shown import text

__all__ = ["Port", "Predictor", "RunCancelledError", "RunTimeoutError", "prefix"]


class Port(typing.NamedTuple):
    """An input or output of a model, as its program describes it.

    Parameters
    ----------
    name : str
    dtype : dtype or None
        None where the program does not say.
    shape : tuple of int or None
        -1 stands for any size. None where the program does not say.
    lod_level : int
        Levels of detail.

    Examples
    --------
    >>> import dygraph
    >>> Port("x", dygraph.float32, (-1, 4), 0).shape
    (-1, 4)
    """

    name: str
    dtype: "_core.dtype | None"
    shape: "tuple[int, ...] | None"
    lod_level: int


class RunCancelledError(DygraphError, RuntimeError):
    """Another thread called `Predictor.cancel` during the run.

    >>> issubclass(RunCancelledError, RuntimeError)
    True
    """


class RunTimeoutError(DygraphError, TimeoutError):
    """A run took longer than the predictor's ``time_limit``.

    >>> issubclass(RunTimeoutError, TimeoutError)
    True
    """


def prefix():
    """The folder of the C library: the package's own, wherever it lies.

    It holds ``include/inference/c_api.h`` and ``predictor.h``, ``libs/libdygraph.so``,
    ``share/cmake/dygraph`` for CMake's ``find_package(dygraph)`` and ``share/pkgconfig``.

    Returns
    -------
    str
        For ``CMAKE_PREFIX_PATH``; with ``/share/pkgconfig`` for ``PKG_CONFIG_PATH``.

    Examples
    --------
    >>> import os
    >>> from dygraph import inference
    >>> os.path.exists(os.path.join(inference.prefix(), "libs", "libdygraph.so"))
    True
    """
    return os.path.dirname(os.path.abspath(_core.__file__))


_CANCELLED = 12  # DYGRAPH_CANCELLED; any other number that a run gives is DYGRAPH_TIMED_OUT


class Predictor:
    """A model that was saved for inference, loaded and ready to run.

    Parameters
    ----------
    model : str, os.PathLike or bytes
        A directory that `static.save_inference_model`, a traced or a captured layer wrote; the
        common part of the names of a ``.pdmodel`` and a ``.pdiparams``; a file that `save` wrote;
        or the bytes of such a file.
    threads : int
        A run uses so many compute threads at most. 0: as many as the process may use.
    memory_limit : int
        The most bytes that loading, or one run, may hold. 0: no limit.
    passes : str or sequence of str
        Passes (`static.passes`) that are applied after loading.
    share_weights : bool
        True: the weights of a packed file stay in its pages, which all processes share, and
        operators keep no other form of them. False: each operator may keep the form that is fastest
        for it.
    check_weights : bool
        False: do not compare the weights of a packed file with their checksum, which reads all of
        them. The rest of the file is always checked.
    model_filename, params_filename : str, optional
        Names of the two files in a directory. Default: ``__model__`` and ``__params__``.

    Raises
    ------
    FileNotFoundError
        There is no such model.
    FormatError
        The model is damaged (a ValueError).
    KeyError
        It has an operator that this library does not know, or a pass is unknown.
    MemoryError
        It needs more than `memory_limit`.

    Notes
    -----
    Any number of threads may share a predictor. What runs while another run is in progress does so
    on a `clone`, which takes microseconds and shares the weights; its times are not in the profile.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from dygraph import inference, static
    >>> folder = tempfile.mkdtemp()
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [None, 2])
    ...     _ = static.save_inference_model(folder, ["x"], [x * 2.0])
    >>> predictor = inference.Predictor(folder)
    >>> predictor.inputs
    (Port(name='x', dtype=dygraph.float32, shape=(-1, 2), lod_level=0),)
    >>> predictor.run({"x": np.array([[1.0, 2.0]], "float32")})
    [array([[2., 4.]], dtype=float32)]
    """

    def __init__(
        self, model, *, threads=0, memory_limit=0, passes=(), share_weights=False,
        check_weights=True, model_filename=None, params_filename=None,
    ):  # fmt: skip
        passes = [passes] if isinstance(passes, str) else list(passes)
        for name in passes:
            if not isinstance(name, str) or "," in name:
                raise ArgumentTypeError(
                    f"Predictor: passes must be names of passes, got {kind_of(name)}"
                )
        options = [
            ("threads", str(check.integer(threads, "Predictor: threads", 0))),
            ("memory_limit", str(check.integer(memory_limit, "Predictor: memory_limit", 0))),
            ("passes", ",".join(passes)),
            ("share_weights", str(int(bool(share_weights)))),
            ("check_weights", str(int(bool(check_weights)))),
        ]
        for option, name in (("model_file", model_filename), ("weights_file", params_filename)):
            if name is not None:
                options.append((option, path_of(name, f"Predictor: {option}")))
        if isinstance(model, (bytes, bytearray, memoryview)):
            # The core reads it in place; what is shared with it must not change or go.
            self._bytes = bytes(model)
            handle = _core.predictor_load_memory(self._bytes, None, options)
        else:
            handle = _core.predictor_load(path_of(model, "Predictor: model"), options)
        self._predictor = _Handle(handle, _core.predictor_close)
        self.inputs = tuple(Port(*port) for port in _core.predictor_inputs(handle))
        self.outputs = tuple(Port(*port) for port in _core.predictor_outputs(handle))
        self._names = tuple(port.name for port in self.inputs)
        self._begin(None)

    def _begin(self, time_limit):
        self._context = _Handle(
            _core.context_create(self._predictor.number), _core.context_close, self._predictor
        )
        self._number = self._context.number
        self._one_run, self._beside = threading.Lock(), set()
        self.time_limit = time_limit

    def run(self, inputs=(), return_numpy=True):
        """Run the model once.

        Parameters
        ----------
        inputs : dict of str to array, sequence of arrays, or one array
            A value for each input, by name or in the order of `inputs`: arrays of the dtype and
            shape that `inputs` says, nested lists, or Variables, which bring their LoD along.
        return_numpy : bool
            NumPy arrays (True) or Variables (False), which have the LoD.

        Returns
        -------
        list of numpy.ndarray or list of Variable
            One for each of `outputs`.

        Raises
        ------
        ValueError
            An input is missing, unknown or of another shape.
        TypeError
            An input is of another dtype.
        RunTimeoutError
            The run took longer than `time_limit`.
        RunCancelledError
            Another thread called `cancel`.
        RuntimeError
            The predictor is closed.
        MemoryError
            The run needs more than ``memory_limit``.
        """
        names = self._names
        if type(inputs) is dict:
            try:
                values = tuple([inputs[name] for name in names])
            except KeyError as missing:
                raise self._unfit(inputs, missing.args[0]) from None
            if len(inputs) != len(names):
                raise self._unfit(inputs, None)
        elif type(inputs) in (list, tuple):
            values = tuple(inputs)
        else:
            values = (inputs,)
        if len(values) != len(names):
            raise InvalidArgumentError(
                f"Predictor.run: there must be a value for each of the inputs {list(names)}, got "
                f"{len(values)}"
            )
        if not self._one_run.acquire(False):
            return self._run_beside(values, return_numpy)
        try:
            results = _core.context_run(self._number, values, len(self.outputs))
            if type(results) is int:
                raise self._ended(results)
            if return_numpy:
                return results
            levels = _core.context_output_levels(self._number, len(self.outputs))
        finally:
            self._one_run.release()
        return [
            to_variable(value, lod=lod) if lod else to_variable(value)
            for value, lod in zip(results, levels, strict=True)
        ]

    def _run_beside(self, values, return_numpy):
        """The same while another thread runs this predictor."""
        with self.clone() as other:
            self._beside.add(other)
            try:
                return other.run(values, return_numpy)
            finally:
                self._beside.discard(other)

    def _unfit(self, inputs, missing):
        names = list(self._names)
        if missing is not None:
            return InvalidArgumentError(
                f"Predictor.run: the inputs must be {names}, but there is no {missing!r} among "
                f"{list(inputs)}"
            )
        other = next(name for name in inputs if name not in self._names)
        return InvalidArgumentError(
            f"Predictor.run: the inputs must be {names}, got {other!r} as well."
            f"{did_you_mean(other, names)}"
        )

    def _ended(self, status):
        if status == _CANCELLED:
            return RunCancelledError("Predictor.run: the run was cancelled by another thread")
        return RunTimeoutError(
            f"Predictor.run: the run took longer than time_limit, {self.time_limit} seconds"
        )

    def clone(self):
        """A predictor on the same weights, for another thread; it takes microseconds.

        Returns
        -------
        Predictor
            With the same limits, and without a profile.

        Examples
        --------
        >>> import concurrent.futures, tempfile
        >>> from dygraph import inference, static
        >>> folder = tempfile.mkdtemp()
        >>> with static.program_guard(static.Program()):
        ...     x = static.data("x", [None], "float32")
        ...     _ = static.save_inference_model(folder, ["x"], [x + 1.0])
        >>> predictor = inference.Predictor(folder)
        >>> def answer(values):
        ...     return predictor.clone().run([values])[0].tolist()
        >>> with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ...     list(pool.map(answer, [[1.0], [2.0, 3.0]]))
        [[2.0], [3.0, 4.0]]
        """
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._begin(self.time_limit)
        return copy

    @property
    def time_limit(self):
        """Seconds that a run may take, or None. It ends at the next operator or within 60 ms."""
        return self._time_limit

    @time_limit.setter
    def time_limit(self, seconds):
        if seconds is not None and not seconds > 0:
            raise InvalidArgumentError(
                f"Predictor: time_limit must be above 0 seconds, or None, got {seconds!r}"
            )
        _core.context_set_time_limit(self._number, 0.0 if seconds is None else float(seconds))
        self._time_limit = seconds

    def cancel(self):
        """End the runs that other threads have in progress on this predictor, if there are any."""
        for other in list(self._beside):
            other.cancel()
        _core.context_cancel(self._number)

    def start_profile(self):
        """Measure what each operator takes, from the next run on."""
        _core.context_set_profile(self._number, True)

    def stop_profile(self):
        """Measure no more, and forget what was measured."""
        _core.context_set_profile(self._number, False)

    def profile(self, as_text=False):
        """What operators took since `start_profile`, the slowest first.

        Parameters
        ----------
        as_text : bool
            True: a table.

        Returns
        -------
        dict or str
            ``runs``, ``milliseconds`` of all of them and ``operators``, a list of dicts:
            ``operator`` (several types joined by ``+`` where one kernel does their work),
            ``block``, ``number`` (in its block), ``calls``, ``milliseconds``. An operator with a
            block includes its block.

        Examples
        --------
        >>> import numpy as np, tempfile
        >>> from dygraph import inference, static
        >>> folder = tempfile.mkdtemp()
        >>> with static.program_guard(static.Program()):
        ...     x = static.data("x", [None], "float32")
        ...     _ = static.save_inference_model(folder, ["x"], [static.layers.exp(x)])
        >>> predictor = inference.Predictor(folder)
        >>> predictor.start_profile()
        >>> _ = predictor.run([np.ones(3, "float32")])
        >>> [entry["operator"] for entry in predictor.profile()["operators"]]
        ['exp']
        """
        report = _core.context_profile(self._number, not as_text)
        return report if as_text else json.loads(report)

    def save(self, path):
        """Write the model, after its passes, as one file.

        Its weights are aligned, so that `Predictor` uses them where they lie
        (``share_weights=True``). The file is whole, or the old one stays.

        Parameters
        ----------
        path : str or os.PathLike

        Raises
        ------
        NotImplementedError
            A weight has levels of detail.
        OSError or RuntimeError
            It cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> from dygraph import inference, static
        >>> folder = tempfile.mkdtemp()
        >>> with static.program_guard(static.Program()):
        ...     x = static.data("x", [None], "float32")
        ...     _ = static.save_inference_model(folder, ["x"], [x * 3.0])
        >>> path = os.path.join(folder, "model.dygraph")
        >>> inference.Predictor(folder).save(path)
        >>> inference.Predictor(path, share_weights=True).run([[1.0]])
        [array([3.], dtype=float32)]
        """
        if self._predictor is None:
            raise PreconditionNotMetError(
                "Predictor.save: the predictor must be open, got a closed one"
            )
        _core.predictor_save(self._predictor.number, path_of(path, "Predictor.save: path"))

    def close(self):
        """Free what this predictor holds; clones go on. A closed one runs no more."""
        self._context.close()
        self._predictor = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def __repr__(self):
        return text(self, inputs=list(self._names), outputs=[port.name for port in self.outputs])


class _Handle:
    """A handle of the C interface, closed with its last holder."""

    def __init__(self, number, close, keeps=None):
        self.number, self.keeps = number, keeps
        self.close = weakref.finalize(self, close, number)
