"""Callbacks of `Model.fit`: stopping, saving, schedules, progress, logs."""

import inspect
import math
import os

from dygraph.core import check, files
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, did_you_mean, kind_of
from dygraph.inspect.shown import Shown
from dygraph.lr.per_step import LearningRateDecay
from dygraph.metrics import name_of

__all__ = [
    "Callback",
    "EarlyStopping",
    "LRScheduler",
    "ModelCheckpoint",
    "Progress",
    "TensorBoard",
]


class Callback(Shown):
    """Base class: override the methods you need. ``self.model`` is the `Model`.

    ``logs`` holds numbers by name: ``loss``, the metrics, and with evaluation the same names with
    the prefix ``eval_``.

    Examples
    --------
    >>> import dygraph
    >>> class Tell(dygraph.callbacks.Callback):
    ...     def on_epoch_end(self, epoch, logs):
    ...         print(epoch, sorted(logs))
    >>> net = dygraph.nn.Linear(1, 1)
    >>> model = dygraph.Model(net)
    >>> model.prepare(dygraph.optimizer.SGD(0.1, net.parameters()), dygraph.nn.MSELoss())
    >>> data = dygraph.io.TensorDataset([dygraph.ones([4, 1]), dygraph.ones([4, 1])])
    >>> history = model.fit(data, epochs=2, verbose=0, callbacks=[Tell()])
    0 ['loss']
    1 ['loss']
    """

    model = None

    def on_train_begin(self):
        """Before the first epoch."""

    def on_train_end(self, logs):
        """After the last epoch, also if training was stopped; not after an error."""

    def on_epoch_begin(self, epoch, steps):
        """`steps` is the number of batches, or None if unknown."""

    def on_epoch_end(self, epoch, logs):
        """After the epoch's evaluation, if there is one."""

    def on_batch_end(self, step, logs):
        """After an update; `step` counts from 0 in each epoch."""

    def close(self):
        """At the end, also after an error."""


def _value(logs, name):
    if name not in logs:
        raise InvalidArgumentError(
            f"a callback must watch one of {sorted(logs)}, got '{name}'.{did_you_mean(name, logs)}"
        )
    return logs[name]


def _better(model, name):
    """The mode, "min" or "max", of a value of the logs; None: unknown."""
    metrics = {name_of(metric): metric for metric in model.metrics}
    for known in (name, name.removeprefix("eval_")):
        if known == "loss":
            return "min"
        if known in metrics:
            return getattr(metrics[known], "better", None)
    return None


class _Best:
    """Keeps the best value; with `mode` auto the metric defines which one is better."""

    def __init__(self, owner, monitor, mode, min_delta):
        check.choice(mode, ("auto", "min", "max"), f"{owner}: mode")
        self.owner, self.monitor, self.mode = owner, monitor, mode
        self.min_delta = check.number(min_delta, f"{owner}: min_delta", 0)
        self.sign = self.value = self._history = None
        if mode != "auto":
            self._set(mode)

    def _set(self, better):
        self.sign = 1 if better == "min" else -1
        self.value = math.inf * self.sign

    def start(self, model):
        """Begin a training, with the mode of the metric; True if this goes on with the last one.

        InvalidArgumentError if the mode is auto and the metric has no `better`.
        """
        if self._history is model.history:
            return True
        self._history = model.history
        if self.mode != "auto":
            self._set(self.mode)
            return False
        better = _better(model, self.monitor)
        if better is None:
            names = ["loss", *map(name_of, model.metrics)]
            names += [f"eval_{name}" for name in names]
            raise InvalidArgumentError(
                f"{self.owner}: mode must be 'min' or 'max' for '{self.monitor}', since it is "
                "neither the loss nor a metric with `better`, got 'auto'."
                f"{'' if self.monitor in names else did_you_mean(self.monitor, names)}"
            )
        self._set(check.choice(better, ("min", "max"), f"better of the metric '{self.monitor}'"))
        return False

    def improved(self, value):
        if not self.sign * (self.value - value) > self.min_delta:  # NaN is no improvement
            return False
        self.value = value
        return True


