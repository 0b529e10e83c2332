"""Model: training, evaluation and prediction, each in one line."""

import inspect

import numpy as np

from dygraph import callbacks as callback_module
from dygraph import checkpoint, io
from dygraph.autograd.recording import no_grad
from dygraph.core import check
from dygraph.core.variable import Variable
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.metrics import name_of
from dygraph.nn import Layer

__all__ = ["Model"]


class Model:
    """A network with its optimizer, loss and metrics.

    Parameters
    ----------
    network : Layer
    inputs : int
        The number of first fields of a batch that are inputs. The others are labels.

    Attributes
    ----------
    network, optimizer, loss, metrics
        As given.
    stop_training : bool
        A callback sets it to end `fit` after the epoch.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = np.arange(8, dtype="float32").reshape(8, 1)
    >>> data = dygraph.io.TensorDataset([x, 2 * x])
    >>> net = dygraph.nn.Linear(1, 1)
    >>> model = dygraph.Model(net)
    >>> model.prepare(
    ...     dygraph.optimizer.SGD(0.02, parameter_list=net.parameters()),
    ...     lambda y, label: ((y - label) * (y - label)).mean(),
    ... )
    >>> history = model.fit(data, epochs=60, batch_size=8, verbose=0)
    >>> bool(history["loss"][-1] < history["loss"][0]), model.predict(data).shape
    (True, (8, 1))
    """

    def __init__(self, network=None, inputs=1):
        if not isinstance(network, Layer):
            raise ArgumentTypeError(
                f"Model: network must be a Layer, got {kind_of(network)}. A network's class derives "
                "from dygraph.nn.Layer and defines forward(); Model(network) trains it"
            )
        self.network = network
        self.inputs = check.integer(inputs, "Model: inputs", 1)
        self.optimizer = self.loss = None
        self.metrics = []
        self.stop_training = False

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
        eval_data=None,
        batch_size=1,
        epochs=1,
        verbose=1,
        callbacks=None,
        shuffle=True,
        drop_last=False,
        num_workers=0,
        eval_freq=1,
    ):
        """Train.

        Parameters
        ----------
        train_data, eval_data : Dataset, DataLoader, reader, or iterable of batches
            For a Dataset, a loader is made with `batch_size`, `drop_last`, `num_workers` and, for
            training, `shuffle`. A reader is one of Fluid's that gives lists of samples.
        epochs : int
        verbose : {0, 1, 2}
            0: silent. 1: a bar and a line for each epoch. 2: the lines.
        callbacks : Callback or list of Callback, optional
            An `LRScheduler` is added unless there is one.
        eval_freq : int
            The number of epochs between evaluations.

        Returns
        -------
        dict of str to list of float
            A number for each epoch: ``loss`` and the metrics averaged over the epoch, and
            ``eval_...``, NaN without an evaluation.

        Raises
        ------
        PreconditionNotMetError
            Without an optimizer or a loss.
        """
        self._require(optimizer=self.optimizer, loss=self.loss)
        check.choice(verbose, (0, 1, 2), "Model.fit: verbose")
        epochs = check.integer(epochs, "Model.fit: epochs", 0)
        eval_freq = check.integer(eval_freq, "Model.fit: eval_freq", 1)
        train = _loader(train_data, batch_size, shuffle, drop_last, num_workers)
        evaluated = None
        if eval_data is not None:
            evaluated = _loader(eval_data, batch_size, False, False, num_workers)
        calls = self._callbacks(callbacks, verbose)
        history, logs = {}, {}
        self.stop_training = False
        try:
            _tell(calls, "on_train_begin")
            for epoch in range(epochs):
                logs = self._train_epoch(train, epoch, calls)
                if evaluated is not None and (epoch + 1) % eval_freq == 0:
                    results = self._evaluate(evaluated)
                    logs.update({f"eval_{name}": value for name, value in results.items()})
                for name in [*history, *(n for n in logs if n not in history)]:
                    past = history.setdefault(name, [float("nan")] * epoch)
                    past.append(logs.get(name, float("nan")))
                _tell(calls, "on_epoch_end", epoch, logs)
                if self.stop_training:
                    break
            _tell(calls, "on_train_end", logs)
        finally:
            _tell(calls, "close")
        return history

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

    def evaluate(self, eval_data, batch_size=1, verbose=0, num_workers=0):
        """Loss and metrics of data, in eval mode and without recording.

        Returns
        -------
        dict of str to float
        """
        if self.loss is None and not self.metrics:
            self._require(loss=None)
        logs = self._evaluate(_loader(eval_data, batch_size, False, False, num_workers))
        if verbose:
            print(callback_module.text_of(logs), flush=True)
        return logs

    def predict(self, test_data, batch_size=1, num_workers=0):
        """Outputs of the network for data, in eval mode and without recording; labels are ignored.

        Returns
        -------
        numpy.ndarray, or tuple of them where the network has several outputs
            The concatenated batches.
        """
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
        """The parameters of the network."""
        return self.network.parameters()

    def save(self, path, epoch=None):
        """Write a checkpoint of network, optimizer and random numbers in one step."""
        checkpoint.save(path, self.network, self.optimizer, step=epoch)

    def load(self, path, strict=True):
        """Restore a file of `save`. Returns the `Checkpoint`, whose ``step`` is the epoch."""
        return checkpoint.load(path, self.network, self.optimizer, strict=strict)


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


def _loader(data, batch_size, shuffle, drop_last, num_workers):
    if isinstance(data, io.DataLoader) or callable(data):
        return data
    if isinstance(data, (io.Dataset, io.IterableDataset)):
        shuffle = shuffle and isinstance(data, io.Dataset)
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
