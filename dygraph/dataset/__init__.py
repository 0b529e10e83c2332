"""Data sets behind Fluid's reader interface, without a download.

``mnist``, ``cifar``, ``imikolov`` and ``uci_housing`` read files in Fluid's folder,
``~/.cache/paddle/dataset``; an error says which file belongs where. ``digits``, ``text`` and
``diabetes`` need no file and stand in for ``mnist``, ``imikolov`` and ``uci_housing``, which itself
is synthetic unless its file exists. Each has functions such as ``train()`` and ``test()``, which
return readers.
"""

from dygraph.dataset import cifar, diabetes, digits, imikolov, mnist, text, uci_housing
from dygraph.errors import did_you_mean

__all__ = ["cifar", "diabetes", "digits", "imikolov", "mnist", "text", "uci_housing"]

# Fluid's other data sets, which consist of archives or pickles.
_NOT_READ = (
    "conll05", "flowers", "imdb", "movielens", "mq2007", "sentiment", "voc2012", "wmt14", "wmt16",
)  # fmt: skip


def __getattr__(name):
    if name in _NOT_READ:
        raise AttributeError(
            f"dygraph.dataset does not read Fluid's '{name}', whose files are archives. Unpack "
            "them and write a reader, a function that yields samples: yield words, label"
        )
    raise AttributeError(f"dygraph.dataset has no '{name}'.{did_you_mean(name, __all__)}")


def __dir__():
    return __all__
