"""Commands that are killed or fail while they write files: an older file stays intact, and no other file remains.

    .venv/bin/python tests/fuzz/crash_consistency.py signals --count 200 --seed 1
    .venv/bin/python tests/fuzz/crash_consistency.py limit      # RLIMIT_FSIZE, over every command that writes
    .venv/bin/python tests/fuzz/crash_consistency.py full       # a full file system; needs the right to mount a tmpfs

Each command first runs twice undisturbed, on two models, which gives the older and the newer version of its outputs.
Then it runs over the older version (or in an empty folder) and gets a signal at a random time between its first write
and its end. Afterwards every file must be the older or the newer one, and the destination and TMPDIR hold nothing else.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import onnx
from onnx import helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_models"
#: Writes a byte to the descriptor in WROTE at the first write below one of the folders in PLACES.
CHILD_SCRIPT = """
import os, sys
places, descriptor = os.environ["PLACES"].split(os.pathsep), int(os.environ["WROTE"])
def hook(event, arguments):
    global descriptor
    if descriptor < 0 or event not in ("open", "os.mkdir", "sqlite3.connect"):
        return
    if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
        return
    if any(str(arguments[0]).startswith(place) for place in places):
        wrote, descriptor = descriptor, -1
        os.write(wrote, b"w")
if descriptor >= 0:
    sys.addaudithook(hook)
from loopdbg.__main__ import main
sys.exit(main())
"""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
COMMAND_TIMEOUT_SECONDS = 120
#: Files that libraries leave in TMPDIR: ONNX Runtime does when it is imported.
IGNORED_SUFFIXES = {".ses"}

FileCheck = Callable[[Path], bool]


@dataclass(frozen=True)
class WritingCommand:
    """A command line with ``{m}`` for the folder of models and ``{d}`` for the destination.

    ``outputs``: the written paths, relative to the destination; folders are compared file by file. ``valid``: a check
    whether a file is complete, for files whose bytes differ from run to run. ``stdin``: a file.
    """

    name: str
    words: Sequence[str]
    outputs: Sequence[str]
    valid: FileCheck | None = None
    stdin: str = ""
    statuses: Sequence[int] = (0,)
    #: False: the command refuses to replace files.
    replaces_existing: bool = True


def is_xml(path: Path) -> bool:
    """Whether a file is a complete XML document."""
    try:
        ElementTree.parse(path)
    except ElementTree.ParseError:
        return False
    return True


def is_database(path: Path) -> bool:
    """Whether a file is a complete SQLite database with tables."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return bool(tables) and database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    except sqlite3.Error:
        return False
    finally:
        database.close()


def is_json(path: Path) -> bool:
    """Whether a file is a complete JSON document."""
    try:
        json.loads(path.read_text())
    except ValueError:
        return False
    return True


def is_sweep_file(path: Path) -> bool:
    """Whether a file of a sweep is complete; its contents differ from run to run by the times of the cases."""
    if path.suffix == ".sweepdb":
        return is_database(path)
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            rows = list(csv.reader(file))
        return len(rows) == 201 and len({len(row) for row in rows}) == 1 and path.read_bytes().endswith(b"\n")
    import pyarrow.parquet

    return bool(pyarrow.parquet.read_table(path).num_rows == 200)


def is_readme(path: Path) -> bool:
    """Whether a pack's file is complete, as far as that can be checked."""
    return path.stat().st_size > 0


RUN = ("run", "{m}/m.onnx")
RECORD = (*RUN, "--record", "{d}/r.loopdb", "--force")
FROM_STDIN = ("run", "-", "--inputs", "{m}/m.inputs.npz")
PLOT = ("plot", "{m}/m.onnx")
EXPORT = ("export", "{m}/t.loopdb")
SWEEP = ("sweep", "{m}/m.onnx", "--random", "200", "-j", "1", "--force")
IR = "{m}/i.xml"

