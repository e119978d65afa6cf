"""How much memory a run may still ask for, from figures of Linux that are written here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import loopdbg
from loopdbg.runtime.kernels.memory_guard import available_bytes, set_memory_figures_root
from optimizer_access import requires_optimizer
from text_models import model

MB = 1 << 20
Figures = Callable[[dict[str, str]], None]

DOUBLED = """g (int64 n, bool go, float[a] x0) => (float[b] y) {
  y = Loop (n, go, x0) <body = b (int64 i, bool c, float[k] x) => (bool c2, float[l] grown) {
    c2 = Identity (c)
    grown = Concat <axis = 0> (x, x)
  }>
}"""
#: Two values that carry what grows, and one that is read after it was changed: a back edge has a copy.
CARRIED = """g (int64 n, bool go, float[a] x0) => (float[b] y, float[d] z) {
  y, z = Loop (n, go, x0, x0) <body = b (int64 i, bool c, float[k] x, float[m] u) => (bool c2, float[l] w, float[k] x) {
    c2 = Identity (c)
    w = Concat <axis = 0> (x, x)
  }>
}"""
SCAN = """g (int64 n, bool go, float[262144] x) => (float[m,262144] y) {
  y = Loop (n, go) <body = b (int64 i, bool c) => (bool c2, float[262144] e) {
    c2 = Identity (c)
    e = Neg (x)
  }>
}"""
LOOP = """<body = b (int64 i, bool c, float[1,1] a) => (bool c2, float[1,1] a2, float w) {{
    c2 = Identity (c) a2 = Identity (a)
    {} w = ReduceMax <keepdims = 0> (y)
  }}>"""
MODEL_INPUTS = {"n": 40, "go": True, "x0": np.ones(1, np.float32)}
ROWS = {"n": 4000, "go": True, "x": np.ones(262144, np.float32)}


@pytest.fixture
def figures(tmp_path: Path) -> Iterator[Figures]:
    def write(files: dict[str, str]) -> None:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        set_memory_figures_root(str(tmp_path))

    yield write
    set_memory_figures_root("")


def meminfo(megabytes: int, swap: int = 0) -> dict[str, str]:
    text = f"MemTotal: 99999999 kB\nMemAvailable:   {megabytes * 1024} kB\nSwapFree: {swap * 1024} kB\n"
    return {"proc/meminfo": text}


def group(folder: str, **figures: int | str) -> dict[str, str]:
    return {f"sys/fs/cgroup/{folder}/{name.replace('__', '.')}": f"{figure}\n" for name, figure in figures.items()}


def test_a_system_that_does_not_say(figures: Figures) -> None:
    figures({})
    assert available_bytes() is None


def test_what_is_free_or_can_be_freed_and_swap(figures: Figures) -> None:
    figures(meminfo(300))
    assert available_bytes() == 300 * MB
    figures(meminfo(300, swap=50))
    assert available_bytes() == 350 * MB


def test_groups_limit_it_and_files_can_be_freed(figures: Figures) -> None:
    figures({**meminfo(300), "proc/self/cgroup": "0::/a/b\n"})
    assert available_bytes() == 300 * MB
    figures(group("a/b", memory__max="max", memory__current=250 * MB))
    assert available_bytes() == 300 * MB
    figures(group("a/b", memory__max=260 * MB))
    assert available_bytes() == 10 * MB
    figures(group("a/b", memory__stat=f"anon 7\ninactive_file {30 * MB}\nactive_file {5 * MB}\nslab_reclaimable {MB}"))
    assert available_bytes() == 46 * MB
    figures(group("a", memory__max=100 * MB, memory__current=80 * MB))
    assert available_bytes() == 20 * MB


def test_swap_of_a_group(figures: Figures) -> None:
    figures({**meminfo(300, swap=80), "proc/self/cgroup": "0::/\n"})
    figures(group("", memory__max=100 * MB, memory__current=60 * MB))
    assert available_bytes() == 120 * MB
    figures(group("", memory__swap__max=30 * MB, memory__swap__current=10 * MB))
    assert available_bytes() == 60 * MB


def test_groups_of_version_1(figures: Figures) -> None:
    """A container sees the path that its group has outside, and the group itself at the root."""
    figures({**meminfo(300, swap=80), "proc/self/cgroup": "5:cpu:/\n4:hugetlb,memory:/docker/12ab\n0::/\n"})
    figures(group("memory", memory__limit_in_bytes=(1 << 63) - 4096, memory__usage_in_bytes=9 * MB))
    assert available_bytes() == 380 * MB
    figures(group("memory", memory__limit_in_bytes=100 * MB))
    assert available_bytes() == 171 * MB
    figures(group("memory", memory__memsw__limit_in_bytes=100 * MB, memory__memsw__usage_in_bytes=40 * MB))
    assert available_bytes() == 60 * MB
    figures(group("memory", memory__stat=f"total_inactive_file {4 * MB}\ntotal_active_file {1 * MB}"))
    assert available_bytes() == 65 * MB


def test_what_was_given_and_not_written_to_is_not_there(figures: Figures) -> None:
    page = 4096
    figures({**meminfo(300), "proc/self/statm": "9 100 20 1 0 80 0\n"})
    assert available_bytes() == 300 * MB
    figures({"proc/self/statm": f"9 100 20 1 0 {80 + 50 * MB // page} 0\n"})
    assert available_bytes() == 250 * MB


@pytest.mark.parametrize(
    ("text", "inputs", "message"),
    [
        (DOUBLED, MODEL_INPUTS, "Concat .*in loop 'Loop_0', iteration 2[0-9]: "),
        (CARRIED, MODEL_INPUTS, "Concat .*in loop 'Loop_0', iteration 2[0-9]: "),
        (
            SCAN,
            {"n": 4000, "go": True, "x": np.ones(262144, np.float32)},
            # Linux doubles a large buffer where it is.
            "iteration [12][0-9][0-9]: scan output 'y' needs ",
        ),
    ],
    ids=["doubled", "carried", "scan"],
)
def test_what_grows_too_large_is_named_and_the_session_stays(
    figures: Figures, text: str, inputs: dict[str, object], message: str
) -> None:
    figures(meminfo(200))
    result = model(text)
    message += r".*; only 188 MB are available"
    with pytest.raises(loopdbg.ExecutionError, match=message):
        result.run(inputs)
    session = loopdbg.debug(result, inputs)
    stop = session.continue_()
    assert stop.reason.name == "ERROR" and session.frame.iteration > 10
    session.goto(3)
    assert session.frame.iteration == 3


@requires_optimizer
def test_capacity_for_more_is_no_reason_to_end(figures: Figures) -> None:
    """Twice 120 MB are not there; 130 MB are."""
    figures(meminfo(200))
    assert model(SCAN).run({**ROWS, "n": 135})["y"].shape == (135, 262144)


@pytest.mark.parametrize(
    "nodes",
    [
        "s = Constant <value = int64[1] {100000000}> () y = ConstantOfShape (s)",
        "s = Constant <value = int64[1] {400000}> () y = Tile (x, s)",
        "col = Constant <value = int64[2] {20000, 1}> () r = Constant <value = int64[2] {1, 20000}> () "
        "z = Expand (k, col) t = Expand (k, r) y = MatMul (z, t)",
    ],
    ids=["ConstantOfShape", "Tile", "MatMul"],
)
def test_a_node_is_named_and_others_allocate_as_before(
    figures: Figures, nodes: str, request: pytest.FixtureRequest
) -> None:
    figures(meminfo(200))
    text = f"g (int64 n, float[256] x, float[1,1] k) => (y) {{ e, y = Loop (n, , k) {LOOP.format(nodes)} }}"
    inputs = {"n": 2, "x": np.ones(256, np.float32), "k": np.ones((1, 1), np.float32)}

    def run() -> None:
        match = rf"{request.node.callspec.id} .*, iteration 0: .*; only 188 MB"
        with pytest.raises(loopdbg.ExecutionError, match=match):
            model(text).run(inputs)
        assert get_handler_name() == "default_allocator"
        assert np.zeros(100 * MB, np.float32).nbytes == 400 * MB

    # A new thread has NumPy's own allocator. This one may have ours: an interrupt can come before it is given back.
    with ThreadPoolExecutor(1) as threads:
        threads.submit(run).result()
