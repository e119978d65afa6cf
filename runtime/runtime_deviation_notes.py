"""Notes on deviations of a real runtime for the loop that just ran (docs/semantics.md 1).

Static findings are in ``Loop.notes``, from the front ends; this module has those that depend on data. Their labels are
in docs/check.md; observed in OpenVINO 2026.4.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .engine.engine import Engine
from .graph import Note, Operation, System, TensorType, Value, node_in_file
from .openvino_trip_count_deviations import trip_count_note
from .plan.plan import LoopPlan
from .text import count_text

_PLUGIN = "OpenVINO's CPU plugin"
_INT32 = np.iinfo(np.int32)


def notes_for_run(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    """Findings about a loop's last entry, one sentence each; the engine is at the end of the run."""
    yield from _trip_count_notes(plan, engine)
    yield from _int32_overflow_notes(plan, engine)
    yield from _clipped_cell_notes(plan, engine)
    yield from _part_size_notes(plan, engine)


def _trip_count_notes(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    # Constant trip counts are covered by Loop.notes.
    if plan.trip_count < 0 or engine.memory.is_known(plan.trip_count):
        return
    if plan.initial_condition >= 0 and not np.asarray(engine.value(plan.initial_condition)).reshape(-1)[:1].all():
        return  # no runtime runs the loop
    trips = int(np.asarray(engine.value(plan.trip_count)).reshape(()))
    note = trip_count_note(plan.loop, trips, engine.loop_state(plan.index)[0])
    if note is not None:
        yield note


def _int32_overflow_notes(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    if plan.loop.system is System.TENSORRT:
        return  # not an OpenVINO model
    for edge in plan.edges:
        if edge.edge.result is edge.edge.param:
            continue  # passed through unchanged
        dtype_and_shape = engine.memory.dtype_and_shape(edge.param)
        if dtype_and_shape is None or dtype_and_shape[0] not in (np.int64, np.uint64):
            continue
        value = engine.peek(edge.param)
        if not value.size:
            continue
        if value.max() > _INT32.max or value.min() < _INT32.min:
            yield Note(
                "B29",
                f"{_PLUGIN} computes '{edge.edge.param.name}' in 32 bits, and here it does not fit: "
                f"its result would differ.",
            )


def _part_size_notes(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    """Parts whose row count differs from the IR's declaration, if known only at run time."""
    if plan.loop.system is not System.OPENVINO or not engine.loop_state(plan.index)[0]:
        return
    for scan in plan.loop.scan_outputs:
        value_type, slot = scan.result.type, engine.plan.slot_of.get(scan.result)
        shape = value_type.shape if isinstance(value_type, TensorType) else None
        if scan.axis < 0 or slot is None or (shape is not None and isinstance(shape[scan.axis], int)):
            continue  # covered by Loop.notes
        dtype_and_shape = engine.memory.dtype_and_shape(slot)
        rows = None if dtype_and_shape is None or dtype_and_shape[1] is None else dtype_and_shape[1][scan.axis]
        if rows is not None and rows != scan.part_size:
            yield Note(
                "B46",
                f"{_PLUGIN} would fail or return uninitialised memory as '{scan.outer.name}': the port map declares"
                f" part_size {scan.part_size}, and the last part '{scan.result.name}' had {count_text(rows, 'row')} on"
                f" axis {scan.axis}.",
            )


def _clipped_cell_notes(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    """Cell states of the last iteration outside the bounds of an LSTM's attribute ``clip``."""
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
    """LSTMs from which a loop was derived, or in its body: the operator, its cell state after an iteration, the
    slot."""
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
