"""Thousands of broken files: none may cause a crash, a hang or unbounded memory use, and each error is one line.

    make fuzz ARGS="--count 20000 --seed 3 --kinds onnx_fields,ir_elements"

Each mutator of ``model_file_mutators.py`` and ``trace_mutators.py`` writes a file and returns the command line to try.
Worker processes, which are forked from this one, run the command line with a limit on memory and time. Failing files
are kept in build/fuzz with the command line that reproduces the fault.
"""

from __future__ import annotations

import os

# Before NumPy is imported: its threads would only compete with the other workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import contextlib
import faulthandler
import importlib
import io
import json
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

FileMutator = Callable[[random.Random, Path], list[str]]

ROOT = Path(__file__).resolve().parents[2]
KEPT_FILES_DIRECTORY = ROOT / "build" / "fuzz"
#: In memory if possible: writing a file takes longer than reading most of them.
SCRATCH_DIRECTORY = Path("/dev/shm")
#: Bytes of memory that a worker may use beyond those at its start.
WORKER_MEMORY_BYTES = 1 << 30
#: Seconds that one file may take.
FILE_TIMEOUT_SECONDS = 20
#: The expected exit statuses; 5: outputs differ from the expected ones, 6: diff found a difference,
#: 8: not everything could be compared, 7: an assertion failed, 130: a recording ends, cut off.
EXPECTED_STATUSES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 130)
#: Number of faults after which the fuzzer stops: they will have one cause.
MAX_FAULTS = 100
#: Files per worker process, so that leaks of the processed files do not add up.
FILES_PER_WORKER = 3000


def load_mutators() -> dict[str, FileMutator]:
    """Every mutator, by name."""
    results: dict[str, FileMutator] = {}
    for name in ("model_file_mutators", "trace_mutators"):
        if (Path(__file__).parent / f"{name}.py").exists():
            results.update(importlib.import_module(name).MUTATORS)
    return results


# --- In a worker process.


def find_fault(status: int, out: str, err: str) -> str:
    """What is wrong with how a command line ended; empty if nothing is."""
    for word in ("internal error", "Traceback"):
        if word in out + err:
            return word
    if status not in EXPECTED_STATUSES:
        return f"exit status {status}"
    lines = [line for line in err.splitlines() if line.startswith("loopdbg: ")]
    if status in (1, 2) and len(lines) != 1:
        return f"{len(lines)} lines of error"
    if any(line.startswith("loopdbg: out of memory") for line in lines):
        return "out of memory, and nothing says where"
    return ""