COMMANDS = [
    WritingCommand("run npz", (*RUN, "--output", "{d}/o.npz"), ["o.npz"]),
    WritingCommand("run safetensors", (*RUN, "--output", "{d}/o.safetensors"), ["o.safetensors"]),
    WritingCommand("run parquet", (*RUN, "--output", "{d}/o.parquet"), ["o.parquet"]),
    WritingCommand("run test data", (*RUN, "--output", "{d}/o/"), ["o"]),
    WritingCommand("run junit", (*RUN, "--junit", "{d}/j.xml", "--assert", "True"), ["j.xml"], is_xml),
    WritingCommand("run record", RECORD, ["r.loopdb"], is_database),
    WritingCommand("run record nodes", (*RECORD, "--record-nodes"), ["r.loopdb"], is_database),
    WritingCommand("run stdin", (*FROM_STDIN, "--output", "{d}/o.npz"), ["o.npz"], stdin="{m}/m.onnx"),
    WritingCommand(
        "run save", (*RUN, "-ex", "set x = x + 1", "-ex", "save {d}/c.onnx"), ["c.onnx"], replaces_existing=False
    ),
    WritingCommand(
        "run save IR",
        ("run", IR, "-ex", "set trip_count = 3", "-ex", "save {d}/c.xml"),
        ["c.xml", "c.bin"],
        replaces_existing=False,
    ),
    WritingCommand("run extract", (*RUN, "-ex", "step", "-ex", "extract {d}/p"), ["p"], replaces_existing=False),
    WritingCommand("run plot", (*RUN, "-ex", "finish", "-ex", "plot x {d}/f.svg"), ["f.svg"]),
    WritingCommand("export npz", (*EXPORT, "-o", "{d}/e.npz"), ["e.npz"]),
    WritingCommand("export safetensors", (*EXPORT, "-o", "{d}/e.safetensors"), ["e.safetensors"]),
    WritingCommand("export csv", (*EXPORT, "-o", "{d}/e.csv"), ["e.csv"]),
    WritingCommand("export jsonl", (*EXPORT, "-o", "{d}/e.jsonl"), ["e.jsonl"]),
    WritingCommand("export parquet", (*EXPORT, "-o", "{d}/e.parquet"), ["e.parquet"]),
    WritingCommand("export test data", (*EXPORT, "-o", "{d}/e/"), ["e"]),
    WritingCommand(
        "export model-explorer",
        ("export", "{m}/m.onnx", "--what", "model-explorer", "-o", "{d}/e.json"),
        ["e.json", "e.difference.json"],
    ),
    WritingCommand("plot png", (*PLOT, "--what", "norms", "-o", "{d}/f.png"), ["f.png"]),
    WritingCommand("plot svg", (*PLOT, "--what", "norms", "-o", "{d}/f.svg"), ["f.svg"]),
    WritingCommand("plot pdf", (*PLOT, "--what", "norms", "-o", "{d}/f.pdf"), ["f.pdf"]),
    WritingCommand("plot graph svg", (*PLOT, "--what", "graph", "-o", "{d}/g.svg"), ["g.svg"]),
    WritingCommand("plot graph png", (*PLOT, "--what", "graph", "-o", "{d}/g.png"), ["g.png"]),
    WritingCommand("convert", ("convert", "{m}/m.onnx", "{d}/net.py", "--force"), ["net.py", "net.npz"]),
    WritingCommand("extract", ("extract", "{m}/m.onnx", "--iteration", "1", "-o", "{d}/p", "--force"), ["p"]),
    WritingCommand("extract IR", ("extract", IR, "--iteration", "1", "-o", "{d}/p", "--force"), ["p"]),
    WritingCommand("repro", ("repro", "{m}/nan.onnx", "--break", "nan", "-o", "{d}/p", "--force"), ["p"], is_readme),
    WritingCommand("sweep csv", (*SWEEP, "-o", "{d}/s.csv"), ["s.csv", "s.sweepdb"], is_sweep_file),
    WritingCommand("sweep parquet", (*SWEEP, "-o", "{d}/s.parquet"), ["s.parquet", "s.sweepdb"], is_sweep_file),
    WritingCommand("sweep junit", (*SWEEP, "--junit", "{d}/j.xml"), ["j.xml"], is_xml),
    WritingCommand("lesson pages", ("learn", "--export", "html", "{d}/pages"), ["pages"]),
    # It is saved after each card.
    WritingCommand("lesson progress", ("learn", "1", "--text", "--seed", "1"), ["config"], is_json, "{m}/answers.txt"),
]


