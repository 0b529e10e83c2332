"""docs/onnx.md: its code runs, and its figures are those of the benchmark's results."""

import re
from pathlib import Path

import onnx

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "onnx.md").read_text(encoding="utf-8")


def test_the_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S):
        exec(compile(code, "docs/onnx.md", "exec"), names)
    types = [node.op_type for node in onnx.load("small.onnx").graph.node]
    assert types[:3] == ["QuantizeLinear", "DequantizeLinear", "DequantizeLinear"]
    assert [node.op_type for node in onnx.load("net.onnx").graph.node] == ["MatMul", "Add", "Relu"]


def test_the_figures_are_measured():
    results = (ROOT / "benchmarks" / "results" / "details" / "quantized.md").read_text(
        encoding="utf-8"
    )
    rows = [line for line in results.splitlines() if line.startswith("|")]
    assert len(rows) == 6
    for row in rows:
        assert row in PAGE
