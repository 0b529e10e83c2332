"""Loaders that feed programs: Fluid's ``DataLoader`` and ``PyReader``."""

import dygraph.io
import dygraph.io.generator
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.io.data_feeder import DataFeeder
from dygraph.static import reading

__all__ = ["DataLoader", "GeneratorLoader", "PyReader"]


class _EagerSource(dygraph.io.generator.GeneratorLoader):
    """The source of a `GeneratorLoader` without variables: lists of eager Variables."""

    def batches(self):
        return iter(self)


class GeneratorLoader(Shown):
    """Batches of a generator for the variables of a program.

    Made by `DataLoader.from_generator`; `PyReader` is the same by its older names.

    If iterable, it gives batches for feeds: ``for data in loader: executor.run(feed=data)``. Else
    it is a reader of the program: ``start()``, runs without a feed until ``core.EOFException``,
    ``reset()``.

    Parameters
    ----------
    feed_list : list of Variable
        Results of `data`, one for each part of a sample. None: batches are lists of eager
        Variables; only if `iterable` and `return_list`.
    capacity : int
        How many batches a thread reads ahead. Default: 2.
    iterable : bool
    return_list : bool
        Iterable ones only. True: batches are lists, in the order of `feed_list`. False: dicts.

    Raises
    ------
    ValueError, TypeError
        While reading: a sample or batch has other parts, shapes or types than `feed_list`.
    Exception
        While reading: the error of the generator.
    """

    def __init__(self, feed_list, capacity, iterable, return_list, owner="DataLoader"):
        capacity = 2 if capacity is None else capacity
        self._owner, self._return_list, self._reader = owner, return_list, None
        if feed_list is None and iterable and return_list:
            self._source, self._return_list = _EagerSource(None, capacity, True), False
            return
        if not isinstance(feed_list, (list, tuple)) or not feed_list:
            raise ArgumentTypeError(
                f"{owner}: feed_list must be a list of variables of a program, got "
                f"{kind_of(feed_list)}"
            )
        fields = [reading.field_of(variable) for variable in feed_list]
        if iterable:
            self._source = reading.Source(fields, capacity, owner)
        else:
            self._reader = reading.declare_reader(capacity, fields, None, owner)
            self._source = self._reader.source
            reading.read(self._reader, feed_list)

    @property
    def iterable(self):
        """Whether it gives batches instead of being a reader of the program."""
        return self._reader is None

    def set_sample_generator(self, generator, batch_size, drop_last=True, places=None):
        """A function that gives samples, each a tuple with a part for every variable.

        Parts of a variable with ``lod_level`` are sequences of any length. Gives the loader.

        To the CUDA device among `places`, or, of a reader of the program, to that of its executor,
        batches are copied while others are used; so in the next two.
        """
        self._source.set_sample_generator(generator, batch_size, drop_last, places)
        return self

    def set_sample_list_generator(self, generator, places=None):
        """A function that gives lists of samples, as `batch` does. Gives the loader."""
        self._source.set_sample_list_generator(generator, places)
        return self

    def set_batch_generator(self, generator, places=None):
        """A function that gives batches: lists of arrays or Variables, or dicts by name.

        Gives the loader.
        """
        self._source.set_batch_generator(generator, places)
        return self

    def __iter__(self):
        if not self.iterable:
            raise PreconditionNotMetError(
                f"{self._owner}: with iterable=False batches are read by the program, not by a "
                "loop. Call start() and Executor.run without a feed"
            )
        batches = self._source.batches()
        return map(self._as_list, batches) if self._return_list else batches

    def __call__(self):
        """The same as iterating over it."""
        return iter(self)

    def _as_list(self, batch):
        return [batch[name] for name in self._source.names]

    def start(self):
        """Begin a pass; RuntimeError if one has begun, or for an iterable loader."""
        self._require_reader("start")
        self._source.start()

    def reset(self):
        """End the pass, after its last batch or before."""
        self._require_reader("reset")
        self._source.reset()

    def _require_reader(self, what):
        if self.iterable:
            raise PreconditionNotMetError(
                f"{self._owner}: {what}() belongs to iterable=False; use a loop over this one"
            )


class PyReader(GeneratorLoader):
    """Fluid's first loader of generators.

    Parameters
    ----------
    feed_list : list of Variable, optional
        What `data` gave, in the order of the batches.
    capacity : int, optional
        How many batches a thread reads ahead. Default: 2.
    use_double_buffer : bool
        Fluid's; batches are always read ahead.
    iterable : bool
        True: a loop gives batches to be fed. False: the program reads them.
    return_list : bool
        Iterable ones only: lists instead of dicts.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 1], "int64")
    ...     reader = static.io.PyReader([x])
    >>> reader.decorate_sample_generator(lambda: ([i] for i in range(4)), batch_size=2)
    >>> [data["x"].tolist() for data in reader()]
    [[[0], [1]], [[2], [3]]]
    """

    def __init__(
        self,
        feed_list=None,
        capacity=None,
        use_double_buffer=True,
        iterable=True,
        return_list=False,
    ):
        super().__init__(feed_list, capacity, iterable, return_list, "PyReader")

    def decorate_sample_generator(self, sample_generator, batch_size, drop_last=True, places=None):
        """`set_sample_generator`, by its older name."""
        self.set_sample_generator(sample_generator, batch_size, drop_last, places)

    def decorate_sample_list_generator(self, reader, places=None):
        """`set_sample_list_generator`, by its older name."""
        self.set_sample_list_generator(reader, places)

    def decorate_batch_generator(self, reader, places=None):
        """`set_batch_generator`, by its older name."""
        self.set_batch_generator(reader, places)