class EarlyStopping(Callback):
    """Stop when a value has not improved for a while.

    Another `fit` of the same training waits anew and keeps the best value; another model, or
    `prepare`, begins with none.

    Parameters
    ----------
    monitor : str
        A name of the logs: ``loss``, ``eval_loss``, ``eval_Accuracy``, ...
    mode : {"auto", "min", "max"}
        auto: "min" for a loss, the attribute ``better`` of a metric. InvalidArgumentError when
        training begins if the metric has none.
    patience : int
        The number of epochs without improvement.
    min_delta : float
        The least improvement.
    restore_best : bool
        Restore the values of the best epoch at the end.

    Attributes
    ----------
    best : float or None
        None before the first training if `mode` is auto.
    best_epoch, stopped_epoch : int or None

    Examples
    --------
    >>> import dygraph
    >>> net = dygraph.nn.Linear(1, 1)
    >>> model = dygraph.Model(net)
    >>> model.prepare(dygraph.optimizer.SGD(0.0, net.parameters()), dygraph.nn.MSELoss())
    >>> data = dygraph.io.TensorDataset([dygraph.ones([4, 1]), dygraph.ones([4, 1])])
    >>> stop = dygraph.callbacks.EarlyStopping(patience=2)  # with a rate of 0 nothing improves
    >>> history = model.fit(data, epochs=10, verbose=0, callbacks=[stop])
    >>> stop.best_epoch, stop.stopped_epoch, len(history["loss"])
    (0, 3, 4)
    """

    def __init__(self, monitor="loss", mode="auto", patience=0, min_delta=0.0, restore_best=False):
        self.monitor, self.mode, self.min_delta = monitor, mode, min_delta
        self._best = _Best("EarlyStopping", monitor, mode, min_delta)
        self.patience = check.integer(patience, "EarlyStopping: patience", 0)
        self.restore_best = restore_best
        self.best_epoch = self.stopped_epoch = self._state = None
        self._waited = 0

    @property
    def best(self):
        return self._best.value

    def on_train_begin(self):
        if not self._best.start(self.model):
            self.best_epoch = self._state = None
        self.stopped_epoch, self._waited = None, 0

    def on_epoch_end(self, epoch, logs):
        if self._best.improved(_value(logs, self.monitor)):
            self.best_epoch, self._waited = epoch, 0
            if self.restore_best:
                state = self.model.network.state_dict()
                self._state = {name: value.clone().detach() for name, value in state.items()}
            return
        self._waited += 1
        if self._waited > self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs):
        if self._state is not None:
            self.model.network.set_state_dict(self._state)


class ModelCheckpoint(Callback):
    """Save after each epoch, or only the best one.

    Another `fit` goes on: ``epoch_5.ckpt`` follows ``epoch_4.ckpt``, and ``best.ckpt`` stays until
    a value is better than all in ``model.history``.

    Parameters
    ----------
    save_dir : str or os.PathLike
        Gets ``epoch_0.ckpt``, ``epoch_1.ckpt``, ..., or ``best.ckpt``: checkpoints for
        `Model.load`.
    save_freq : int
        The number of epochs between two files.
    monitor : str, optional
        Save only ``best.ckpt``, when this value improves.
    mode : {"auto", "min", "max"}
        As for `EarlyStopping`.

    Examples
    --------
    >>> import dygraph, os, tempfile
    >>> net = dygraph.nn.Linear(1, 1)
    >>> model = dygraph.Model(net)
    >>> model.prepare(dygraph.optimizer.SGD(0.1, net.parameters()), dygraph.nn.MSELoss())
    >>> data = dygraph.io.TensorDataset([dygraph.ones([4, 1]), dygraph.ones([4, 1])])
    >>> folder = tempfile.mkdtemp()
    >>> keep = dygraph.callbacks.ModelCheckpoint(folder, save_freq=2)
    >>> history = model.fit(data, epochs=4, verbose=0, callbacks=[keep])
    >>> sorted(os.listdir(folder))
    ['epoch_1.ckpt', 'epoch_3.ckpt']
    """

    def __init__(self, save_dir, save_freq=1, monitor=None, mode="auto"):
        self.save_dir = files.path_of(save_dir, "ModelCheckpoint")
        self.save_freq = check.integer(save_freq, "ModelCheckpoint: save_freq", 1)
        self.monitor, self.mode = monitor, mode
        self._best = None if monitor is None else _Best("ModelCheckpoint", monitor, mode, 0.0)

    def on_train_begin(self):
        if self._best is not None and not self._best.start(self.model):
            for value in self.model.history.get(self.monitor, ()):  # of earlier calls of fit
                self._best.improved(value)

    def on_epoch_end(self, epoch, logs):
        if self._best is not None:
            if self._best.improved(_value(logs, self.monitor)):
                self.model.save(os.path.join(self.save_dir, "best.ckpt"), epoch)
        elif (epoch + 1) % self.save_freq == 0:
            self.model.save(os.path.join(self.save_dir, f"epoch_{epoch}.ckpt"), epoch)


