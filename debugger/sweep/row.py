"""The result of one case in one loop, and its columns.

Between processes a row is a plain tuple in the order of :data:`RESULT_COLUMNS`, followed by the measures: there may be
millions of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """The status of a case.

    >>> next(loopdbg.sweep(model, [inputs])).status
    <Status.OK: 'ok'>
    """

    OK = "ok"
    #: An assertion failed at a boundary.
    ASSERT = "assert"
    #: A breakpoint was hit.
    BREAK = "break"
    #: A loop reached the maximum number of iterations or amount of memory, or would never end.
    LIMIT = "limit"
    #: It exceeded the time limit.
    TIMEOUT = "timeout"
    #: It ended the process that ran it, twice.
    KILLED = "killed"
    #: Outputs differ from the expected ones, or from those of the other side.
    DIFFERS = "differs"
    #: The model or the inputs cannot be read, or a node failed.
    ERROR = "error"


#: Failures in the order in which they are reported, most severe first.
SEVERITY_ORDER = (
    *(Status.ERROR, Status.KILLED, Status.ASSERT, Status.BREAK, Status.DIFFERS, Status.TIMEOUT, Status.LIMIT),
    Status.OK,
)

#: ``number``: of the case in its set; ``loop``: index of the loop, -1 for a model without loops or one that did not
#: open; ``outputs``: a hash of all outputs.
RESULT_COLUMNS = (
    *("number", "loop", "name", "seed", "iterations", "stopped_by", "status", "bad_iteration", "bad_node"),
    *("message", "outputs", "seconds"),
)
STATUS_INDEX = RESULT_COLUMNS.index("status")

#: A row between processes.
RowCells = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one case in one loop of the model.

    ``id``: ``model-hash/set/case``, the same in every sweep. ``loop``: the loop's path; empty for a model without loops
    and for one that cannot be opened. ``iterations``: over all entries of the loop; None if the case was stopped by a
    time limit. ``stopped_by``: why the loop's last entry ended. ``bad_iteration``, ``bad_node``: the location of the
    first failure, in the row of its loop. ``outputs``: a hash of the bits of all outputs, empty without outputs.
    ``measures``: by expression; None if the loop has no such value. ``seconds``: of the whole case.

    >>> row = next(loopdbg.sweep(model, [inputs], measures=["err"]))
    >>> row.loop, row.iterations, row.status.value, row.measures["err"] < 1e-6
    ('main ▸ sqrt', 5, 'ok', True)
    """

    id: str
    model: str
    set: str
    case: str
    loop: str
    seed: int | None
    iterations: int | None
    stopped_by: str | None
    status: Status
    bad_iteration: int | None
    bad_node: str | None
    message: str | None
    outputs: str
    measures: Mapping[str, float | None] = field(default_factory=dict)
    seconds: float = 0.0
    versions: str = ""
