"""Operators keep what saved models rely on: slots, flags, attributes, types, defaults."""

import copy
import importlib.util
import json
import pathlib
import re
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).with_name("op_protos.py")
_spec = importlib.util.spec_from_file_location("op_protos", SCRIPT)
op_protos = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(op_protos)


@pytest.fixture(scope="module")
def now():
    """The operators of a process of its own, where no test has loaded others."""
    done = subprocess.run(
        [sys.executable, SCRIPT, "--print"], capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(done.stdout)


def test_no_change_breaks_saved_models(now):
    assert list(op_protos.breaks(op_protos.recorded(), now)) == []


def test_the_records_hold_what_is_there(now):
    """An operator may be new; what a record says of an operator is what the operator says."""
    record = op_protos.recorded()
    assert len(record) > 500
    changed = [name for name in record if now[name] != record[name]]
    assert not changed, "run make protos"
    for path in op_protos.RECORDS.glob("*/protos.json"):
        part = json.loads(path.read_text())
        assert path.read_text() == op_protos.text_of(part), f"{path}: run make protos"


# Names that Fluid and Paddle gave before there was a rule, or against it; programs hold them.
UNRULY_SLOTS = set(
    """
    C_prev Dst_count Dst_index F1-Score Out_size Src_index Total_weight W_Out X_Temp_Out X_W
    bias depth_tensor dst_index expand_shapes_tensor expand_times_tensor indices initial_states
    input input_lengths inputs label label_lengths loss out outputs parameters pos
    repeat_times_tensor scale_w src_index step_scopes sub_result target_tensor warprnntgrad x y
    """.split()
)
UNRULY_ATTRIBUTES = set(
    """
    Alpha Axis Beta Include_self InputChannel KernelH KernelW OutputChannel Reduce Repeats Scale
    Scale_in Scale_out Shift Shift_in Shift_out StrideH StrideW contextLength contextStart contextStride
    fused_reshape_Out fused_transpose_Out paddingTrainable post_nms_topN pre_nms_topN UPLO
    transpose_X transpose_Y
    """.split()
)
SMALL = {"average_accumulates", "beam_search", "index_put", "rms_norm"}  # all of their slots


def test_names_follow_the_rule(now):
    """Types and attributes in snake_case, slots in CamelCase, gradients by a mark behind them."""
    snake, camel = r"[a-z][a-z0-9_]*", r"[A-Z][A-Za-z0-9]*"
    slots, attributes = set(), set()
    for type, proto in now.items():
        assert re.fullmatch(snake, type), type
        wanted = snake if re.sub(r"(_grad)+$", "", type) in SMALL else camel
        names = [re.sub(r"(@GRAD\d?)+$", "", n) for n in (*proto["inputs"], *proto["outputs"])]
        slots |= {name for name in names if not re.fullmatch(wanted, name)}
        attributes |= {n for n in proto["attrs"] if not re.fullmatch(snake, n)}
    assert (slots, attributes) == (UNRULY_SLOTS, UNRULY_ATTRIBUTES)


OLD = {
    "op": {
        "inputs": {"X": [], "Y": ["dispensable"]},
        "outputs": {"Out": ["duplicable"]},
        "attrs": {"axis": [0, -1], "eps": [1, "0.5"]},
    }
}


@pytest.mark.parametrize(
    "path, value, message",
    [
        (("op",), None, "op: the operator is gone"),
        (("op", "inputs", "X"), None, "op: the input X is gone"),
        (("op", "outputs", "Out"), None, "op: the output Out is gone"),
        (("op", "inputs", "Y"), [], "op: the input Y is no longer dispensable"),
        (("op", "outputs", "Out"), [], "op: the output Out is no longer duplicable"),
        (("op", "inputs", "Z"), ["duplicable"], "op: the new input Z must be there"),
        (("op", "outputs", "Z"), [], "op: the new output Z must be there"),
        (("op", "attrs", "axis"), None, "op: the attribute axis is gone"),
        (("op", "attrs", "axis"), [9, -1], "op: the attribute axis had .* now .9, -1."),
        (("op", "attrs", "axis"), [0, 1], "op: the attribute axis had .* now .0, 1."),
        (("op", "inputs", "Z"), ["dispensable"], None),
        (("op", "outputs", "Z"), ["extra"], None),
        (("op", "inputs", "X"), ["dispensable"], None),
        (("op", "attrs", "more"), [0, 3], None),
        (("more",), {"inputs": {"X": []}, "outputs": {}, "attrs": {}}, None),
    ],
)
def test_what_breaks(path, value, message):
    new = copy.deepcopy(OLD)
    at = new
    for step in path[:-1]:
        at = at[step]
    at.pop(path[-1], None)
    if value is not None:
        at[path[-1]] = value
    found = list(op_protos.breaks(OLD, new))
    if message is None:
        assert found == []
    else:
        (problem,) = found
        assert re.match(message, problem)


def test_rewriting_refuses_a_break(tmp_path, monkeypatch, capsys):
    (tmp_path / "family").mkdir()
    monkeypatch.setattr(op_protos, "RECORDS", tmp_path)
    monkeypatch.setattr(op_protos, "families", lambda record: {"family": record})
    monkeypatch.setattr(op_protos, "protos", lambda: copy.deepcopy(OLD))
    assert op_protos.main(["--rewrite"]) == 0
    assert op_protos.recorded() == OLD
    new = copy.deepcopy(OLD)
    new["op"]["attrs"]["axis"] = [0, 2]
    monkeypatch.setattr(op_protos, "protos", lambda: new)
    assert op_protos.main(["--rewrite"]) == 1
    assert "axis" in capsys.readouterr().out and op_protos.recorded() == OLD
    assert op_protos.main(["--rewrite", "--break"]) == 0
    assert op_protos.recorded() == new


def test_defaults_compare_exactly():
    assert op_protos._default([float("nan"), -0.0, float("inf"), 1]) == ["nan", "-0.0", "inf", 1]