class LRScheduler(Callback):
    """Advances the optimizer's schedule. `Model.fit` adds one by itself.

    ``step()`` follows each batch or each epoch, as the schedule's ``unit`` says or, if it is given,
    `by_step`; `ReduceLROnPlateau` gets the value of `monitor` after each epoch. Fluid's schedules
    per step advance with the optimizer and are not touched.

    Parameters
    ----------
    by_step : bool, optional
        None: as the schedule's ``unit`` says.
    monitor : str
        What `ReduceLROnPlateau` gets.

    Examples
    --------
    >>> import dygraph
    >>> net, rate = dygraph.nn.Linear(1, 1), dygraph.lr.CosineAnnealingDecay(0.5, T_max=2)
    >>> model = dygraph.Model(net)
    >>> model.prepare(dygraph.optimizer.SGD(rate, net.parameters()), dygraph.nn.MSELoss())
    >>> data = dygraph.io.TensorDataset([dygraph.ones([4, 1]), dygraph.ones([4, 1])])
    >>> move = dygraph.callbacks.LRScheduler(by_step=False)
    >>> history = model.fit(data, epochs=1, verbose=0, callbacks=[move])
    >>> rate.last_epoch, round(rate(), 4)
    (1, 0.25)
    """

    def __init__(self, by_step=None, monitor="loss"):
        self.by_step, self.monitor = by_step if by_step is None else bool(by_step), monitor

    def _schedule(self):
        return getattr(self.model.optimizer, "_learning_rate", None)

    def _unit(self):
        """What advances the schedule: "step", "epoch", "loss", or None for the optimizer."""
        schedule = self._schedule()
        if _takes_loss(schedule):
            return "loss"
        if isinstance(schedule, LearningRateDecay):
            return None
        if callable(getattr(schedule, "epoch", None)):
            unit = "epoch"
        elif hasattr(schedule, "last_epoch"):
            unit = "step"
        else:
            return None
        unit = getattr(schedule, "unit", unit)
        return unit if self.by_step is None else "step" if self.by_step else "epoch"

    def on_train_begin(self):
        schedule = self._schedule()
        if self.by_step is False and isinstance(schedule, LearningRateDecay):
            raise InvalidArgumentError(
                f"LRScheduler: by_step=False must go with a schedule that step() alone advances, "
                f"got {type(schedule).__name__}, which counts the optimizer's steps. Write "
                "by_step=None and count in steps, or take dygraph.lr.LambdaDecay"
            )
        mode, better = getattr(schedule, "mode", None), _better(self.model, self.monitor)
        if _takes_loss(schedule) and mode in ("min", "max") and better not in (None, mode):
            raise InvalidArgumentError(
                f"LRScheduler: {type(schedule).__name__} must have mode='{better}' to watch "
                f"'{self.monitor}', got mode='{mode}'"
            )

    def on_batch_end(self, step, logs):
        if self._unit() == "step":
            _advance(self._schedule())

    def on_epoch_end(self, epoch, logs):
        unit = self._unit()
        if unit == "loss":
            self._schedule().step(_value(logs, self.monitor))
        elif unit == "epoch":
            _advance(self._schedule())


