"""Builds the C++ part with CMake and Ninja; everything else is in pyproject.toml.

Environment: DYGRAPH_WITH_ONEDNN=0 leaves oneDNN out, DYGRAPH_WITH_CUDA=1 builds the CUDA backend
with nvcc (some 25 minutes more on two cores), DYGRAPH_CMAKE_ARGS passes options to CMake,
DYGRAPH_BUILD_DIR says where the objects are kept between builds, DYGRAPH_PROGRESS names the file
or terminal that shows how far the compiler is (pip keeps our own output to itself).
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
OFF = {"0", "off", "no", "false"}


def with_onednn():
    return os.environ.get("DYGRAPH_WITH_ONEDNN", "1").lower() not in OFF


def with_cuda():
    return os.environ.get("DYGRAPH_WITH_CUDA", "0").lower() not in {*OFF, ""}


def nvcc_wheels():
    """Requirements of a build with CUDA where the machine has no nvcc."""
    if not with_cuda() or shutil.which("nvcc") or os.environ.get("CUDACXX"):
        return []
    lines = (ROOT / "csrc/cuda/nvcc/requirements.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def build_directory():
    default = f"build/{sys.implementation.cache_tag}{'' if with_onednn() else '-plain'}"
    return ROOT / os.environ.get("DYGRAPH_BUILD_DIR", default)


def compile_objects(objects):
    """Builds, and shows how many files of how many are compiled."""
    command = ["cmake", "--build", str(objects)]
    place = os.environ.get("DYGRAPH_PROGRESS")
    if not place:
        subprocess.check_call(command)
        return
    from tqdm import tqdm

    with contextlib.ExitStack() as stack:
        shown = stack.enter_context(open(place, "a", encoding="utf-8"))
        ninja = stack.enter_context(
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env={**os.environ, "NINJA_STATUS": "[%f/%t] "},
            )
        )  # fmt: skip
        bar = stack.enter_context(
            tqdm(
                desc="Compiling", unit="file", file=shown, leave=True, delay=1,
                mininterval=0.5 if shown.isatty() else 20,
            )
        )  # fmt: skip
        for line in ninja.stdout:
            if step := re.match(r"\[(\d+)/(\d+)\] ", line):
                bar.total = int(step[2])
                bar.update(int(step[1]) - bar.n)
            else:
                print(line, end="")
    if ninja.returncode:
        raise subprocess.CalledProcessError(ninja.returncode, command)


class CleanBuild(build):
    """setuptools keeps build/lib between runs and would pack modules deleted since."""

    def run(self):
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class CMakeBuild(build_ext):
    def run(self):
        in_place = self.editable_mode or self.inplace
        package = (ROOT if in_place else Path(self.build_lib).resolve()) / "dygraph"
        objects = build_directory()
        # pip's build environment moves at every run, and CMake's cache remembers the last one.
        # `cmake --fresh` would drop the objects with the cache; so only the cache goes.
        (objects / "CMakeCache.txt").unlink(missing_ok=True)
        configure = [
            "cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(objects),
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-DDYGRAPH_WITH_ONEDNN={'ON' if with_onednn() else 'OFF'}",
            f"-DDYGRAPH_WITH_CUDA={'ON' if with_cuda() else 'OFF'}",
            *shlex.split(os.environ.get("DYGRAPH_CMAKE_ARGS", "")),
        ]  # fmt: skip
        subprocess.check_call(configure)
        compile_objects(objects)
        shutil.rmtree(package / "libs", ignore_errors=True)
        self.install(objects, package, "runtime")
        if with_cuda():
            self.install(objects, package, "cuda")
        self.write_stubs(package)
        if in_place:
            include = package / "include"
            if not include.is_symlink():  # never stale while headers are edited
                include.symlink_to("../csrc")
        else:
            self.install(objects, package, "headers")

    def write_stubs(self, package):
        """The types of operators and of the core, from the built core."""
        if "sanitize" in os.environ.get("DYGRAPH_CMAKE_ARGS", "").lower():
            return  # such a library loads only under its own runtime
        paths = [str(package.parent), os.environ.get("PYTHONPATH")]  # of pip, which isolates builds
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        environment["PYTHONDONTWRITEBYTECODE"] = "1"  # a wheel would pack it
        subprocess.check_call(
            [sys.executable, "-m", "dygraph.stubs", str(package)],
            env=environment, cwd=package.parent,
        )  # fmt: skip

    def install(self, objects, package, component):
        subprocess.check_call(
            ["cmake", "--install", str(objects), "--prefix", str(package), "--component", component]
        )


setup(
    setup_requires=nvcc_wheels(),  # pip adds them to what pyproject.toml requires of a build
    ext_modules=[Extension("dygraph._core", sources=[])],
    cmdclass={"build": CleanBuild, "build_ext": CMakeBuild},
)
