"""Data sets behind Fluid's reader interface, without a download.

``digits`` stands where Fluid has mnist, ``diabetes`` where it has uci_housing, ``text`` where it
has imikolov. Each has ``train()`` and ``test()``, which give readers.
"""

from dygraph.dataset import diabetes, digits, text

__all__ = ["diabetes", "digits", "text"]


def __dir__():
    return __all__
