"""Sweeps of a size that the tests have no time for: ``python tests/fuzz/sweep_campaign.py bits``.

``bits``: the rows of many cases with any number of processes, after ``kill -9`` and ``--resume``, and on a cluster of
which a worker is killed, compared with a serial loop. ``time``: compared with that of a plain loop. ``memory``: the
usage of a million cases. ``scale``: the overhead of a scheduler with 1 000 threads whose tasks take no time.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import loopdbg
from cli_runner import start_cli, wait_for_exit
from loopdbg.debugger.sweep.cases import CaseSet, RandomCases
from loopdbg.debugger.sweep.dask_cluster import DaskCluster
from loopdbg.debugger.sweep.job import SweepJob, SweepSpec, model_hash
from loopdbg.debugger.sweep.outcome import hash_outputs
from loopdbg.debugger.sweep.schedule import SweepSchedule
from loopdbg.debugger.sweep.sweep_store import SweepStore
from sweep_cases import count_rows
from text_models import SAMPLES

MAX_ITERATIONS = 100
#: The model, and the number of its random cases.
MODELS = {"newton_sqrt": 100_000, "greedy_decoder": 20_000}
#: Approximate number of parts into which kills split a sweep.
KILL_COUNT = 6
RowBits = dict[int, tuple[Any, ...]]


def serial_rows(path: str, count: int) -> RowBits:
    """The rows of a plain loop over ``Model.execute``."""
    model = loopdbg.load(path)
    read = RandomCases(count).reader(model)
    bits: RowBits = {}
    for k in range(count):
        run = model.execute(read(k).inputs, max_iterations=MAX_ITERATIONS)
        loop = run.loops[0]
        why = None if loop.stopped_by is None else loop.stopped_by.value
        ended = run.stopped_by is None
        outputs = hash_outputs(run.outputs) if ended else ""
        bits[k] = (loop.iterations, why, "ok" if ended else "limit", outputs)
    return bits


def row_bits(rows: Iterator[loopdbg.Row]) -> RowBits:
    """The rows as comparable bits; a duplicate case is an error."""
    bits: RowBits = {}
    for row in rows:
        assert int(row.case) not in bits
        bits[int(row.case)] = (row.iterations, row.stopped_by, row.status.value, row.outputs)
    return bits


def assert_rows_equal(what: str, make: Callable[[], RowBits], want: RowBits) -> None:
    """Compare the rows, and print the time."""
    started = time.monotonic()
    result = make()
    wrong = [k for k in want.keys() | result.keys() if result.get(k) != want.get(k)]
    print(f"  {what}: {len(result)} rows, {len(wrong)} differ, {time.monotonic() - started:.1f} s", flush=True)
    for k in wrong[:10]:
        print(f"    case {k}: {result.get(k)}, and not {want.get(k)}")


def rows_after_kills(path: str, count: int) -> RowBits:
    """The rows of a command line that is killed each time after a part of them was written."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "out.sweepdb"
        words = ["sweep", path, "--random", count, "--max-iterations", MAX_ITERATIONS, "-j", 2, "-o", rows]
        items: list[int] = []
        while True:
            resume = ["--resume"] if rows.exists() else []
            process = start_cli(*words, *resume, start_new_session=True)
            wanted = (items[-1] if items else 0) + count // KILL_COUNT
            while process.poll() is None and count_rows(rows) < wanted:
                time.sleep(0.005)
            if process.poll() is not None:
                break
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            items.append(count_rows(rows))
        message = wait_for_exit(process)
        assert message.status in (0, 4), message  # limits alone make it 4
        assert items and items[0] < count, "it ended before it was killed"
        print(f"  (killed with {', '.join(map(str, items))} rows)")
        store = SweepStore.open(rows)
        try:
            return row_bits(store.rows())
        finally:
            store.close()


def cluster_rows(path: str, count: int) -> RowBits:
    """The rows of a cluster of two workers, one of which is killed midway."""
    import distributed

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        pids = [worker.pid for worker in cluster.workers.values()]
        seen = 0

        def rows() -> Iterator[loopdbg.Row]:
            nonlocal seen
            for row in loopdbg.sweep(path, random=count, max_iterations=MAX_ITERATIONS, dask=cluster.scheduler_address):
                seen += 1
                if seen == count // 3:
                    os.kill(pids[0], signal.SIGKILL)
                yield row

        return row_bits(rows())


def sweep_rows(path: str, count: int, processes: int) -> RowBits:
    """The rows of a sweep on this machine."""
    return row_bits(loopdbg.sweep(path, random=count, max_iterations=MAX_ITERATIONS, processes=processes))


