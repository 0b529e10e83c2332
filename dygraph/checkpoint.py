"""Checkpoints: model, optimizer, schedule, position and random numbers in one file.

The file is one of `dygraph.save`: in the safetensors layout with checksums, replaced in one step.
"""

import random as python_random

import numpy as np

from dygraph import _core, saving
from dygraph.errors import (
    ArgumentTypeError,
    DygraphError,
    FormatError,
    InvalidArgumentError,
    kind_of,
)
from dygraph.nn import loading

__all__ = ["Checkpoint", "load", "random_state", "save", "set_random_state"]

_VERSION = 1


class Checkpoint:
    """The result of `load`: ``step`` and ``extra`` as saved, and ``report`` on the model's names.

    Parameters
    ----------
    step : int or None
    extra : object
        As saved.
    report : LoadReport
        Which names the model and the file share.

    Examples
    --------
    >>> import dygraph, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "last.ckpt")
    >>> dygraph.checkpoint.save(path, step=7, extra={"best": 0.5})
    >>> found = dygraph.checkpoint.load(path)
    >>> found.step, found.extra
    (7, {'best': 0.5})
    """

    def __init__(self, step, extra, report):
        self.step, self.extra, self.report = step, extra, report

    def __repr__(self):
        return f"Checkpoint(step={self.step}, extra={self.extra!r}): {self.report!r}"


def random_state():
    """The state of the random numbers of dygraph, Python and NumPy: data for `save`.

    Returns
    -------
    dict

    Examples
    --------
    >>> import dygraph
    >>> state = dygraph.checkpoint.random_state()
    >>> first = dygraph.rand([3]).tolist()
    >>> dygraph.checkpoint.set_random_state(state)
    >>> dygraph.rand([3]).tolist() == first
    True
    """
    version, words, gauss = python_random.getstate()
    numpy = np.random.get_state(legacy=False)
    return {
        "dygraph": list(_core.generator_state()),
        "python": {"version": version, "words": np.array(words, "int64"), "gauss": gauss},
        "numpy": {
            "key": np.asarray(numpy["state"]["key"]).astype("int64"),
            "pos": int(numpy["state"]["pos"]),
            "has_gauss": int(numpy["has_gauss"]),
            "gauss": float(numpy["gauss"]),
        },
    }


def set_random_state(state):
    """Restore a `random_state`. FormatError for other data, which changes nothing.

    Parameters
    ----------
    state : dict
        Of `random_state`.

    Examples
    --------
    >>> import dygraph, random
    >>> state = dygraph.checkpoint.random_state()
    >>> first = random.random()
    >>> dygraph.checkpoint.set_random_state(state)
    >>> random.random() == first
    True
    """
    before = random_state()
    try:
        _set_random_state(state)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        _set_random_state(before)
        raise FormatError(
            f"the state of random numbers must be one of random_state(), got another: {error!r}"
        ) from None


def _set_random_state(state):
    python, numpy = state["python"], state["numpy"]
    words = tuple(np.asarray(python["words"]).tolist())
    python_random.setstate((python["version"], words, python["gauss"]))
    key = np.asarray(numpy["key"])
    if key.shape != (624,):
        raise ValueError(f"the key has shape {key.shape}")
    pos = numpy["pos"]
    if not 0 <= pos <= 624:
        raise ValueError(f"the position is {pos}")
    np.random.set_state(("MT19937", key.astype("uint32"), pos, numpy["has_gauss"], numpy["gauss"]))
    seed, calls = state["dygraph"]
    _core.set_generator_state(seed, calls)


def _state_of(part, what):
    if part is None:
        return None
    if not hasattr(part, "state_dict"):
        raise ArgumentTypeError(f"checkpoint: {what} must have state_dict(), got {kind_of(part)}")
    return part.state_dict()