def run_command_line(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Run a command line in this process; returns its exit status and both streams."""
    from loopdbg.tui.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(arguments)
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else 1
        except BaseException:
            traceback.print_exc()
            status = 1
    return status, out.getvalue(), err.getvalue()


def address_space_bytes() -> int:
    """The size of this process's address space in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def peak_memory_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def rng_of(seed: int, kind: str, number: int) -> random.Random:
    return random.Random(f"{seed} {kind} {number}")


def worker_main(
    table: Mapping[str, FileMutator], todo: Sequence[tuple[str, int]], seed: int, folder: Path, pipe: int
) -> None:
    """Try files one after the other, and report before and after each one through the pipe."""
    with contextlib.suppress(ValueError, OSError):
        limit = address_space_bytes() + WORKER_MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable(open(folder / "crash", "w"))  # noqa: SIM115
    os.chdir(folder)
    for kind, number in todo:
        for path in folder.iterdir():
            if path.name != "crash" and path.is_file():
                path.unlink()
        arguments = table[kind](rng_of(seed, kind, number), folder)
        _send_line(pipe, arguments=arguments)
        status, out, err = run_command_line(arguments)
        fault = find_fault(status, out, err)
        if fault:
            keep_file(folder, kind, seed, number, arguments, f"{fault}\n\n{err or out}")
        _send_line(
            pipe, end=[kind, number], status=status, fault=fault, output_text=(err or out)[-400:] if fault else ""
        )


def _send_line(pipe: int, **what: Any) -> None:
    os.write(pipe, json.dumps(what).encode() + b"\n")


def keep_file(folder: Path, kind: str, seed: int, number: int, arguments: Sequence[str], output_text: str) -> None:
    """Copy a failing file to build/fuzz, with the command line that reproduces the fault."""
    kept = KEPT_FILES_DIRECTORY / f"{kind}-{seed}-{number}"
    shutil.copytree(folder, kept, dirs_exist_ok=True)
    line = " ".join(arguments).replace(str(folder), str(kept))
    (kept / "README").write_text(f"loopdbg {line}\n\n{output_text}\n", errors="replace")


# --- In the parent process.


@dataclass
class FuzzWorker:
    pid: int
    pipe: int
    folder: Path
    pending: list[tuple[str, int]]
    completed_count: int = 0
    started_at: float = field(default_factory=time.monotonic)
    partial_line: bytes = b""
    arguments: list[str] = field(default_factory=list)


@dataclass
class FuzzReport:
    """The outcomes of all files. ``faults``: kind, number, what is wrong, the output."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: list[tuple[str, int, str, str]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(self.statuses.values())


def start_worker(table: Mapping[str, FileMutator], todo: list[tuple[str, int]], seed: int) -> FuzzWorker:
    reading, writing = os.pipe()
    folder = Path(
        tempfile.mkdtemp(prefix="loopdbg-fuzz-", dir=SCRATCH_DIRECTORY if SCRATCH_DIRECTORY.is_dir() else None)
    )
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)
            worker_main(table, todo, seed, folder, writing)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(writing)
    return FuzzWorker(pid, reading, folder, todo)


def split_batches(names: Sequence[str], count: int) -> Iterator[list[tuple[str, int]]]:
    """The tasks of each worker, with the kinds in turn."""
    every = [(names[k % len(names)], k // len(names)) for k in range(count)]
    for first in range(0, count, FILES_PER_WORKER):
        yield every[first : first + FILES_PER_WORKER]


def fuzz(
    names: Sequence[str], count: int, seed: int, jobs: int = 2, seconds: float = FILE_TIMEOUT_SECONDS
) -> FuzzReport:
    """Try ``count`` files of these kinds."""
    from loopdbg.tui.cli import COMMANDS

    # Workers are forked from here, with everything imported.
    for command in COMMANDS.values():
        command.import_implementation()
    importlib.import_module("onnx.reference")
    table = load_mutators()
    for name in names:  # data that a mutator computes once is computed here
        with tempfile.TemporaryDirectory() as folder:
            run_command_line(table[name](rng_of(seed, name, -1), Path(folder)))
    report = FuzzReport()
    share = max(1, min(FILES_PER_WORKER, -(-count // jobs)))
    waiting = [batch[k : k + share] for batch in split_batches(names, count) for k in range(0, len(batch), share)]
    waiting.reverse()
    running: list[FuzzWorker] = []
    try:
        while (waiting or running) and len(report.faults) < MAX_FAULTS:
            while waiting and len(running) < jobs:
                running.append(start_worker(table, waiting.pop(), seed))
            ready, _, _ = select.select([worker.pipe for worker in running], [], [], 1.0)
            for worker in list(running):
                ended = worker.pipe in ready and not _read_worker(worker, report)
                late = time.monotonic() - worker.started_at > seconds
                if ended or late:
                    if late and not ended:
                        os.kill(worker.pid, signal.SIGKILL)
                    running.remove(worker)
                    left = _finish_worker(worker, report, late and not ended, seed, seconds)
                    if left:
                        waiting.append(left)
    finally:
        for worker in running:
            os.kill(worker.pid, signal.SIGKILL)
            os.waitpid(worker.pid, 0)
            shutil.rmtree(worker.folder, ignore_errors=True)
    return report


def _read_worker(worker: FuzzWorker, report: FuzzReport) -> bool:
    """Handle a worker's message; False if it was its last one."""
    data = os.read(worker.pipe, 1 << 16)
    worker.partial_line += data
    *lines, worker.partial_line = worker.partial_line.split(b"\n")
    for line in lines:
        results: dict[str, Any] = json.loads(line)
        worker.started_at = time.monotonic()
        worker.arguments = results.get("arguments", [])
        if "end" in results:
            kind, number = results["end"]
            worker.completed_count += 1
            report.statuses[kind, results["status"]] += 1
            if results["fault"]:
                report.faults.append((kind, number, results["fault"], results["output_text"]))
    return bool(data)


def _finish_worker(
    worker: FuzzWorker, report: FuzzReport, late: bool, seed: int, seconds: float
) -> list[tuple[str, int]]:
    """Reassign the remaining files of a worker that ended. The file at which it ended is a fault."""
    os.close(worker.pipe)
    _, status = os.waitpid(worker.pid, 0)
    left = worker.pending[worker.completed_count :]
    if left and (late or status):
        kind, number = left[0]
        code = os.waitstatus_to_exitcode(status)
        how = (
            f"no end within {seconds:g} s"
            if late
            else f"signal {-code}"
            if code < 0
            else f"the worker ended with {code}"
        )
        output = (worker.folder / "crash").read_text(errors="replace")[:2000]
        keep_file(worker.folder, kind, seed, number, worker.arguments, f"{how}\n\n{output}")
        report.statuses[kind, -1] += 1
        report.faults.append((kind, number, how, output))
        left = left[1:]
    shutil.rmtree(worker.folder, ignore_errors=True)
    return left


def main(argv: Sequence[str] | None = None) -> int:
    table = load_mutators()
    parser = argparse.ArgumentParser(description="try broken files, in the thousands")
    parser.add_argument("--count", type=int, default=20_000, help="how many files (20000)")
    parser.add_argument("--seed", type=int, default=0, help="other numbers give other files (0)")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (2)")
    parser.add_argument(
        "--seconds", type=float, default=FILE_TIMEOUT_SECONDS, help=f"that one file may take ({FILE_TIMEOUT_SECONDS})"
    )
    parser.add_argument("--kinds", default="", help=f"some of {','.join(table)}; all where not given")
    options = parser.parse_args(argv)
    names = options.kinds.split(",") if options.kinds else list(table)
    for name in names:
        if name not in table:
            parser.error(f"no kind '{name}'; there are {', '.join(table)}")
    before = time.monotonic()
    report = fuzz(names, options.count, options.seed, options.jobs, options.seconds)
    took = time.monotonic() - before
    for name in names:
        messages = {status: n for (kind, status), n in sorted(report.statuses.items()) if kind == name}
        print(
            f"{name:<16} " + ", ".join(f"{n} x status {s}" if s >= 0 else f"{n} without" for s, n in messages.items())
        )
    print(f"{report.count} files in {took:.1f} s, {report.count / took:.0f} a second; {len(report.faults)} faults")
    for kind, number, fault, message in report.faults[:20]:
        last = (message.strip().splitlines() or [""])[-1]
        print(f"  {KEPT_FILES_DIRECTORY.relative_to(ROOT)}/{kind}-{options.seed}-{number}: {fault}: {last[:200]}")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
