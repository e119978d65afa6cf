"""The processor that kernels are picked for: every module knows of it, and tests can stand in another one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import source_checks
from cpu_features import AMX, AVX2, AVX512, BASELINE, FLOAT_LEVELS, LEVEL_NAMES, available_levels, limit_to
from loopdbg.runtime.kernels import processor
from loopdbg.runtime.ops.eager import EagerPrimitives

RUNTIME = (source_checks.ROOT / "src" / "loopdbg" / "runtime").resolve()
INCLUDED = re.compile(r'^\s*(?:#\s*(?:include|define\s+\w+)|cdef extern from)\s+"([^"]+\.h)"', re.MULTILINE)
SOURCES = re.compile(r"^# distutils: sources = (.*)$", re.MULTILINE)


def headers_of(module: Path) -> set[Path]:
    """What the C of a module includes, as far as it is ours."""
    named = " ".join(SOURCES.findall(module.read_text(encoding="utf-8"))).split()
    sources = [RUNTIME / name.removeprefix("src/loopdbg/runtime/") for name in named]
    unread, result = [module, *sources], set()
    while unread:
        file = unread.pop()
        for name in INCLUDED.findall(file.read_text(encoding="utf-8")):
            header = next((place.resolve() for place in (file.parent / name, RUNTIME / name) if place.is_file()), None)
            if header and header not in result:
                result.add(header)
                unread.append(header)
    return result


def test_modules_with_functions_for_several_processors_are_given_the_one_that_is_here() -> None:
    each_width = RUNTIME / "kernels" / "dispatch" / "foreach_target.h"
    modules = [module for module in RUNTIME.rglob("*.pyx") if each_width in headers_of(module)]
    assert {"kernel.pyx", "loop_nest.pyx", "softmax_normalize.pyx", "value_history.pyx"} <= {
        module.name for module in modules
    }
    assert not [m.name for m in modules if "\nloopdbg_cpu = current_processor()\n" not in m.read_text()]


def test_what_there_is_not_is_refused() -> None:
    assert not any(processor.select_target(kind) for kind in (-1, AMX + 1, 100))
    assert available_levels(BASELINE) == [BASELINE]


@pytest.mark.skipif(not available_levels(AVX2), reason=f"runs on processors with {LEVEL_NAMES[AVX2]}")
def test_processor_override() -> None:
    """Products that are rounded once with AVX2 are rounded twice without it."""
    x = np.linspace(-5, 5, 1000, dtype=np.float32)
    of_each = {}
    for kind in available_levels(*FLOAT_LEVELS):
        with limit_to(kind):
            of_each[kind] = EagerPrimitives().map(np.exp, x).tobytes()
    assert of_each[BASELINE] != of_each[AVX2]
    assert of_each.get(AVX512, of_each[AVX2]) == of_each[AVX2]
    assert EagerPrimitives().map(np.exp, x).tobytes() == of_each[AVX2]
