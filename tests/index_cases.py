"""Random index expressions of every kind that NumPy knows, for a given shape."""

import numpy as np


def random_shape(rng):
    """Up to four axes, some of size 0 or 1."""
    return tuple(
        int(n)
        for n in rng.choice([0, 1, 2, 3, 4], rng.integers(0, 5), p=[0.04, 0.16, 0.25, 0.3, 0.25])
    )


def random_slice(rng, size):
    """Any start, stop and step, inside and outside."""

    def end():
        return None if rng.random() < 0.35 else int(rng.integers(-size - 2, size + 3))

    step = None if rng.random() < 0.5 else int(rng.choice([-3, -2, -1, 1, 2, 3]))
    return slice(end(), end(), step)


def random_index(rng, shape):
    """An index for an array of `shape`: now and then one that is an error."""
    rank, items, axis = len(shape), [], 0
    common = tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 3)))
    if rng.random() < 0.06:
        common = (0, *common)
    count = int(rng.integers(0, rank + 2)) if rng.random() < 0.9 else rank + 1
    dots = None
    if rng.random() < 0.3:
        dots = int(rng.integers(0, count + 1))
    for position in range(count):
        if position == dots:
            items.append(Ellipsis)
            axis = max(axis, rank - (count - position))
        size = shape[axis] if axis < rank else 3
        kind = rng.random()
        if kind < 0.1:
            items.append(None)
            continue
        if kind < 0.27:
            items.append(random_int(rng, size))
        elif kind < 0.5:
            items.append(random_slice(rng, size))
        elif kind < 0.8:
            items.append(random_array(rng, size, common))
        elif kind < 0.95:
            covered = shape[axis : axis + int(rng.integers(1, 3))]
            if rng.random() < 0.03:
                covered = (*covered, 2)
            if 0 in covered and dots is not None:  # NumPy takes an empty mask for any axis
                items.append(slice(None))
                axis += 1
                continue
            mask = rng.random(covered) < 0.5
            items.append(
                mask.tolist() if mask.ndim == 1 and mask.size and rng.random() < 0.3 else mask
            )
            axis += mask.ndim
            continue
        else:
            items.append([True, False, np.True_, np.array(False)][rng.integers(0, 4)])
            continue
        axis += 1
    if len(items) == 1 and rng.random() < 0.5:
        return items[0]
    return tuple(items)


def random_int(rng, size):
    """Mostly inside, as a Python or a NumPy int."""
    i = int(rng.integers(-size, max(size, 1))) if rng.random() < 0.97 else size + 1
    return i if rng.random() < 0.7 else rng.choice([np.int64, np.int32])(i)


def random_array(rng, size, common):
    """Indices whose shape broadcasts to `common`, as an array, a list or of another type."""
    shape = tuple(1 if rng.random() < 0.25 else n for n in common)
    if shape and rng.random() < 0.3:
        shape = shape[1:]
    if rng.random() < 0.02:
        shape = (5, *shape)
    low, high = (-size, size) if size and rng.random() < 0.98 else (0, size + 3)
    array = rng.integers(low, high, shape)
    if size == 0 and rng.random() < 0.7:
        array = np.zeros((0,), "int64")
    kind = rng.random()
    if kind < 0.25 and array.ndim:
        return array.tolist()
    if kind < 0.4:
        return array.astype(rng.choice(["int32", "int16", "int8"]))
    return array
