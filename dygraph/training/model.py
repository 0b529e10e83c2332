"""Model: training, evaluation and prediction, each in one line."""

import inspect
import weakref

import numpy as np

from dygraph import callbacks as callback_module
from dygraph import checkpoint, io
from dygraph.autograd.recording import no_grad
from dygraph.core import check
from dygraph.core.module_hints import OF_MODEL
from dygraph.core.variable import Variable
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    did_you_mean,
    did_you_mean_or_all,
    kind_of,
)
from dygraph.inspect.shown import Shown, text
from dygraph.io.arrays import Rows, are_arrays, is_array, is_pair, parted, rows_of
from dygraph.metrics import name_of
from dygraph.nn import Layer

__all__ = ["History", "Model"]

# Arguments of Keras' and Paddle's `fit`, and what to write here.
_WEIGHTS = "Weigh in the loss: fit(x, [y, weights]) calls loss(output, y, weights)"
_HINTS = {
    "class_weight": _WEIGHTS,
    "sample_weight": _WEIGHTS,
    "initial_epoch": "fit goes on after model.epoch by itself; epochs is the number of epochs more",
    "log_freq": "Write verbose=1 or 2, or a callback with on_batch_end",
    "lr": "Give the rate to the optimizer",
    "nb_epoch": "Write epochs",
    "save_dir": "Write callbacks=[dygraph.callbacks.ModelCheckpoint(save_dir)]",
    "save_freq": "Write callbacks=[dygraph.callbacks.ModelCheckpoint(save_dir, save_freq)]",
    "steps_per_epoch": "An epoch is all of the data; cut a reader with dygraph.reader.firstn",
    "validation_batch_size": "Evaluation takes batch_size; pass a DataLoader for another one",
    "validation_freq": "Write eval_freq",
    "validation_steps": "Evaluation takes all of the data; cut a reader with dygraph.reader.firstn",
    "workers": "Write num_workers",
    "x": "Pass x as the first argument, fit(x, y)",
    "X": "Pass X as the first argument, fit(X, y)",
}

# network -> epochs that any Model has trained it for
_trained: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class History(dict):
    """The result of `Model.fit`: lists of numbers by name.

    Examples
    --------
    >>> from dygraph.training.model import History
    >>> history = History(loss=[0.5, 0.25], eval_loss=[0.75, 0.5])
    >>> history["loss"], history.history is history
    ([0.5, 0.25], True)
    """

    @property
    def history(self):
        """Itself, for the habit of Keras."""
        return self

    def __missing__(self, name):
        raise KeyError(
            f"history must have '{name}', got {sorted(self)}.{did_you_mean(str(name), self)}"
        )


