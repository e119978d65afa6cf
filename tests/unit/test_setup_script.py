"""setup.py: what is compiled again when a header changes, which modules are compiled for speed, what it refuses."""

import runpy
import sysconfig
from pathlib import Path

import pytest

pytest.importorskip("Cython")
ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "runtime" / "kernels"
setup = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")

SOURCES = {
    "source/module.c": '#include <math.h>\n#include "Python.h"\n#include "near.h"\n  #  include "theme/first.h"\n',
    "source/near.h": "",
    "root/theme/first.h": '#include "second.h"\n#define BODY "../other/body.h"\n#include BODY\n',
    "root/theme/second.h": '#include "first.h"\n#include "../other/base.h"\n',
    "root/theme/unused.h": '#include "../other/base.h"\n',
    "root/other/body.h": "",
    "root/other/base.h": "",
}


def test_headers_are_followed_to_the_last_one(tmp_path: Path) -> None:
    """Next to the file, in another folder, named by a macro, in a circle; what is not ours is passed over."""
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    result = setup["included_headers"](str(tmp_path / "source/module.c"), [str(tmp_path / "root")])
    names = {Path(header).relative_to(tmp_path).as_posix() for header in result}
    assert names == SOURCES.keys() - {"source/module.c", "root/theme/unused.h"}


@pytest.mark.parametrize("source", list(KERNELS.rglob("*.[ch]")), ids=lambda path: path.name)
def test_every_include_of_the_kernels_is_found(source: Path) -> None:
    """By its path from the file that names it: nothing else says where a header lies."""
    for name in setup["INCLUDED"].findall(source.read_text("utf-8")):
        assert (source.parent / name).is_file(), name


def test_a_kernel_is_compiled_again_for_its_own_headers_alone() -> None:
    folds = setup["included_headers"](str(KERNELS / "reduce/outer_axis_fold.c"), [])
    names = {Path(header).relative_to(KERNELS).as_posix() for header in folds}
    assert {
        "reduce/outer_axis_fold.h",
        "call.h",
        "dispatch/processor.h",
        "dispatch/foreach_target.h",
        "reduce/outer_axis_fold_lanes.h",
        "elementwise/scalar_ops.h",
    } <= names
    assert not {"elementwise/functions.h", "gemm/packed_weights.h"} & names


@pytest.mark.parametrize(
    ("text", "hot"),
    [
        ("cdef int run(State *s) noexcept nogil:\n    return 0\n", True),
        ("cdef int run(State *s,\n             int n) noexcept nogil:\n    return 0\n", True),
        ('cdef extern from "call.h" nogil:\n    int run()\n', False),
        ("def run():\n    with nogil:\n        go()\n", False),
        ("# What runs without the GIL (nogil) is elsewhere.\n", False),
    ],
)
def test_what_runs_without_the_gil_is_compiled_for_speed(text: str, hot: bool) -> None:
    assert bool(setup["HOT"].search(text)) is hot


def test_free_threaded_python_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", {"Py_GIL_DISABLED": 1}.get)
    with pytest.raises(SystemExit, match="not free-threaded"):
        setup["extensions"]()
