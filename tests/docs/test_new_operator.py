"""docs/new_operator.md is right: its code compiles, passes its test, does what it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import plugins

TESTS = Path(__file__).resolve().parents[1]
TEXT = (TESTS.parent / "docs" / "new_operator.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=["cpp", r"c\+\+"], ids=["in general", "elementwise"])
def tutorial(request, tmp_path_factory):
    """What a reader would have: the library, and the test beside a conftest that loads it."""
    folder = tmp_path_factory.mktemp("new_operator")
    source = folder / "squared_relu_op.cc"
    source.write_text("\n".join(plugins.blocks(TEXT, request.param)))
    library = plugins.build(source, folder / "squared_relu.so")
    case, use = plugins.blocks(TEXT, "python")
    (folder / "test_squared_relu_op.py").write_text(case)
    (folder / "use.py").write_text("import numpy as np\n" + use)
    (folder / "load.py").write_text(
        "import dygraph\n"
        f"assert dygraph.load_library({library!r}) == ['squared_relu', 'squared_relu_grad']\n"
    )
    (folder / "conftest.py").write_text("import load\n")
    return folder


def run(folder, *arguments):
    paths = [str(folder), str(plugins.PACKAGE.parent), str(TESTS)]
    code = f"import sys; sys.path[:0] = {paths!r}\n"
    done = subprocess.run(
        [sys.executable, "-c", code + arguments[0], *arguments[1:]],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_case_of_the_page_passes(tutorial):
    code = "import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '.']))"
    out = run(tutorial, code)
    passed = re.search(r"(\d+) passed", out)
    assert passed and int(passed[1]) >= 20 and "failed" not in out and "skipped" not in out, out


def test_the_use_of_the_page_runs(tutorial):
    run(tutorial, "import load, use")


def test_the_page_names_the_files_it_makes():
    assert "`csrc/operators/activation/squared_relu_op.cc`" in TEXT
    assert "`tests/operators/activation/test_squared_relu_op.py`" in TEXT


def test_the_command_of_the_page_builds(tutorial):
    """The command line for use outside the tree, with the folder of this package in P."""
    (command,) = re.findall(r"^g\+\+ .*?(?=^```)", TEXT, re.MULTILINE | re.DOTALL)
    include = plugins.include_folder()
    command = command.replace("-I$P/include", f"-I{include}").replace("$P", str(plugins.PACKAGE))
    command = command.replace("squared_relu.so", "again.so")
    done = subprocess.run(command, shell=True, cwd=tutorial, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tutorial / "again.so").exists()


def test_the_operator_of_another_shape(tmp_path):
    source = tmp_path / "row_spread_op.cc"
    source.write_text("\n".join(plugins.blocks(TEXT, "cc")))
    library = plugins.build(source, tmp_path / "row_spread.so")
    run(
        tmp_path,
        f"""
import dygraph, numpy as np
assert dygraph.load_library({library!r}) == ["row_spread"]
values = np.array([[1.0, 5.0, 2.0], [0.0, 4.0, -3.0]])
x = dygraph.to_variable(values)
x.stop_gradient = False
y = dygraph.ops.row_spread(x)
assert y.tolist() == [4.0, 7.0]
(g,) = dygraph.grad([(y * y).sum()], [x], create_graph=True)
assert g.tolist() == [[-8.0, 8.0, 0.0], [0.0, 14.0, -14.0]]  # 2 spread at the extremes
weights = dygraph.to_variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype="float64")
(gg,) = dygraph.grad([(g * weights).sum()], [x])  # of 2 spread (weight at max - weight at min)
assert gg.tolist() == [[-2.0, 2.0, 0.0], [0.0, -2.0, 2.0]]
for shape in [(3,), (2, 0)]:
    try:
        dygraph.ops.row_spread(dygraph.to_variable(np.ones(shape)))
    except dygraph.errors.InvalidArgumentError as e:
        assert str(list(shape)) in str(e)
    else:
        raise SystemExit(f"took {{shape}}")
""",
    )
