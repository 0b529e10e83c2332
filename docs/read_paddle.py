"""What Paddle 2.6.2 says of its operators, for compare_operators.py: run by Paddle's own Python.

    python docs/read_paddle.py        # writes paddle_operators.json beside this file

Slots, attributes and defaults come from its OpProtos, types from its registered kernels for the
CPU. Ranks of tiers T1 and T2 are tried: inputs of each rank, all sizes 2, are given to a program of
one operator.
"""

import itertools
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import paddle
from paddle import static
from paddle.base.proto import framework_pb2

HERE = Path(__file__).parent
RECORD = HERE / "paddle_operators.json"
core = paddle.base.core
# Of every operator, and none of their own.
COMMON = {"op_role", "op_role_var", "op_namescope", "op_callstack", "op_device", "with_quant_attr"}
TYPES = {
    "int": "int32", "float": "float32", "double": "float64", "uint8_t": "uint8", "int8_t": "int8",
    "int16_t": "int16", "int64_t": "int64", "::paddle::platform::float16": "float16",
    "::paddle::platform::bfloat16": "bfloat16", "::paddle::platform::complex<float>": "complex64",
    "::paddle::platform::complex<double>": "complex128",
}  # fmt: skip
KERNEL = re.compile(
    r"\{data_type\[(.*?)\]; data_layout\[.*?\]; place\[Place\((.*?)\)\]; library_type\[(.*?)\]\}"
)
# Attributes without which no rank is accepted.
NEEDED = {
    "one_hot_v2": {"depth": 3}, "split": {"num": 2, "axis": 0}, "pool2d": {"ksize": [1, 1]},
    "unsqueeze2": {"axes": [0]}, "top_k": {"k": 1}, "slice": {
        "axes": [0], "starts": [0], "ends": [1]}, "strided_slice": {
        "axes": [0], "starts": [0], "ends": [1], "strides": [1]}, "flip": {"axis": [0]},
    "reverse": {"axis": [0]}, "roll": {"shifts": [1]}, "pool3d": {"ksize": [1, 1, 1]},
    "max_pool2d_with_index": {"ksize": [1, 1]}, "max_pool3d_with_index": {"ksize": [1, 1, 1]},
    "maxout": {"groups": 2}, "pixel_shuffle": {"upscale_factor": 1}, "shuffle_channel": {
        "group": 1}, "unfold": {"kernel_sizes": [1, 1], "strides": [1, 1],
                                "paddings": [0, 0, 0, 0], "dilations": [1, 1]},
    "kldiv_loss": {"reduction": "mean"}, "huber_loss": {"delta": 1.0}, "clip_by_norm": {
        "max_norm": 1.0}, "shard_index": {"index_num": 2, "nshards": 1, "shard_id": 0},
    "log_loss": {"epsilon": 1e-4}, "temporal_shift": {"seg_num": 1}, "unbind": {"axis": 0},
    "clip": {"min": 0.0, "max": 1.0}, "cumsum": {"axis": 0}, "norm": {"axis": 0},
    "index_select": {"dim": 0}, "prelu": {"mode": "all"}, "cast": {"in_dtype": 5, "out_dtype": 5},
    "leaky_relu": {"alpha": 0.1}, "elu": {"alpha": 1.0}, "dropout": {"dropout_prob": 0.0},
    "arg_max": {"axis": 0}, "arg_min": {"axis": 0}, "take_along_axis": {"Axis": 0},
    "put_along_axis": {"Axis": 0}, "log_softmax": {"axis": -1}, "softmax": {"axis": -1},
    "softmax_with_cross_entropy": {"soft_label": True}, "set_value": {
        "axes": [0], "starts": [0], "ends": [1], "steps": [1]},
    "frobenius_norm": {"reduce_all": True}, "pad_constant_like": {}, "randint": {},
}  # fmt: skip
RANKS = range(6)
# Slots of numbers of elements. Some of Paddle's kernels take floats there and read their bits.
NUMBERS = {"Index", "Indices", "Ids", "Parents", "Label_ids"}


def tiers():
    """[(tier, operator)] of fluid_operators.txt."""
    lines = (HERE / "fluid_operators.txt").read_text().splitlines()
    parts = [line.split(":") for line in lines if not line.startswith("#")]
    return [(tier, name) for tier, names in parts for name in names.split()]


def flags(slot):
    letters = (("duplicable", "*"), ("dispensable", "?"), ("intermediate", "~"), ("extra", "~"))
    return "".join(dict.fromkeys(letter for field, letter in letters if getattr(slot, field)))


def protos():
    found = {}
    for binary in core.get_all_op_protos():
        proto = framework_pb2.OpProto()
        proto.ParseFromString(bytes(binary))
        found[proto.type] = proto
    return found


def kernels(name, registered):
    types = set()
    for text in registered.get(name, ()):
        dtype, place, library = KERNEL.match(text).groups()
        if place == "cpu" and library == "PLAIN":
            types.add(TYPES.get(dtype, dtype))
    return sorted(types)


