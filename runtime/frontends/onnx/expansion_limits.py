"""Rejects small files that would expand to huge models, before they are expanded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ...errors import UnsupportedError
from .name_scope import FunctionKey, function_key
from .proto import AttributeProto, FunctionProto, ModelProto, NodeProto

#: Limit for the number of nodes after inlining. The largest real models have some hundred thousand.
MAX_EXPANDED_NODES = 1 << 20
#: Limit for nested brackets in ONNX's text format. An If takes two; protobuf fails at about 33 nested graphs, and the
#: recursive parser crashes at some thousand.
MAX_TEXT_DEPTH = 100

_TOKEN = rb'"(?:[^"\\]|\\.)*"|#[^\n]*|=>|[(\[{<>}\])]'


def check_bracket_depth(text: bytes) -> None:
    """Limit the bracket depth of ONNX's text format for its recursive parser.

    Raises:
        UnsupportedError: the brackets are nested too deeply.
    """
    depth = 0
    for match in re.finditer(_TOKEN, text, re.DOTALL):
        token = match[0]
        if token in b"([{<":
            depth += 1
            if depth > MAX_TEXT_DEPTH:
                line = text.count(b"\n", 0, match.start()) + 1
                raise UnsupportedError(f"line {line}: its graphs are nested too deeply; ONNX holds about 33")
        elif token in b")]}>":
            depth -= 1


def check_expanded_size(model: ModelProto) -> None:
    """Limit the number of nodes after inlining of a model's functions.

    Raises:
        UnsupportedError: there are too many nodes.
    """
    functions = {function_key(function): function for function in model.functions}
    if not functions:
        return
    sizes: dict[FunctionKey, int] = {}
    for key in functions:
        _compute_function_size(key, functions, sizes)
    count = _expanded_node_count(model.graph.node, functions, sizes)
    if count > MAX_EXPANDED_NODES:
        raise UnsupportedError(
            f"its functions call each other so often that they stand for {_approximate_count_text(count)} nodes, more "
            f"than {MAX_EXPANDED_NODES} can be read; simplify the functions"
        )


def _compute_function_size(
    key: FunctionKey, functions: Mapping[FunctionKey, FunctionProto], sizes: dict[FunctionKey, int]
) -> None:
    """Compute the number of nodes of an inlined function and of its callees, without recursion.

    A recursive function is rejected where it is called.
    """
    stack = [key]
    visiting: set[FunctionKey] = set()
    while stack:
        key = stack[-1]
        if key in sizes:
            stack.pop()
            continue
        callees = {function_key(node) for node in _all_nodes(functions[key].node)} & functions.keys()
        pending = [k for k in callees if k not in sizes and k not in visiting]
        if pending and key not in visiting:
            visiting.add(key)
            stack += pending
            continue
        sizes[key] = _expanded_node_count(functions[key].node, functions, sizes)
        stack.pop()


def _expanded_node_count(
    nodes: Iterable[NodeProto], functions: Mapping[FunctionKey, FunctionProto], sizes: dict[FunctionKey, int]
) -> int:
    return sum(sizes.get(function_key(node), 1) for node in _all_nodes(nodes))


def _all_nodes(nodes: Iterable[NodeProto]) -> list[NodeProto]:
    """All nodes, including those of inner graphs."""
    collected: list[NodeProto] = []
    stack = [list(nodes)]
    while stack:
        for node in stack.pop():
            collected.append(node)
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    stack.append(list(attribute.g.node))
    return collected


def _approximate_count_text(number: int) -> str:
    return str(number) if number < 1 << 40 else f"2^{number.bit_length() - 1}"
