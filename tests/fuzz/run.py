"""Broken files, thousands of them: none may crash, hang or fill the memory, and each error is one line.

    make fuzz ARGS="--count 20000 --seed 3 --kinds onnx_fields,ir_elements"

Each kind of ``models.py`` and ``traces.py`` writes a file and says what to run on it; that runs in worker processes
that are forked from this one, with a limit on memory and time. What fails is kept in build/fuzz with the command line
that shows it.
"""

from __future__ import annotations

import os

# Before NumPy: threads of its own would only stand in the way of the other workers.
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

Kind = Callable[[random.Random, Path], list[str]]

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "fuzz"
#: In memory where that is to be had: making a file takes longer than reading most of them.
SHELF = Path("/dev/shm")
#: Memory that a worker may have beyond what it starts with.
MEMORY = 1 << 30
#: Seconds that one file may take.
SECONDS = 20
#: What exit statuses are for; 5: outputs are not as expected, 6: diff found a difference,
#: 8: not all could be compared, 7: an assertion failed, 130: a recording ends, cut off.
STATUSES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 130)
#: Faults after which it stops: they will be one.
ENOUGH = 100
#: Files that one worker tries before another one takes its place, so that what they leave behind does not add up.
MOST = 3000


def kinds() -> dict[str, Kind]:
    """Every kind of broken file, by name."""
    found: dict[str, Kind] = {}
    for name in ("models", "traces"):
        if (Path(__file__).parent / f"{name}.py").exists():
            found.update(importlib.import_module(name).KINDS)
    return found


# --- In a worker.


def judge(status: int, out: str, err: str) -> str:
    """What is wrong with how a command line ended; nothing: an empty text."""
    for word in ("internal error", "Traceback"):
        if word in out + err:
            return word
    if status not in STATUSES:
        return f"exit status {status}"
    lines = [line for line in err.splitlines() if line.startswith("loopdbg: ")]
    if status in (1, 2) and len(lines) != 1:
        return f"{len(lines)} lines of error"
    if any(line.startswith("loopdbg: out of memory") for line in lines):
        return "out of memory, and nothing says where"
    return ""


def run_one(arguments: Sequence[str]) -> tuple[int, str, str]:
    """A command line within this process: exit status and both streams."""
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


def memory_now() -> int:
    """Bytes of address space that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def peak_now() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def rng_of(seed: int, kind: str, number: int) -> random.Random:
    return random.Random(f"{seed} {kind} {number}")


def work(table: Mapping[str, Kind], todo: Sequence[tuple[str, int]], seed: int, folder: Path, pipe: int) -> None:
    """Try files one after the other; before each and after each a line goes through the pipe."""
    with contextlib.suppress(ValueError, OSError):
        limit = memory_now() + MEMORY
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
        _tell(pipe, arguments=arguments)
        status, out, err = run_one(arguments)
        fault = judge(status, out, err)
        if fault:
            keep(folder, kind, seed, number, arguments, f"{fault}\n\n{err or out}")
        _tell(pipe, end=[kind, number], status=status, fault=fault, said=(err or out)[-400:] if fault else "")


def _tell(pipe: int, **what: Any) -> None:
    os.write(pipe, json.dumps(what).encode() + b"\n")


def keep(folder: Path, kind: str, seed: int, number: int, arguments: Sequence[str], said: str) -> None:
    """Copy a file that fails to build/fuzz, with the command line that shows it."""
    kept = KEPT / f"{kind}-{seed}-{number}"
    shutil.copytree(folder, kept, dirs_exist_ok=True)
    line = " ".join(arguments).replace(str(folder), str(kept))
    (kept / "README").write_text(f"loopdbg {line}\n\n{said}\n", errors="replace")


# --- Outside of it.


@dataclass
class Worker:
    pid: int
    pipe: int
    folder: Path
    todo: list[tuple[str, int]]
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    rest: bytes = b""
    arguments: list[str] = field(default_factory=list)


@dataclass
class Report:
    """What came of all files. ``faults``: kind, number, what is wrong, what was said."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: list[tuple[str, int, str, str]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(self.statuses.values())


def start(table: Mapping[str, Kind], todo: list[tuple[str, int]], seed: int) -> Worker:
    reading, writing = os.pipe()
    folder = Path(tempfile.mkdtemp(prefix="loopdbg-fuzz-", dir=SHELF if SHELF.is_dir() else None))
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)
            work(table, todo, seed, folder, writing)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(writing)
    return Worker(pid, reading, folder, todo)


