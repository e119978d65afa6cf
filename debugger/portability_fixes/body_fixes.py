"""Fixes of the names, the order and the results of inner graphs."""

from __future__ import annotations

from collections.abc import Iterator

import onnx.helper

from ...runtime.modelfile.onnx_graph import keep_only_members, node_key, node_order, own_names, rename_values
from ..rewriting.rewrite import Rewrite
from .onnx_graph_edits import LOOP_OPERATORS, GraphEdit, OnnxPlaces, rewrite

_GRAPH_OPERATORS = (*LOOP_OPERATORS, "If")


def rename_inner_names(places: OnnxPlaces) -> Iterator[Rewrite]:
    """Inner names that hide outer ones get names of their own; inner graphs first, so that paths stay valid."""
    for place in reversed(list(places.inner(*_GRAPH_OPERATORS))):
        hidden = sorted(own_names(place.proto) & place.outer_names())
        if hidden:
            names = ", ".join(f"'{name}'" for name in hidden)
            yield rewrite(
                "rename-inner-name", place, None, f"renames {names}, which hide outer values", _rename_values, hidden
            )


def _rename_values(edit: GraphEdit, names: list[str]) -> None:
    rename_values(edit.graph, {name: edit.make_fresh_name(f"{name}_inner") for name in names})


def sort_body_nodes(places: OnnxPlaces) -> Iterator[Rewrite]:
    """The nodes of a body in an order in which they can run."""
    for place in places.inner(*_GRAPH_OPERATORS):
        order = node_order(place.proto)
        if order != sorted(order):
            yield rewrite("sort-body", place, None, "sorts the nodes of the body", _sort_nodes)


def _sort_nodes(edit: GraphEdit) -> None:
    keep_only_members(edit.graph.node, [edit.graph.node[position] for position in node_order(edit.graph)])


def copy_returned_values(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A body, or a branch, that returns an input or an outer value directly, or one value as several outputs."""
    for place in places.inner(*_GRAPH_OPERATORS):
        names = [port.name for port in place.proto.output]
        computed = {name for node in place.proto.node for name in node.output}
        indices = [k for k, name in enumerate(names) if name not in computed or name in names[:k]]
        if indices:
            values = ", ".join(f"'{names[k]}'" for k in indices)
            reason = f"puts an Identity between {values} and the output of the body"
            yield rewrite("identity-for-output", place, None, reason, _add_identities, indices)


def _add_identities(edit: GraphEdit, indices: list[int]) -> None:
    for k in indices:
        port = edit.graph.output[k]
        name = edit.make_fresh_name(f"{port.name}_out")
        edit.graph.node.append(onnx.helper.make_node("Identity", [port.name], [name], name))
        port.name = name


def name_omitted_outputs(places: OnnxPlaces) -> Iterator[Rewrite]:
    """Each output of a loop gets a name."""
    for place, node in places.nodes(*LOOP_OPERATORS):
        if "" in node.output:
            yield rewrite(
                "name-omitted-output", place, node, "names the outputs that are left out", _name_outputs, node_key(node)
            )


def _name_outputs(edit: GraphEdit, key: str) -> None:
    node = edit.node(key)
    node.output[:] = [name or edit.make_fresh_name(f"{node.name or node.op_type}_unused") for name in node.output]
