"""docs/operators_beside_paddle.md is what the comparison gives; differences have reasons."""

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def compare():
    spec = importlib.util.spec_from_file_location("compare", DOCS / "compare_operators.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_difference_lacks_a_reason(compare):
    assert compare.unexplained() == []


def test_no_reason_outlives_its_difference(compare):
    assert compare.unused() == []


def test_the_page_is_what_the_comparison_gives(compare):
    made = "python docs/compare_operators.py writes the page anew"
    assert compare.PAGE.read_text() == compare.page(), made


def test_a_difference_is_noticed(compare):
    theirs = compare.paddle()["relu"]
    assert compare.differences("relu", None, theirs) == []
    other = json.loads(json.dumps(theirs))
    other["inputs"]["Y"] = "?"
    other["attrs"]["axis"] = [0, 1]
    other["dtypes"].append("int4")
    other["ranks"] = {"slots": ["Z"], "types": ["float32"], "takes": ["1"]}
    found = ["input Y", "attr axis", "dtype int4", "ranks 1"]
    assert compare.differences("relu", None, other) == found
    assert compare.differences("leaky_relu", None, theirs) == ["own attr alpha"]
    assert compare.differences("run_program", None, theirs) is None


def test_defaults_and_types_are_compared(compare):
    ours = {"axis": {"wire_type": 0, "default": -1}, "rate": {"wire_type": 1, "default": 0.1}}
    for field in ours.values():
        field["may_be_open"] = False
    ours["rate"]["default"] = 0.10000000149011612  # the float32 nearest to 0.1
    assert list(compare.attr_items(ours, {"axis": [0, -1], "rate": [1, "0.1"]}, [])) == []
    theirs = {"axis": [9, 1], "rate": [1, "inf", "tensor"]}
    assert list(compare.attr_items(ours, theirs, ["old"])) == [
        "type axis: INT, LONG", "default axis: -1, 1", "default rate: 0.1, 'inf'", "tensor rate",
        "attr old",
    ]  # fmt: skip


def test_slots_are_compared_with_both_releases(compare):
    ours = {"X": "", "List": "*", "Own": "?"}
    items = list(compare.slot_items("input", ours, {"X": "?", "List": ""}, {"Old": "", "X": ""}))
    assert items == ["needs X", "list List", "input Old", "own input Own"]


def test_the_record_is_of_both_releases_and_small(compare):
    assert set(compare.paddle()) <= set(compare.tiers())
    assert compare.fluid()["relu"] == ({"X": ""}, {"Out": ""}, [])
    assert compare.fluid()["dropout"][0] == {"X": "", "Seed": "?"}
    assert (DOCS / "paddle_operators.json").stat().st_size < 300_000
