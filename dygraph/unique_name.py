"""Names that are taken only once: ``linear_0``, ``linear_1``, ...

A counter is kept for each kind of layer and none for single layers or parameters, so a process that
builds models for ever does not grow.
"""

import re
from _thread import allocate_lock

__all__ = ["generate", "guard"]

_lock = allocate_lock()
_counters: dict[str, int] = {}


def generate(kind):
    """``kind_0``, at the next call ``kind_1``, ...

    >>> from dygraph import unique_name
    >>> with unique_name.guard():
    ...     unique_name.generate("fc"), unique_name.generate("fc")
    ('fc_0', 'fc_1')
    """
    with _lock:
        number = _counters.get(kind, 0)
        _counters[kind] = number + 1
    return f"{kind}_{number}"


def snake(name):
    """``LeNet`` -> ``le_net``, ``Conv2D`` -> ``conv2d``.

    >>> snake("LeNet"), snake("Conv2D"), snake("BatchNorm")
    ('le_net', 'conv2d', 'batch_norm')
    """
    name = re.sub(r"([a-z0-9])([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


class guard:  # noqa: N801 - Fluid's name
    """Count from 0 inside the block, and go on after it where the count had been."""

    def __enter__(self):
        global _counters
        self._saved, _counters = _counters, {}
        return self

    def __exit__(self, *_):
        global _counters
        _counters = self._saved
        return False
