"""References from programs and modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ...runtime.errors import ExecutionError, LoopdbgError
from .program_track import ProgramTrack
from .reference import Reference, Track
from .torch_export import (
    assign_inputs,
    export_module,
    graph_arguments,
    input_names,
    parameter_names,
    suppress_output,
    user_outputs,
)
from .torch_graph import operator_name, producing_node, source_location
from .torch_interpreter import ProgramRecording
from .torch_recurrent_states import RecurrentHooks, has_recurrent_cells
from .torch_tensors import ValueStore, as_array


def reference_from_program(program: Any, inputs: Mapping[str, Any], store: ValueStore, limit: int | None) -> Reference:
    """Run an exported program without changing its parameters and buffers."""
    arguments = assign_inputs(input_names(program), inputs)
    recording = ProgramRecording(program.graph_module, store, limit)
    graph_inputs = graph_arguments(program, arguments)
    with torch.no_grad():
        results = recording.run(graph_inputs)
    unrolled = recording.rerolled_loops(graph_inputs)
    own_tracks = (replace(track, inside=unrolled.merged_loops.get(track.loop, "")) for track in recording.tracks)
    tracks: list[Track] = [*own_tracks, *unrolled.tracks]
    if results is not None:
        tracks += _output_tracks(store, user_outputs(program, results), program.graph)
    arrays = {name: as_array(value) for name, value in arguments.items()}
    return Reference("PyTorch", tracks, arrays, recording.trips, unrolled.trips, other_kernels=True)


def reference_from_module(module: Any, inputs: Mapping[str, Any], store: ValueStore, limit: int | None) -> Reference:
    """Export a module and run the program. A module that cannot be exported runs in Python only; one whose code calls
    recurrent cells in a loop runs in Python as well."""
    arguments = assign_inputs(parameter_names(module), inputs)
    try:
        program = export_module(module, [value.clone() for value in arguments.values()])
    except Exception as error:
        return _run_in_python(module, arguments, store, f"{type(error).__name__}: {error}".splitlines()[0])
    by_position = dict(zip(input_names(program), arguments.values(), strict=False))
    reference = reference_from_program(program, by_position, store, limit)
    reference.label = type(module).__name__
    if has_recurrent_cells(module) and not (reference.trips or reference.folds):
        reference.tracks += _run_in_python(module, arguments, store, "").tracks
    return reference


def _run_in_python(module: Any, arguments: Mapping[str, torch.Tensor], store: ValueStore, reason: str) -> Reference:
    """``reason``: why it could not be exported."""
    calls = RecurrentHooks(module, store)
    try:
        with torch.no_grad(), suppress_output():
            results = module(*(value.clone() for value in arguments.values()))
    except LoopdbgError:
        raise
    except Exception as error:
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
        export = f" (nor could it be exported: {reason})" if reason else ""
        raise ExecutionError(f"{type(module).__name__} failed: {text}{export}") from None
    finally:
        calls.close()
    flat, _ = torch.utils._pytree.tree_flatten(results)
    tracks: list[Track] = [*calls.tracks]
    if reason:
        tracks += _output_tracks(store, [("", value) for value in flat], None)
    arrays = {name: as_array(value) for name, value in arguments.items()}
    return Reference(type(module).__name__, tracks, arrays, other_kernels=True)


def _output_tracks(store: ValueStore, results: Sequence[tuple[str, Any]], graph: Any) -> list[ProgramTrack]:
    """``output k``: the results, in order, with the names of the nodes of ``graph`` that compute them."""
    nodes = {node.name: producing_node(node) for node in graph.nodes} if graph is not None else {}
    tracks = []
    for k, (name, value) in enumerate(results):
        node = nodes.get(name)
        maker, line = ("", "") if node is None else (operator_name(node.target), source_location(node))
        node_name = name if node is None else node.name
        track = ProgramTrack(f"output {k}", {}, "", maker, node_name, line, role="output", position=k)
        store.add(track.values, (), value, f"output {k}")
        tracks += [track] if track.values else []
    return tracks
