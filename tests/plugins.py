"""Builds C++ files outside the tree into libraries for load_library, as a user would."""

import os
import re
import subprocess
from pathlib import Path

import dygraph

PACKAGE = Path(dygraph.__file__).resolve().parent


def include_folder():
    """The installed headers; in an editable install a link to csrc/."""
    installed = PACKAGE / "include"
    return installed if installed.exists() else PACKAGE.parent / "csrc"


def blocks(page, language):
    """The blocks of code of a language, a regular expression, in a page's text."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def build(source, library):
    """Compiles one file against the package's headers; returns the library's path.

    Raises
    ------
    AssertionError
        With the compiler's messages, warnings included.
    """
    command = [
        os.environ.get("CXX", "g++"), "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror",
        "-fPIC", "-fopenmp", "-shared", f"-I{include_folder()}", str(source), "-o", str(library),
        f"-L{PACKAGE / 'libs'}", "-ldygraph", f"-Wl,-rpath,{PACKAGE / 'libs'}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(library)
