"""Sentences of the Penn Treebank, from its files in Fluid's folder.

``ptb.train.txt`` and ``ptb.valid.txt``, a sentence in each line, are read from
``~/.cache/paddle/dataset/imikolov/``, as they are or with ``.gz``. `dygraph.dataset.text` has the
same functions and needs no file.
"""

import collections

from dygraph.dataset.local_files import opened
from dygraph.dataset.text import NGRAM, SEQ, DataType, samples_of

__all__ = ["NGRAM", "SEQ", "DataType", "build_dict", "test", "train"]


def _sentences(part):
    with opened("imikolov", f"ptb.{part}.txt") as f:
        for line in f:
            yield line.decode("utf-8").split()


def build_dict(min_word_freq=50):
    """The index of each word that occurs more than `min_word_freq` times; frequent words first."""
    count = collections.Counter()
    for part in ("train", "valid"):
        for words in _sentences(part):
            count.update(words)
            count["<s>"] += 1
            count["<e>"] += 1
    del count["<unk>"]
    frequent = sorted((-n, word) for word, n in count.items() if n > min_word_freq)
    numbers = {word: i for i, (_, word) in enumerate(frequent)}
    numbers["<unk>"] = len(numbers)
    return numbers


def train(word_idx, n, data_type=NGRAM):
    """A reader of the sentences for training; see `dygraph.dataset.text.train`."""
    return samples_of(lambda: _sentences("train"), word_idx, n, data_type)


def test(word_idx, n, data_type=NGRAM):
    """A reader of the sentences for testing."""
    return samples_of(lambda: _sentences("valid"), word_idx, n, data_type)
