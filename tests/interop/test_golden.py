"""Files of Paddle 2.6.2 that are kept here, and what it said of ours; see README.md."""

import json
from pathlib import Path

import numpy as np
import pytest

from dygraph import static
from interop import blocks, exchange, networks, open_cases, translator

GOLDEN = Path(__file__).parent / "golden"
RECORD = json.loads((GOLDEN / "record.json").read_text())
HOW = "python tests/interop/golden.py writes the record anew, where a change of it is meant"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """(folder, {job: what ours gives}) of what Paddle is asked to run."""
    folder = tmp_path_factory.mktemp("jobs")
    return folder, exchange.write_jobs(folder)


@pytest.mark.parametrize("name", sorted(RECORD["written by Paddle"]["inference"]))
def test_models_of_paddle_give_what_they_gave_there(name):
    exchange.check_inference(GOLDEN / name)


@pytest.mark.parametrize("name", RECORD["written by Paddle"]["blocks"])
def test_models_of_paddle_with_blocks_give_what_they_gave_there(name, tmp_path):
    exchange.check_blocks(GOLDEN / "blocks.npz", name, tmp_path)


@pytest.mark.parametrize("name", open_cases.CASES)
def test_programs_of_paddle_with_variables_in_attributes_give_what_they_gave_there(name):
    exchange.check_open(GOLDEN / "open.npz", name)


@pytest.mark.parametrize("name", sorted(RECORD["written by Paddle"]["training"]))
def test_training_programs_of_paddle_take_its_steps(name):
    exchange.check_training(GOLDEN / name)
    exchange.check_startup(GOLDEN / name)


def test_a_translator_with_attention_takes_paddle_s_steps():
    theirs, arrays = RECORD["translator"], translator.job()
    assert translator.sum_of(arrays) == theirs["job"], HOW
    np.testing.assert_allclose(translator.losses(arrays), theirs["losses"], atol=1e-5)
    assert theirs["losses"][-1] < theirs["losses"][0] - 0.5


def test_our_files_are_those_that_paddle_read(jobs):
    assert exchange.sums_of(jobs[0]) == RECORD["read by Paddle"], HOW


def test_paddle_computed_of_our_files_what_we_compute(jobs):
    theirs = exchange.read_arrays(GOLDEN / "results.npz")
    assert set(jobs[1]) == {key.split("/")[0] for key in theirs}
    for job, ours in jobs[1].items():
        held = {k.removeprefix(f"{job}/"): v for k, v in theirs.items() if k.startswith(f"{job}/")}
        exchange.agree(held, {name: ours[name] for name in held}, job)


@pytest.mark.parametrize("name", sorted(networks.NETWORKS))
def test_the_networks_compute_what_they_should(name):
    main, x, y, scope = networks.described(name)
    feed = networks.feed_of(name)
    (ours,) = static.Executor().run(main.clone(True), {"x": feed}, [y.name], scope=scope)
    exchange.agree({"y": ours}, {"y": networks.by_hand(name, feed, scope)}, name)


@pytest.mark.parametrize("name", blocks.PROGRAMS)
def test_the_programs_with_blocks_compute_what_they_should(name):
    main, feeds, y, scope = blocks.described(name)
    for feed in blocks.FEEDS:
        fed = {n: feed[key] for n, key in zip(feeds, "xn", strict=True)}
        (ours,) = static.Executor().run(main, fed, [y.name], scope=scope)
        want = np.asarray(blocks.by_hand(name, feed))
        exchange.agree({"y": ours}, {"y": want.reshape(ours.shape)}, name)


def test_twenty_programs_with_blocks_go_each_way():
    assert len(blocks.PROGRAMS) == 20 == len(RECORD["written by Paddle"]["blocks"])
    held = {key.split("/")[0] for key in RECORD["read by Paddle"]}
    assert held >= {f"blocks-{name}" for name in blocks.PROGRAMS}


def test_the_folder_stays_small():
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*") if path.is_file()) < 350_000
