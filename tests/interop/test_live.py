"""Both directions with Paddle itself; collected where DYGRAPH_PADDLE_PYTHON names its Python."""

import json

import numpy as np
import pytest

from dygraph import static
from dygraph.static import paddle_operators
from interop import exchange
from interop.golden import GOLDEN, paddle

NAMES = ("forms", "lenet", "mlp", "transformer")
RECORD = json.loads((GOLDEN / "record.json").read_text())


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("theirs")
    paddle("write", folder)
    return folder


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jobs")
    expected = exchange.write_jobs(folder)
    paddle("run", folder)
    return folder, expected


@pytest.mark.parametrize("name", NAMES)
def test_we_run_what_paddle_saved(theirs, name):
    difference = exchange.check_inference(theirs / name)
    print(f"{name}: largest difference {difference:.1e}")


@pytest.mark.parametrize("name", RECORD["written by Paddle"]["blocks"])
def test_we_run_what_paddle_saved_with_blocks(theirs, name, tmp_path):
    difference = exchange.check_blocks(theirs / "blocks.npz", name, tmp_path)
    print(f"{name}: largest difference {difference:.1e}")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "forms"])
def test_we_train_what_paddle_described(theirs, name):
    difference = exchange.check_training(theirs / name)
    exchange.check_startup(theirs / name)
    print(f"{name}: largest difference {difference:.1e}")


def test_paddle_runs_what_we_saved_and_trains_what_we_described(jobs):
    folder, expected = jobs
    for job, ours in expected.items():
        found = exchange.read_arrays(folder / job / "result.npz")
        print(f"{job}: largest difference {exchange.agree(found, ours, job):.1e}")


def test_paddle_reads_floats_and_keeps_the_digits_beside_them(tmp_path):
    ours = exchange.write_exact(tmp_path)
    x = np.array([[-8.7, 0.3], [0.9, 2.6]]) * 0.1 + 0.7
    np.testing.assert_allclose(ours["y"], np.where(x > 0, x, 0.3 * x), rtol=1e-15)
    paddle("run", tmp_path)
    exchange.agree(exchange.read_arrays(tmp_path / "exact" / "result.npz"), ours, "exact")
    parsed = (tmp_path / "exact" / "parsed.json").read_text()
    assert '"scale@float64"' in parsed and '"alpha@float64"' in parsed


def test_paddle_reads_our_programs_as_we_meant_them(jobs):
    folder, expected = jobs
    for job in expected:
        parsed = json.loads((folder / job / "parsed.json").read_text())
        path = next(p for p in _programs(folder / job) if p.exists())
        exchange.described_alike(parsed, _program(path))


def _programs(folder):
    return [folder / name for name in ("program", "net.pdmodel", "__model__")]


def _program(path):
    binary = path.read_bytes()
    return static.Program.parse_from_string(binary)


def test_the_list_of_operators_that_paddle_has(tmp_path):
    paddle("operators", tmp_path / "operators.json")
    known = set(json.loads((tmp_path / "operators.json").read_text()))
    for type in _types():
        assert (type in paddle_operators.NAMES) == (type in known), type
    assert paddle_operators.NAMES <= known


def _types():
    from dygraph import _core

    return _core.op_names()