def run_bits(options: argparse.Namespace) -> None:
    for name, count in MODELS.items():
        count = min(count, options.most)
        path = str(SAMPLES / f"{name}.onnx")
        print(f"{name}, {count} random cases")
        want = serial_rows(path, count)
        for processes in (0, 1, 2, 4):
            assert_rows_equal(f"{processes} processes", partial(sweep_rows, path, count, processes), want)
        assert_rows_equal("kill -9 and --resume", partial(rows_after_kills, path, count), want)
        assert_rows_equal("a cluster that loses a worker", partial(cluster_rows, path, count), want)


def measure_seconds(action: Callable[[], object]) -> tuple[float, float]:
    """Wall time and CPU time, including child processes."""
    before, began = os.times(), time.monotonic()
    action()
    after = os.times()
    return time.monotonic() - began, sum(after[k] - before[k] for k in range(4))


def run_plain_loop(path: str, count: int) -> None:
    """A loop over ``Model.run``."""
    model = loopdbg.load(path)
    read = RandomCases(count).reader(model)
    for k in range(count):
        with contextlib.suppress(loopdbg.LimitError):
            model.run(read(k).inputs, max_iterations=MAX_ITERATIONS)


def drain_sweep(path: str, count: int, processes: int) -> None:
    """Run a sweep and discard the rows."""
    for _ in loopdbg.sweep(path, random=count, max_iterations=MAX_ITERATIONS, processes=processes):
        pass


def run_time(options: argparse.Namespace) -> None:
    for name in MODELS:
        path, count = str(SAMPLES / f"{name}.onnx"), min(40_000, options.most)
        ways: dict[str, Callable[[], None]] = {"plain loop": partial(run_plain_loop, path, count)}
        ways |= {f"{n} processes": partial(drain_sweep, path, count, n) for n in (0, 1, 2)}
        best = dict.fromkeys(ways, (1e9, 1e9))
        for _ in range(options.rounds):
            for what, action in ways.items():
                best[what] = tuple(map(min, zip(best[what], measure_seconds(action), strict=True)))  # type: ignore[assignment]
        print(f"{name}, {count} random cases, best of {options.rounds}")
        wall, processor = best["plain loop"]
        for what, (w, p) in best.items():
            each = f"{1e6 * w / count:.1f} us a case, {w / wall:.2f} of the plain loop"
            print(f"  {what}: {w:.2f} s, {each}; processor {p:.2f} s, {p / processor:.2f}")


def run_memory(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for count in (options.most // 10, options.most):
            pid = os.fork()
            if not pid:
                rows = loopdbg.sweep(
                    str(SAMPLES / "newton_sqrt.onnx"),
                    random=count,
                    max_iterations=20,
                    processes=2,
                    output=Path(folder) / f"{count}.parquet",
                )
                total = sum(1 for _ in rows)
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
                size = (Path(folder) / f"{count}.sweepdb").stat().st_size / 2**20
                message = f"{peak:.0f} MB at most, a process {children:.0f} MB, SQLite {size:.0f} MB"
                print(f"{total} rows: {message}", flush=True)
                os._exit(0)
            os.waitpid(pid, 0)


def fake_part_task(sweep: str, job: SweepJob, first: int, stop: int, part: CaseSet | None) -> Any:
    """A task that takes no time, and reports that each case took a hundredth of a second."""
    return 0.01 * (stop - first), [(stop - first, [])]


def run_scale(options: argparse.Namespace) -> None:
    import distributed

    path = str(SAMPLES / "newton_sqrt.onnx")
    job = SweepJob(0, path, model_hash(path), RandomCases(options.most), SweepSpec(), None, ("main ▸ sqrt",))
    for workers, threads in ((1, 10), (10, 10), (10, 100)):
        with (
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=threads, processes=False, dashboard_address=":0"
            ) as cluster,
            DaskCluster(cluster.scheduler_address, [job], run=fake_part_task) as client,
        ):
            began, used = time.monotonic(), time.process_time()
            tasks = cases = 0
            for batch in client.run(SweepSchedule([[(0, options.most)]], client.threads)):
                tasks += 1
                cases += batch.cases
            wall, used = time.monotonic() - began, time.process_time() - used
            print(
                f"{client.threads} threads: {cases} cases in {tasks} tasks, {wall:.1f} s; processor {used:.1f} s, "
                f"{1e3 * used / tasks:.2f} ms a task, {1e6 * used / cases:.1f} us a case; {threading.active_count()} "
                "threads here",
                flush=True,
            )


MEASUREMENTS = {"bits": run_bits, "time": run_time, "memory": run_memory, "scale": run_scale}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=MEASUREMENTS)
    parser.add_argument("--most", type=int, default=10**6, help="no more cases of any model")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    MEASUREMENTS[options.what](options)


if __name__ == "__main__":
    main()