class Model(Shown):
    """A network with its optimizer, loss and metrics.

    Parameters
    ----------
    network : Layer
    inputs : int
        The number of first fields of a batch that are inputs. The others are labels.

    Attributes
    ----------
    network : Layer
    optimizer : Optimizer or None
        As given to `prepare`, as is `loss`.
    loss : function or None
    metrics : list of metrics
        Empty before `prepare`.
    stop_training : bool
        A callback sets it to end `fit` after the epoch.
    epoch : int
        The number of epochs that `fit` has finished, over all its calls; `save` and `load` keep it.
    history : History
        The numbers of these epochs; `prepare` begins a new one.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = np.arange(8, dtype="float32").reshape(8, 1)
    >>> net = dygraph.nn.Linear(1, 1)
    >>> model = dygraph.Model(net)
    >>> model.prepare(
    ...     dygraph.optimizer.SGD(0.02, parameter_list=net.parameters()), dygraph.nn.MSELoss()
    ... )
    >>> history = model.fit(x, 2 * x, epochs=60, batch_size=8, verbose=0)
    >>> bool(history["loss"][-1] < history["loss"][0]), model.predict(x).shape
    (True, (8, 1))
    """

    def __init__(self, network=None, inputs=1):
        if not isinstance(network, Layer):
            raise ArgumentTypeError(
                f"Model: network must be a Layer, got {kind_of(network)}. Its class derives from "
                "dygraph.nn.Layer and defines forward(); Model(network) trains it"
            )
        self.network = network
        self.inputs = check.integer(inputs, "Model: inputs", 1)
        self.optimizer = self.loss = None
        self.metrics = []
        self.stop_training = False
        self.epoch, self.history = 0, History()
        self._trained_optimizer = None
        self._flat_labels = False  # labels came as an array, whose rows may be single numbers

    def __getattr__(self, name):
        hint = f" {OF_MODEL[name]}" if name in OF_MODEL else did_you_mean(name, dir(self))
        raise AttributeError(f"'Model' object has no attribute '{name}'.{hint}")

    def __repr__(self):
        names = ("network", "optimizer", "loss", "metrics", "epoch")
        more = {name: getattr(self, name) for name in names if getattr(self, name)}
        return text(self, **{**more, "network": type(self.network).__name__})

    def prepare(self, optimizer=None, loss=None, metrics=None):
        """Set optimizer, loss and metrics.

        Parameters
        ----------
        optimizer : Optimizer, optional
            Needed to `fit`.
        loss : function or Layer, optional
            ``loss(*outputs, *labels)``; a result of more than one value is averaged.
        metrics : metric or list of metrics, optional
            Of ``dygraph.metrics``, or anything with ``reset()``, ``eval()`` and
            ``update(outputs, labels)``, which gets arrays; with ``update(value, weight)`` a metric
            gets the batch's accuracy and size. ``better``, "max" or "min", is for callbacks that
            keep the best value.
        """
        if optimizer is not None and not hasattr(optimizer, "step"):
            raise ArgumentTypeError(
                f"Model.prepare: optimizer must have step(), got {kind_of(optimizer)}"
            )
        if loss is not None and not callable(loss):
            raise ArgumentTypeError(f"Model.prepare: loss must be a function, got {kind_of(loss)}")
        metrics = metrics if isinstance(metrics, (list, tuple)) else [metrics] if metrics else []
        for metric in metrics:
            if not all(hasattr(metric, name) for name in ("reset", "update", "eval")):
                raise ArgumentTypeError(
                    "Model.prepare: a metric must have reset(), update() and eval(), got "
                    f"{kind_of(metric)}"
                )
        names = ["loss", *(name_of(metric) for metric in metrics)]
        for i, name in enumerate(names):
            if name in names[:i]:
                raise InvalidArgumentError(
                    "Model.prepare: every metric must have a name of its own in the logs, got "
                    f"'{name}' twice. Give one another name: Precision(name='{name}_2')"
                )
        self.optimizer, self.loss, self.metrics = optimizer, loss, list(metrics)
        self.history = History()

    # Batches --------------------------------------------------------------------------------------

    def _split(self, batch):
        fields = list(batch) if isinstance(batch, (list, tuple)) else [batch]
        if fields and not isinstance(fields[0], Variable):  # samples of one of Fluid's readers
            batch = io.default_collate(fields)
            fields = batch if isinstance(batch, list) else [batch]
        if len(fields) < self.inputs:
            raise InvalidArgumentError(
                f"Model: a batch must have {self.inputs} inputs, got {len(fields)} fields"
            )
        return fields[: self.inputs], fields[self.inputs :]

    def _run(self, batch):
        inputs, labels = self._split(batch)
        outputs = self.network(*inputs)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        return outputs, labels

    def _loss_of(self, outputs, labels):
        if not labels:
            raise InvalidArgumentError(
                f"Model: a batch must have labels after its {self.inputs} inputs, got none"
            )
        if self._flat_labels and labels[0].ndim == 1 and outputs[0].shape == (labels[0].size, 1):
            labels = [labels[0].reshape([-1, 1]), *labels[1:]]
        loss = self.loss(*outputs, *labels)
        return loss.mean() if loss.size != 1 or loss.ndim else loss

    def train_batch(self, batch):
        """Update the network with one batch. Returns the loss."""
        self.network.train()
        return self._train_batch(batch)[0]

    def _train_batch(self, batch):
        outputs, labels = self._run(batch)
        loss = self._loss_of(outputs, labels)
        loss.backward()
        self.optimizer.step()
        self.network.clear_gradients()
        return loss.item(), outputs, labels

    @no_grad
    def _eval_batch(self, batch):
        outputs, labels = self._run(batch)
        loss = None if self.loss is None else self._loss_of(outputs, labels).item()
        return loss, outputs, labels

    # Epochs ---------------------------------------------------------------------------------------

    def fit(
        self,
        train_data,
        y=None,
        batch_size=None,
        epochs=1,
        verbose=1,
        callbacks=None,
        shuffle=True,
        drop_last=False,
        num_workers=0,
        eval_freq=1,
        *,
        eval_data=None,
        validation_data=None,
        validation_split=0.0,
        **others,
    ):
        """Train, ``fit(data)`` or ``fit(x, y)``.

        Called again, it goes on: weights, the optimizer's state and the count of epochs stay as
        they are, and with `verbose` a line says so. A new network and a new optimizer start afresh.

        Parameters
        ----------
        train_data, eval_data : Dataset, DataLoader, reader, or iterable of batches
            For a Dataset, a loader is made with `batch_size`, `drop_last`, `num_workers` and, for
            training, `shuffle`. A reader is one of Fluid's that gives lists of samples.

            Or arrays and Variables: ``fit(x, y)``, lists of them for several inputs or labels.
            Then float64 becomes the type of the network's parameters, and numbers as labels get the
            shape [N, 1] where the output has it. ``eval_data=(x, y)`` holds arrays, too.
        y : array or list of arrays, optional
            The labels of arrays. In this place `eval_data` may stand as well: ``fit(data, other)``.
        batch_size : int, optional
            Default: 32 for arrays, 1 for a Dataset.
        epochs : int
            The number of epochs more.
        verbose : {0, 1, 2}
            0: silent. 1: a bar and a line for each epoch. 2: the lines.
        callbacks : Callback or list of Callback, optional
            An `LRScheduler` is added unless there is one.
        eval_freq : int
            The number of epochs between evaluations.
        validation_data
            Another name of `eval_data`.
        validation_split : float
            The last part of the data to evaluate with, taken before it is shuffled.

        Returns
        -------
        History, a dict of str to list of float
            A number for each epoch of this call: ``loss`` and the metrics averaged over the epoch,
            and ``eval_...``, NaN without an evaluation. ``model.history`` has those of all calls.

        Raises
        ------
        PreconditionNotMetError
            Without an optimizer or a loss.
        """
        for name in others:
            hint = _HINTS.get(name) or did_you_mean_or_all(name, _NAMES).strip()
            raise ArgumentTypeError(f"Model.fit() got an unexpected argument '{name}'. {hint}")
        self._require(optimizer=self.optimizer, loss=self.loss)
        check.choice(verbose, (0, 1, 2), "Model.fit: verbose")
        epochs = check.integer(epochs, "Model.fit: epochs", 0)
        eval_freq = check.integer(eval_freq, "Model.fit: eval_freq", 1)
        if y is not None and not self._are_labels(train_data, y):
            y, eval_data = None, self._one_of("fit", y=y, eval_data=eval_data)
        eval_data = self._one_of("fit", eval_data=eval_data, validation_data=validation_data)
        train_data = self._data(train_data, y, "fit")
        if validation_split:
            self._one_of("fit", eval_data=eval_data, validation_split=validation_split)
            train_data, eval_data = parted(train_data, validation_split, "Model.fit")
        train = _loader(train_data, batch_size, shuffle, drop_last, num_workers)
        evaluated = None
        if eval_data is not None:
            pair = eval_data if is_pair(eval_data) else (eval_data, None)
            eval_data = self._data(*pair, "fit")
            evaluated = _loader(eval_data, batch_size, False, False, num_workers)
        return self._fit(train, evaluated, epochs, eval_freq, self._callbacks(callbacks, verbose))

    def _fit(self, train, evaluated, epochs, eval_freq, calls):
        history, logs = History(), {}
        self.stop_training = False
        if any(isinstance(c, callback_module.Progress) for c in calls):
            self._say_how_it_goes_on()
        try:
            _tell(calls, "on_train_begin")
            for done in range(epochs):
                logs = self._train_epoch(train, self.epoch, calls)
                if evaluated is not None and (done + 1) % eval_freq == 0:
                    results = self._evaluate(evaluated)
                    logs.update({f"eval_{name}": value for name, value in results.items()})
                epoch, self.epoch = self.epoch, self.epoch + 1
                _trained[self.network] = _trained.get(self.network, 0) + 1
                self._trained_optimizer = self.optimizer
                _note(history, logs, done)
                _note(self.history, logs, max(map(len, self.history.values()), default=0))
                _tell(calls, "on_epoch_end", epoch, logs)
                if self.stop_training:
                    break
            _tell(calls, "on_train_end", logs)
        finally:
            _tell(calls, "close")
        return history

    def _say_how_it_goes_on(self):
        before = _trained.get(self.network, 0)
        if not before:
            return
        kept = self._trained_optimizer is self.optimizer
        print(
            f"going on after {before} epoch{'s' if before > 1 else ''} with "
            f"{'the same' if kept else 'a new'} optimizer",
            flush=True,
        )

    @staticmethod
    def _one_of(owner, **given):
        """The value of the one argument that is given; two are refused."""
        found = {name: value for name, value in given.items() if value is not None}
        if len(found) > 1:
            raise ArgumentTypeError(
                f"Model.{owner}: one of {' and '.join(found)} must be given, got both"
            )
        return next(iter(found.values()), None)

    @staticmethod
    def _are_labels(x, y):
        """Whether `y` are labels of `x`, rather than data to evaluate with."""
        if is_array(x) or are_arrays(x):
            return not is_pair(y) and not isinstance(y, (io.Dataset, io.DataLoader))
        return is_array(y) or are_arrays(y)

    def _data(self, data, y, owner):
        """Arrays as a data set; other data as it is."""
        arrays = is_array(data) or are_arrays(data) or (y is not None and _are_variables(data))
        if not arrays:
            if y is not None:
                raise ArgumentTypeError(
                    f"Model.{owner}: y must go with arrays, got {kind_of(data)}, which holds the "
                    "labels itself"
                )
            return data
        if y is None and owner == "fit":
            raise InvalidArgumentError(
                f"Model.{owner}: arrays must come with their labels, got x of {kind_of(data)} "
                f"alone. Write {owner}(x, y)"
            )
        types = {str(p.dtype) for p in self.network.parameters()}
        dtype = types.pop() if len(types) == 1 else None
        dtype = dtype if dtype in ("float16", "float32") else None
        return rows_of(data, y, self.inputs, dtype, f"Model.{owner}")

    def _callbacks(self, given, verbose):
        calls = callback_module.checked(given)
        if not any(isinstance(c, callback_module.LRScheduler) for c in calls):
            calls.append(callback_module.LRScheduler())
        if verbose:
            calls.append(callback_module.Progress(bar=verbose == 1))
        for c in calls:
            c.model = self
        return calls

    def _train_epoch(self, data, epoch, calls):
        self.network.train()
        self.network.clear_gradients()  # of a step that was interrupted
        self._flat_labels = _is_of_rows(data)
        mean = _Mean()
        self._reset_metrics()
        _tell(calls, "on_epoch_begin", epoch, _length(data))
        for step, batch in enumerate(_batches(data)):
            loss, outputs, labels = self._train_batch(batch)
            mean.add(loss, _rows(outputs))
            self._update_metrics(outputs, labels)
            _tell(calls, "on_batch_end", step, {"loss": loss})
        return self._logs(mean)

    def _evaluate(self, data):
        was_training = self.network.training
        self.network.eval()
        self._flat_labels = _is_of_rows(data)
        mean = _Mean()
        self._reset_metrics()
        try:
            for batch in _batches(data):
                loss, outputs, labels = self._eval_batch(batch)
                mean.add(loss, _rows(outputs))
                self._update_metrics(outputs, labels)
        finally:
            if was_training:
                self.network.train()
        return self._logs(mean)

    def evaluate(self, eval_data, y=None, batch_size=None, verbose=0, num_workers=0):
        """Loss and metrics of data, in eval mode and without recording.

        The data is as for `fit`: ``evaluate(data)`` or ``evaluate(x, y)``.

        Returns
        -------
        dict of str to float
        """
        if self.loss is None and not self.metrics:
            self._require(loss=None)
        if isinstance(y, int):
            raise ArgumentTypeError(
                f"Model.evaluate: y must be an array of labels, got {kind_of(y)}. Write "
                f"batch_size={y}"
            )
        eval_data = self._data(eval_data, y, "evaluate")
        logs = self._evaluate(_loader(eval_data, batch_size, False, False, num_workers))
        if verbose:
            print(callback_module.text_of(logs), flush=True)
        return logs

    def predict(self, test_data, batch_size=None, num_workers=0):
        """Outputs of the network for data, in eval mode and without recording; labels are ignored.

        The data is as for `fit`: ``predict(data)`` or ``predict(x)``.

        Returns
        -------
        numpy.ndarray, or tuple of them where the network has several outputs
            The concatenated batches.
        """
        test_data = self._data(test_data, None, "predict")
        was_training = self.network.training
        self.network.eval()
        results = []
        try:
            with no_grad():
                for batch in _batches(_loader(test_data, batch_size, False, False, num_workers)):
                    results.append([out.numpy() for out in self._run(batch)[0]])
        finally:
            if was_training:
                self.network.train()
        if not results:
            raise InvalidArgumentError("Model.predict: there must be at least one batch, got none")
        parts = tuple(np.concatenate(part) for part in zip(*results, strict=True))
        return parts if len(parts) > 1 else parts[0]

    # Metrics --------------------------------------------------------------------------------------

    def _reset_metrics(self):
        for metric in self.metrics:
            metric.reset()

    def _update_metrics(self, outputs, labels):
        if not self.metrics:
            return
        output = outputs[0].numpy()
        label = labels[0].numpy() if labels else None
        for metric in self.metrics:
            if next(iter(inspect.signature(metric.update).parameters), "") == "value":
                right = output.argmax(-1).reshape(-1) == np.reshape(label, -1)
                metric.update(value=float(np.mean(right)), weight=len(right))
            else:
                metric.update(output, label)

    def _logs(self, mean):
        logs = {} if mean.value is None else {"loss": mean.value}
        for metric in self.metrics:
            logs[name_of(metric)] = float(np.asarray(metric.eval()).reshape(-1)[0])
        return logs

    def _require(self, **parts):
        for name, part in parts.items():
            if part is None:
                raise PreconditionNotMetError(
                    f"Model: the {name} must be given, got none. Call prepare({name}=...) first"
                )

    # State ----------------------------------------------------------------------------------------

    def parameters(self):
        """The parameters of the network, as a list."""
        return self.network.parameters()

    def save(self, path, epoch=None):
        """Write a checkpoint of network, optimizer, epochs and random numbers in one step."""
        extra = {"epochs": self.epoch, "history": dict(self.history)}
        checkpoint.save(path, self.network, self.optimizer, step=epoch, extra=extra)

    def load(self, path, strict=True):
        """Restore a file of `save`. Returns the `Checkpoint`, whose ``step`` is the epoch."""
        found = checkpoint.load(path, self.network, self.optimizer, strict=strict)
        if isinstance(found.extra, dict) and "epochs" in found.extra:
            self.epoch, self.history = found.extra["epochs"], History(found.extra["history"])
            _trained[self.network], self._trained_optimizer = self.epoch, self.optimizer
        return found


