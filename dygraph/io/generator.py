"""Fluid's ``DataLoader.from_generator``: batches from readers, read ahead by a thread."""

from dygraph import reader
from dygraph.core import check
from dygraph.errors import InvalidArgumentError, PreconditionNotMetError
from dygraph.inspect.shown import Shown
from dygraph.io.ahead import copied_ahead, to_place
from dygraph.io.collate import gather, one_place, to_variables
from dygraph.io.data_feeder import DataFeeder

__all__ = ["GeneratorLoader"]


class GeneratorLoader(Shown):
    """Batches of a reader. Made by `DataLoader.from_generator`; set its reader, then iterate.

    >>> from dygraph import io
    >>> loader = io.DataLoader.from_generator(capacity=2)
    >>> _ = loader.set_sample_generator(lambda: ((i, -i) for i in range(4)), batch_size=2)
    >>> [[part.tolist() for part in batch] for batch in loader]
    [[[0, 1], [0, -1]], [[2, 3], [-2, -3]]]
    """

    def __init__(self, feed_list, capacity, return_list):
        self._capacity = check.integer(capacity, "from_generator: capacity", 1)
        if not return_list and not feed_list:
            raise InvalidArgumentError(
                "from_generator: return_list must be True without a feed_list, got False"
            )
        self._feeder = None if return_list else DataFeeder(feed_list)
        self._reader = self._finish = self._place = None

    def set_sample_generator(self, generator, batch_size, drop_last=True, places=None):
        """Set a reader of samples. Returns the loader.

        Batches are copied to `places`, one place, while others are used; so in the next two.
        """
        listed = reader.batch(generator, batch_size, drop_last)
        return self.set_sample_list_generator(listed, places)

    def set_sample_list_generator(self, generator, places=None):
        """Set a reader of lists of samples. Returns the loader."""
        if self._feeder is not None:
            self._reader, self._finish = generator, self._feeder.feed
        else:
            self._reader = reader.map_readers(gather, generator)
            self._finish = to_variables
        self._place = one_place(places, "from_generator: places")
        return self

    def set_batch_generator(self, generator, places=None):
        """Set a reader of batches: lists or dicts of arrays or Variables. Returns the loader."""
        self._reader, self._finish = generator, to_variables
        self._place = one_place(places, "from_generator: places")
        return self

    def __iter__(self):
        if self._reader is None:
            raise PreconditionNotMetError(
                "from_generator: a reader must be set, got none. Call set_sample_generator, "
                "set_sample_list_generator or set_batch_generator first"
            )
        batches = map(self._finish, reader.buffered(self._reader, self._capacity)())
        if self._place is None:
            return batches
        if self._place.kind == "CUDAPlace":
            return copied_ahead(batches, self._place)
        return map(lambda batch: to_place(batch, self._place), batches)

    __call__ = __iter__