def described(proto, registered):
    defaults = core.get_op_attrs_default_value(proto.type.encode())
    attrs = {}
    for attr in proto.attrs:
        if attr.name in COMMON or attr.name.startswith("@"):
            continue
        value = defaults.get(attr.name)
        entry = [attr.type, value if isinstance(value, (bool, int, str, list)) else repr(value)]
        attrs[attr.name] = entry + ["tensor"] * attr.support_tensor
    return {
        "inputs": {slot.name: flags(slot) for slot in proto.inputs},
        "outputs": {slot.name: flags(slot) for slot in proto.outputs},
        "attrs": attrs,
        "dtypes": kernels(proto.type, registered),
    }


# Ranks --------------------------------------------------------------------------------------------


def array(rank, dtype):
    return np.full([2] * rank, 0.5 if dtype == "float32" else 1, dtype)


def runs(proto, slots, arrays, attrs):
    """Whether Paddle computes the operator of these inputs."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        block = main.global_block()
        names = {}
        for slot, value in zip(slots, arrays, strict=True):
            parts = [slot.name, slot.name + "2"] if slot.duplicable else [slot.name]
            for part in parts:
                block.create_var(name=part, shape=value.shape, dtype=value.dtype, persistable=True)
            names[slot.name] = parts
        outputs = {}
        for slot in proto.outputs:
            if not slot.dispensable:
                block.create_var(name="out " + slot.name)
                outputs[slot.name] = ["out " + slot.name]
        block.append_op(type=proto.type, inputs=names, outputs=outputs, attrs=attrs)
        feed = {part: v for s, v in zip(slots, arrays, strict=True) for part in names[s.name]}
        with static.scope_guard(static.Scope()):
            for name, value in feed.items():
                tensor = static.global_scope().var(name).get_tensor()
                tensor.set(value, paddle.CPUPlace())
            static.Executor(paddle.CPUPlace()).run(main)


def calls(slots):
    """(types, ranks of the inputs) that are tried."""
    n = len(slots)
    kinds = ("float32", "int64", "bool")
    types = list(itertools.product(kinds, repeat=n)) if n < 3 else []
    if n >= 3:
        types = [("float32",) * n, ("float32",) * (n - 1) + ("int64",),
                 ("bool",) + ("float32",) * (n - 1), ("float32", "int64") + ("float32",) * (n - 2),
                 ("int64",) + ("float32",) * (n - 1)]  # fmt: skip
    ranks = list(itertools.product(RANKS, repeat=n)) if n < 3 else [(r,) * n for r in RANKS]
    whole = [i for i, slot in enumerate(slots) if slot.name in NUMBERS]
    types = [t for t in types if all(t[i] == "int64" for i in whole)]
    return types, ranks


def guarded(work, items):
    """[work(item)], each in one child after another; None where it dies or raises."""
    results = [None] * len(items)
    at = 0
    while at < len(items):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            for quiet in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), quiet)
            for item in items[at:]:
                try:
                    work(item)
                    os.write(write, b"1")
                except Exception:
                    os.write(write, b"0")
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            done = pipe.read()
        os.waitpid(child, 0)
        for mark in done:
            results[at] = mark == ord("1")
            at += 1
        if at < len(items):
            results[at] = False  # it ended the process
            at += 1
    return results


def ranks(proto):
    slots = [s for s in proto.inputs if not s.dispensable]
    if not 1 <= len(slots) <= 4:
        return None
    attrs = NEEDED.get(proto.type, {})
    types, tried = calls(slots)
    best = None
    for kinds in types:
        work = lambda item, kinds=kinds: runs(  # noqa: E731
            proto, slots, [array(r, k) for r, k in zip(item, kinds, strict=True)], attrs
        )
        taken = [item for item, good in zip(tried, guarded(work, tried), strict=True) if good]
        if taken and (best is None or len(taken) > len(best["takes"])):
            best = {
                "slots": [s.name for s in slots],
                "types": list(kinds),
                "takes": ["".join(map(str, t)) for t in taken],
            }
            if attrs:
                best["attrs"] = attrs
        if best and len(best["takes"]) >= 6:
            break
    return best


def main():
    registered = core._get_all_register_op_kernels("all")
    known = protos()
    record = {}
    for tier, name in tiers():
        if name not in known:
            continue
        record[name] = described(known[name], registered)
        if record[name]["dtypes"] and tier != "T3" and "--no-ranks" not in sys.argv:
            tried = ranks(known[name])
            if tried:
                record[name]["ranks"] = tried
        print(name, record[name].get("ranks", {}), file=sys.stderr, flush=True)
    lines = [
        f"{json.dumps(name)}: {json.dumps(record[name], separators=(',', ':'))}"
        for name in sorted(record)
    ]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{RECORD}: {len(record)} operators, {RECORD.stat().st_size} bytes")


if __name__ == "__main__":
    assert paddle.__version__ == "2.6.2", paddle.__version__
    paddle.enable_static()
    main()