def _advance(schedule):
    (schedule.step if callable(getattr(schedule, "step", None)) else schedule.epoch)()


def _takes_loss(schedule):
    if not callable(getattr(schedule, "step", None)):
        return False
    return any(
        p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD
        for p in inspect.signature(schedule.step).parameters.values()
    )


class Progress(Callback):
    """A progress bar by tqdm if it is installed, and a line after each epoch.

    Parameters
    ----------
    bar : bool
        False: the lines alone.

    Examples
    --------
    >>> import dygraph
    >>> net = dygraph.nn.Linear(1, 1, param_attr=dygraph.initializer.Constant(1.0))
    >>> model = dygraph.Model(net)
    >>> model.prepare(dygraph.optimizer.SGD(0.1, net.parameters()), dygraph.nn.MSELoss())
    >>> data = dygraph.io.TensorDataset([dygraph.ones([4, 1]), dygraph.ones([4, 1])])
    >>> line = dygraph.callbacks.Progress(bar=False)
    >>> history = model.fit(data, epochs=2, verbose=0, callbacks=[line])  # right from the start
    epoch 1: loss 0
    epoch 2: loss 0
    """

    def __init__(self, bar=True):
        self.bar, self._shown_bar = bar, None

    def on_epoch_begin(self, epoch, steps):
        self.close()
        if not self.bar:
            return
        try:
            from tqdm import tqdm
        except ImportError:
            return
        self._shown_bar = tqdm(total=steps, desc=f"epoch {epoch + 1}", leave=False)

    def on_batch_end(self, step, logs):
        if self._shown_bar is not None:
            self._shown_bar.set_postfix_str(text_of(logs), refresh=False)
            self._shown_bar.update()

    def on_epoch_end(self, epoch, logs):
        self.close()
        print(f"epoch {epoch + 1}: {text_of(logs)}", flush=True)

    def close(self):
        if self._shown_bar is not None:
            self._shown_bar.close()
            self._shown_bar = None


def text_of(logs):
    """Values by name on one line."""
    return ", ".join(f"{name} {value:.4g}" for name, value in logs.items())


class TensorBoard(Callback):
    """Write the values of each epoch for TensorBoard. Needs tensorboardX.

    Parameters
    ----------
    log_dir : str or os.PathLike
    every_batch : bool
        Write the running values of each batch as well, under ``batch/``.

    Examples
    --------
    >>> import dygraph
    >>> log = dygraph.callbacks.TensorBoard("runs")  # then model.fit(..., callbacks=[log])
    >>> log.log_dir
    'runs'
    """

    def __init__(self, log_dir, every_batch=False):
        self.log_dir, self.every_batch = files.path_of(log_dir, "TensorBoard"), every_batch
        self._writer, self._steps = None, 0

    def on_train_begin(self):
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise ImportError(
                "the callback TensorBoard needs tensorboardX, which is not installed: "
                "pip install tensorboardX"
            ) from error
        self._writer = SummaryWriter(self.log_dir)

    def on_batch_end(self, step, logs):
        self._steps += 1
        if self.every_batch:
            for name, value in logs.items():
                self._writer.add_scalar(f"batch/{name}", value, self._steps)

    def on_epoch_end(self, epoch, logs):
        for name, value in logs.items():
            self._writer.add_scalar(name, value, epoch)

    def close(self):
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def checked(callbacks):
    """A list of callbacks. ArgumentTypeError for anything else."""
    callbacks = [callbacks] if isinstance(callbacks, Callback) else list(callbacks or ())
    for c in callbacks:
        if not isinstance(c, Callback):
            raise ArgumentTypeError(
                f"Model.fit: callbacks must be dygraph.callbacks.Callback, got {kind_of(c)}"
            )
    return callbacks
