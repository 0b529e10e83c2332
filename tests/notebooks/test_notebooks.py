"""Every notebook's paired text runs from top to bottom in a fresh kernel."""

from pathlib import Path

import jupytext
import pytest
from nbclient import NotebookClient

SOURCES = sorted((Path(__file__).parents[2] / "notebooks").glob("*.py"))


def test_there_are_notebooks():
    assert [path.stem for path in SOURCES] == [
        "01_first_steps", "02_layers_and_training", "03_programs", "04_control_flow",
        "05_sequences", "06_deployment", "07_cuda",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path):
    notebook = jupytext.read(path)
    client = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()  # raises on the first failing cell
    ran = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert ran and all(cell.execution_count for cell in ran)
    assert list(tmp_path.iterdir()) == []
    shown = [o.data for cell in ran for o in cell.outputs if o.output_type == "execute_result"]
    pages = [data["text/html"] for data in shown if "text/html" in data]
    assert any("shape=" in page for page in pages)  # a variable shows itself
    if path.stem.startswith("02"):
        assert any("<details" in page for page in pages)  # a layer
        assert any("learning rate" in page for page in pages)  # an optimizer
    if path.stem.startswith("03"):
        assert any("Program of" in page and "<details" in page for page in pages)
        (picture,) = [data["image/svg+xml"] for data in shown if "image/svg+xml" in data]
        assert all(type in picture for type in ("mean_grad", "sgd"))
    if path.stem.startswith("04"):
        (picture,) = [data["image/svg+xml"] for data in shown if "image/svg+xml" in data]
        assert "while" in picture and any("Program of" in page for page in pages)
    if path.stem.startswith("05"):
        assert any("LoD" in page for page in pages)  # a ragged batch
