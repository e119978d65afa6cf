"""The tables of a trace. A change needs a new version, and an update of the description in ``docs/traces.md``."""

from __future__ import annotations

import re

#: "lpdb" in the file's header, which identifies a trace among SQLite files.
APPLICATION_ID = 0x6C706462
#: Version of the tables; a trace of another version is rejected.
SCHEMA_VERSION = 1

TABLES_SQL = """
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

CREATE TABLE boundary (             -- in the order of time
    id        INTEGER PRIMARY KEY,
    entry     INTEGER NOT NULL REFERENCES entry,
    iteration INTEGER NOT NULL,     -- the one that would run next
    condition INTEGER,              -- whether it may; NULL: the loop has no condition
    ended     TEXT,                 -- why the loop ends here; NULL while it goes on
    time      REAL NOT NULL         -- seconds since the run began
);
CREATE UNIQUE INDEX boundary_of_entry ON boundary (entry, iteration);

CREATE TABLE type (
    id        INTEGER PRIMARY KEY,
    dtype     TEXT NOT NULL,        -- float32, ...; string, sequence, none
    shape     TEXT                  -- JSON; of a sequence its length; NULL for none
);

CREATE TABLE value (
    id         INTEGER PRIMARY KEY,
    boundary   INTEGER NOT NULL REFERENCES boundary,
    port       INTEGER NOT NULL REFERENCES port,
    type       INTEGER NOT NULL REFERENCES type,
    number,                     -- of one element; NULL for NaN, complex numbers and strings
    min        REAL,                -- of more elements, over the finite ones
    max        REAL,
    mean       REAL,
    norm       REAL,                -- the Euclidean norm
    not_finite INTEGER,             -- elements that are NaN or infinite; NULL: none
    same       INTEGER REFERENCES value,  -- which value holds the data where this one does not
    data
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

CREATE VIEW boundaries AS
SELECT b.id, l.name AS loop, e.around AS entry, b.iteration, b.condition, b.ended, b.time, l.path, e.trip_count
FROM boundary b JOIN entry e ON e.id = b.entry JOIN loop l ON l.id = e.loop;

CREATE VIEW series AS
SELECT v.id, l.name AS loop, e.around AS entry, b.iteration, p.kind, p.name, t.dtype, t.shape,
       v.number, coalesce(v.min, v.number) AS min, coalesce(v.max, v.number) AS max,
       coalesce(v.mean, v.number) AS mean, v.norm, coalesce(v.not_finite, 0) AS not_finite,
       coalesce(v.data, d.data) AS data, b.id AS boundary
FROM value v
JOIN port p ON p.id = v.port
JOIN boundary b ON b.id = v.boundary
JOIN entry e ON e.id = b.entry
JOIN loop l ON l.id = p.loop
JOIN type t ON t.id = v.type
LEFT JOIN value d ON d.id = v.same;
"""

TABLE_NAMES = re.findall(r"CREATE TABLE (\w+)", TABLES_SQL)
