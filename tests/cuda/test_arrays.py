"""Operators that only hand values on leave values of a device where they are."""

import contextlib

import numpy as np
import pytest

import cuda_library
from dygraph import _core, cuda

PLACE = cuda_library.place()
pytestmark = pytest.mark.skipif(PLACE is None, reason="no CUDA library")


def on_host(a):
    with cuda_library.on(_core.CPUPlace()):
        return _core.to_variable(np.asarray(a))


@contextlib.contextmanager
def no_copies():
    before = cuda.counts()
    yield
    after = cuda.counts()
    for name in ("copies_in", "copies_out", "waits"):
        assert after[name] == before[name], name


def test_arrays_and_branches():
    with cuda_library.on(PLACE):
        x = _core.to_variable(np.arange(6.0).reshape(2, 3))
        first = on_host([0])
        with no_copies():
            array = _core.run_op("write_to_array", {"X": x, "I": first})["Out"]
            back = _core.run_op("read_from_array", {"X": array, "I": first})["Out"]
            chosen = _core.run_op("select_input", {"X": [x, back], "Mask": on_host([1])})["Out"]
        assert back.place == chosen.place == PLACE
        np.testing.assert_array_equal(chosen.numpy(), x.numpy())
        assert _core.run_op("lod_array_length", {"X": array})["Out"].numpy().tolist() == [1]


def test_sequences_step_by_step():
    with cuda_library.on(PLACE):
        x = _core.to_variable(np.arange(10.0).reshape(5, 2))
        x.set_lod([[0, 2, 5]])
        table = _core.run_op("lod_rank_table", {"X": x})["Out"]
        steps = _core.run_op("lod_tensor_to_array", {"X": x, "RankTable": table})["Out"]
        back = _core.run_op("array_to_lod_tensor", {"X": steps, "RankTable": table})["Out"]
        assert back.place == PLACE and back.lod() == [[0, 2, 5]]
        np.testing.assert_array_equal(back.numpy(), x.numpy())
