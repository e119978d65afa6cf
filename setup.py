"""Builds the Cython modules of loopdbg.runtime; everything else about the package is in pyproject.toml.

LOOPDBG_DEBUG_BUILD=1 turns bounds and overflow checks on and optimisation off; LOOPDBG_DEBUG_BUILD=address builds for
AddressSanitizer as well, and Python then has to be started with its library loaded (make sanitize).
"""

import os
import sys
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MODULES = "src/loopdbg/runtime/**/*.pyx"
HEADERS = sorted(glob("src/loopdbg/runtime/**/*.h", recursive=True))
WANTED = os.environ.get("LOOPDBG_DEBUG_BUILD", "")
DEBUG = WANTED not in ("", "0")
SANITIZE = WANTED == "address"
JOBS = os.cpu_count() or 1
# The modes keep their files apart, for neither timestamps nor names tell a debug object from another.
BUILD = "build/address" if SANITIZE else "build/debug" if DEBUG else "build"
GENERATED = f"{BUILD}/cython"

DIRECTIVES = {
    "language_level": 3,
    # C's division in all modes: a debug build must give the same numbers.
    "cdivision": True,
    "wraparound": False,
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "overflowcheck": DEBUG,
}


class BuildExtensions(build_ext):
    """Compiles on every core, and not twice what an editable install and build_ext --inplace share."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or JOBS

    def run(self) -> None:
        # setuptools compiles into build_lib even when in place, then copies into the source tree. In an
        # editable install build_lib is a temporary folder: nothing in it is ever up to date.
        if self.inplace:
            self.build_lib = f"{BUILD}/inplace"
        super().run()

    def copy_extensions_to_source(self) -> None:
        # Also over a newer file, which may be of the other mode.
        self.force = True
        super().copy_extensions_to_source()


def extensions() -> list[Extension]:
    # A checkout without symbolic links (core.symlinks=false) has small text files in their place.
    if not os.path.isdir("src/loopdbg/runtime"):
        sys.exit("src/loopdbg/runtime is not a link to runtime/; check out with symbolic links enabled")

    compile_args = []
    if sys.platform != "win32":
        # Unoptimised, AddressSanitizer makes the suite four times as slow.
        compile_args += ["-O1", "-g"] if SANITIZE else ["-O0", "-g"] if DEBUG else ["-O3", "-g0"]
        # No fused multiply-add: a*b+c is rounded twice on every machine, as it is in NumPy.
        compile_args += ["-ffp-contract=off"]

    sanitizer = ["-fsanitize=address", "-fno-omit-frame-pointer"] if SANITIZE else []

    # Cython looks at the sources' timestamps; the directives above are input as well.
    generated = [f"{GENERATED}/{source.removesuffix('.pyx')}.c" for source in glob(MODULES, recursive=True)]
    outdated = any(os.path.getmtime(c) < os.path.getmtime("setup.py") for c in generated if os.path.exists(c))

    modules = cythonize(
        [
            Extension(
                "loopdbg.runtime.*",
                [MODULES],
                define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")]
                + ([("LOOPDBG_DEBUG_BUILD", "1")] if DEBUG else []),
                extra_compile_args=compile_args + sanitizer,
                extra_link_args=sanitizer,
            )
        ],
        build_dir=GENERATED,
        compiler_directives=DIRECTIVES,
        force=outdated or None,
        nthreads=JOBS if JOBS > 1 else 0,
        quiet=True,
    )

    # Not at the top: importing NumPy starts BLAS threads, and cythonize forks.
    import numpy

    for module in modules:
        module.include_dirs += [numpy.get_include(), *dict.fromkeys(map(os.path.dirname, HEADERS))]
        # Headers include headers, which Cython does not follow.
        module.depends += ["setup.py", *HEADERS]
    return modules


# The guard is for cythonize's workers, which may import this file again.
if __name__ == "__main__":
    setup(
        ext_modules=extensions(),
        cmdclass={"build_ext": BuildExtensions},
        options={"build": {"build_base": BUILD}},
    )
