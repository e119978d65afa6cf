"""What a sweep finds of one case in one loop, and the columns in which it is kept.

Between processes a row is a plain tuple in the order of :data:`RESULT_COLUMNS`, the measures behind it: there may be
millions of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """What became of a case.

    >>> next(loopdbg.sweep(model, [inputs])).status
    <Status.OK: 'ok'>
    """

    OK = "ok"
    #: What should hold at every boundary did not.
    ASSERT = "assert"
    #: A breakpoint was hit.
    BREAK = "break"
    #: A loop reached the most iterations or collected more than the memory of a case, or nothing would ever end it.
    LIMIT = "limit"
    #: It took longer than a case may take.
    TIMEOUT = "timeout"
    #: It ended the process that ran it, twice.
    KILLED = "killed"
    #: Outputs are not those that were expected, or that the other side gave.
    DIFFERS = "differs"
    #: The model or the inputs cannot be read, or a node failed.
    ERROR = "error"


#: From the gravest on: in this order failures are told.
SEVERITY_ORDER = (
    *(Status.ERROR, Status.KILLED, Status.ASSERT, Status.BREAK, Status.DIFFERS, Status.TIMEOUT, Status.LIMIT),
    Status.OK,
)

#: ``number``: of the case in its set; ``loop``: index of the loop, -1 for a model without any or one that did not open;
#: ``outputs``: a hash of all outputs.
RESULT_COLUMNS = (
    *("number", "loop", "name", "seed", "iterations", "stopped_by", "status", "bad_iteration", "bad_node"),
    *("message", "outputs", "seconds"),
)
STATUS_INDEX = RESULT_COLUMNS.index("status")

#: A row between processes.
RowCells = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """What a sweep found of one case in one loop of the model.

    ``id``: ``model-hash/set/case``, the same in every sweep. ``loop``: the loop's path; empty for a model without loops
    and for one that cannot be opened. ``iterations``: over all entries of the loop; None where the case did not end by
    itself in time. ``stopped_by``: why the loop's last entry ended. ``bad_iteration``, ``bad_node``: where the case
    went wrong first, on the row of the loop that it happened in. ``outputs``: a hash of the bits of all outputs, empty
    where there are none. ``measures``: by expression; None where the loop has no such value. ``seconds``: of the whole
    case.

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
