"""Damaged models through the predictor: each loads or is refused, in a child with little memory.

PYTHONPATH=tests python tests/inference/fuzz_predictor.py 20000   # so many models
"""

import collections
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

import numpy as np

import fuzz_files
import fuzz_models
import fuzzing
import test_fuzz_files
from dygraph.errors import DygraphError
from dygraph.inference import Predictor

HEADER = (
    "<8sQQQII"  # files/packed_model.cc; then zeros, and the CRC of all that in the last 4 bytes
)


def packed_with(program, weights):
    """A packed file of these bytes, whose checksums fit."""
    at = -(-(64 + len(program)) // 4096) * 4096
    head = struct.pack(
        HEADER, b"DGPACK1\n", at + len(weights), len(program), at, zlib.crc32(program),
        zlib.crc32(weights),
    ).ljust(60, b"\0")  # fmt: skip
    head += struct.pack("<I", zlib.crc32(head))
    return (head + program).ljust(at, b"\0") + weights


def parts_of(packed):
    _, _, size, at, _, _ = struct.unpack_from(HEADER, packed)
    return packed[64 : 64 + size], packed[at:]


_packed = {}


def packed_of(net):
    if net not in _packed:
        with tempfile.TemporaryDirectory() as folder:
            fuzz_models.save_inference(net, folder)
            Predictor(folder).save(os.path.join(folder, "one"))
            _packed[net] = Path(folder, "one").read_bytes()
    return _packed[net]


def damaged_packed(r, net):
    whole = packed_of(net)
    if r.random() < 0.2:
        return test_fuzz_files.damaged(r, whole, whole)
    program, weights = parts_of(whole)
    if r.random() < 0.8 or not weights:
        program = fuzz_files.damaged_program(r, program)
    else:
        weights = test_fuzz_files.damaged(r, weights, weights)
    return packed_with(program, weights)


def feed_of(r, net, predictor):
    """Values that fit what the model says now, or those it was made for."""
    given, values = fuzz_models.described(net)[3], []
    for port in predictor.inputs:
        if port.name in given and r.random() < 0.8:
            values.append(given[port.name])
            continue
        shape = [2 if n < 0 else min(n, 50) for n in port.shape or ()]
        values.append(np.ones(shape, str(port.dtype) if port.dtype else "float32"))
    return values


def play(number):
    """What came of one damaged model."""
    nets = list(fuzz_models.NETS)
    net = nets[number % len(nets)]
    r = random.Random(f"predictor:{number}")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if number // len(nets) % 2:
            path = os.path.join(folder, "one")
            Path(path).write_bytes(damaged_packed(r, net))
        else:
            path = folder
            for name, data in fuzz_files.damaged_files(r, f"{net}/inference").items():
                Path(folder, name).write_bytes(data)
        try:
            predictor = Predictor(
                path, share_weights=r.random() < 0.5, check_weights=r.random() < 0.9,
                memory_limit=64 << 20,
            )  # fmt: skip
        except (DygraphError, MemoryError) as error:
            return f"refused: {type(error).__name__}"
        predictor.time_limit = 0.5
        try:
            predictor.run(feed_of(r, net, predictor))
        except (DygraphError, MemoryError, ValueError, TypeError) as error:
            return f"loaded, the run refused: {type(error).__name__}"
        return "loaded, the run gave values"


def child(first, end):
    for net in fuzz_models.NETS:
        fuzz_files.written(f"{net}/inference")
        packed_of(net)
    fuzz_files.pool()
    fuzzing.limit_memory()
    counts = collections.Counter()
    for number in range(first, end):
        print(number, end="\r", file=sys.stderr)
        counts[play(number)] += 1
    print(json.dumps(counts))


def run(first, count):
    """Counts of outcomes; RuntimeError where the child was ended by a signal or an error."""
    command = [sys.executable, __file__, "--child", str(first), str(first + count)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr[-1500:]}")
    return collections.Counter(json.loads(done.stdout))


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        child(int(sys.argv[2]), int(sys.argv[3]))
    else:
        for outcome, count in run(0, int(sys.argv[1])).most_common():
            print(f"{count:8} {outcome}")
