"""The tables of a trace. A change needs a new version, and an update of the description in ``docs/traces.md``."""

from __future__ import annotations

import re

#: "lpdb" in the file's header, which identifies a trace among SQLite files.
APPLICATION_ID = 0x6C706462
#: Version of the tables; a trace of another version is rejected.
SCHEMA_VERSION = 2

#: Types whose values are stored in runs: size in bits, and for floating-point types the bits of the fraction.
RUN_DTYPES = {
    "bool": (8, None),
    **{f"{sign}int{bits}": (bits, None) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": (16, 10),
    "bfloat16": (16, 7),
    "float32": (32, 23),
    "float64": (64, 52),
}
_FORMATS_SQL = ", ".join(
    f"('{dtype}', {bits}, {'NULL' if fraction is None else fraction})" for dtype, (bits, fraction) in RUN_DTYPES.items()
)
_OCTETS_SQL = " | ".join(f"((instr(octets, substr(data, {k + 1}, 1)) - 1) << {8 * k})" for k in range(8))
#: The number in little-endian ``data`` of a ``dtype`` with this ``width`` and ``fraction``, in SQL without extensions.
_NUMBER_SQL = f"""(
    SELECT CASE
        WHEN fraction IS NULL THEN CASE
            WHEN dtype = 'uint64' AND bits < 0 THEN ((bits >> 1) & 9223372036854775807 | (bits & 1)) * 2.0
            WHEN dtype LIKE 'int%' AND width < 64 AND negative THEN bits - (1 << width)
            ELSE bits END
        WHEN exponent = top THEN CASE WHEN mantissa = 0 THEN CASE WHEN negative THEN -9e999 ELSE 9e999 END END
        ELSE (1 - 2 * negative) * CASE WHEN power < 0 THEN 1.0 * mantissa / (1 << fraction) / scaling
                                       ELSE 1.0 * mantissa / (1 << fraction) * scaling END
        END
    FROM (SELECT *, (1 << (abs(power) & 31)) * (SELECT factor FROM scale WHERE step = abs(power) >> 5) AS scaling
        FROM (SELECT *, max(exponent, 1) - (top >> 1) AS power,
                     (bits & ((1 << fraction) - 1))
                     + CASE WHEN exponent IN (0, top) THEN 0 ELSE 1 << fraction END AS mantissa
            FROM (SELECT *, (bits >> (width - 1)) & 1 AS negative, (bits >> fraction) & top AS exponent
                FROM (SELECT {_OCTETS_SQL} AS bits, (1 << (width - fraction - 1)) - 1 AS top LIMIT 1) LIMIT 1)
            LIMIT 1) LIMIT 1)
)"""

TABLES_SQL = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE loop (
    id        INTEGER PRIMARY KEY,  -- 0, 1, ... outer before inner
    path      TEXT NOT NULL,        -- main ▸ outer ▸ inner
    name      TEXT NOT NULL,
    op_type   TEXT NOT NULL,
    system    TEXT NOT NULL,        -- onnx, openvino, tensorrt
    parent    INTEGER REFERENCES loop
);

CREATE TABLE port (                 -- what is recorded of a loop
    id        INTEGER PRIMARY KEY,
    loop      INTEGER NOT NULL REFERENCES loop,
    kind      TEXT NOT NULL,        -- carried, scan, node, capture
    name      TEXT NOT NULL
);

CREATE TABLE entry (                -- one run of a loop; a nested loop has as many as the loop around it wants
    id         INTEGER PRIMARY KEY,
    loop       INTEGER NOT NULL REFERENCES loop,
    around     TEXT NOT NULL,       -- iterations of the loops around it, outermost first: 3/7; empty in the main graph
    trip_count INTEGER              -- NULL: no limit
);

CREATE UNIQUE INDEX entry_of_loop ON entry (loop, around);

CREATE TABLE boundary (             -- runs of boundaries of one entry that only differ in their values
    id        INTEGER PRIMARY KEY,  -- of the first; the next ones have the next numbers, in the order of time
    entry     INTEGER NOT NULL REFERENCES entry,
    iteration INTEGER NOT NULL,     -- the one that would run next, at the first
    step      INTEGER NOT NULL,     -- iterations from one to the next
    count     INTEGER NOT NULL,
    condition INTEGER,              -- whether the iteration may run; NULL: the loop has no condition
    ended     TEXT,                 -- why the loop ends here; NULL while it goes on
    times     TEXT NOT NULL         -- JSON: of each, nanoseconds since the run began
);
CREATE UNIQUE INDEX boundary_of_entry ON boundary (entry, iteration);

CREATE TABLE type (
    id        INTEGER PRIMARY KEY,
    dtype     TEXT NOT NULL,        -- float32, ...; string, sequence, none
    shape     TEXT                  -- JSON; of a sequence its length; NULL for none
);

CREATE TABLE value (                -- a value at all boundaries of a run
    id         INTEGER PRIMARY KEY, -- at the first boundary; the next ones have the next numbers
    boundary   INTEGER NOT NULL REFERENCES boundary,
    port       INTEGER NOT NULL REFERENCES port,
    type       INTEGER NOT NULL REFERENCES type,
    number,                         -- of one element; NULL for NaN, complex numbers and strings, and in longer runs
    min        REAL,                -- of more elements, over the finite ones
    max        REAL,
    mean       REAL,
    norm       REAL,                -- the Euclidean norm
    not_finite INTEGER,             -- elements that are NaN or infinite; NULL: none
    same       INTEGER REFERENCES value,  -- which value holds the data where this one does not
    data                            -- of the whole run
);
CREATE UNIQUE INDEX value_of_boundary ON value (port, boundary);

CREATE TABLE tensor (               -- inputs and outputs of the run
    kind      TEXT NOT NULL,        -- input, output
    name      TEXT NOT NULL,
    type      INTEGER NOT NULL REFERENCES type,
    data,
    PRIMARY KEY (kind, name)
);

CREATE TABLE total (                -- how the loops went; written when the run ended
    loop       INTEGER PRIMARY KEY REFERENCES loop,
    iterations INTEGER NOT NULL,
    entries    INTEGER NOT NULL,
    stopped_by TEXT,
    reasons    TEXT NOT NULL,       -- JSON: reason -> entries
    trip_count INTEGER,
    seconds    REAL NOT NULL
);

CREATE TABLE checkpoint (           -- where a resumed run goes on, where not every boundary tells: the newest few
    id        INTEGER PRIMARY KEY,
    boundary  INTEGER NOT NULL REFERENCES boundary,
    state     TEXT NOT NULL         -- JSON
);

CREATE TABLE checkpoint_part (      -- what a checkpoint holds of a running loop
    checkpoint INTEGER NOT NULL REFERENCES checkpoint,
    loop       INTEGER NOT NULL REFERENCES loop,
    role       TEXT NOT NULL,       -- carried, last
    number     INTEGER NOT NULL,
    type       INTEGER NOT NULL REFERENCES type,
    data,
    PRIMARY KEY (checkpoint, loop, role, number)
);

CREATE TABLE checkpoint_scan (      -- elements of scan outputs, for all checkpoints
    loop       INTEGER NOT NULL REFERENCES loop,
    around     TEXT NOT NULL,
    scan       INTEGER NOT NULL,
    first      INTEGER NOT NULL,    -- iteration of the first of them
    count      INTEGER NOT NULL,
    type       INTEGER NOT NULL REFERENCES type,
    data,
    PRIMARY KEY (loop, around, scan, first)
);

CREATE TABLE scale (                -- powers of two, by which the view reads floating-point numbers
    step      INTEGER PRIMARY KEY,
    factor    REAL NOT NULL         -- 2 ** (32 * step)
);
INSERT INTO scale
WITH RECURSIVE power(step, factor) AS (
    VALUES (0, 1.0) UNION ALL SELECT step + 1, factor * 4294967296.0 FROM power WHERE step < 31
)
SELECT * FROM power;

CREATE VIEW boundaries AS
SELECT b.id + t.key AS id, l.name AS loop, e.around AS entry, b.iteration + t.key * b.step AS iteration, b.condition,
       b.ended, t.value / 1e9 AS time, l.path, e.trip_count
FROM boundary b JOIN entry e ON e.id = b.entry JOIN loop l ON l.id = e.loop, json_each(b.times) t;

CREATE VIEW series AS
SELECT id, loop, entry, iteration, kind, name, dtype, shape, number, coalesce(min, number) AS min,
       coalesce(max, number) AS max, coalesce(mean, number) AS mean, norm,
       CASE WHEN size IS NULL OR not_finite IS NULL THEN coalesce(not_finite, 0)
            ELSE number IS NULL OR abs(number) = 9e999 END AS not_finite, data, boundary
FROM (SELECT *, CASE WHEN size IS NULL THEN single ELSE {_NUMBER_SQL} END AS number
      FROM (SELECT *, CASE WHEN size IS NULL THEN whole ELSE substr(whole, 1 + key * size, size) END AS data
            FROM (SELECT v.id + t.key AS id, l.name AS loop, e.around AS entry,
                         b.iteration + t.key * b.step AS iteration, p.kind, p.name, y.dtype, y.shape,
                         v.number AS single, v.min, v.max, v.mean, v.norm, v.not_finite, t.key,
                         coalesce(v.data, d.data) AS whole, b.id + t.key AS boundary,
                         CASE WHEN b.count > 1 THEN length(v.data) / b.count END AS size,
                         f.column2 AS width, f.column3 AS fraction, x'{bytes(range(256)).hex()}' AS octets
                  FROM value v
                  JOIN port p ON p.id = v.port
                  JOIN boundary b ON b.id = v.boundary
                  JOIN entry e ON e.id = b.entry
                  JOIN loop l ON l.id = p.loop
                  JOIN type y ON y.id = v.type
                  LEFT JOIN value d ON d.id = v.same
                  LEFT JOIN (VALUES {_FORMATS_SQL}) f ON f.column1 = y.dtype
                  JOIN json_each(b.times) t)));
"""

TABLE_NAMES = re.findall(r"CREATE TABLE (\w+)", TABLES_SQL)
