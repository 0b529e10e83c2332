"""Random bad arguments and data for samplers, data sets, loaders, readers and feeders.

As test_fuzz_operators.py, which says how; ``python tests/test_fuzz_data.py NAME NUMBER`` makes one
call again.
"""

import inspect
import itertools
import random
import warnings

import pytest

import dygraph
import fuzzing
from dygraph import io
from fuzzing import ALLOWED, FLOATS, GARBAGE, SMALL_INTS, TEXTS, WILD_INTS, some_shape, some_values

NAMES = [
    "BatchSampler", "ConcatDataset", "DataFeeder", "DataLoader",
    "DistributedBatchSampler", "RandomSampler", "SequenceSampler", "Subset", "TensorDataset",
    "WeightedRandomSampler", "batch", "buffered", "cache", "chain", "compose", "create_lod_tensor",
    "create_random_int_lodtensor", "default_collate", "firstn", "map_readers", "random_split",
    "shuffle", "xmap_readers",
]  # fmt: skip


class Samples:
    """Samples that are not always alike."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]

    def __call__(self):
        return iter(self.samples)

    def __repr__(self):
        return f"Samples({self.samples})"


def some_sample(r, deep=0):
    p = r.random()
    if p < 0.1:
        return r.choice(GARBAGE)
    if p < 0.3 and deep < 3:
        return tuple(some_sample(r, deep + 1) for _ in range(r.choice([0, 1, 2, 2, 3])))
    if p < 0.4 and deep < 3:
        return {r.choice("ab"): some_sample(r, deep + 1) for _ in range(2)}
    if p < 0.6:
        return r.choice([1, 2.5, "x", b"y", None, True, *WILD_INTS, *FLOATS])
    return some_values(r, r.choice([(2,), (2, 3), some_shape(r)]), r.choice(fuzzing.DTYPES))


def some_samples(r):
    one = some_sample(r)
    count = r.choice([0, 1, 2, 3, 5])
    return [one if r.random() < 0.9 else some_sample(r) for _ in range(count)]


def some_argument(r, name):
    p = r.random()
    if p < 0.08:
        return r.choice(GARBAGE)
    if name in ("process_num", "num_workers"):
        return r.choice([-1, 0, 1, 2, 2.5, 10**6, 2**31, 2**63])
    if p < 0.16:
        return r.choice(WILD_INTS)
    if p < 0.22:
        return r.choice(FLOATS)
    if p < 0.28:
        return r.choice(TEXTS)
    if name in ("dataset", "data_source", "reader", "sampler", "datasets", "samples", "data"):
        return Samples(some_samples(r))
    if name in ("lengths", "weights", "indices", "recursive_seq_lens", "base_shape", "tensors"):
        numbers = [r.choice([*SMALL_INTS, 2.5]) for _ in range(r.choice([0, 1, 2, 3]))]
        return [numbers] if r.random() < 0.4 else numbers
    if name in ("mapper", "func", "collate_fn"):
        return r.choice([lambda *x: x, lambda: None, len])
    if p < 0.5:
        return some_samples(r)
    return r.choice(SMALL_INTS)


def make_call(name, number):
    r = random.Random(f"{name}:{number}")
    target = getattr(io, name, None) or getattr(dygraph, name)
    arguments, more = {}, []
    parameters = list(inspect.signature(target).parameters.values())
    for p in parameters:
        if p.kind == p.VAR_POSITIONAL:
            more = [some_argument(r, "reader") for _ in range(r.choice([0, 1, 2]))]
        elif p.kind != p.VAR_KEYWORD and p.name not in ("worker", "start_method", "timeout"):
            if p.default is p.empty or r.random() < 0.3:
                arguments[p.name] = some_argument(r, p.name)
    if more:
        more = [arguments.pop(n) for n in list(arguments) if n in ("func", "reader")] + more
    return target, more, arguments, r


def play(name, number):
    warnings.simplefilter("ignore")
    try:
        target, more, arguments, r = make_call(name, number)
        result = target(*more, **arguments)
        if hasattr(result, "feed"):
            result = result.feed(some_samples(r))
        elif callable(result):
            result = result()
        for _ in range(2):
            if hasattr(result, "__iter__"):
                list(itertools.islice(result, 20))
        if hasattr(result, "__getitem__") and hasattr(result, "__len__"):
            result[r.choice([0, -1, 2**63, len(result)])]
    except ALLOWED:
        pass
    except RuntimeError as error:  # the limit leaves no memory for another thread's stack
        if "can't start new thread" not in str(error):
            raise


def describe(name, number):
    _, more, arguments, _ = make_call(name, number)
    return f"{name}({more}, {arguments})"[:600]


def test_bad_calls():
    fuzzing.run_group(__file__, describe, NAMES, 60, 60)


@pytest.mark.slow
def test_many_bad_calls():
    fuzzing.run_group(__file__, describe, NAMES, 1500, 280)


if __name__ == "__main__":
    fuzzing.main(play, describe)
