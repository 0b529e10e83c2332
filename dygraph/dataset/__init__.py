"""Data sets behind Fluid's reader interface, without a download.

``digits`` replaces Fluid's mnist, ``text`` its imikolov, ``diabetes`` its uci_housing;
``uci_housing`` itself is synthetic unless its file exists. Each has ``train()`` and ``test()``,
which return readers.
"""

from dygraph.dataset import diabetes, digits, text, uci_housing

__all__ = ["diabetes", "digits", "text", "uci_housing"]


def __dir__():
    return __all__
