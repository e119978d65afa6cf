"""Lists the edits of a script as static differences of the report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from ....runtime.graph import Graph, Loop, walk
from ....runtime.graph.producers import ProducerMap
from ...describe.condition_analysis import condition_slice
from ...describe.node_source_lines import CodeLines
from ..edits import Edit, EditKind, EditScript
from ..running.value_comparison import Tolerance, compare
from .findings import EditEffect, StaticDifference

_EFFECT_ORDER = (EditEffect.CAUSE, EditEffect.UNKNOWN, EditEffect.NO_EFFECT)


def edits_as_differences(script: EditScript, left: Graph, loose_shape: bool) -> list[StaticDifference]:
    """The edits as static differences. ``loose_shape``: ignore axes of length 1."""
    if not script.edits:
        return []
    code, producers = CodeLines(left), ProducerMap.for_graph(left)
    deciding = {node for loop in walk(left) if isinstance(loop, Loop) for node in condition_slice(loop).nodes}
    listed = []
    for edit in script.edits:
        reader = None if edit.left_value is None else producers.get(edit.left_value)
        decides = edit.kind is EditKind.CONDITION or edit.left_node in deciding or reader in deciding
        listed.append(replace(_make_static_difference(edit, code, decides, loose_shape), edit=edit))
    return listed


def order_by_effect(
    listed: Iterable[StaticDifference], effects: Mapping[Edit, EditEffect], paths: Collection[str] | None
) -> list[StaticDifference]:
    """The static differences with what their edits do: causes first, then what is unknown. ``paths``: of these loops,
    and all causes."""
    known = [item if item.edit is None else replace(item, effect=effects[item.edit]) for item in listed]
    chosen = [item for item in known if paths is None or item.loop_path in paths or item.effect is EditEffect.CAUSE]
    return sorted(chosen, key=lambda item: _EFFECT_ORDER.index(item.effect))


def _make_static_difference(edit: Edit, code: CodeLines, decides: bool, loose_shape: bool) -> StaticDifference:
    concerns_loop = edit.port is not None and isinstance(edit.port[0], Loop) and edit.port[0].name == edit.left_name
    name = "" if concerns_loop else edit.left_name or edit.right_name
    kind, line = edit.kind.value, "" if edit.left_node is None else code.describe_node(edit.left_node)
    if edit.left_data is None or edit.right_data is None:
        texts = edit.left_text or "nothing", edit.right_text or "nothing"
        detail = edit.detail if edit.kind is EditKind.ATTRIBUTE else ""
        return StaticDifference(
            kind, edit.left_loop, name, edit.right_name, *texts, decides, source_line=line, detail=detail
        )
    delta = compare(edit.left_data, edit.right_data, Tolerance(0.0, 0.0), loose_shape=loose_shape)
    values = edit.left_data, edit.right_data, delta, edit.detail
    return StaticDifference(kind, edit.left_loop, name, edit.right_name, "", "", decides, *values)
