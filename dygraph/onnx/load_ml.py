"""Rules of the domain ai.onnx.ml, and counts of n-grams."""

import numpy as np

import dygraph
from dygraph import _core
from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.onnx.load_rules import rule
from dygraph.onnx.load_shape import is_open

ops = _core.ops
_ML = "ai.onnx.ml"


@rule("ArrayFeatureExtractor", domain=_ML)
def array_feature_extractor(call, x, index):
    axis = call.rank(x) - 1
    out = ops.gather(x, ops.reshape2(index, shape=[-1]), axis=axis)
    return out if axis else ops.unsqueeze2(out, axes=[0])


@rule("Binarizer", domain=_ML)
def binarizer(call, x):
    return (x > call.attr("threshold", 0.0)).astype(x.dtype)


@rule("Scaler", domain=_ML)
def scaler(call, x):
    offset = call.constant(np.array(call.needs("offset"), "float32"))
    return (x.astype("float32") - offset) * call.constant(np.array(call.needs("scale"), "float32"))


@rule("LabelEncoder", domain=_ML)
def label_encoder(call, x):
    def given(what, default=None):
        for name, dtype in (("int64s", "int64"), ("floats", "float32"), ("tensor", None)):
            found = call.attr(f"{what}_{name}")
            if found is not None:
                return np.asarray(found) if dtype is None else np.array(found, dtype)
        if call.attr(f"{what}_strings") is not None:
            raise UnimplementedError("LabelEncoder must map numbers, got strings")
        return default

    keys, values = given("keys"), given("values")
    if keys is None or values is None or keys.shape != values.shape or keys.dtype == object:
        raise InvalidArgumentError("LabelEncoder must have as many keys as values, of numbers")
    if values.dtype == object:
        raise UnimplementedError("LabelEncoder must map numbers, got strings")
    default = call.attr("default_tensor")
    if default is None:
        name = "default_int64" if values.dtype == np.int64 else "default_float"
        default = call.attr(name, -1 if values.dtype == np.int64 else -0.0)
    out = filled_like(call, x, np.asarray(default).reshape(-1)[0].item(), str(values.dtype))
    for key, value in reversed(
        list(zip(keys.reshape(-1).tolist(), values.reshape(-1).tolist(), strict=True))
    ):
        same = dygraph.isnan(x) if key != key else dygraph.equal(x, dygraph.zeros_like(x) + key)
        out = dygraph.where(same, filled_like(call, x, value, str(values.dtype)), out)
    return out


def filled_like(call, x, value, dtype):
    return ops.fill_any_like(x, value=float(value), str_value=repr(value), dtype=dtype)


@rule("TfIdfVectorizer")
def tfidf(call, x):
    """Counts of n-grams of integers, from every place and with every skip."""
    if call.attr("pool_strings") is not None:
        raise UnimplementedError("TfIdfVectorizer must count integers, got strings")
    pool, starts = call.needs("pool_int64s"), call.needs("ngram_counts")
    columns = call.needs("ngram_indexes")
    low, high = call.needs("min_gram_length"), call.needs("max_gram_length")
    skips, mode = call.needs("max_skip_count"), call.needs("mode")
    rank, sizes = call.rank(x), call.shape(x)
    if is_open(sizes):
        raise UnimplementedError("TfIdfVectorizer must know the sizes of its input")
    rows = x if rank == 2 else ops.unsqueeze2(x, axes=[0])
    length = sizes[-1]
    grams, ends = [], [*starts[1:], len(pool)]
    for n, (a, b) in enumerate(zip(starts, ends, strict=True), 1):
        grams += [pool[i : i + n] for i in range(a, b, n)]
    if len(grams) != len(columns) or min(columns) < 0:
        raise InvalidArgumentError("TfIdfVectorizer must have a column for each n-gram")
    width = max(columns) + 1
    call.table(width << 12, "columns")
    weights = call.attr("weights", [1.0] * len(grams))
    counts = [None] * width
    scale = [1.0] * width
    for gram, column, weight in zip(grams, columns, weights, strict=True):
        scale[column] = weight
        n = len(gram)
        if not low <= n <= high:
            continue
        for skip in range(1 if n == 1 else skips + 1):
            places = length - (n - 1) * (skip + 1)
            if places <= 0:
                break
            same = None
            for i, item in enumerate(gram):
                part = ops.slice(
                    rows, axes=[1], starts=[i * (skip + 1)], ends=[i * (skip + 1) + places]
                )
                here = dygraph.equal(part, dygraph.zeros_like(part) + item)
                same = here if same is None else dygraph.logical_and(same, here)
            found = ops.reduce_sum(same.astype("float32"), dim=[1], keep_dim=True)
            counts[column] = found if counts[column] is None else counts[column] + found
    zero = (
        ops.reduce_sum((rows - rows).astype("float32"), dim=[1], keep_dim=True) if length else None
    )
    if zero is None:
        raise UnimplementedError("TfIdfVectorizer must have an item to count, got none")
    out = ops.concat([zero if c is None else c for c in counts], axis=1)
    if mode == "IDF":
        out = (out > 0.0).astype("float32")
    elif mode not in ("TF", "TFIDF"):
        raise InvalidArgumentError(f"mode must be TF, IDF or TFIDF, got {mode}")
    if mode != "TF":
        out = out * call.constant(np.array(scale, "float32"))
    return out if rank == 2 else ops.squeeze2(out, axes=[0])
