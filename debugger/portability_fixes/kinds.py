"""The kinds of fix, in the order in which they are tried: the one table of them. docs/check.md has their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...runtime.model import Model
from ..rewriting.editable_model import EditableIr, EditableModel, EditableOnnx
from ..rewriting.rewrite import Rewrite
from . import body_fixes, control_fixes, ir_fixes, loop_fixes, operator_fixes
from .ir_fixes import IrPlaces
from .onnx_graph_edits import OnnxPlaces


@dataclass(frozen=True)
class FixKind:
    """A kind of fix. ``rules``: the labels of the findings that it is for; ``find``: its places in a model."""

    name: str
    rules: tuple[str, ...]
    find: Callable[[Any], Iterator[Rewrite]]
    is_onnx: bool = True


def _onnx_kind(name: str, rules: str, find: Callable[[OnnxPlaces], Iterator[Rewrite]]) -> FixKind:
    return FixKind(name, tuple(rules.split()), find)


def _ir_kind(name: str, rules: str, find: Callable[[IrPlaces], Iterator[Rewrite]]) -> FixKind:
    return FixKind(name, tuple(rules.split()), find, is_onnx=False)


#: All of them.
FIX_KINDS: tuple[FixKind, ...] = (
    _onnx_kind(
        "rename-inner-name",
        "B28 B37 B76",
        body_fixes.rename_inner_names,
    ),
    _onnx_kind("sort-body", "B36", body_fixes.sort_body_nodes),
    _onnx_kind(
        "identity-for-output",
        "B7 B9 B40 B47 B49",
        body_fixes.copy_returned_values,
    ),
    _onnx_kind("name-omitted-output", "B17", body_fixes.name_omitted_outputs),
    _onnx_kind("cast-trip-count", "B52 S1", control_fixes.cast_trip_counts),
    _onnx_kind(
        "reshape-condition",
        "B53",
        control_fixes.reshape_conditions,
    ),
    _onnx_kind(
        "redeclare-iteration-number",
        "B38",
        control_fixes.redeclare_iteration_numbers,
    ),
    _onnx_kind(
        "cast-iteration-number",
        "B38",
        control_fixes.cast_iteration_numbers,
    ),
    _onnx_kind(
        "redeclare-carried-value",
        "B48",
        control_fixes.redeclare_carried_values,
    ),
    _onnx_kind("cast-mixed-types", "B44", control_fixes.cast_mixed_types),
    _onnx_kind(
        "read-true-condition",
        "B50 B73 T3",
        control_fixes.replace_condition_reads,
    ),
    _onnx_kind(
        "drop-ignored-condition",
        "B1",
        control_fixes.drop_ignored_conditions,
    ),
    _onnx_kind("pass-true-condition", "B50 B73 T1 T3", control_fixes.pass_true_conditions),
    _onnx_kind("limit-trip-count", "B14", control_fixes.clamp_negative_trip_counts),
    _onnx_kind("no-trips", "B16", control_fixes.pass_zero_trip_count),
    _onnx_kind("flatten-softmax", "B35", operator_fixes.flatten_softmax),
    _onnx_kind(
        "transpose-layout",
        "B61",
        operator_fixes.transpose_layouts,
    ),
    _onnx_kind(
        "state-activation-parameters",
        "B64",
        operator_fixes.write_activation_parameters,
    ),
    _onnx_kind("choose-booleans", "B59 B77", operator_fixes.replace_boolean_where),
    _onnx_kind(
        "cast-around-operator",
        "B59",
        operator_fixes.cast_around_operators,
    ),
    _onnx_kind(
        "decompose-function",
        "B58 B59 T8 T12",
        operator_fixes.decompose_functions,
    ),
    _onnx_kind(
        "recurrent-as-loop",
        "B62 B63 B75",
        loop_fixes.convert_recurrent_operators_to_loops,
    ),
    _onnx_kind("scan-as-loop", "B21 B67 T7", loop_fixes.convert_scans_to_loops),
    _onnx_kind(
        "sequence-as-scan-output",
        "B57 B70 T8",
        loop_fixes.convert_sequences_to_scan_outputs,
    ),
    _onnx_kind(
        "sequence-element-as-slice",
        "B57 B70 T8",
        loop_fixes.convert_sequence_elements_to_slices,
    ),
    _onnx_kind(
        "unroll-loop",
        "B8 B54 B57 T6 T5",
        loop_fixes.unroll_loops,
    ),
    _ir_kind("ir-positive-axis", "B23", ir_fixes.normalize_negative_axes),
    _ir_kind("ir-own-input-port", "B24", ir_fixes.separate_input_ports),
    _ir_kind("ir-part-size", "B46", ir_fixes.correct_part_sizes),
    _ir_kind("ir-cut-before", "B22", ir_fixes.cut_slices_before_loop),
)


def find_rewrites(kind: FixKind, model: EditableModel, loaded: Model) -> list[Rewrite]:
    """The places of a model where a kind of fix applies."""
    if isinstance(model, EditableOnnx):
        return list(kind.find(OnnxPlaces(model, loaded))) if kind.is_onnx else []
    assert isinstance(model, EditableIr)
    return [] if kind.is_onnx else list(kind.find(IrPlaces(model, loaded)))


def kinds_for(rule: str) -> list[FixKind]:
    """The kinds of fix for a rule."""
    return [kind for kind in FIX_KINDS if rule in kind.rules]
