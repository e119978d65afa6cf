"""Small files that stand for huge models: refused before anything is made of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ...errors import UnsupportedError
from .name_scope import FunctionKey, function_key
from .proto import AttributeProto, FunctionProto, ModelProto, NodeProto

#: Nodes that calls of functions may stand for. The largest models that people export have some hundred thousand.
MAX_EXPANDED_NODES = 1 << 20
#: Brackets inside brackets in ONNX's text form. An If takes two; the protobuf that the text becomes ends at about 33
#: graphs inside each other, and the parser itself at some thousand, with a crash.
MAX_TEXT_DEPTH = 100

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|#[^\n]*|=>|[(\[{<>}\])]', re.DOTALL)


def check_text_depth(text: bytes) -> None:
    """Hold ONNX's text form to brackets that its parser, which is recursive, survives.

    Raises:
        UnsupportedError: they are nested too deeply.
    """
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in b"([{<":
            depth += 1
            if depth > MAX_TEXT_DEPTH:
                line = text.count(b"\n", 0, match.start()) + 1
                raise UnsupportedError(f"line {line}: its graphs are nested too deeply; ONNX holds about 33")
        elif token in b")]}>":
            depth -= 1


def check_expanded_size(model: ModelProto) -> None:
    """Hold the nodes that a model's functions make to a number that can be read.

    Raises:
        UnsupportedError: they are too many.
    """
    functions = {function_key(function): function for function in model.functions}
    if not functions:
        return
    sizes: dict[FunctionKey, int] = {}
    for key in functions:
        _compute_function_size(key, functions, sizes)
    made = _expanded_node_count(model.graph.node, functions, sizes)
    if made > MAX_EXPANDED_NODES:
        raise UnsupportedError(
            f"its functions call each other so often that they stand for {_approximate_text(made)} nodes, more than "
            f"{MAX_EXPANDED_NODES}"
            " can be read; simplify the functions"
        )


def _compute_function_size(
    key: FunctionKey, functions: Mapping[FunctionKey, FunctionProto], sizes: dict[FunctionKey, int]
) -> None:
    """Find how many nodes a call of a function stands for, and of those that it calls; chains of them may be long.

    A function that calls itself is refused where it is called.
    """
    stack = [key]
    open_: set[FunctionKey] = set()
    while stack:
        key = stack[-1]
        if key in sizes:
            stack.pop()
            continue
        called = {function_key(node) for node in _all_nodes(functions[key].node)} & functions.keys()
        waiting = [k for k in called if k not in sizes and k not in open_]
        if waiting and key not in open_:
            open_.add(key)
            stack += waiting
            continue
        sizes[key] = _expanded_node_count(functions[key].node, functions, sizes)
        stack.pop()


def _expanded_node_count(
    nodes: Iterable[NodeProto], functions: Mapping[FunctionKey, FunctionProto], sizes: dict[FunctionKey, int]
) -> int:
    return sum(sizes.get(function_key(node), 1) for node in _all_nodes(nodes))


def _all_nodes(nodes: Iterable[NodeProto]) -> list[NodeProto]:
    """All nodes, those of the graphs inside them too."""
    found: list[NodeProto] = []
    stack = [list(nodes)]
    while stack:
        for node in stack.pop():
            found.append(node)
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    stack.append(list(attribute.g.node))
    return found


def _approximate_text(number: int) -> str:
    return str(number) if number < 1 << 40 else f"2^{number.bit_length() - 1}"
