"""docs/new_pass.md is right: its code compiles, passes its test, does what it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import plugins

TESTS = Path(__file__).resolve().parents[1]
TEXT = (TESTS.parent / "docs" / "new_pass.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory):
    """What a reader would have: the library, and the test beside a conftest that loads it."""
    folder = tmp_path_factory.mktemp("new_pass")
    source = folder / "drop_unit_scale.cc"
    source.write_text("\n".join(plugins.blocks(TEXT, "cpp")))
    library = plugins.build(source, folder / "drop_unit_scale.so")
    case, use, function, graph = plugins.blocks(TEXT, "python")
    (folder / "test_drop_unit_scale.py").write_text(case)
    (folder / "use.py").write_text(use + function + graph)
    load = f"import dygraph\nassert dygraph.load_library({library!r}) == []\n"
    (folder / "load.py").write_text(load)
    (folder / "conftest.py").write_text("import load\n")
    return folder


def run(folder, code):
    paths = [str(folder), str(plugins.PACKAGE.parent), str(TESTS)]
    code = f"import sys; sys.path[:0] = {paths!r}\n" + code
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_case_of_the_page_passes(tutorial):
    code = "import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '.']))"
    out = run(tutorial, code)
    assert "4 passed" in out, out


def test_the_use_of_the_page_runs(tutorial):
    check = "import load, use; assert [o.type for o in use.quiet.global_block().ops] == ['exp']"
    run(tutorial, check)


def test_the_page_names_the_files_it_makes():
    assert "`csrc/passes/drop_unit_scale.cc`" in TEXT
    assert "`tests/passes/test_drop_unit_scale.py`" in TEXT


def test_the_command_of_the_page_builds(tutorial):
    """The command line for use outside the tree, with the folder of this package in P."""
    (command,) = re.findall(r"^g\+\+ .*?(?=^```)", TEXT, re.MULTILINE | re.DOTALL)
    include = plugins.include_folder()
    command = command.replace("-I$P/include", f"-I{include}").replace("$P", str(plugins.PACKAGE))
    command = command.replace("drop_unit_scale.so", "again.so")
    done = subprocess.run(command, shell=True, cwd=tutorial, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tutorial / "again.so").exists()


def test_a_second_pass_of_one_name_is_refused_with_both_places(tutorial):
    twice = tutorial / "twice.cc"
    twice.write_text((tutorial / "drop_unit_scale.cc").read_text())
    library = plugins.build(twice, tutorial / "twice.so")
    said = run(
        tutorial,
        "import load, dygraph\nfrom dygraph import static\n"
        f"try:\n    dygraph.load_library({library!r})\n"
        "except ValueError as error:\n    print(type(error).__name__, error)\n"
        "assert 'drop_unit_scale' in static.passes.names()\n",
    )
    assert said.startswith("AlreadyExistsError")
    assert "drop_unit_scale.cc:" in said and "twice.cc:" in said
