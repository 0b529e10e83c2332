"""No row of docs/operators.md says other than the registry. (It may be short of new ones.)"""

import importlib.util
import re
from pathlib import Path

import dygraph

DOCS = Path(__file__).parents[2] / "docs"


def load():
    spec = importlib.util.spec_from_file_location("operators_page", DOCS / "operators.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(text):
    return dict(re.findall(r"^\| `(\w+)` (\|.*)$", text, re.M))


def test_the_page_says_what_the_registry_says():
    page, made = rows((DOCS / "operators.md").read_text()), rows(load().page())
    if not any("onednn" in row for row in made.values()):
        page = {name: row.replace(" onednn", "") for name, row in page.items()}
    wrong = [name for name in page if page[name] != made.get(name)]
    assert not wrong, f"python docs/operators.py writes the page anew; wrong in it: {wrong}"
    assert len(page) > 100


def test_facts_known_from_elsewhere():
    module = load()
    assert module.kernels("relu") == (["f32", "f64", "i32", "i64"], ["own"])
    assert module.gradient("arg_max") == "no"
    assert module.gradient("matmul_v2") == "all"
    assert "conv2d" in module.forward_operators()
    assert "conv2d_grad" not in module.forward_operators()
    assert "cross_entropy_grad2" not in module.forward_operators()


def test_every_operator_of_fluid_is_counted_once():
    tiers = load().fluid()
    assert {tier: len(names) for tier, names in tiers.items()} == {"T1": 144, "T2": 182, "T3": 103}
    names = [n for listed in tiers.values() for n in listed]
    assert len(set(names)) == len(names)
    page = (DOCS / "operators.md").read_text()
    known = set(dygraph.op_names())
    lists = re.findall(r"^- ([^:]+):", page.split("lacks")[1].split("Beyond Fluid")[0], re.M)
    absent = set(re.findall(r"`(\w+)`", " ".join(lists)))
    marks = load().MARKS  # the executor carries them out
    assert absent == set(names) - known - marks and absent
    assert not (set(rows(page)) & absent)
    assert {"while", "beam_search"} & set(names) and "relu" in known
