"""Savers killed at each file call, or refused it: the old model stays or the new one is there.

`file_calls.c` is preloaded into a child that does it: opening to write, writing (killed halfway
through), flushing, renaming and removing are its calls.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dygraph
from process import killed_saver

HERE = Path(__file__).parent
OF_OURS = (".tmp", ".next")  # endings of what a killed saver may leave beside the files


@pytest.fixture(scope="module")
def preload(tmp_path_factory):
    """The library of file_calls.c."""
    library = tmp_path_factory.mktemp("preload") / "file_calls.so"
    done = subprocess.run(
        [os.environ.get("CC", "gcc"), "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
         str(HERE / "file_calls.c"), "-o", str(library), "-ldl"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return library


def children(name, folder, preload):
    """[(folder, how the saver ended)] of all its forks."""
    inherited = os.environ.get("LD_PRELOAD", "")
    env = {
        **os.environ,
        "LD_PRELOAD": f"{inherited} {preload}".strip(),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, str(HERE / "killed_saver.py"), name, str(folder)],
        env=env, capture_output=True, text=True, timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [tuple(line.split(" ", 1)) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", killed_saver.FORMATS)
def test_a_saver_killed_at_any_file_call_leaves_the_old_or_the_new(name, tmp_path, preload):
    save = killed_saver.FORMATS[name]
    (tmp_path / "old").mkdir()
    save(str(tmp_path / "old"), 1)
    files = sorted(os.listdir(tmp_path / "old"))
    seen = {"k": [], "f": [], "e": []}
    for folder, ending in children(name, tmp_path, preload):
        value = save(folder)
        kind = os.path.basename(folder)[0]
        seen[kind].append((ending, value))
        left = [n for n in os.listdir(folder) if n not in files]
        assert all(n.endswith(OF_OURS) or n == ".dygraph.set" for n in left), left
        if ending == "failed":
            assert value in (1, 2)
        elif ending == "saved":
            assert (value, left) == (2, [])
        save(folder, 3)  # whatever was left, the next save is whole
        assert save(folder) == 3
        assert not [n for n in os.listdir(folder) if "dygraph" in n]
    for kind, endings in seen.items():
        values = [value for _, value in endings]
        assert values == sorted(values)  # once new, always new
        assert set(values) == {1, 2} and endings[-1] == ("saved", 2)
        wanted = {"killed"} if kind == "k" else {"failed", "saved all the same"}
        assert {ending for ending, _ in endings[:-1]} <= wanted
        assert len(endings) > 4


def test_other_savers_finish_what_a_killed_one_committed(tmp_path, preload):
    """A set of files that has its mark but not its names is no hindrance to other files."""
    save = killed_saver.separate
    (tmp_path / "old").mkdir()
    save(str(tmp_path / "old"), 1)
    waiting = [
        folder
        for folder, ending in children("separate", tmp_path, preload)
        if ending == "killed" and ".dygraph.set" in os.listdir(folder)
    ]
    assert waiting
    for folder in waiting:
        dygraph.save({}, os.path.join(folder, "other"))
        assert sorted(os.listdir(folder)) == ["a", "b", "c", "other"]
        assert save(folder) == 2
