"""Threads that share products and convolutions: the same bits as one alone, whoever else does something."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from cpu_features import AVX2, FLOAT_LEVELS, LEVEL_NAMES, available_levels, limit_to
from loopdbg.runtime.graph import Array
from loopdbg.runtime.kernels import loop_nest, thread_pool
from loopdbg.runtime.ops import convolution, ufunc_kernels, weight_packing
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.int8_convolution import int32_window_sums
from loopdbg.runtime.ops.integer_matmul import integer_product
from loopdbg.runtime.ops.window_geometry import window_geometry

from .prepacked_primitives import PrepackedEager

FLOAT32 = np.dtype(np.float32)
Job = Callable[[], Array]


@pytest.fixture(autouse=True)
def restore_thread_pool() -> Iterator[None]:
    size = thread_pool.pool_size()
    yield
    thread_pool.configure(size)


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).standard_normal(shape, np.float32)


def small_bytes(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).integers(0, 256, shape, np.uint8)


def panels(m: int, k: int, n: int, halves: bool = False) -> Job:
    """Rows with weights, beginning with what is added."""
    x, start, matrix = numbers(m, k), numbers(m, n, seed=1), numbers(k, n, seed=2)
    if halves:
        matrix = matrix.astype(np.float16).astype(np.float32)
    packed = weight_packing.pack_weights(matrix)
    layout = {"f": 1, "e": 2, "B": 3}[packed.dtype.char]

    def job() -> Array:
        out = np.empty((m, n), np.float32)
        kernel = ufunc_kernels.driver_kernel("panels", FLOAT32)
        assert loop_nest.run_kernel(kernel, (x, packed, start, out), (m, k, n), extra=(layout, n))
        return out

    return job


def stack(*shapes: tuple[int, ...], turned: bool = False) -> Job:
    a, b = (numbers(*shape, seed=k) for k, shape in enumerate(shapes))
    right = np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2) if turned else b
    return lambda: np.asarray(EagerPrimitives().matmul(a, right))


def conv(
    n: int,
    channels: int,
    size: int,
    out: int,
    kernel: int,
    stride: int,
    pad: int,
    groups: int = 1,
    dtype: Any = np.float32,
) -> Job:
    x = numbers(n, channels, size, size).astype(dtype)
    w = numbers(out, channels // groups, kernel, kernel, seed=1).astype(dtype)
    bias = numbers(out, seed=2).astype(dtype)
    more = {"pads": [pad] * 4, "strides": [stride] * 2, "group": groups}
    return lambda: np.asarray(convolution.conv(PrepackedEager(), x, w, bias, **more))


def transposed(channels: int, size: int, out: int) -> Job:
    x, w = numbers(2, channels, size, size), numbers(channels, out, 4, 4, seed=1)
    return lambda: np.asarray(convolution.conv_transpose(PrepackedEager(), x, w, pads=[1] * 4, strides=[2, 2]))


def bytes_product(m: int, k: int, n: int, *stack: int) -> Job:
    a, b = small_bytes(*stack, m, k), small_bytes(*stack, k, n, seed=1).view(np.int8)
    return lambda: np.asarray(integer_product(EagerPrimitives(), a, b, np.uint8(7), np.int8(-3)))


def bytes_conv(channels: int, size: int, out: int) -> Job:
    x = small_bytes(2, channels, size, size).astype(np.int32) - 100
    w = small_bytes(out, channels, 3, 3, seed=1).astype(np.int32) - 128
    result = window_geometry((size, size), (3, 3), None, [1] * 4)
    return lambda: np.asarray(int32_window_sums(PrepackedEager(), x, w, 1, result))


#: Whole and broken panels, tiles, vectors and lines; more pieces than threads, and as few as two.
JOBS: dict[str, Callable[[], Job]] = {
    "one row": lambda: panels(1, 100, 300),
    "one row, whole panels": lambda: panels(1, 64, 512),
    "one row, float16": lambda: panels(1, 300, 1000, halves=True),
    "a few rows": lambda: panels(7, 130, 257),
    "a few rows, float16": lambda: panels(7, 300, 1000, halves=True),
    "many rows, few columns": lambda: panels(301, 64, 65),
    "more rows than a chunk": lambda: panels(700, 512, 200),
    "a stack": lambda: stack((9, 10, 33), (9, 33, 40)),
    "a stack, turned": lambda: stack((9, 10, 33), (9, 33, 40), turned=True),
    "a tall product": lambda: stack((200, 60), (60, 7)),
    "1 x 1": lambda: conv(1, 32, 20, 40, 1, 1, 0),
    "1 x 1, few positions": lambda: conv(1, 64, 3, 72, 1, 1, 0),
    "1 x 1, 7 x 7": lambda: conv(1, 64, 7, 72, 1, 1, 0),
    "3 x 3, images": lambda: conv(3, 3, 23, 24, 3, 1, 1),
    "3 x 3 at 2": lambda: conv(2, 24, 21, 36, 3, 2, 1),
    "3 x 3 at 2, put together of parts": lambda: conv(2, 64, 7, 96, 3, 2, 1),
    "long sums": lambda: conv(1, 48, 17, 40, 5, 1, 2),
    "groups": lambda: conv(2, 32, 19, 24, 3, 1, 1, groups=4),
    "winograd": lambda: conv(2, 32, 27, 40, 3, 1, 1),
    "winograd, one line": lambda: conv(1, 128, 14, 64, 3, 1, 1),
    "depthwise": lambda: conv(2, 20, 33, 20, 3, 1, 1, groups=20),
    "depthwise, packed": lambda: conv(2, 20, 33, 20, 4, 3, 2, groups=20),
    "depthwise, narrow": lambda: conv(2, 20, 5, 20, 3, 1, 1, groups=20),
    "doubles": lambda: conv(2, 8, 20, 16, 3, 1, 1, dtype="d"),
    "transposed": lambda: transposed(24, 9, 20),
    "bytes": lambda: bytes_product(9, 70, 300),
    "bytes, a stack": lambda: bytes_product(5, 70, 200, 3),
    "bytes, windows": lambda: bytes_conv(8, 19, 12),
}


#: What BLAS multiplies, on one thread, where there are no vectors of AVX2.
BY_VECTORS = ("a stack", "a stack, turned", "a tall product")
CONVOLUTIONS = ("1 x", "3 x", "long", "wino", "depth", "doubles")


def assert_same(got: Array, wanted: Array) -> None:
    np.testing.assert_array_equal(got.view(np.uint8), wanted.view(np.uint8))


@pytest.mark.parametrize("name", JOBS)
def test_bits(name: str) -> None:
    if name in BY_VECTORS and not available_levels(AVX2):
        pytest.skip("this processor has no AVX2")
    job = JOBS[name]()
    thread_pool.configure(1)
    alone = job()
    for threads in (2, 3, 7):
        thread_pool.configure(threads, 0)
        before = thread_pool.shared_job_count()
        for _ in range(20):
            assert_same(job(), alone)
        assert thread_pool.shared_job_count() > before


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("name", [name for name in JOBS if "row" in name])
def test_bits_of_each_processor(name: str) -> None:
    test_bits(name)


@pytest.mark.parametrize("kind", FLOAT_LEVELS, ids=LEVEL_NAMES.get)
@pytest.mark.parametrize(
    "name", [name for name in JOBS if name.startswith(("1 x", "3 x", "long", "wino", "depth", "doubles"))]
)
def test_convolutions_of_each_processor(name: str, kind: int) -> None:
    with limit_to(kind):
        test_bits(name)


def test_infinite_in_a_piece() -> None:
    """What Winograd's transforms cannot do is found whoever meets it."""
    x, w = numbers(1, 32, 27, 27), numbers(40, 32, 3, 3, seed=1)
    x[0, 31, 26, 26] = np.inf
    thread_pool.configure(1)
    alone = np.asarray(convolution.conv(PrepackedEager(), x, w, pads=[1] * 4))
    assert np.isfinite(alone[..., :25]).all() and not np.isfinite(alone).all()
    thread_pool.configure(3, 0)
    for _ in range(5):
        assert_same(np.asarray(convolution.conv(PrepackedEager(), x, w, pads=[1] * 4)), alone)


