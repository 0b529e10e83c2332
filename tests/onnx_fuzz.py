"""Damaged ONNX models: each is loaded and, if that succeeds, run; every error is typed.

``python tests/onnx_fuzz.py COUNT [FIRST]`` plays so many in this process, which gets little memory,
and prints what came of them. Byte damage follows the file, the rest damages a parsed model.
"""

import collections
import json
import random
import sys
import time

import numpy as np

import dygraph
import dygraph.onnx
import fuzzing
import onnx
import onnx_models
from dygraph.errors import DygraphError

ALLOWED = (DygraphError, MemoryError)
SECONDS = 10  # one model may take
TURNS = 20  # of a loop, which damage may make endless
WILD = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 17, 255, 2**31 - 1, 2**31, 2**40, 2**63 - 1]
MAKERS = [
    onnx_models.mlp, onnx_models.lenet, onnx_models.residual, onnx_models.recurrent,
    onnx_models.encoder, onnx_models.loop, onnx_models.while_loop, onnx_models.choice,
    onnx_models.scan, onnx_models.quantized,
]  # fmt: skip
OPERATORS = sorted({s.name for s in onnx.defs.get_all_schemas()})
_sound = []


def sound():
    if not _sound:
        _sound.extend(make() for make in MAKERS)
    return _sound


def damaged(r):
    model = r.choice(sound())
    if r.random() < 0.4:
        data = bytearray(model.SerializeToString())
        how = r.random()
        if how < 0.2:
            return bytes(data[: r.randrange(len(data))])
        for _ in range(r.choice([1, 1, 2, 5])):
            at = r.randrange(len(data)) if how < 0.6 else r.randrange(min(len(data), 400))
            data[at] = r.choice([r.randrange(256), data[at] ^ 1 << r.randrange(8), 0, 255])
        return bytes(data)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for _ in range(r.choice([1, 1, 2, 3])):
        _damage(r, copy)
    return copy


def _graphs(graph):
    found = [graph]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == attribute.GRAPH:
                found += _graphs(attribute.g)
    return found


def _damage(r, model):
    graph = r.choice(_graphs(model.graph))
    names = [n for node in graph.node for n in (*node.input, *node.output)] + [""]
    names += [t.name for t in graph.initializer] + ["nothing"]
    node = r.choice(graph.node) if graph.node else None
    what = r.randrange(12)
    if what == 0 and node is not None:
        node.op_type = r.choice(OPERATORS)
    elif what == 1 and node is not None and node.input:
        node.input[r.randrange(len(node.input))] = r.choice(names)
    elif what == 2 and node is not None and node.output:
        node.output[r.randrange(len(node.output))] = r.choice(names)
    elif what == 3 and node is not None and node.attribute:
        a = r.choice(node.attribute)
        if a.ints:
            a.ints[r.randrange(len(a.ints))] = r.choice(WILD)
        else:
            a.i, a.f = r.choice(WILD), r.choice([0.0, -1.0, float("nan"), 1e38])
        if r.random() < 0.2:
            a.type = r.randrange(15)
    elif what == 4 and graph.initializer:
        t = r.choice(graph.initializer)
        if t.dims:
            t.dims[r.randrange(len(t.dims))] = r.choice(WILD)
        t.data_type = r.choice([t.data_type, t.data_type, r.randrange(25)])
    elif what == 5 and graph.initializer:
        t = r.choice(graph.initializer)
        data = bytearray(t.raw_data)
        if data:
            data[r.randrange(len(data))] = r.randrange(256)
        t.raw_data = bytes(data)
    elif what == 6 and graph.node:
        del graph.node[r.randrange(len(graph.node))]
    elif what == 7 and graph.node:
        graph.node.add().CopyFrom(r.choice(graph.node))
    elif what == 8 and graph.input:
        kind = r.choice(graph.input).type.tensor_type
        kind.elem_type = r.choice([kind.elem_type, r.randrange(25)])
        for dim in kind.shape.dim:
            if r.random() < 0.4:
                dim.dim_value = r.choice([0, 1, 2, 3, 7, 2**40, -1])
    elif what == 9 and node is not None:
        node.input.append(r.choice(names))
    elif what == 10:
        model.opset_import[0].version = r.choice([0, 1, 6, 9, 11, 13, 17, 23, 99, 2**31])
    elif what == 11 and graph.initializer:
        del graph.initializer[r.randrange(len(graph.initializer))]


def use(source, r):
    """Load and run once."""
    loaded = dygraph.onnx.load(source)
    feed = {}
    for variable in map(loaded.program.global_block().var, loaded.feed_names):
        shape = [r.choice([1, 2, 3]) if n < 0 else n for n in variable.desc.shape]
        if np.prod(shape, dtype=float) > 10**6:
            raise MemoryError
        feed[variable.name] = np.ones(shape, str(variable.dtype).replace("bfloat16", "float32"))
    loaded.run(feed)
    return "ran"


def play(number):
    r = random.Random(number)
    np.random.seed(number)
    source = damaged(r)
    start = time.process_time()
    try:
        result = use(source, r)
    except ALLOWED as error:
        assert len(str(error)) > 10 or isinstance(error, MemoryError), repr(error)
        result = type(error).__name__
    took = time.process_time() - start
    assert took < SECONDS, f"model {number} took {took:.1f} s"
    return result


def main(count, first=0):
    dygraph.set_flags({"FLAGS_while_turns": TURNS})
    fuzzing.limit_memory()
    found = collections.Counter()
    for number in range(first, first + count):
        try:
            found[play(number)] += 1
        except BaseException:
            print("model", number, flush=True)
            raise
    print(json.dumps(dict(sorted(found.items()))))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
