"""What ``loopdbg export --what model-explorer`` does: the values of an iteration as node data, and how they changed."""

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
from ...runtime.errors import LoopdbgError, UsageError, one_line
from ...runtime.graph import Node
from ...runtime.text import plural
from . import terminal
from .figures import _open_session, _run_to_loop_end
from .model_or_trace import pair_weights

#: What Model Explorer calls nodes; None: as the model does.
NodeKeys = dict[str, tuple[str, str]] | None


def export_node_data(options: argparse.Namespace, target: Path) -> int:
    """Write the two files: values into the one that is named, changes beside it."""
    options.model, options.what, options.name = str(options.trace), "graph", None
    wanted, options.iteration = options.iteration, None
    options.entry = 0
    early: list[LoopdbgError] = []
    (weights,) = pair_weights([options.model], options.weights)
    with _open_session(options.model, weights, options, None) as session:
        frame = _run_to_loop_end(session, options, early)
        iteration = frame.iteration - 1 if wanted is None else wanted
        if not 0 <= iteration < frame.iteration:
            ran = f"{frame.iteration} {plural(frame.iteration, 'iteration')}"
            raise UsageError(f"loop '{frame.name}' has no iteration {iteration}: it ran {ran}")
        keys = node_keys(options.trace, frame.loop)
        nodes = [entry.node for entry in frame.nodes]
        history = frame.history

        def value(name: str) -> NodeNumber:
            return magnitude(_value_or_none(history, name, iteration))

        def changed(name: str) -> NodeNumber:
            return largest_change(
                _value_or_none(history, name, iteration - 1), _value_or_none(history, name, iteration)
            )

        written = {
            target: _node_numbers(nodes, keys, value),
            _difference_path(target): _node_numbers(nodes, keys, changed),
        }
    _report_unnamed_nodes(nodes, keys, frame.name)
    try:
        with atomic_folder(target.parent) as folder:
            for path, numbers in written.items():
                write_text(folder / path.name, node_data_text(numbers))
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or one_line(error)}") from None
    terminal.out(
        f"iteration {iteration} of loop '{frame.name}': values in {target}, changes in {_difference_path(target)}"
    )
    if early:
        raise early[0]
    return 0


def _report_unnamed_nodes(nodes: Sequence[Node], keys: NodeKeys, loop: str) -> None:
    """Say what is left out: nodes to which the file gives no name."""
    named = [node for node in nodes if keys is None or any(v.name in keys for v in node.outputs if v is not None)]
    left = len(nodes) - len(named)
    if nodes and not named:
        raise UsageError(
            f"the file gives no node of loop '{loop}' a name, and Model Explorer knows nodes by their names; export "
            "the model with names, as torch.onnx.export does"
        )
    if left:
        terminal.err(f"note: {plural(left, 'a node has', f'{left} nodes have')} no name in the file and no value here")


def _value_or_none(history: Any, name: str, iteration: int) -> Any:
    """A value in an iteration; None where there is none, such as in the branch of an If that was not taken."""
    try:
        return history.value(name, iteration)
    except UsageError:
        return None


def _node_numbers(nodes: Sequence[Node], keys: NodeKeys, number: Callable[[str], NodeNumber]) -> NodeNumbers:
    found: dict[str, dict[str, NodeNumber]] = {}
    for node in nodes:
        made = next((value.name for value in node.outputs if value is not None), None)
        if made is not None and (keys is None or made in keys):
            graph, name = ("", node.name) if keys is None else keys[made]
            found.setdefault(graph, {})[name] = number(made)
    return found


def _difference_path(target: Path) -> Path:
    return target.with_suffix(f".difference{target.suffix}")
