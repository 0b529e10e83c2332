"""Global-norm clipping where each rank has the gradients of other parameters."""

import zlib

import numpy as np

from dygraph import _core
from dygraph.distributed import job
from dygraph.errors import InvalidArgumentError
from dygraph.nn import clip

__all__ = ["ClipGradByGlobalNorm"]

_TYPES = ("bfloat16", "float16", "float32", "float64")


class ClipGradByGlobalNorm(clip.ClipGradByGlobalNorm):
    """Scales gradients that are divided among ranks so that their common norm is at most a limit.

    Each rank gives the gradients of its own parameters; the norm is that of all of them. One
    ``all_gather`` brings the squares of all gradients to all ranks, where they are added in one
    order: every rank gets the same bits, at any number of ranks.

    Where gradients are averaged, as `DataParallel` does, every rank has all of them, the norm is
    local, and `dygraph.nn.ClipGradByGlobalNorm` is the rule. This one refuses them.
    `ShardedOptimizer` takes the right one by itself.

    Parameters
    ----------
    clip_norm : float
        The greatest norm, at least 0.
    group_name : str
        As of `dygraph.nn.ClipGradByGlobalNorm`.
    need_clip : callable, optional
        Takes a parameter, returns whether to clip its gradient; None: all.
    comm : Comm, optional
        None: the ranks of `dygraph.distributed.world`.

    Raises
    ------
    InvalidArgumentError
        In `clip`: two ranks give a gradient of one parameter, or a parameter has no name.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([1.0, 1.0], name="w")
    >>> gradient = dygraph.to_variable([3.0, 4.0])
    >>> rule = dygraph.distributed.ClipGradByGlobalNorm(0.5)
    >>> ((_, limited),) = rule.clip([(w, gradient)])
    >>> [round(v, 4) for v in limited.tolist()]
    [0.3, 0.4]
    """

    def __init__(self, clip_norm, group_name="default_group", need_clip=None, comm=None):
        super().__init__(clip_norm, group_name, need_clip)
        self._comm, self._numbers = comm, None

    def numbered(self, numbers):
        """Add the squares in the order of these numbers, a dict by id of the parameter."""
        self._numbers = numbers
        return self

    def clip(self, pairs):
        """(parameter, gradient) pairs with the gradients limited. Collective."""
        chosen = [clip.is_chosen(self, p) for p, _ in pairs]
        own = [pair for pair, c in zip(pairs, chosen, strict=True) if c]
        squares = [_core.ops.squared_l2_norm(g) for _, g in own]
        rows = [
            (self._number(p), s.item(), _TYPES.index(str(s.dtype)))
            for (p, _), s in zip(own, squares, strict=True)
        ]
        comm = self._comm or job.world()
        parts = comm.all_gather(np.array(rows, "float64").reshape(-1, 3))
        joined = np.concatenate(parts)
        _check_divided(joined[:, 0], own, self._number)
        if not own:
            return pairs
        joined = joined[np.argsort(joined[:, 0], kind="stable")]
        every = [_core.to_variable([s], None, _TYPES[int(kind)]) for _, s, kind in joined.tolist()]
        results = iter(clip.limited([g for _, g in own], self.clip_norm, every))
        return [(p, next(results) if c else g) for (p, g), c in zip(pairs, chosen, strict=True)]

    def _number(self, parameter):
        if self._numbers is not None:
            return self._numbers[id(parameter)]
        if not parameter.name:
            raise InvalidArgumentError(
                "distributed.ClipGradByGlobalNorm: parameters must have names, by which ranks tell "
                f"them apart, got one of shape {list(parameter.shape)} without. Set p.name"
            )
        return zlib.crc32(parameter.name.encode())


def _check_divided(numbers, own, number_of):
    found, counts = np.unique(numbers, return_counts=True)
    if (counts > 1).any():
        twice = set(found[counts > 1].tolist())
        names = [p.name for p, _ in own if number_of(p) in twice] or ["one of other ranks"]
        raise InvalidArgumentError(
            "distributed.ClipGradByGlobalNorm: a parameter must have its gradient on one rank, got "
            f"'{names[0]}' on several. The norm of averaged gradients is local: use "
            "dygraph.nn.ClipGradByGlobalNorm"
        )
