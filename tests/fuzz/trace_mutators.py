"""Damaged traces: small recordings, changed with and without knowledge of their tables.

``MUTATORS``: each writes one damaged trace into a folder, and returns the command line to try on it.
"""

from __future__ import annotations

import atexit
import json
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import onnx.parser

import loopdbg
from loopdbg.debugger.trace.recorder import Recorder, RecordOptions

SAMPLES = Path(__file__).resolve().parents[2] / "sample_models"

SUM = """
sum (int64 M, float v0) => (float v, float[N] s) {
  v, s = Loop <body = body (int64 i, bool c, float v_in) => (bool keep, float v_out, float e) {
    keep = Constant <value = bool {1}> ()
    f = Cast <to = 1> (i)
    v_out = Add (v_in, f)
    e = Mul (v_out, v_out)
  }> (M, , v0)
}
"""
NESTED = """
nested (int64 M, int64 K, float[20] w) => (float[20] total, float[N, 20] seen) {
  total, seen = Loop <body = outer (int64 i, bool c, float[20] t) => (bool c_out, float[20] t_out, float[20] last) {
    c_out = Identity (c)
    f = Cast <to = 1> (i)
    two = Constant <value = float {2}> ()
    low = Less (f, two)
    u = If <then_branch = yes () => (float[20] y) { y = Add (t, w) }, else_branch = no () => (float[20] z) {
      z = Loop <body = inner (int64 j, bool d, float[20] a) => (bool d_out, float[20] b) {
        d_out = Identity (d)
        b = Mul (a, t)
      }> (K, , t)
    }> (low)
    t_out = Loop <body = second (int64 k, bool g, float[20] p) => (bool g_out, float[20] q) {
      g_out = Identity (g)
      q = Sub (p, f)
    }> (K, , u)
    last = Identity (t_out)
  }> (M, , w)
}
"""
VALUE_KINDS_MODEL = """
kinds (int64 M, string[2] words, float[2] x) => (seq(float[2]) s, string[2] last, string[N, 2] spoken, double[N] d) {
  none = SequenceEmpty <dtype = 1> ()
  s, last, spoken, d = Loop <body = b (int64 i, bool c, seq(float[2]) before, string[2] w)
      => (bool c2, seq(float[2]) after, string[2] w2, string[2] out, double e) {
    five = Constant <value = int64 {5}> ()
    c2 = Less (i, five)
    f = Cast <to = 1> (i)
    row = Div (x, f)
    after = SequenceInsert (before, row)
    w2 = Identity (w)
    out = Identity (w)
    e = Cast <to = 11> (i)
  }> (M, , none, words)
}
"""


@dataclass(frozen=True)
class SampleTrace:
    """A complete trace and its model."""

    trace: Path
    model: Path