def write_models(folder: Path, constant: float) -> None:
    """Write the models of one side."""
    folder.mkdir()
    vi, size = helper.make_tensor_value_info, 2048
    weights = np.linspace(0, constant, size, dtype="f")
    body = helper.make_graph(
        [
            helper.make_node("Add", ["x", "w"], ["y"], name="add"),
            helper.make_node("Identity", ["c"], ["d"], name="same"),
        ],
        "b",
        [vi("i", 7, []), vi("c", 9, []), vi("x", 1, [size])],
        [vi("d", 9, []), vi("y", 1, [size]), vi("y", 1, [size])],
    )
    loop = helper.make_node("Loop", ["n", "", "x0"], ["r", "ys"], body=body, name="L")
    constants = [numpy_helper.from_array(np.array(60), "n"), numpy_helper.from_array(weights, "w")]
    graph = helper.make_graph(
        [loop], "g", [vi("x0", 1, [size])], [vi("r", 1, [size]), vi("ys", 1, [60, size])], constants
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "m.onnx")
    np.savez(folder / "m.inputs.npz", x0=np.full(size, constant, "f"))
    for source, target, suffixes in (
        ("vanishing_scale", "nan", ("onnx", "inputs.npz")),
        ("loop_for", "i", ("xml", "bin", "inputs.npz")),
    ):
        for suffix in suffixes:
            shutil.copy(SAMPLES / f"{source}.{suffix}", folder / f"{target}.{suffix}")
    (folder / "answers.txt").write_text("card\n" * 3 + "\n" * (5 if constant == 1 else 9))


