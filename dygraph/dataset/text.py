"""English sentences for language models, in place of imikolov; from Python's documentation.

The text is that of `pydoc_data.topics`, which comes with Python (400 KB; it differs a little
between versions). Every tenth sentence is for testing.
"""

import collections
import functools
import re

from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.inspect.shown import Shown

__all__ = ["NGRAM", "SEQ", "DataType", "build_dict", "test", "train"]


class DataType(Shown):
    """The form of samples: ``NGRAM`` or ``SEQ``.

    >>> from dygraph.dataset import text
    >>> text.DataType.NGRAM == text.NGRAM, text.DataType.SEQ == text.SEQ
    (True, True)
    """

    NGRAM = 1
    SEQ = 2


NGRAM, SEQ = DataType.NGRAM, DataType.SEQ
_WORD = re.compile(r"[a-z]+(?:['_-][a-z]+)*|[.,;:?!()]")


@functools.cache
def _sentences(part):
    from pydoc_data.topics import topics

    found = []
    for name in sorted(topics):
        for paragraph in re.split(r"\n\s*\n", topics[name]):
            for sentence in re.split(r"(?<=[.?!])\s+", paragraph.lower()):
                words = _WORD.findall(sentence)
                if len(words) > 2:
                    found.append(tuple(words))
    test = found[9::10]
    del found[9::10]
    return tuple(test if part == "test" else found)


def build_dict(min_word_freq=5):
    """The index of each word that occurs more than `min_word_freq` times; frequent words first.

    ``<s>`` and ``<e>`` begin and end a sentence; the last index is that of ``<unk>``, for other
    words.

    >>> from dygraph.dataset import text
    >>> words = text.build_dict(min_word_freq=50)
    >>> "the" in words, words["<unk>"] == len(words) - 1
    (True, True)
    """
    check.integer(min_word_freq, "build_dict: min_word_freq", 0)
    count = collections.Counter()
    for part in ("train", "test"):
        for words in _sentences(part):
            count.update(words)
            count["<s>"] += 1
            count["<e>"] += 1
    frequent = sorted((-n, word) for word, n in count.items() if n > min_word_freq)
    numbers = {word: i for i, (_, word) in enumerate(frequent)}
    numbers["<unk>"] = len(numbers)
    return numbers


def samples_of(sentences, word_idx, n, data_type):
    """A reader of the words' indices; `sentences()` gives lists of words. See `train`."""
    check.integer(n, "n")
    check.choice(data_type, (NGRAM, SEQ), "data_type")
    if data_type == NGRAM and n < 1:
        raise InvalidArgumentError(f"n must be at least 1 for n-grams, got {n}")
    for word in ("<s>", "<e>", "<unk>"):
        if word not in word_idx:
            raise InvalidArgumentError(
                f"word_idx must have an index for '{word}', got none. Make it with build_dict()"
            )

    def reader():
        start, end, unknown = (word_idx[w] for w in ("<s>", "<e>", "<unk>"))
        for words in sentences():
            ids = [word_idx.get(w, unknown) for w in words]
            if data_type == NGRAM:
                ids = [start, *ids, end]
                for i in range(n, len(ids) + 1):
                    yield tuple(ids[i - n : i])
            elif n <= 0 or len(ids) < n:
                yield [start, *ids], [*ids, end]

    return reader


def train(word_idx, n, data_type=NGRAM):
    """A reader of the sentences for training.

    Parameters
    ----------
    word_idx : dict
        From `build_dict`.
    n : int
        NGRAM: tuples of `n` word indices. SEQ: pairs (``<s>`` and the words, the words and ``<e>``)
        of at most `n` indices; 0 for any length.
    data_type : DataType

    Examples
    --------
    >>> from dygraph.dataset import text
    >>> words = text.build_dict()
    >>> first = next(iter(text.train(words, 3)()))
    >>> len(first), first[0] == words["<s>"]
    (3, True)
    """
    return samples_of(lambda: _sentences("train"), word_idx, n, data_type)


def test(word_idx, n, data_type=NGRAM):
    """A reader of the sentences for testing; see `train`.

    >>> from dygraph.dataset import text
    >>> words = text.build_dict()
    >>> before, behind = next(iter(text.test(words, 0, text.SEQ)()))
    >>> before[0] == words["<s>"], behind[-1] == words["<e>"], before[1:] == behind[:-1]
    (True, True, True)
    """
    return samples_of(lambda: _sentences("test"), word_idx, n, data_type)
