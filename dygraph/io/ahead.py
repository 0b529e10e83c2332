"""Batches brought to a device, beside what it computes."""

import contextlib

from dygraph import _core, reader
from dygraph.io.collate import rebuilt, to_variables

__all__ = ["copied_ahead", "to_place"]


def to_place(batch, place):
    """The Variables of a batch on a place.

    To a CUDA device they are copied from page-locked memory, beside what it computes; what is
    queued from here on waits for the copies.
    """
    return _arrived(_sent(batch, place))


def copied_ahead(batches, place):
    """The same batches on a CUDA place, whose copies a thread begins while others are used.

    What is queued once a batch has been taken waits for its own copy, and for none of the later
    ones. Arrays become Variables.
    """
    sent = reader.buffered(lambda: (_sent(to_variables(b), place) for b in batches), 1)()
    with contextlib.closing(sent):
        yield from map(_arrived, sent)


def _sent(batch, place):
    """A batch on its way; on other places than CUDA's, there."""
    if not isinstance(batch, _core.Variable):
        return rebuilt(batch, lambda part: _sent(part, place))
    if batch.place == place or _core.value_kind(batch) != "Tensor":
        return batch
    return _core.device.CopyAhead(batch, place) if place.kind == "CUDAPlace" else batch.to(place)


def _arrived(batch):
    if isinstance(batch, _core.device.CopyAhead):
        return batch.take()
    return rebuilt(batch, _arrived)
