"""Five hundred random functions: none gives another result than eager calls do."""

import pytest

from . import program_runner, random_functions

RUNNERS = [program_runner.run] if program_runner.RUNS else []
SEEDS = range(500)


@pytest.fixture(scope="module")
def counts():
    """How many of the functions became what."""
    return {"right": 0, "refused": 0, "all": 0}


@pytest.mark.parametrize("first", SEEDS[::25])
def test_random_functions_are_right_or_refused(first, counts):
    for seed in range(first, first + 25):
        kind, detail = random_functions.one(seed, small=True, runners=RUNNERS, seconds=120)
        assert kind in ("right", "refused"), (
            f"{kind}: {detail}\n{random_functions.Writer(seed, small=True).function()}"
        )
        counts[kind] += 1
        counts["all"] += 1


@pytest.mark.parametrize("seed", range(50))
def test_functions_that_begin_with_eager_variables(seed):
    how = {"small": True, "constants": True}
    kind, detail = random_functions.one(seed, runners=RUNNERS, seconds=120, **how)
    source = random_functions.Writer(seed, **how).function()
    assert kind in ("right", "refused"), f"{kind}: {detail}\n{source}"


def test_most_are_captured(counts):
    assert counts["right"] >= 0.95 * counts["all"]


def test_reducer_leaves_what_matters():
    source = random_functions.Writer(1).function()
    assert source.count("sum()") > 3
    shorter = random_functions.reduced(source, lambda text: "sum()" in text)
    assert shorter.count("sum()") == 1
    assert len(shorter.splitlines()) <= 4
