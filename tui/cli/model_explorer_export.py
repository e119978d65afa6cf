"""Implements ``loopdbg export --what model-explorer``: values of an iteration and their changes as node data."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...debugger.export_formats.model_explorer import (
    NodeNumber,
    NodeNumbers,
    largest_change,
    magnitude,
    node_data_text,
    node_keys,
)
from ...runtime.atomic_file import atomic_folder, write_text
from ...runtime.errors import LoopdbgError, UsageError, file_error
from ...runtime.graph import Node
from ...runtime.text import plural
from . import terminal
from .figures import _open_session, _run_to_loop_end
from .model_or_trace import pair_weights

#: Model Explorer's names of nodes by output; None: the names of the model.
NodeKeys = dict[str, tuple[str, str]] | None


def export_node_data(options: argparse.Namespace, target: Path) -> int:
    """Write two files: values into ``target``, changes into a second file in the same folder."""
    options.model, options.what, options.name = str(options.trace), "graph", None
    requested_iteration, options.iteration = options.iteration, None
    options.entry = 0
    errors: list[LoopdbgError] = []
    (weights,) = pair_weights([options.model], options.weights)
    with _open_session(options.model, weights, options, None) as session:
        frame = _run_to_loop_end(session, options, errors)
        iteration = frame.iteration - 1 if requested_iteration is None else requested_iteration
        if not 0 <= iteration < frame.iteration:
            count = f"{frame.iteration} {plural(frame.iteration, 'iteration')}"
            raise UsageError(
                f"loop '{frame.name}' has no iteration {iteration}: it ran {count}",
                loop=frame.name,
                iteration=iteration,
            )
        keys = node_keys(options.trace, frame.loop)
        nodes = [entry.node for entry in frame.nodes]
        history = frame.history

        def value(name: str) -> NodeNumber:
            return magnitude(_value_or_none(history, name, iteration))

        def change_magnitude(name: str) -> NodeNumber:
            return largest_change(
                _value_or_none(history, name, iteration - 1), _value_or_none(history, name, iteration)
            )

        files = {
            target: _node_numbers(nodes, keys, value),
            _difference_path(target): _node_numbers(nodes, keys, change_magnitude),
        }
    _report_unnamed_nodes(nodes, keys, frame.name)
    try:
        with atomic_folder(target.parent) as folder:
            for path, numbers in files.items():
                write_text(folder / path.name, node_data_text(numbers))
    except OSError as error:
        raise file_error(UsageError, target, "cannot be written", error) from None
    terminal.out(
        f"iteration {iteration} of loop '{frame.name}': values in {target}, changes in {_difference_path(target)}"
    )
    if errors:
        raise errors[0]
    return 0


def _report_unnamed_nodes(nodes: Sequence[Node], keys: NodeKeys, loop: str) -> None:
    """Report omitted nodes, which have no name in the file."""
    with_name = [node for node in nodes if keys is None or any(v.name in keys for v in node.outputs if v is not None)]
    rest = len(nodes) - len(with_name)
    if nodes and not with_name:
        raise UsageError(
            f"the file gives no node of loop '{loop}' a name, and Model Explorer knows nodes by their names; export "
            "the model with names, as torch.onnx.export does"
        )
    if rest:
        terminal.err(f"note: {plural(rest, 'a node has', f'{rest} nodes have')} no name in the file and no value here")


def _value_or_none(history: Any, name: str, iteration: int) -> Any:
    """A value in an iteration; None if there is none, such as in a skipped branch of an If."""
    try:
        return history.value(name, iteration)
    except UsageError:
        return None


def _node_numbers(nodes: Sequence[Node], keys: NodeKeys, number: Callable[[str], NodeNumber]) -> NodeNumbers:
    graphs: dict[str, dict[str, NodeNumber]] = {}
    for node in nodes:
        output = next((value.name for value in node.outputs if value is not None), None)
        if output is not None and (keys is None or output in keys):
            graph, name = ("", node.name) if keys is None else keys[output]
            graphs.setdefault(graph, {})[name] = number(output)
    return graphs


def _difference_path(target: Path) -> Path:
    return target.with_suffix(f".difference{target.suffix}")
