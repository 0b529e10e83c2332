"""Batches of sequences step by step, in NumPy: what the operators with a rank table must give."""

import numpy as np


def offsets(lengths):
    return [0, *np.cumsum(lengths).tolist()]


def ranked(lengths):
    """Numbers of the sequences, longest first, equal ones in their order."""
    return sorted(range(len(lengths)), key=lambda i: -lengths[i])


def sequences(x, lod, level=0):
    """Of each sequence of the level its elements, arrays of rows."""
    lod = [np.asarray(offsets) for offsets in lod]

    def rows(at, begin, end):
        for o in lod[at:]:
            begin, end = o[begin], o[end]
        return x[begin:end]

    found = []
    for begin, end in zip(lod[level][:-1], lod[level][1:], strict=True):
        found.append([rows(level + 1, i, i + 1) for i in range(begin, end)])
    return found


def steps(x, lod, level=0):
    """The elements of lod_tensor_to_array: (rows, lengths of the inner sequences)."""
    of = sequences(x, lod, level)
    order = ranked([len(s) for s in of])
    found = []
    for t in range(max((len(s) for s in of), default=0)):
        parts = [of[i][t] for i in order if len(of[i]) > t]
        found.append((np.concatenate(parts), [len(p) for p in parts]))
    return found
