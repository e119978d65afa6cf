"""Commands in memory control groups that are too small for them.

``python tests/fuzz/memory_limit_campaign.py --count 100``

Each case is a seeded model whose values take from a tenth of the limit to more than it, a limit of 300 MB to 1 GB, and
commands that read, record, log, plot, export, compare or extract. A case fails when the kernel kills a process of it,
when it crashes, or when a console session does not answer after an error. ``--only 17`` runs one case and prints its
output.

Needs root and memory control groups of version 1 (``/sys/fs/cgroup/memory``).
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import numpy as np

import loopdbg
from text_models import proto

BYTES_PER_MIB = 1 << 20
CGROUP_ROOT = Path("/sys/fs/cgroup/memory")
#: What a console session prints when it still answers.
ALIVE_MARKER = "still here"

STEADY_MODEL = """g (int64 n, float[N] x0, float[1] k) => (float[N] y) {
  y = Loop (n, , x0) <body = b (int64 i, bool c, float[N] x) => (bool c2, float[N] z) {
    c2 = Identity (c)
    m = Mul (x, k)
    z = Add (m, k)
  }>
}"""
DOUBLING_MODEL = """g (int64 n, float[N] x0, float[1] k) => (float[M] y) {
  y = Loop (n, , x0) <body = b (int64 i, bool c, float[A] x) => (bool c2, float[B] z) {
    c2 = Identity (c)
    z = Concat <axis = 0> (x, x)
  }>
}"""
SCAN_OUTPUT_MODEL = """g (int64 n, float[N] x0, float[1] k) => (float[N] y, float[T,N] rows) {
  y, rows = Loop (n, , x0) <body = b (int64 i, bool c, float[N] x) => (bool c2, float[N] z, float[N] w) {
    c2 = Identity (c)
    z = Add (x, k)
    w = Mul (z, z)
  }>
}"""
SEQUENCE_MODEL = """g (int64 n, float[N] x0, float[1] k) => (int64 y) {
  e = SequenceEmpty ()
  s = Loop (n, , e) <body = b (int64 i, bool c, seq(float[N]) x) => (bool c2, seq(float[N]) z) {
    c2 = Identity (c)
    w = Mul (x0, k)
    z = SequenceInsert (x, w)
  }>
  y = SequenceLength (s)
}"""
SCRATCH_MEMORY_MODEL = """g (int64 n, float[N] x0, float[1] k) => (float[M] y) {
  axis = Constant <value = int64 {0}> ()
  y = Loop (n, , x0) <body = b (int64 i, bool c, float[A] x) => (bool c2, float[B] z) {
    c2 = Identity (c)
    u = Mul (x, k)
    s = Sqrt (u)
    v = CumSum (s, axis)
    w = Softmax <axis = 0> (v)
    z = Concat <axis = 0> (u, w)
  }>
}"""
MODELS = {
    "steady": STEADY_MODEL,
    "doubled": DOUBLING_MODEL,
    "collected": SCAN_OUTPUT_MODEL,
    "listed": SEQUENCE_MODEL,
    "working": SCRATCH_MEMORY_MODEL,
}
CONSOLE_COMMANDS = (
    *(
        "why",
        "info values",
        "info frame",
        "info loops",
        "info history",
        "list",
        "print x",
        "print x + 1",
        "print prev(x)",
    ),
    *("print x@0", "print norm(x)", "print len(x)", "print x[0]", "print sum(x)", "print max(abs(x))", "display x"),
    *("history", "step", "step 2", "continue", "back", "back 2", "goto 1", "goto 2", "next", "next 2", "back-node"),
    *("restart", "finish", "break nan", "break if sum(x) > 1e30", "watch x", "log iter 2: x is {x} and {sum(x)}"),
    *("log iter 3: {prev(x)}", "set x[0] = 3", "set x = x * 2", "undo", "branch", "compare 1", "reverse-continue"),
    *(
        "save {dir}/saved.onnx",
        "extract {dir}/part",
        "extract {dir}/whole all",
        "plot {dir}/a.png",
        "plot x {dir}/b.svg",
    ),
    *("set history 512M", "info branches", "print x == prev(x)", "print allclose(x, prev(x))", "print x[0:5]"),
    *("until 3", "print [x, x]", "print where(x > 0, x, -x)", "repro {dir}/repro nan"),
)
COMMAND_LINES = (
    ("run", "{model}", "{inputs}"),
    ("run", "{model}", "{inputs}", "--json"),
    ("run", "{model}", "{inputs}", "--output", "{dir}/out.npz"),
    ("run", "{model}", "{inputs}", "--output", "{dir}/out.safetensors"),
    ("run", "{model}", "{inputs}", "--output", "{dir}/out"),
    ("run", "{model}", "{inputs}", "--record", "{dir}/run.loopdb"),
    ("run", "{model}", "{inputs}", "--record", "{dir}/run.loopdb", "--record-nodes"),
    ("run", "{model}", "{inputs}", "--break", "nan"),
    ("run", "{model}", "{inputs}", "--assert", "max(abs(x)) < 1e30"),
    ("diff", "{model}", "{model}", "{inputs}"),
    ("diff", "{model}", "--against", "onnxruntime", "{inputs}"),
    ("extract", "{model}", "{inputs}", "-o", "{dir}/part", "--iteration", "2"),
    ("extract", "{model}", "{inputs}", "-o", "{dir}/part"),
    ("plot", "{model}", "{inputs}", "-o", "{dir}/a.png"),
    ("plot", "{model}", "{inputs}", "-o", "{dir}/a.svg", "--what", "norms"),
    ("export", "{model}", "{dir}/v.json", "--what", "model-explorer", "--iteration", "2", "{inputs}"),
    ("sweep", "{model}", "--inputs", "{dir}/in.npz", "-j", "1"),
    ("repro", "{model}", "--break", "nan", "{inputs}", "-o", "{dir}/repro", "--timeout", "20"),
    ("export", "{trace}", "{dir}/t.npz"),
    ("export", "{trace}", "{dir}/t.safetensors"),
    ("export", "{trace}", "{dir}/t.csv"),
    ("export", "{trace}", "{dir}/t.parquet"),
    ("export", "{trace}", "{dir}/t.jsonl"),
    ("export", "{trace}", "{dir}/t/"),
    ("diff", "{trace}", "{model}"),
    ("diff", "{trace}", "{trace}"),
    ("plot", "{trace}", "-o", "{dir}/t.png"),
)


class MemoryLimitCase(NamedTuple):
    """One run: a model, the limit of its group in MB, and the words of a command line or the lines of a console
    session."""

    number: int
    kind: str
    limit: int
    trips: int
    elements: int
    words: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def title(self) -> str:
        size = self.elements * 4 // BYTES_PER_MIB
        what = "; ".join(self.lines) if self.lines else " ".join(self.words)
        return f"{self.number}: {self.kind}, {size} MB, {self.trips} trips, in {self.limit} MB: {what}"


def draw_case(number: int, seed: int) -> MemoryLimitCase:
    draw = random.Random(f"{seed}/{number}")
    kind = draw.choice(sorted(MODELS))
    limit = draw.choice([300, 400, 500, 700, 1000])
    elements = int(limit * BYTES_PER_MIB * draw.choice([0.1, 0.15, 0.2, 0.3, 0.45, 0.7]) / 4)
    trips = draw.choice([3, 4, 6, 12])
    if kind in ("collected", "listed"):
        elements //= 2
    if kind in ("doubled", "working"):
        elements, trips = elements >> draw.choice([3, 6, 16]), 40
    if draw.random() < 0.6:
        lines = ("step 2", *draw.choices(CONSOLE_COMMANDS, k=draw.randint(4, 9)))
        return MemoryLimitCase(number, kind, limit, trips, elements, ("run", "{model}", "{inputs}", "-i"), lines)
    return MemoryLimitCase(number, kind, limit, trips, elements, draw.choice(COMMAND_LINES), ())


@contextmanager
def memory_cgroup(megabytes: int) -> Iterator[Path]:
    """A memory control group below that of this process.

    Raises:
        OSError: the group cannot be created here.
    """
    with open("/proc/self/cgroup") as file:
        own = next((line.rstrip("\n").split(":")[2] for line in file if ":memory:" in line), None)
    if own is None:
        raise OSError("no memory control group of version 1")
    folder = CGROUP_ROOT / own.strip("/") / f"loopdbg-{os.getpid()}"
    folder.mkdir()
    try:
        (folder / "memory.swappiness").write_text("0")
        (folder / "memory.limit_in_bytes").write_text(str(megabytes * BYTES_PER_MIB))
        if (folder / "memory.memsw.limit_in_bytes").exists():
            (folder / "memory.memsw.limit_in_bytes").write_text(str(megabytes * BYTES_PER_MIB))
        yield folder
    finally:
        # A peer may outlive the program that started it for a moment.
        end = time.monotonic() + 30
        while folder.exists():
            for pid in (folder / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            with contextlib.suppress(OSError):
                folder.rmdir()
            if time.monotonic() > end:
                raise OSError(f"{folder} stays in use")


class CgroupExit(NamedTuple):
    """How a command ended. ``kills``: processes of its group that the kernel killed for lack of memory."""

    status: int
    output: str
    kills: int


def run_in_group(megabytes: int, words: list[str], stdin: str = "", seconds: float = 300) -> CgroupExit:
    """Run ``python -m loopdbg WORDS`` in a group of this size."""
    package = Path(__file__).parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": str(package), "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    with memory_cgroup(megabytes) as folder:
        join = f'echo $$ > {folder}/cgroup.procs; exec "$@"'
        command = ["sh", "-c", join, "sh", sys.executable, "-m", "loopdbg", *words]
        ran = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=environment,
            timeout=seconds,
        )
        counted = (folder / "memory.oom_control").read_text().split()
        kills = int(counted[counted.index("oom_kill") + 1]) if "oom_kill" in counted else 0
    return CgroupExit(ran.returncode, ran.stdout + ran.stderr, kills)


def write_model(folder: Path, kind: str, elements: int, trips: int) -> None:
    """``model.onnx`` and ``in.npz``."""
    (folder / "model.onnx").write_bytes(proto(MODELS[kind]).SerializeToString())
    x0 = np.linspace(0, 1, max(elements, 1), dtype=np.float32)
    np.savez(folder / "in.npz", n=np.int64(trips), x0=x0, k=np.full(1, 1.01, np.float32))


def run_case(case: MemoryLimitCase) -> tuple[str, str]:
    """Run a case; returns its outcome as a word, and its output."""
    scratch = Path(tempfile.mkdtemp(prefix="loopdbg-memory-"))
    try:
        write_model(scratch, case.kind, case.elements, case.trips)
        if any("{trace}" in word for word in case.words):
            # Recorded outside the group: the test is to read it.
            words = ["run", "model.onnx", "--inputs", "in.npz", "--record", "run.loopdb", "--max-iterations", "8"]
            python = [sys.executable, "-m", "loopdbg", *words]
            subprocess.run(python, cwd=scratch, capture_output=True, env={**os.environ, "PYTHONPATH": package_path()})
        words = []
        for word in case.words:
            if word == "{inputs}":
                words += ["--inputs", str(scratch / "in.npz")]
            else:
                for key, path in (
                    ("model", scratch / "model.onnx"),
                    ("trace", scratch / "run.loopdb"),
                    ("dir", scratch),
                ):
                    word = word.replace(f"{{{key}}}", str(path))
                words.append(word)
        stdin = (
            "".join(line.replace("{dir}", str(scratch)) + "\n" for line in (*case.lines, f"echo {ALIVE_MARKER}"))
            if case.lines
            else ""
        )
        try:
            ended = run_in_group(case.limit, words, stdin)
        except subprocess.TimeoutExpired:
            return "hung", ""
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    output = ended.output.replace(str(scratch), "")
    if ended.status in (-9, 137):
        return "KILLED", output
    if ended.kills:
        return "CHILD KILLED", output
    if ended.status < 0 or (ended.status > 128 and ended.status != loopdbg.InterruptError.exit_status):
        return f"CRASHED {ended.status}", output
    if "Traceback" in output or "internal error" in output:
        return "INTERNAL ERROR", output
    if case.lines and ALIVE_MARKER not in output:
        # A session that never began, because its inputs do not fit into the group, is an error of the command line.
        return ("refused to start" if "memory" in output or " MB" in output else "SESSION LOST"), output
    refused = any(words in output for words in ("are available", "out of memory", "nable to allocate", "does not give"))
    return (
        "refused for memory" if refused else "done" if ended.status in (0, 3, 6, 7) else f"status {ended.status}"
    ), output


def package_path() -> str:
    return str(Path(__file__).parents[2] / "src")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    numbers = [options.only] if options.only is not None else range(options.first, options.first + options.count)
    counts: collections.Counter[str] = collections.Counter()
    for number in numbers:
        first = draw_case(number, options.seed)
        outcome, output = run_case(first)
        counts[outcome] += 1
        if outcome != "done" or options.only is not None:
            print(f"{outcome:20} {first.title}", flush=True)
        if outcome.isupper() or options.only is not None:
            print(
                "    " + "\n    ".join(output.strip().splitlines()[-30 if options.only is not None else -3 :]),
                flush=True,
            )
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    return any(outcome.split()[0].isupper() or outcome == "hung" for outcome in counts)


if __name__ == "__main__":
    sys.exit(main())
