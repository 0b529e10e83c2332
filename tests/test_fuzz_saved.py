"""A part of `fuzz_files`, the same each time; its own text says how to run all of it."""

import pytest

import fuzz_files
import wire_tree


@pytest.mark.parametrize("first", [1000000, 2000000])
def test_damaged_models_load_and_run_or_raise(first):
    counts, failures = fuzz_files.run(first, 1000)
    assert not failures, "\n".join(failures)
    assert sum(counts.values()) == 1000
    for outcome in ("loaded, the step ran", "loaded, the step refused", "refused"):
        assert sum(n for ending, n in counts.items() if ending.startswith(outcome)) > 50


def test_damaged_models_with_blocks_load_and_run_or_raise():
    counts, failures = fuzz_files.run(0, 1000, blocks=True)
    assert not failures, "\n".join(failures)
    assert sum(counts.values()) == 1000
    for outcome in ("loaded, the step ran", "loaded, the step refused", "refused"):
        assert sum(n for ending, n in counts.items() if ending.startswith(outcome)) > 50


def test_every_kind_is_damaged_and_sound_at_first():
    for kind in fuzz_files.KINDS:
        files = fuzz_files.written(kind)
        assert files and all(isinstance(data, bytes) for data in files.values())
        for name in set(fuzz_files.PROGRAMS) & set(files):
            binary = fuzz_files.bare(files[name])
            assert wire_tree.unparse(wire_tree.parse(binary)) == binary
