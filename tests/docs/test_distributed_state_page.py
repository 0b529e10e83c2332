"""docs/distributed_state.md: its lines run on two ranks, and go on where they stopped."""

from pathlib import Path

import plugins
from jobs import start_job

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "distributed_state.md").read_text()


def test_the_lines_run_on_two_ranks_and_go_on(tmp_path):
    script = "\n".join(plugins.blocks(TEXT, "python"))
    end = "\nresult = [checkpoint.steps(folder), first, [v.tolist() for v in net.parameters()]]"
    marked = script.replace("while step < 12", "first = step\nwhile step < 12")
    assert marked != script
    done = start_job(2, marked + end, tmp_path)
    assert done.code == 0, done.err
    assert done.results[0][:2] == [[12, 8], 0] and done.results[0] == done.results[1]
    again = start_job(2, marked + end, tmp_path)
    assert again.code == 0, again.err
    assert again.results[0] == [[12, 8], 12, done.results[0][2]]
