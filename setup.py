"""Builds the Cython modules of loopdbg.runtime; everything else about the package is in pyproject.toml.

LOOPDBG_DEBUG_BUILD=1 turns bounds and overflow checks on and optimisation off; LOOPDBG_DEBUG_BUILD=address builds for
AddressSanitizer as well, and Python then has to be started with its library loaded (make sanitize). LOOPDBG_PORTABLE=1
leaves out all that is written for x86, as on other processors.
"""

import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from glob import glob
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

MODULES = "src/loopdbg/runtime/**/*.pyx"
HEADERS = sorted(glob("src/loopdbg/runtime/**/*.h", recursive=True))
# Headers of kernels are named by their path from here, or from the file that includes them.
FOLDERS = list(dict.fromkeys(["src/loopdbg/runtime", *(os.path.dirname(h) for h in HEADERS if "/kernels/" not in h)]))
# A header's name in #include, or in the macro that #include takes it from (BODY of each_width.h).
INCLUDED = re.compile(r'^\s*#\s*(?:include|define\s+\w+)\s+"([^"]+\.h)"', re.MULTILINE)
WANTED = os.environ.get("LOOPDBG_DEBUG_BUILD", "")
DEBUG = WANTED not in ("", "0")
SANITIZE = WANTED == "address"
PORTABLE = os.environ.get("LOOPDBG_PORTABLE", "") not in ("", "0")
JOBS = os.cpu_count() or 1
# The modes keep their files apart, for neither timestamps nor names tell a debug object from another.
BUILD = "/".join(["build", *["address" if SANITIZE else "debug"] * DEBUG, *["portable"] * PORTABLE])
GENERATED = f"{BUILD}/cython"

# A function that runs without the GIL.
HOT = re.compile(r"^(?!.*\b(?:extern|with)\b).*\bnogil:$", re.MULTILINE)

MACROS: list[tuple[str, str | None]] = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")]
MACROS += [("LOOPDBG_DEBUG_BUILD", "1")] * DEBUG + [("LOOPDBG_PORTABLE", "1")] * PORTABLE
GCC = sys.platform != "win32"
SANITIZER = ["-fsanitize=address", "-fno-omit-frame-pointer"] * SANITIZE
# No fused multiply-add: a*b+c is rounded twice on every machine, as it is in NumPy.
ARGUMENTS = ["-ffp-contract=off"] * GCC + SANITIZER
# Unoptimised, AddressSanitizer makes the suite four times as slow. Short loops that lie across cache lines take up to a
# tenth longer, and which ones do would be luck.
FAST = ["-O3", "-g0", "-falign-loops=64"]
OPTIMISED = (["-O1", "-g"] if SANITIZE else ["-O0", "-g"] if DEBUG else FAST) if GCC else []
GLUE = (OPTIMISED if DEBUG else ["-O1", "-g0"]) if GCC else []
HIDDEN = ["-fvisibility=hidden"] * GCC

DIRECTIVES = {
    "language_level": 3,
    # C's division in all modes: a debug build must give the same numbers.
    "cdivision": True,
    "wraparound": False,
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "overflowcheck": DEBUG,
}


def included_headers(source: str, folders: Iterable[str]) -> set[str]:
    """The headers that a C file includes and those that they include, as far as they lie beside them or in ``folders``.

    Of what Cython wrote it is exact: a ``cdef extern from`` of the module or of what it cimports is an #include there.
    """
    found: set[str] = set()
    unread = [source]
    while unread:
        file = unread.pop()
        # Beside what Cython wrote lie copies of headers.
        beside = [] if file.startswith(GENERATED) else [os.path.dirname(file)]
        for name in INCLUDED.findall(Path(file).read_text(encoding="utf-8")):
            places = (os.path.normpath(os.path.join(folder, name)) for folder in (*beside, *folders))
            header = next(filter(os.path.isfile, places), None)
            if header and header not in found:
                found.add(header)
                unread.append(header)
    return found


def optimisation(generated: str) -> list[str]:
    """How a Cython module is compiled: for speed if it is of the kernels or has functions that run without the GIL.

    What calls Python most of the time is as fast with -O1, and compiled in half the time.
    """
    source = Path(generated).relative_to(GENERATED).with_suffix(".pyx")
    return OPTIMISED if "kernels" in source.parts or HOT.search(source.read_text(encoding="utf-8")) else GLUE


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

    def build_extensions(self) -> None:
        # What takes longest comes first, so that no core waits for it at the end.
        self.extensions.sort(key=lambda extension: -os.path.getsize(extension.sources[0]))
        with ThreadPoolExecutor(JOBS) as pool:
            for extension in self.extensions:
                extension.extra_objects = list(pool.map(partial(self.compiled, extension), extension.sources[1:]))
                extension.depends += extension.extra_objects
                del extension.sources[1:]
        super().build_extensions()

    def compiled(self, extension: Extension, source: str) -> str:
        """The object of a C file without Python, made where the file, or one of its headers, is newer."""
        folder = f"{BUILD}/objects"
        [made] = self.compiler.object_filenames([source], output_dir=folder)
        if newer_group(["setup.py", source, *included_headers(source, FOLDERS)], made):
            self.compiler.compile(
                [source],
                output_dir=folder,
                macros=extension.define_macros,
                include_dirs=extension.include_dirs,
                extra_postargs=[*ARGUMENTS, *OPTIMISED, *HIDDEN],
            )
        return made

    def copy_extensions_to_source(self) -> None:
        # Also over a newer file, which may be of the other mode.
        self.force = True
        super().copy_extensions_to_source()


def extensions() -> list[Extension]:
    # Without the declaration that nothing has tested, importing a module would turn the GIL on for the whole program.
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        sys.exit("loopdbg is untested without the GIL: install it for a Python that is not free-threaded")
    # A checkout without symbolic links (core.symlinks=false) has small text files in their place.
    if not os.path.isdir("src/loopdbg/runtime"):
        sys.exit("src/loopdbg/runtime is not a link to runtime/; check out with symbolic links enabled")

    # Cython looks at the sources' timestamps; the directives above are input as well.
    generated = [f"{GENERATED}/{source.removesuffix('.pyx')}.c" for source in glob(MODULES, recursive=True)]
    outdated = any(os.path.getmtime(c) < os.path.getmtime("setup.py") for c in generated if os.path.exists(c))

    modules = cythonize(
        [
            Extension(
                "loopdbg.runtime.*",
                [MODULES],
                define_macros=MACROS,
                extra_compile_args=ARGUMENTS,
                extra_link_args=SANITIZER,
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
        module.extra_compile_args = [*ARGUMENTS, *optimisation(module.sources[0])]
        module.include_dirs += [numpy.get_include(), *FOLDERS]
        module.depends += ["setup.py", *sorted(included_headers(module.sources[0], FOLDERS))]
    return modules


# The guard is for cythonize's workers, which may import this file again.
if __name__ == "__main__":
    setup(
        ext_modules=extensions(),
        cmdclass={"build_ext": BuildExtensions},
        options={"build": {"build_base": BUILD}},
    )
