"""Builds the package's extension module with CMake: the library is compiled into it.

GRBM_BUILD names a build folder that is configured already, such as build/ of `make`: what is compiled there is not compiled
again. Otherwise the library is built for this package alone, with as many jobs as there are cores (CMAKE_BUILD_PARALLEL_LEVEL
says otherwise).
"""

import os
import pathlib
import re
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent
WORK = ROOT / "build" / "package"  # of setuptools


def configure(build: pathlib.Path) -> None:
    import pybind11

    subprocess.check_call(
        [
            "cmake",
            "-S",
            ROOT,
            "-B",
            build,
            "-DCMAKE_BUILD_TYPE=Release",
            "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG",
            "-DBUILD_TESTING=OFF",
            "-DGRBM_WEB=OFF",
            f"-DPython3_EXECUTABLE={sys.executable}",
            f"-Dpybind11_DIR={pybind11.get_cmake_dir()}",
        ]
    )


class BuildWithCMake(build_ext):
    def build_extension(self, extension: Extension) -> None:
        given = os.environ.get("GRBM_BUILD")
        build = pathlib.Path(given).resolve() if given else pathlib.Path(self.build_temp).resolve()
        if not given:
            build.mkdir(parents=True, exist_ok=True)
            configure(build)
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
        subprocess.check_call(["cmake", "--build", build, "--target", "grbm_python", "-j", jobs])
        folder = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve().parent
        subprocess.check_call(["cmake", "--install", build, "--component", "grbm_python", "--prefix", folder, "--strip"])


WORK.mkdir(parents=True, exist_ok=True)
version = re.search(r"project\(grbm VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
setup(
    version=version[1],
    ext_modules=[Extension("grbm._core", sources=[])],
    cmdclass={"build_ext": BuildWithCMake},
    # Relative, as setuptools wants it; all that it makes lies in the build folder.
    options={"build": {"build_base": "build/package"}, "egg_info": {"egg_base": "build/package"}},
)