def _renamed(state, optimizer, model, to_structure):
    """An optimizer's state by the model's names, or back.

    Optimizers may name parameters ``linear_0.w_0``, which differs between models of one class;
    files always use the names in the structure, ``fc.weight``.
    """
    if model is None or not hasattr(optimizer, "_named") or not hasattr(model, "named_parameters"):
        return state
    structure = {id(p): name for name, p in model.named_parameters()}
    pairs = [(own, structure[id(p)]) for own, p in optimizer._named() if id(p) in structure]
    names = dict(pairs if to_structure else [(ours, own) for own, ours in pairs])
    result = {}
    for key, value in state.items():
        owner, dot, slot = key.rpartition(".")
        result[names.get(owner, owner) + dot + slot] = value
    return result


def save(path, model=None, optimizer=None, scheduler=None, step=None, extra=None, random=True):
    """Write a checkpoint in one step.

    Parameters
    ----------
    path : str or os.PathLike
    model, optimizer, scheduler : optional
        Objects with ``state_dict()``. An optimizer's state includes its scheduler's; pass
        `scheduler` only if it is separate.
    step : int, optional
        The step of the training, as you count it.
    extra : optional
        Any data that `dygraph.save` takes.
    random : bool
        Save the state of the random numbers of dygraph, Python and NumPy.

    Examples
    --------
    >>> import dygraph, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "last.ckpt")
    >>> net = dygraph.nn.Linear(2, 2)
    >>> dygraph.checkpoint.save(path, model=net, step=7)
    >>> dygraph.checkpoint.load(path, model=net).step
    7
    """
    of_optimizer = _state_of(optimizer, "optimizer")
    if of_optimizer is not None:
        of_optimizer = _renamed(of_optimizer, optimizer, model, True)
    state = {
        "version": _VERSION,
        "model": _state_of(model, "model"),
        "optimizer": of_optimizer,
        "scheduler": _state_of(scheduler, "scheduler"),
        "step": step,
        "extra": extra,
        "random": random_state() if random else None,
    }
    saving.save(state, path)


def load(path, model=None, optimizer=None, scheduler=None, strict=True, random=True):
    """Restore a checkpoint.

    Parameters
    ----------
    path : str or os.PathLike
    model, optimizer, scheduler : optional
        Objects to restore; None skips a part.
    strict : bool
        True: names and shapes of the model must agree. False: values that fit are written, and the
        report lists the others.
    random : bool
        Set the random numbers, if the checkpoint holds them.

    Returns
    -------
    Checkpoint

    Raises
    ------
    MissingFileError, FormatError
        For a file that is missing, damaged or no checkpoint.
    InvalidArgumentError
        For a part that the file lacks, and for names or shapes that do not agree, with the nearest
        names. The model is checked before any value is written.

    Examples
    --------
    >>> import dygraph, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "last.ckpt")
    >>> net, other = dygraph.nn.Linear(2, 2), dygraph.nn.Linear(2, 2)
    >>> dygraph.checkpoint.save(path, model=net, step=7)
    >>> dygraph.checkpoint.load(path, model=other).step
    7
    >>> other.weight.tolist() == net.weight.tolist()
    True
    """
    state = saving.load(path)
    if not isinstance(state, dict) or "version" not in state:
        raise FormatError(
            f"'{path}' must be a checkpoint of dygraph.checkpoint.save, got other data. "
            "dygraph.load reads it"
        )
    if state["version"] != _VERSION:
        raise FormatError(
            f"'{path}' must be a checkpoint of version {_VERSION}, got {state['version']!r}"
        )
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    for what, part in parts.items():
        if part is None:
            continue
        _state_of(part, what)
        if not isinstance(state.get(what), dict):
            raise InvalidArgumentError(
                f"checkpoint: '{path}' must hold the state of the {what}, got none"
            )
    if model is not None and strict:
        report = loading.compare(model.state_dict(), state["model"])
        if report:
            loading.refuse(type(model).__name__, report)
    try:
        if optimizer is not None:
            optimizer.set_state_dict(_renamed(state["optimizer"], optimizer, model, False))
        if scheduler is not None:
            scheduler.set_state_dict(state["scheduler"])
    except DygraphError as error:
        raise type(error)(f"checkpoint '{path}': {error}") from None
    report = None
    if model is not None:
        report = model.set_state_dict(state["model"], strict=strict)
    if random and state.get("random") is not None:
        set_random_state(state["random"])
    return Checkpoint(state.get("step"), state.get("extra"), report)