_NAMES = [n for n in inspect.signature(Model.fit).parameters if n not in ("self", "others")]


class _Mean:
    def __init__(self):
        self.total = self.weight = 0.0
        self.seen = False

    def add(self, value, weight):
        if value is not None:
            self.seen = True
            self.total += value * weight
            self.weight += weight

    @property
    def value(self):
        return self.total / self.weight if self.weight else (float("nan") if self.seen else None)


def _tell(callbacks, event, *args):
    for c in callbacks:
        getattr(c, event)(*args)


def _rows(outputs):
    return outputs[0].shape[0] if outputs[0].ndim else 1


def _note(history, logs, epochs):
    """Append the logs of an epoch, which follows `epochs` others."""
    for name in [*history, *(n for n in logs if n not in history)]:
        past = history.setdefault(name, [float("nan")] * epochs)
        past.append(logs.get(name, float("nan")))


def _are_variables(data):
    return isinstance(data, (list, tuple)) and all(isinstance(v, Variable) for v in data)


def _is_of_rows(loader):
    return isinstance(getattr(loader, "dataset", None), Rows)


def _loader(data, batch_size, shuffle, drop_last, num_workers):
    if isinstance(data, io.DataLoader) or callable(data):
        return data
    if isinstance(data, (io.Dataset, io.IterableDataset)):
        shuffle = shuffle and isinstance(data, io.Dataset)
        if batch_size is None:
            batch_size = 32 if isinstance(data, Rows) else 1
        return io.DataLoader(data, batch_size, shuffle, drop_last, num_workers=num_workers)
    if not hasattr(data, "__iter__") or iter(data) is data:
        raise ArgumentTypeError(
            "Model: data must be a Dataset, a DataLoader, a reader or a list of batches that can "
            f"be iterated again, got {kind_of(data)}"
        )
    return data


def _batches(data):
    return data() if callable(data) else iter(data)


def _length(data):
    try:
        return len(data)
    except TypeError:
        return None
