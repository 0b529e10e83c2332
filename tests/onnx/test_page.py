"""The code of docs/onnx.md runs."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "onnx.md"


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["y"].shape == (5, 4) and (names["y"] >= 0).all()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.onnx", "small.onnx"]