class DataLoader(dygraph.io.DataLoader):
    """`dygraph.io.DataLoader` whose batches can be dicts by variables of a program.

    Parameters
    ----------
    dataset : Dataset or IterableDataset
        The samples.
    feed_list : list of Variable, optional
        What `data` gave. A sample has a part for each; batches are dicts by their names, with LoD
        where a variable has ``lod_level``, ready for ``Executor.run(feed=...)``.
    places : Place or list of Place, optional
        To a CUDA device among them batches are copied, as by `dygraph.io.DataLoader`.
    return_list : bool, default False
        Whether to give lists in the order of `feed_list` instead of dicts.
    batch_sampler : BatchSampler, optional
        Gives the indices of each batch, in place of the next three.
    batch_size : int, default 1
        The samples of a batch.
    shuffle : bool, default False
        Whether the samples come in random order.
    drop_last : bool, default False
        Whether to leave out a last batch that is smaller.
    collate_fn : callable, optional
        Makes a batch of a list of samples.
    num_workers : int, default 0
        How many processes load samples; 0: this one does.
    use_buffer_reader, use_shared_memory : bool, default True
        Accepted as in Fluid; not used.
    timeout : float, default 0
        How many seconds to wait for a worker; 0: without end.
    worker_init_fn : callable, optional
        Called by each worker with its number.
    **options : object
        Other options of `dygraph.io.DataLoader`.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 2])
    ...     y = static.data("y", [None, 1], "int64")
    >>> samples = [(np.full(2, i, "float32"), i) for i in range(3)]
    >>> loader = static.io.DataLoader(samples, feed_list=[x, y], batch_size=2)
    >>> [data["y"].tolist() for data in loader]
    [[[0], [1]], [[2]]]
    """

    def __init__(
        self,
        dataset,
        feed_list=None,
        places=None,
        return_list=False,
        batch_sampler=None,
        batch_size=1,
        shuffle=False,
        drop_last=False,
        collate_fn=None,
        num_workers=0,
        use_buffer_reader=True,
        use_shared_memory=True,
        timeout=0,
        worker_init_fn=None,
        **options,
    ):
        if feed_list is not None:
            if collate_fn is not None:
                raise InvalidArgumentError(
                    "DataLoader: feed_list makes the batches, so collate_fn must be left out"
                )
            if not isinstance(feed_list, (list, tuple)):
                raise ArgumentTypeError(
                    "DataLoader: feed_list must be a list of variables of a program, got "
                    f"{kind_of(feed_list)}"
                )
            fields = [reading.field_of(variable) for variable in feed_list]
            collate_fn = _Feeding(DataFeeder(fields), return_list)
        super().__init__(
            dataset, batch_size, shuffle, drop_last, batch_sampler=batch_sampler,
            collate_fn=collate_fn, num_workers=num_workers, timeout=timeout,
            worker_init_fn=worker_init_fn,
            places=reading.device_among(places, "DataLoader: places"), **options,
        )  # fmt: skip

    @staticmethod
    def from_generator(
        feed_list=None,
        capacity=None,
        use_double_buffer=True,
        iterable=True,
        return_list=None,
        use_multiprocess=False,
    ):
        """A loader of a generator's batches.

        Parameters
        ----------
        feed_list : list of Variable, optional
            What `data` gave. None: lists of eager Variables, as in `dygraph.io`.
        capacity : int, optional
            How many batches a thread reads ahead. Default: 2.
        use_double_buffer, use_multiprocess : bool
            Fluid's; a thread always reads ahead.
        iterable : bool
            True: ``for data in loader: executor.run(feed=data)``. False: the loader is a reader of
            the program; see `GeneratorLoader`.
        return_list : bool, optional
            True: batches are lists. Default: dicts if there is a `feed_list`.

        Returns
        -------
        GeneratorLoader

        Examples
        --------
        >>> import numpy as np
        >>> from dygraph import static
        >>> main, startup = static.Program(), static.Program()
        >>> with static.program_guard(main, startup):
        ...     x = static.data("x", [None, 2])
        ...     total = static.layers.reduce_sum(x)
        ...     loader = static.io.DataLoader.from_generator([x], capacity=4, iterable=False)
        >>> _ = loader.set_batch_generator(lambda: ([np.ones((n, 2), "float32")] for n in (1, 3)))
        >>> executor = static.Executor()
        >>> _ = executor.run(startup)
        >>> loader.start()
        >>> try:
        ...     while True:
        ...         print(float(executor.run(main, fetch_list=[total])[0]))
        ... except static.core.EOFException:
        ...     loader.reset()
        2.0
        6.0
        """
        if feed_list is None and iterable and return_list is not False:
            return dygraph.io.DataLoader.from_generator(
                capacity=2 if capacity is None else capacity
            )
        return GeneratorLoader(feed_list, capacity, iterable, bool(return_list))


class _Feeding:
    """Collates samples with a feeder. A class, so that it can be sent to spawned workers."""

    def __init__(self, feeder, return_list):
        self.feeder, self.return_list = feeder, return_list

    def __call__(self, samples):
        batch = self.feeder.feed(samples)
        return [batch[name] for name in self.feeder.names] if self.return_list else batch