def test_memory_for_fewer_threads() -> None:
    """A convolution that was bound for fewer threads than there are does not use more memory than it has."""
    x, w = numbers(1, 24, 21, 21), numbers(36, 24, 3, 3, seed=1)
    result = window_geometry((21, 21), (3, 3), [2, 2], [1] * 4)
    table, scratch = convolution._geometry_table(False, 1, 1, 24, 36, result, 4, 1)
    thread_pool.configure(1)
    wanted = np.asarray(convolution.conv(EagerPrimitives(), x, w, pads=[1] * 4, strides=[2, 2]))
    thread_pool.configure(4, 0)
    out, memory = np.empty_like(wanted), np.full(scratch + 4096, 7, np.uint8)
    kernel = ufunc_kernels.routine_kernel("conv.f32")
    assert loop_nest.run_kernel(kernel, (x, w, table, out, memory[:scratch]), extra=(0, 0))
    assert_same(out, wanted)
    assert (memory[scratch:] == 7).all()


def test_small_job_is_not_shared() -> None:
    job = panels(1, 32, 64)
    thread_pool.configure(4)
    before = thread_pool.shared_job_count()
    job()
    assert thread_pool.shared_job_count() == before


def test_concurrent_callers_get_exact_results() -> None:
    """One shares at a time, the others work alone."""
    jobs = [JOBS[name]() for name in ("a few rows", "winograd", "bytes", "long sums")]
    thread_pool.configure(1)
    alone = [job() for job in jobs]
    thread_pool.configure(3, 0)
    wrong: list[Exception] = []

    def work(k: int) -> None:
        try:
            for _ in range(30):
                assert_same(jobs[k](), alone[k])
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    job = panels(7, 130, 257)
    thread_pool.configure(3, 0)
    wanted = job()
    child = os.fork()
    if not child:
        status = 1
        try:
            before = thread_pool.shared_job_count()
            same = all((job().view(np.uint8) == wanted.view(np.uint8)).all() for _ in range(20))
            status = 0 if same and thread_pool.shared_job_count() > before else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(
    ("variables", "most"), [({}, 10**6), ({"OMP_NUM_THREADS": "1"}, 1), ({"OPENBLAS_NUM_THREADS": "1"}, 1)]
)
def test_how_many(variables: dict[str, str], most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert thread_pool.allowed_threads() == min(len(os.sched_getaffinity(0)), most)
