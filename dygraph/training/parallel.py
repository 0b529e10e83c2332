"""Fluid's data-parallel names, for training in one process.

A training script written for several processes runs unchanged with one. More than one process
raises an error, since the gradients would not be added.
"""

import os

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, UnimplementedError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.nn.layer import Layer

__all__ = ["DataParallel", "ParallelEnv", "ParallelStrategy", "prepare_context"]


def _count(name, default, least=0):
    text = os.environ.get(name, str(default))
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise InvalidArgumentError(
            f"ParallelEnv: {name} must be an integer of at least {least}, got '{text}'"
        )
    return value


class ParallelEnv(Shown):
    """The environment variables of the process launcher.

    Attributes
    ----------
    nranks : int
        ``PADDLE_TRAINERS_NUM``; default 1.
    local_rank : int
        ``PADDLE_TRAINER_ID``, 0.
    dev_id : int
        ``FLAGS_selected_gpus``, 0.
    current_endpoint : str
        ``PADDLE_CURRENT_ENDPOINT``, empty.
    trainer_endpoints : list of str
        ``PADDLE_TRAINER_ENDPOINTS``, separated by commas; empty.

    Examples
    --------
    >>> import dygraph
    >>> env = dygraph.ParallelEnv()
    >>> env.nranks, env.local_rank
    (1, 0)
    """

    def __init__(self):
        self.nranks = _count("PADDLE_TRAINERS_NUM", 1, 1)
        self.local_rank = _count("PADDLE_TRAINER_ID", 0)
        if self.local_rank >= self.nranks:
            raise InvalidArgumentError(
                f"ParallelEnv: PADDLE_TRAINER_ID must be below PADDLE_TRAINERS_NUM {self.nranks}, "
                f"got {self.local_rank}"
            )
        self.dev_id = _count("FLAGS_selected_gpus", 0)
        self.current_endpoint = os.environ.get("PADDLE_CURRENT_ENDPOINT", "")
        endpoints = os.environ.get("PADDLE_TRAINER_ENDPOINTS", "")
        self.trainer_endpoints = [e.strip() for e in endpoints.split(",") if e.strip()]


class ParallelStrategy(Shown):
    """The number of processes and the rank of this one; see `prepare_context`.

    >>> import dygraph
    >>> strategy = dygraph.training.parallel.ParallelStrategy()
    >>> strategy.nranks, strategy.local_rank
    (1, 0)
    """

    def __init__(self):
        self.nranks = 1
        self.local_rank = 0
        self.trainer_endpoints = []
        self.current_endpoint = ""


def _one_process(strategy, owner):
    if not isinstance(strategy, ParallelStrategy):
        raise ArgumentTypeError(
            f"{owner}: strategy must be what prepare_context() gives, got {kind_of(strategy)}"
        )
    if check.integer(strategy.nranks, f"{owner}: strategy.nranks", 1) > 1:
        raise UnimplementedError(
            f"{owner}: this version trains in 1 process, got nranks = {strategy.nranks}. "
            "Start one process, without PADDLE_TRAINERS_NUM"
        )
    return strategy


def prepare_context(strategy=None):
    """The strategy for `DataParallel`: as given, or from the environment.

    Parameters
    ----------
    strategy : ParallelStrategy, optional
        None: that of the environment.

    Returns
    -------
    ParallelStrategy
        For `DataParallel`.

    Raises
    ------
    UnimplementedError
        There is more than one process.

    Examples
    --------
    >>> import dygraph
    >>> strategy = dygraph.prepare_context()
    >>> net = dygraph.DataParallel(dygraph.nn.Linear(3, 2), strategy)
    >>> net(dygraph.ones([4, 3])).shape
    (4, 2)
    """
    if strategy is None:
        env, strategy = ParallelEnv(), ParallelStrategy()
        for name in ("nranks", "local_rank", "trainer_endpoints", "current_endpoint"):
            setattr(strategy, name, getattr(env, name))
    return _one_process(strategy, "prepare_context")


class DataParallel(Layer):
    """A layer whose gradients are added over all processes: with one process, the layer itself.

    Parameters
    ----------
    layers : Layer
    strategy : ParallelStrategy, optional
        A result of `prepare_context`; None calls it.

    Raises
    ------
    UnimplementedError
        For more than one process.

    Examples
    --------
    >>> import dygraph
    >>> model = dygraph.DataParallel(dygraph.nn.Linear(2, 1), dygraph.prepare_context())
    >>> loss = model.scale_loss(model(dygraph.ones([3, 2])).mean())
    >>> loss.backward()
    >>> model.apply_collective_grads()
    >>> sorted(model.state_dict())
    ['bias', 'weight']
    """

    def __init__(self, layers, strategy=None):
        super().__init__()
        if not isinstance(layers, Layer):
            raise ArgumentTypeError(f"DataParallel: layers must be a Layer, got {kind_of(layers)}")
        strategy = prepare_context() if strategy is None else strategy
        self._strategy = _one_process(strategy, "DataParallel")
        self._layers = layers

    def forward(self, *inputs, **kwargs):
        return self._layers(*inputs, **kwargs)

    def scale_loss(self, loss):
        """The loss divided by the number of processes: with one process, the loss."""
        return check.variable(loss, "DataParallel.scale_loss: loss")

    def apply_collective_grads(self):
        """Add the gradients of all processes: with one process, no effect."""

    def state_dict(self, destination=None, include_sublayers=True, structured_name_prefix=""):
        """The state of the wrapped layer, under its own names."""
        return self._layers.state_dict(destination, include_sublayers, structured_name_prefix)

    def set_state_dict(
        self, stat_dict, include_sublayers=True, use_structured_name=True, strict=True,
        from_torch=None,
    ):  # fmt: skip
        """Set the state of the wrapped layer; see `Layer.set_state_dict`."""
        return self._layers.set_state_dict(
            stat_dict, include_sublayers, use_structured_name, strict, from_torch
        )

    set_dict = set_state_dict
    load_dict = set_state_dict