@cache
def sample_traces() -> list[SampleTrace]:
    """The traces to damage: complete and truncated ones, with and without node values, with checkpoints."""
    folder = Path(tempfile.mkdtemp(prefix="loopdbg-traces-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    floats = [float(k) for k in range(20)]
    results = []
    for name, source, inputs, options, limit in (
        ("sum", SUM, {"M": 6, "v0": 1.5}, RecordOptions(nodes=True), None),
        ("cut", SUM, {"M": 40, "v0": 1.5}, RecordOptions(), 9),
        ("every", SUM, {"M": 40, "v0": 1.5}, RecordOptions(every=3), 20),
        ("only", NESTED, {"M": 5, "K": 3, "w": floats}, RecordOptions(only=["t", "p"]), None),
        ("nested", NESTED, {"M": 4, "K": 2, "w": floats}, RecordOptions(nodes=True), None),
        ("nested_cut", NESTED, {"M": 9, "K": 2, "w": floats}, RecordOptions(), 6),
        ("kinds", VALUE_KINDS_MODEL, {"M": 9, "words": ["a", "b\n"], "x": [1.0, 0.0]}, RecordOptions(nodes=True), None),
        ("kinds_cut", VALUE_KINDS_MODEL, {"M": 9, "words": ["a", "b"], "x": [1.0, 0.0]}, RecordOptions(every=2), 4),
        ("slices", SAMPLES / "loop_slice_concat.xml", {}, RecordOptions(nodes=True), None),
    ):
        if isinstance(source, Path):
            path = source
        else:
            path = folder / f"{name}.onnx"
            onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]>\n{source}'), path)
        model = loopdbg.load(path)
        inputs = inputs or {port.name: _random_tensor(port.shape) for port in model.inputs}
        trace = folder / f"{name}.loopdb"
        with Recorder(trace, model, inputs, options) as recorder:
            recorder.finish(model.execute(inputs, on_iteration=recorder, max_iterations=limit))
        results.append(SampleTrace(trace, path))
    return results


def _random_tensor(shape: Any) -> Any:
    import numpy as np

    return np.arange(np.prod([dim if isinstance(dim, int) else 2 for dim in shape]), dtype=np.float32).reshape(
        [dim if isinstance(dim, int) else 2 for dim in shape]
    )


# -- the commands that read a trace

_CONSOLE_COMMANDS = (
    "info loops", "list", "info values", "info frame", "info outputs", "step", "step 3", "into", "finish", "until 3",
    "why", "back", "goto 3", "goto 0", "print v_in", "print t", "print w", "print prev(v_in)", "print sum(s)",
    "print iter", "break if v_in > 3", "break if t[0] > 3", "break nan", "break iter 2", "break end", "watch v_in",
    "watch t", "continue", "reverse-continue", "backtrace", "up", "down", "info breakpoints", "display v_in",
    "restart", "info totals",
)  # fmt: skip


def _command(rng: random.Random, folder: Path, trace: Path, model: Path) -> list[str]:
    """A command line that reads a trace."""
    lines = [word for _ in range(rng.randint(1, 12)) for word in ("-ex", rng.choice(_CONSOLE_COMMANDS))]
    other = rng.choice(sample_traces()).trace
    message = ["--json"] if rng.random() < 0.3 else []
    choices: dict[str, tuple[list[str], int]] = {
        "info": (["info", f"{trace}", *message], 1),
        "explain": (["explain", f"{trace}", *message], 1),
        "console": (["run", f"{trace}", *lines, "--batch", *message], 6),
        "break": (["run", f"{trace}", rng.choice(["--break", "--assert"]), rng.choice(["iter < 2", "t[0] > 0"])], 1),
        "end": (["run", f"{trace}", "-ex", "continue", "--batch", *message, "--output", f"{folder / 'o.npz'}"], 1),
        "npz": (["export", f"{trace}", f"{folder / 'out.npz'}"], 2),
        "csv": (["export", f"{trace}", f"{folder / 'out.csv'}"], 2),
        "diff": (["diff", *rng.sample([f"{trace}", f"{model}"], 2), *message], 2),
        "traces": (["diff", f"{trace}", f"{other}", *message], 1),
        "resume": (["run", f"{model}", "--resume", f"{trace}", "--max-iterations", "60"], 2),
        "record": (["run", f"{model}", "--resume", f"{trace}", "--record", f"{trace}", "--max-iterations", "60"], 2),
    }
    names = list(choices)
    (name,) = rng.choices(names, [choices[name][1] for name in names])
    return choices[name][0]


# -- the mutations

_ODD_VALUES: tuple[Any, ...] = (
    None, 0, 1, 2, 3, -1, -2, 7, 255, 2**31, 2**40, 2**53, 2**63 - 1, -(2**63), 0.5, -0.0, 1e300, float("inf"),
    float("-inf"), "", "0", "1", "x", "0/1", "1/2/3", "/", "-1", "9" * 30, "[]", "[1,2]", "[-1]", "[1099511627776]",
    "{}", '{"a":1}', "null", "true", "string", "sequence", "none", "float32", "int64", "bool", "bfloat16", "object",
    "carried", "scan", "node", "capture", "condition", "trip_count", "end", "limit", "input", "\x1b[31m\n",
    "a" * 5000, b"", b"\x00", b"\xff\xfe", b"\x80\x04K\x01.", b"[1]", b"x" * 300,
)  # fmt: skip


def _open(rng: random.Random, folder: Path) -> tuple[Path, Path, sqlite3.Connection]:
    chosen = rng.choice(sample_traces())
    trace = folder / "run.loopdb"
    shutil.copy(chosen.trace, trace)
    return trace, _copy_model(chosen.model, folder), sqlite3.connect(trace, isolation_level=None)


def _copy_model(model: Path, folder: Path) -> Path:
    """Copy the model into the trace's folder, so that a failure can be reproduced later."""
    for path in (model, model.with_suffix(".bin")):
        if path.exists():
            shutil.copy(path, folder)
    return folder / model.name


def _tables(db: sqlite3.Connection) -> list[str]:
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [name for name in names if db.execute(f"SELECT count(*) FROM {name}").fetchone()[0]]


def _columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def _try(db: sqlite3.Connection, sql: str, inputs: Iterable[Any] = ()) -> None:
    """Execute a statement that the tables may refuse: then nothing is changed."""
    try:
        db.execute(sql, tuple(inputs))
    except (sqlite3.Error, OverflowError, UnicodeError):
        return


def mutate_cells(rng: random.Random, folder: Path) -> list[str]:
    """Set some cells to values of another type, out of range, or from another cell."""
    trace, model, db = _open(rng, folder)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        tables = _tables(db)
        table = rng.choice(tables)
        column = rng.choice(_columns(db, table))
        if rng.random() < 0.3:
            other = rng.choice(tables)
            (value,) = db.execute(f"SELECT {rng.choice(_columns(db, other))} FROM {other} LIMIT 1").fetchone()
        else:
            value = rng.choice(_ODD_VALUES)
        key = "key" if table == "meta" else "rowid" if table in ("tensor", *_TABLES_WITH_ID) else None
        if key is None or rng.random() < 0.2:
            _try(db, f"UPDATE {table} SET {column} = ?", [value])
        else:
            keys = [row[0] for row in db.execute(f"SELECT {key} FROM {table}")]
            _try(db, f"UPDATE {table} SET {column} = ? WHERE {key} = ?", [value, rng.choice(keys)])
    db.close()
    return _command(rng, folder, trace, model)


_TABLES_WITH_ID = ("loop", "port", "entry", "boundary", "type", "value", "checkpoint", "total", "checkpoint_part")


def mutate_rows(rng: random.Random, folder: Path) -> list[str]:
    """Delete, swap or duplicate rows."""
    trace, model, db = _open(rng, folder)
    for index in ("entry_of_loop", "boundary_of_entry", "value_of_boundary"):
        if rng.random() < 0.5:
            _try(db, f"DROP INDEX {index}")
    for _ in range(rng.choice((1, 1, 2, 5))):
        tables = _tables(db)
        if not tables:
            break
        table = rng.choice(tables)
        columns = _columns(db, table)
        result = db.execute(f"SELECT * FROM {table}").fetchall()
        row = rng.choice(result)
        where = " AND ".join(f"{name} IS ?" for name in columns)
        match rng.randrange(4):
            case 0:
                _try(db, f"DELETE FROM {table} WHERE {where}", row)
            case 1:
                _try(db, f"DELETE FROM {table}")
            case 2:
                changed = list(row)
                changed[rng.randrange(len(row))] = rng.choice(rng.choice(result))
                changed[0] = rng.choice(_ODD_VALUES)
                _try(db, f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", changed)
            case _:
                other = rng.choice(result)
                column = rng.choice(columns)
                value = other[columns.index(column)]
                _try(db, f"UPDATE {table} SET {column} = ? WHERE {where}", [value, *row])
    db.close()
    return _command(rng, folder, trace, model)


def mutate_tables(rng: random.Random, folder: Path) -> list[str]:
    """Drop a table, change its columns, or replace it by a view."""
    trace, model, db = _open(rng, folder)
    table = rng.choice(_tables(db))
    column = rng.choice(_columns(db, table))
    statements = rng.choice(
        (
            [f"DROP TABLE {table}"],
            [f"ALTER TABLE {table} RENAME TO other"],
            [f"ALTER TABLE {table} RENAME COLUMN {column} TO other"],
            [f"ALTER TABLE {table} RENAME TO other", f"CREATE VIEW {table} AS SELECT * FROM other"],
            [
                f"DROP TABLE {table}",
                f"CREATE VIEW {table} AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)"
                " SELECT id, id AS key, id AS value, id AS loop, id AS entry, id AS iteration FROM n",
            ],
            ["DROP VIEW series", "DROP VIEW boundaries"],
            [f"PRAGMA user_version = {rng.choice((0, 2, -1, 2**31 - 1))}"],
            ["PRAGMA application_id = 0"],
            [f"CREATE TRIGGER t AFTER DELETE ON {table} BEGIN DELETE FROM value; END"],
            ["PRAGMA encoding"],
        )
    )
    for statement in statements:
        _try(db, statement)
    db.close()
    return _command(rng, folder, trace, model)


def _mutate_json_tree(rng: random.Random, tree: Any) -> Any:
    """A JSON tree with one change."""
    places: list[tuple[Any, Any]] = []
    todo = [tree]
    while todo:
        first = todo.pop()
        inside = first.items() if isinstance(first, dict) else enumerate(first) if isinstance(first, list) else ()
        for key, value in inside:
            places.append((first, key))
            todo.append(value)
    if not places or rng.random() < 0.02:
        return rng.choice(([], {}, None, 1, "x", [[]], -1))
    holder, key = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = rng.choice((None, 0, 1, -1, 2, 5, 11, 2**40, 2**63, 2**70, 0.5, 1e400, "", "x", "float32"))
        case 2:
            holder[key] = rng.choice(([], {}, [1], [[]], {"x": 1}, True, False, "\x1b]", "AAAA", {"array": {}}))
        case 3:
            other, name = rng.choice(places)
            if name in (other if isinstance(other, dict) else range(len(other))):
                holder[key] = json.loads(json.dumps(other[name]))
        case 4 if isinstance(holder, list):
            holder.insert(key, json.loads(json.dumps(holder[key])))
        case _:
            if isinstance(holder[key], int):
                holder[key] += rng.choice((-1, 1, 2, 10))
            elif isinstance(holder[key], list):
                rng.shuffle(holder[key])
            else:
                holder[key] = {"x": holder[key]}
    return tree


def mutate_json(rng: random.Random, folder: Path) -> list[str]:
    """Change JSON in the trace, above all the loop graph."""
    trace, model, db = _open(rng, folder)
    for _ in range(rng.choice((1, 1, 2, 4))):
        table, column, key = rng.choice(
            (
                *[("meta", "value", "key = 'graph'")] * 6,
                ("meta", "value", "key = 'only'"),
                ("total", "reasons", "loop = 0"),
                ("checkpoint", "state", "id = (SELECT max(id) FROM checkpoint)"),
                ("type", "shape", f"id = {rng.randint(1, 9)}"),
                ("value", "data", f"id = {rng.randint(1, 60)}"),
                ("tensor", "data", f"rowid = {rng.randint(1, 6)}"),
            )
        )
        row = db.execute(f"SELECT {column} FROM {table} WHERE {key}").fetchone()
        if row is None or row[0] is None:
            continue
        head, text = b"", row[0]
        try:
            if isinstance(text, bytes):
                length = int.from_bytes(text[:8], "little")
                head, text = text[8 + length :], text[8 : 8 + length].decode()
            tree = _mutate_json_tree(rng, json.loads(text))
            result: Any = json.dumps(tree)
        except (ValueError, KeyError):
            continue
        if isinstance(row[0], bytes):
            result = len(result).to_bytes(8, "little") + result.encode() + head
        _try(db, f"UPDATE {table} SET {column} = ? WHERE {key}", [result])
    db.close()
    return _command(rng, folder, trace, model)


def mutate_bytes(rng: random.Random, folder: Path) -> list[str]:
    """Change bytes of the file, truncate it, or overwrite a page."""
    chosen = rng.choice(sample_traces())
    trace = folder / "run.loopdb"
    data = bytearray(chosen.trace.read_bytes())
    page = 4096
    match rng.randrange(5):
        case 0 | 1:
            for _ in range(rng.choice((1, 2, 8, 64))):
                data[rng.randrange(72, len(data))] = rng.randrange(256)
        case 2:
            del data[rng.randrange(len(data)) :]
        case 3:
            start = rng.randrange(1, max(2, len(data) // page)) * page
            other = rng.randrange(len(data) // page) * page
            data[start : start + page] = data[other : other + page] if rng.random() < 0.6 else bytes(page)
        case _:
            for _ in range(rng.choice((1, 3))):
                data[rng.randrange(100)] = rng.randrange(256)
    trace.write_bytes(data)
    if rng.random() < 0.1:
        (folder / "run.loopdb-wal").write_bytes(rng.randbytes(rng.choice((0, 10, 5000))))
    if rng.random() < 0.1:
        (folder / "run.loopdb-journal").write_bytes(rng.randbytes(rng.choice((0, 10, 5000))))
    return _command(rng, folder, trace, _copy_model(chosen.model, folder))


MUTATORS: dict[str, Callable[[random.Random, Path], list[str]]] = {
    "trace_cells": mutate_cells,
    "trace_rows": mutate_rows,
    "trace_tables": mutate_tables,
    "trace_texts": mutate_json,
    "trace_bytes": mutate_bytes,
}
