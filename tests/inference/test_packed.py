"""Models as one file: their layout, truncations, single bits, memory, damage by form."""

import os
import subprocess
import sys
import zlib

import numpy as np
import pytest

from dygraph import static
from dygraph.errors import FormatError
from dygraph.inference import Predictor
from inference import fuzz_predictor, models


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    Predictor(models.save(folder / "model", models.mlp)).save(folder / "one")
    return folder / "one"


def test_layout(packed):
    """Weights are sorted by name, as the program declares them, at multiples of 64."""
    whole = packed.read_bytes()
    program, weights = fuzz_predictor.parts_of(whole)
    scope = static.Scope()
    loaded, _, _ = static.load_inference_model(packed.parent / "model", scope=scope)
    names = sorted(v.name for v in loaded.global_block().vars.values() if v.persistable)
    at = 0
    for name in names:
        if scope.find_var(name) is None:  # feed and fetch
            continue
        value = np.array(scope.find_var(name).get_tensor())
        assert weights[at : at + value.nbytes] == value.tobytes()
        at += -(-value.nbytes // 64) * 64
    assert at == len(weights)
    assert len(whole) % 64 == 0 and (len(whole) - at) % 4096 == 0
    assert fuzz_predictor.packed_with(program, weights) == whole
    assert zlib.crc32(whole[:60]) == int.from_bytes(whole[60:64], "little")


def test_saving_again_gives_the_same_bytes(packed, tmp_path):
    Predictor(packed, share_weights=True).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == packed.read_bytes()
    assert os.listdir(tmp_path) == ["again"]


def test_every_truncation_and_every_bit_of_the_head_is_refused(packed):
    whole = packed.read_bytes()
    program, _ = fuzz_predictor.parts_of(whole)
    for length in [*range(64 + len(program) + 1), *range(4000, len(whole), 37)]:
        with pytest.raises(FormatError):
            Predictor(whole[:length])
    for bit in range(8 * (64 + len(program))):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FormatError):
            Predictor(bytes(damaged))


def test_a_bit_of_a_weight(packed):
    damaged = bytearray(packed.read_bytes())
    damaged[-64] ^= 1
    with pytest.raises(FormatError, match="weights .* must have the checksum"):
        Predictor(bytes(damaged))
    Predictor(bytes(damaged), check_weights=False)


def test_surplus_missing_and_contradicting_weights(packed):
    program, weights = fuzz_predictor.parts_of(packed.read_bytes())
    for other in (weights + bytes(64), weights[:-64], b""):
        with pytest.raises(FormatError, match="bytes of weights as its program says"):
            Predictor(fuzz_predictor.packed_with(program, other))


def test_weights_that_are_shared_take_no_memory_of_ours(tmp_path):
    """Two processes map one file: its pages are clean and shared, not private."""

    def wide():
        x = static.data("x", [None, 2048])
        return [x], [static.layers.fc(x, 2048)]

    Predictor(models.save(tmp_path / "model", wide)).save(tmp_path / "one")
    code = f"""
import numpy as np
from dygraph.inference import Predictor
one = Predictor({str(tmp_path / "one")!r}, share_weights=True)
two = Predictor({str(tmp_path / "one")!r}, share_weights=True)
x = np.ones((1, 2048), "float32")
assert one.run(x)[0].tobytes() == two.run(x)[0].tobytes()
lines = open("/proc/self/smaps").read().split("\\n")
private = 0
for i, line in enumerate(lines):
    if line.endswith("/one"):
        facts = dict(l.split(":") for l in lines[i + 1 : i + 20] if ":" in l and "kB" in l)
        private += int(facts["Private_Dirty"].split()[0])
        assert int(facts["Rss"].split()[0]) >= 16 << 10
print(private)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_damaged_models_load_or_refuse():
    counts = fuzz_predictor.run(0, 800)
    assert sum(counts.values()) == 800
    assert counts["loaded, the run gave values"] > 20
    assert counts["refused: FormatError"] > 100