class CommandRunner:
    """Runs commands in folders of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sides = [folder / "models0", folder / "models1"]
        self.cache = folder / "cache"
        self.number = 0
        for constant, side in enumerate(self.sides):
            write_models(side, 1.0 + constant)
            done = self.run(WritingCommand("", ("run", "{m}/m.onnx", "--record", "{m}/t.loopdb"), []), side, side, side)
            assert done.returncode == 0, done.stderr
        self._expected: dict[str, list[Path]] = {}
        #: Seconds from the first write to the end.
        self.seconds: dict[str, float] = {}

    def new_destination(self) -> tuple[Path, Path]:
        """Make a new destination and a new TMPDIR, both empty."""
        self.number += 1
        places = self.folder / f"d{self.number}", self.folder / f"t{self.number}"
        for place in places:
            place.mkdir()
        return places

    def start(
        self,
        command: WritingCommand,
        side: Path,
        target: Path,
        scratch: Path,
        wrote: int = -1,
        limit: int | None = None,
    ) -> subprocess.Popen[str]:
        """Start a command."""

        def words(text: str) -> str:
            return text.replace("{m}", str(side)).replace("{d}", str(target))

        def limited() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        environment = {
            **os.environ,
            **{"PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(scratch), "PYTHONDONTWRITEBYTECODE": "1"},
            **{"MPLCONFIGDIR": str(self.cache), "LOOPDBG_CONFIG_DIR": str(target / "config")},
            **{"PLACES": f"{target}{os.pathsep}{scratch}", "WROTE": str(wrote)},
        }
        stdin = open(words(command.stdin), "rb") if command.stdin else subprocess.DEVNULL  # noqa: SIM115
        try:
            return subprocess.Popen(
                [sys.executable, "-c", CHILD_SCRIPT, *map(words, command.words)],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
                pass_fds=[wrote] if wrote >= 0 else [],
                preexec_fn=limited,
                cwd=side,
            )
        finally:
            if not isinstance(stdin, int):
                stdin.close()

    def run(
        self, command: WritingCommand, side: Path, target: Path, scratch: Path, limit: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        process = self.start(command, side, target, scratch, limit=limit)
        out, err = process.communicate(timeout=COMMAND_TIMEOUT_SECONDS)
        return subprocess.CompletedProcess(command.words, process.returncode, out, err)

    def expected_outputs(self, command: WritingCommand) -> list[Path]:
        """Folders with the older and the newer outputs."""
        if command.name not in self._expected:
            results = []
            for side in self.sides:
                target, scratch = self.new_destination()
                process, reader = self.start_watched(command, side, target, scratch)
                began = os.read(reader, 1)
                start = time.monotonic()
                out, err = process.communicate(timeout=COMMAND_TIMEOUT_SECONDS)
                os.close(reader)
                self.seconds[command.name] = time.monotonic() - start
                assert process.returncode in command.statuses and began, (
                    command.name,
                    process.returncode,
                    out,
                    err,
                )
                assert all((target / name).exists() for name in command.outputs), (command.name, os.listdir(target))
                assert not {*os.listdir(scratch)} - IGNORED_SUFFIXES, (command.name, os.listdir(scratch))
                shutil.rmtree(scratch)
                results.append(target)
            self._expected[command.name] = results
        return self._expected[command.name]

    def start_watched(
        self, command: WritingCommand, side: Path, target: Path, scratch: Path
    ) -> tuple[subprocess.Popen[str], int]:
        """Start a process; returns it with a pipe that is readable once the process has begun to write."""
        reader, writer = os.pipe()
        try:
            return self.start(command, side, target, scratch, writer), reader
        finally:
            os.close(writer)

    def find_faults(self, command: WritingCommand, target: Path, scratch: Path, older: bool) -> Iterator[str]:
        """The faults in the remaining files."""
        sides = self.expected_outputs(command)
        allowed = {path.relative_to(side) for side in sides for path in side.rglob("*")}
        result = ("-wal", "-shm", "-journal")
        for path in sorted(target.rglob("*")):
            name = path.relative_to(target)
            if name in allowed:
                continue
            # Files of a recording that was killed where nothing could be cleaned up any more.
            if not str(name).endswith(result):
                yield f"left over: {name}"
        yield from (f"left over in TMPDIR: {name}" for name in sorted({*os.listdir(scratch)} - IGNORED_SUFFIXES))
        changed = set()
        for name in sorted(item for item in allowed if any((side / item).is_file() for side in sides)):
            path = target / name
            if not path.exists():
                if older and (sides[0] / name).exists():
                    yield f"lost: {name}"
                continue
            data = path.read_bytes()
            same = [(side / name).exists() and (side / name).read_bytes() == data for side in sides]
            if not any(same) and not (command.valid is not None and command.valid(path)):
                yield f"partial: {name} ({len(data)} bytes): {data[-200:]!r}"
            if any(same) and same[0] != same[1]:
                changed.add(same.index(True))
        if len(changed) > 1:
            yield "some files are older, and some newer"


@contextmanager
def command_runner() -> Iterator[CommandRunner]:
    with tempfile.TemporaryDirectory(prefix="durability-") as folder:
        yield CommandRunner(Path(folder))


def prepare_destination(bench: CommandRunner, command: WritingCommand, older: bool) -> tuple[Path, Path]:
    """A destination with the older outputs, or an empty one."""
    target, scratch = bench.new_destination()
    if older:
        shutil.copytree(bench.expected_outputs(command)[0], target, dirs_exist_ok=True)
    return target, scratch


def signals(bench: CommandRunner, commands: Sequence[WritingCommand], count: int, rng: random.Random) -> list[str]:
    """Send signals at random times; returns the faults."""
    faults, seen = [], Counter[str]()
    for k in range(count):
        command, number, older = commands[k % len(commands)], rng.choice(SIGNALS), rng.random() < 0.7
        older = older and command.replaces_existing
        bench.expected_outputs(command)
        target, scratch = prepare_destination(bench, command, older)
        process, reader = bench.start_watched(command, bench.sides[1], target, scratch)
        delay = rng.random() * bench.seconds[command.name]
        if os.read(reader, 1):
            time.sleep(delay)
            process.send_signal(number)
        try:
            _, err = process.communicate(timeout=COMMAND_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
            err += "no end"
        os.close(reader)
        results = list(bench.find_faults(command, target, scratch, older))
        allowed = (-number, 130 if number == signal.SIGINT else -number, *command.statuses)
        if process.returncode not in allowed:
            results.append(f"exit status {process.returncode}: {err.strip()[-300:]}")
        if "Traceback" in err or "no end" in err or "internal error" in err:
            results.append(f"stderr: {err.strip()[-600:]}")
        ended = "ended before" if process.returncode in command.statuses else "interrupted"
        seen[ended] += 1
        faults += [f"{command.name}, {number.name} {delay:.3f} s after the first write: {item}" for item in results]
        for place in (target, scratch):
            shutil.rmtree(place)
    print(f"{count} signals in {len(commands)} commands ({dict(seen)})")
    return faults


def limits(bench: CommandRunner, commands: Sequence[WritingCommand], sizes: Sequence[int]) -> list[str]:
    """Limit the size of files to a few bytes; returns the faults."""
    faults, seen = [], Counter[str]()
    for command in commands:
        for limit in sizes:
            target, scratch = prepare_destination(bench, command, command.replaces_existing)
            done = bench.run(command, bench.sides[1], target, scratch, limit=limit)
            faults += _failed(bench, command, target, scratch, done, f"limit {limit}", seen)
    print(f"{len(commands)} commands with a limit of {', '.join(map(str, sizes))} bytes ({dict(seen)})")
    return faults


def full(bench: CommandRunner, commands: Sequence[WritingCommand], free_bytes: Sequence[int]) -> list[str]:
    """Leave a few kilobytes of space on the destination's file system; returns the faults."""
    faults, seen = [], Counter[str]()
    for command in commands:
        for item in free_bytes:
            bench.expected_outputs(command)
            mount, scratch = bench.new_destination()
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", mount], check=True)
            try:
                target = mount / "d"
                if command.replaces_existing:
                    shutil.copytree(bench.expected_outputs(command)[0], target)
                else:
                    target.mkdir()
                used = os.statvfs(mount)
                (mount / "filler").write_bytes(bytes(max(0, used.f_bavail * used.f_frsize - item)))
                done = bench.run(command, bench.sides[1], target, scratch)
                faults += _failed(bench, command, target, scratch, done, f"{item} bytes left", seen)
            finally:
                subprocess.run(["umount", mount], check=True)
    print(f"{len(commands)} commands on a disk with {', '.join(map(str, free_bytes))} bytes left ({dict(seen)})")
    return faults


