"""Data sets behind Fluid's reader interface, without a download.

``digits`` stands where Fluid has mnist, ``text`` where it has imikolov, ``diabetes`` where it has
uci_housing; ``uci_housing`` itself is made up unless its file is there. Each has ``train()`` and
``test()``, which give readers.
"""

from dygraph.dataset import diabetes, digits, text, uci_housing

__all__ = ["diabetes", "digits", "text", "uci_housing"]


def __dir__():
    return __all__