def batches(names: Sequence[str], count: int) -> Iterator[list[tuple[str, int]]]:
    """What each worker is to try: the kinds in turn."""
    every = [(names[k % len(names)], k // len(names)) for k in range(count)]
    for first in range(0, count, MOST):
        yield every[first : first + MOST]


def fuzz(names: Sequence[str], count: int, seed: int, jobs: int = 2, seconds: float = SECONDS) -> Report:
    """Try ``count`` files of these kinds."""
    from loopdbg.tui.cli import COMMANDS

    # Workers are forked from here, and find everything imported.
    for command in COMMANDS.values():
        command.load()
    importlib.import_module("onnx.reference")
    table = kinds()
    for name in names:  # what a kind makes once, it makes here
        with tempfile.TemporaryDirectory() as folder:
            run_one(table[name](rng_of(seed, name, -1), Path(folder)))
    report = Report()
    share = max(1, min(MOST, -(-count // jobs)))
    waiting = [batch[k : k + share] for batch in batches(names, count) for k in range(0, len(batch), share)]
    waiting.reverse()
    running: list[Worker] = []
    try:
        while (waiting or running) and len(report.faults) < ENOUGH:
            while waiting and len(running) < jobs:
                running.append(start(table, waiting.pop(), seed))
            ready, _, _ = select.select([worker.pipe for worker in running], [], [], 1.0)
            for worker in list(running):
                ended = worker.pipe in ready and not _read(worker, report)
                late = time.monotonic() - worker.started > seconds
                if ended or late:
                    if late and not ended:
                        os.kill(worker.pid, signal.SIGKILL)
                    running.remove(worker)
                    left = _buried(worker, report, late and not ended, seed, seconds)
                    if left:
                        waiting.append(left)
    finally:
        for worker in running:
            os.kill(worker.pid, signal.SIGKILL)
            os.waitpid(worker.pid, 0)
            shutil.rmtree(worker.folder, ignore_errors=True)
    return report


def _read(worker: Worker, report: Report) -> bool:
    """Take in what a worker tells; False where it told its last."""
    data = os.read(worker.pipe, 1 << 16)
    worker.rest += data
    *lines, worker.rest = worker.rest.split(b"\n")
    for line in lines:
        told: dict[str, Any] = json.loads(line)
        worker.started = time.monotonic()
        worker.arguments = told.get("arguments", [])
        if "end" in told:
            kind, number = told["end"]
            worker.done += 1
            report.statuses[kind, told["status"]] += 1
            if told["fault"]:
                report.faults.append((kind, number, told["fault"], told["said"]))
    return bool(data)


def _buried(worker: Worker, report: Report, late: bool, seed: int, seconds: float) -> list[tuple[str, int]]:
    """What a worker that ended leaves undone. The file that it ended at is a fault."""
    os.close(worker.pipe)
    _, status = os.waitpid(worker.pid, 0)
    left = worker.todo[worker.done :]
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
        said = (worker.folder / "crash").read_text(errors="replace")[:2000]
        keep(worker.folder, kind, seed, number, worker.arguments, f"{how}\n\n{said}")
        report.statuses[kind, -1] += 1
        report.faults.append((kind, number, how, said))
        left = left[1:]
    shutil.rmtree(worker.folder, ignore_errors=True)
    return left


def main(argv: Sequence[str] | None = None) -> int:
    table = kinds()
    parser = argparse.ArgumentParser(description="try broken files, in the thousands")
    parser.add_argument("--count", type=int, default=20_000, help="how many files (20000)")
    parser.add_argument("--seed", type=int, default=0, help="other numbers give other files (0)")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (2)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"that one file may take ({SECONDS})")
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
        told = {status: n for (kind, status), n in sorted(report.statuses.items()) if kind == name}
        print(f"{name:<16} " + ", ".join(f"{n} x status {s}" if s >= 0 else f"{n} without" for s, n in told.items()))
    print(f"{report.count} files in {took:.1f} s, {report.count / took:.0f} a second; {len(report.faults)} faults")
    for kind, number, fault, said in report.faults[:20]:
        last = (said.strip().splitlines() or [""])[-1]
        print(f"  {KEPT.relative_to(ROOT)}/{kind}-{options.seed}-{number}: {fault}: {last[:200]}")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
