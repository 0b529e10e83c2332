"""The example programs, built as a user builds them, and the library they link."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inference.c_library import PREFIX

ROOT = Path(__file__).resolve().parents[2]
DEPLOY, OUT = ROOT / "examples" / "deploy", ROOT / "examples" / "out" / "deploy"
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror"]


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def flags():
    folder = os.path.join(PREFIX, "share", "pkgconfig")
    env = {**os.environ, "PKG_CONFIG_PATH": folder}
    return run("pkg-config", "--cflags", "--libs", "dygraph", env=env).split()


@pytest.fixture(scope="module")
def models():
    output = run(sys.executable, DEPLOY / "train.py", env={**os.environ, "OMP_NUM_THREADS": "1"})
    right = float(output.split("digits right: ")[1].split()[0])
    assert right > 0.95
    return OUT


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Both programs, by pkg-config alone, under a compiler that is as strict as it can be."""
    folder = tmp_path_factory.mktemp("built")
    run("cc", "-std=c99", *STRICT, DEPLOY / "digits.c", *flags(), "-o", folder / "digits")
    run("c++", "-std=c++17", *STRICT, DEPLOY / "opinions.cc", *flags(), "-o", folder / "opinions")
    return folder


def test_c_and_python_read_scans(models, built):
    for digit in range(10):
        scan = models / f"{digit}.pgm"
        output = run(built / "digits", models / "digits.dygraph", scan)
        assert output.split()[0] == str(digit)
        if digit == 7:  # Python starts slowly
            assert run(sys.executable, DEPLOY / "digits.py", scan) == output
    done = subprocess.run(
        [built / "digits", models / "words.txt", models / "7.pgm"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "a directory or a packed file" in done.stderr


def test_cpp_reads_sentences(models, built):
    sentences = ["the film was good", "the end was not very clever", "the music was not bad"]
    output = run(built / "opinions", models / "opinions.dygraph", models / "words.txt", *sentences)
    assert [line.split(":")[0] for line in output.splitlines()] == ["praise", "blame", "praise"]


def test_cmake_finds_the_package(models, tmp_path):
    cmake = Path(sys.executable).with_name("cmake")
    run(
        cmake, "-S", DEPLOY, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={PREFIX}",
        "-DCMAKE_BUILD_TYPE=Release",
    )  # fmt: skip
    run(cmake, "--build", tmp_path)
    assert run(tmp_path / "digits", models / "digits.dygraph", models / "4.pgm").startswith("4 ")


def test_the_header_is_c99_and_the_wrapper_needs_no_other(tmp_path):
    include = os.path.join(PREFIX, "include")
    source = tmp_path / "alone.c"
    source.write_text('#include "inference/c_api.h"\nint main(void) { return DYGRAPH_OK; }\n')
    run("cc", "-std=c99", *STRICT, "-I", include, "-fsyntax-only", source)
    text = Path(include, "inference", "predictor.h").read_text()
    ours = [line for line in text.splitlines() if line.startswith('#include "')]
    assert ours == ['#include "inference/c_api.h"']


def test_the_library_links_no_python(tmp_path):
    library = os.path.join(PREFIX, "libs", "libdygraph.so")
    assert "python" not in run("ldd", library).lower()
    wanted = [
        line.split()[-1] for line in run("nm", "-D", "--undefined-only", library).splitlines()
    ]
    assert wanted and not [name for name in wanted if name.startswith(("Py", "_Py"))]
    functions = {line.split()[-1] for line in run("nm", "-D", library).splitlines()}
    assert {"dygraph_load", "dygraph_context_run", "dygraph_last_error"} <= functions
