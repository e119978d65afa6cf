"""Where a real runtime would have done something else with the loop that just ran (docs/semantics.md 1).

What a look at the model alone tells is in ``Loop.notes``, from the front ends; here are the findings that depend on
the numbers. docs/diff.md has their labels; they were seen in OpenVINO 2026.4.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .engine.engine import Engine
from .graph import Note, Operation, System, TensorType, Value, node_in_file
from .openvino_trip_count import trip_count_note
from .plan.plan import LoopPlan
from .text import count_text

_PLUGIN = "OpenVINO's CPU plugin"
_INT32 = np.iinfo(np.int32)


def notes_for_run(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    """One sentence a finding about a loop's last entry; the engine stands at the end of the run."""
    yield from _trip_count(plan, engine)
    yield from _int32_overflows(plan, engine)
    yield from _clipped_cell(plan, engine)
    yield from _part_sizes(plan, engine)


def _trip_count(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    # What a constant one does is in Loop.notes.
    if plan.trip_count < 0 or engine.memory.is_known(plan.trip_count):
        return
    if plan.initial_condition >= 0 and not np.asarray(engine.value(plan.initial_condition)).reshape(-1)[:1].all():
        return  # nothing runs anywhere
    given = int(np.asarray(engine.value(plan.trip_count)).reshape(()))
    note = trip_count_note(plan.loop, given, engine.loop_state(plan.index)[0])
    if note is not None:
        yield note


def _int32_overflows(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    if plan.loop.system is System.TENSORRT:
        return  # no model of OpenVINO's
    for edge in plan.edges:
        if edge.edge.result is edge.edge.param:
            continue  # it is handed through as it came
        value = engine.value(edge.param)
        if not isinstance(value, np.ndarray) or value.dtype not in (np.int64, np.uint64) or not value.size:
            continue
        if value.max() > _INT32.max or value.min() < _INT32.min:
            yield Note(
                "B29",
                f"{_PLUGIN} computes '{edge.edge.param.name}' in 32 bits, and here it does not fit: "
                f"its result would differ.",
            )


def _part_sizes(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    """Parts of another number of rows than an IR declares, where the rows are known in a run only."""
    if plan.loop.system is not System.OPENVINO or not engine.loop_state(plan.index)[0]:
        return
    for scan in plan.loop.scan_outputs:
        kind, slot = scan.result.type, engine.plan.slot_of.get(scan.result)
        shape = kind.shape if isinstance(kind, TensorType) else None
        if scan.axis < 0 or slot is None or (shape is not None and isinstance(shape[scan.axis], int)):
            continue  # what the file tells is in Loop.notes
        known = engine.memory.dtype_and_shape(slot)
        rows = None if known is None or known[1] is None else known[1][scan.axis]
        if rows is not None and rows != scan.part_size:
            yield Note(
                "B46",
                f"{_PLUGIN} would fail or return uninitialised memory as '{scan.outer.name}': the port map declares"
                f" part_size {scan.part_size}, and the last part '{scan.result.name}' had {count_text(rows, 'row')} on"
                f" axis {scan.axis}.",
            )


def _clipped_cell(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    """Cell states outside of the bounds of an LSTM's attribute ``clip``, as far as the last iteration tells."""
    if not engine.loop_state(plan.index)[0]:
        return
    for operation, cell, slot in _lstm_cells(plan, engine):
        limit = float(operation.attributes.get("clip") or 0)
        if not limit or slot is None or not engine.has_value(slot):
            continue
        magnitude = np.abs(np.asarray(engine.value(slot)))
        if np.any(magnitude > limit):
            yield Note(
                "B45",
                f"the cell state '{cell.name}' of {operation.describe()} is outside [-{limit:g}, {limit:g}] in the last"
                f" iteration (largest magnitude {np.nanmax(magnitude):g}): clip bounds the inputs of the gates and not"
                " that of the activation h, as in onnxruntime and OpenVINO; the text of the specification can be read"
                " otherwise.",
            )


def _lstm_cells(plan: LoopPlan, engine: Engine) -> Iterator[tuple[Operation, Value, int | None]]:
    """LSTMs that a loop was made of or that its body has: the operator, its cell state after an iteration, the slot."""
    if "LSTM" in plan.loop.derived_from:
        operation = node_in_file(engine.plan.graph, plan.loop)
        if isinstance(operation, Operation):
            edge = plan.edges[1]  # h and c, in that order
            yield operation, edge.edge.result, edge.param
    for node in plan.loop.body.nodes:
        if isinstance(node, Operation) and node.op_type == "LSTMCell" and len(node.outputs) > 1:
            cell = node.outputs[1]
            if cell is not None:
                yield node, cell, engine.plan.slot_of.get(cell)
