"""setup.py within pip's isolated build, whose packages come by PYTHONPATH."""

import os
import runpy
import subprocess
from pathlib import Path

import setuptools

SETUP = Path(__file__).resolve().parents[2] / "setup.py"


def test_the_built_package_is_imported_with_the_packages_of_the_build(monkeypatch):
    given, seen = {}, []
    monkeypatch.setattr(setuptools, "setup", given.update)
    monkeypatch.setattr(subprocess, "check_call", lambda command, env, cwd: seen.append(env))
    monkeypatch.delenv("DYGRAPH_CMAKE_ARGS", raising=False)
    build = runpy.run_path(SETUP) and object.__new__(given["cmdclass"]["build_ext"])
    for path, wanted in (("/of/pip", ["/built", "/of/pip"]), ("", ["/built"])):
        monkeypatch.setenv("PYTHONPATH", path)
        build.write_stubs(Path("/built/dygraph"))
        assert seen[-1]["PYTHONPATH"].split(os.pathsep) == wanted
