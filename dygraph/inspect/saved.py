"""The values that the tape keeps for backward, as a table."""

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core import check

__all__ = ["SavedTable", "saved"]


def human(size):
    """Bytes as text: 1.5 MB.

    >>> human(0), human(1536), human(3 * 2**20)
    ('0 B', '1.5 KB', '3.0 MB')
    """
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024:
            return f"{size} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TB"


class SavedEntry:
    """One kept value: `op`, `slot`, `shape`, `dtype`, `bytes` (0 where only its shape is kept)."""

    __slots__ = ("op", "slot", "shape", "dtype", "bytes", "block")

    def __init__(self, op, slot, shape, dtype, size, block):
        self.op, self.slot, self.shape, self.dtype = op, slot, shape, dtype
        self.bytes, self.block = size, block

    def __repr__(self):
        return f"{self.op}.{self.slot} {list(self.shape)} {self.dtype} {human(self.bytes)}"


class SavedTable(list):
    """Kept values, newest call first. `total` counts shared storage once."""

    @property
    def total(self):
        return sum({e.block: e.bytes for e in self if e.bytes}.values())

    def __repr__(self):
        rows = [("operator", "slot", "shape", "dtype", "bytes")]
        seen = set()
        for e in self:
            size = human(e.bytes) if e.bytes else "shape only"
            if e.bytes and e.block in seen:
                size += " (shared)"
            seen.add(e.block)
            rows.append((e.op, e.slot, str(list(e.shape)), str(e.dtype), size))
        widths = [max(len(r[c]) for r in rows) for c in range(5)]
        lines = [
            "  ".join(t.ljust(w) for t, w in zip(r, widths, strict=True)).rstrip() for r in rows
        ]
        return "\n".join([*lines, f"total: {human(self.total)} in {len(self)} values"])


def saved(loss):
    """The values that backward from `loss` keeps, by operator, slot, shape, type and bytes.

    Parameters
    ----------
    loss : Variable

    Returns
    -------
    SavedTable
        A list of entries that prints as a table, with the attribute ``total`` in bytes.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.ones((2, 2), "float32"))
    >>> x.stop_gradient = False
    >>> dygraph.saved(x * x).total
    16
    """
    if modes.sizes is not None:
        raise modes.sizes.refuse(
            "saved() must not give sizes to a traced function", "Call it outside"
        )
    return SavedTable(SavedEntry(*e) for e in _core.saved(check.variable(loss, "saved: loss")))