def _failed(
    bench: CommandRunner,
    command: WritingCommand,
    target: Path,
    scratch: Path,
    done: subprocess.CompletedProcess[str],
    what: str,
    seen: Counter[str],
) -> list[str]:
    """The faults of a command that could not write."""
    results = list(bench.find_faults(command, target, scratch, command.replaces_existing))
    complaints = [line for line in done.stderr.splitlines() if line.startswith("loopdbg: ")]
    if done.returncode in command.statuses:
        seen["could write"] += 1
    else:
        seen["refused"] += 1
        if done.returncode < 0 or len(complaints) != 1 or "internal error" in done.stderr or "Traceback" in done.stderr:
            results.append(f"exit status {done.returncode}: {done.stderr.strip()[-600:] or done.stdout[-600:]}")
    return [f"{command.name}, {what}: {item}" for item in results]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("signals", "limit", "full"))
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], help="commands whose name has this in it")
    options = parser.parse_args(words)
    commands = [
        command for command in COMMANDS if not options.only or any(word in command.name for word in options.only)
    ]
    with command_runner() as place:
        if options.what == "signals":
            faults = signals(place, commands, options.count, random.Random(options.seed))
        elif options.what == "limit":
            faults = limits(place, commands, (0, 1024, 20_000))
        else:
            faults = full(place, commands, (0, 4096, 40_960))
    for fault in faults:
        print(f"FAULT {fault}")
    print(f"{len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
