"""References made of programs and of modules."""

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


def reference_from_program(program: Any, inputs: Mapping[str, Any], store: ValueStore, most: int | None) -> Reference:
    """Run an exported program. Its parameters and buffers stay what they are."""
    given = assign_inputs(input_names(program), inputs)
    recording = ProgramRecording(program.graph_module, store, most)
    passed = graph_arguments(program, given)
    with torch.no_grad():
        results = recording.run(passed)
    unrolled = recording.rerolled_loops(passed)
    own = (replace(track, inside=unrolled.merged_loops.get(track.loop, "")) for track in recording.tracks)
    tracks: list[Track] = [*own, *unrolled.tracks]
    if results is not None:
        tracks += _output_tracks(store, user_outputs(program, results), program.graph)
    arrays = {name: as_array(value) for name, value in given.items()}
    return Reference("PyTorch", tracks, arrays, recording.trips, unrolled.trips, other_kernels=True)


def reference_from_module(module: Any, inputs: Mapping[str, Any], store: ValueStore, most: int | None) -> Reference:
    """Export a module and run the program. Where it cannot be exported it runs in Python alone; where its own code
    calls recurrent cells in a loop, it runs so as well."""
    given = assign_inputs(parameter_names(module), inputs)
    try:
        program = export_module(module, [value.clone() for value in given.values()])
    except Exception as error:
        return _run_in_python(module, given, store, f"{type(error).__name__}: {error}".splitlines()[0])
    by_position = dict(zip(input_names(program), given.values(), strict=False))
    found = reference_from_program(program, by_position, store, most)
    found.label = type(module).__name__
    if has_recurrent_cells(module) and not (found.trips or found.folds):
        found.tracks += _run_in_python(module, given, store, "").tracks
    return found


def _run_in_python(module: Any, given: Mapping[str, torch.Tensor], store: ValueStore, why: str) -> Reference:
    """``why``: it could not be exported."""
    calls = RecurrentHooks(module, store)
    try:
        with torch.no_grad(), suppress_output():
            results = module(*(value.clone() for value in given.values()))
    except LoopdbgError:
        raise
    except Exception as error:
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
        export = f" (nor could it be exported: {why})" if why else ""
        raise ExecutionError(f"{type(module).__name__} failed: {text}{export}") from None
    finally:
        calls.close()
    flat, _ = torch.utils._pytree.tree_flatten(results)
    tracks: list[Track] = [*calls.tracks]
    if why:
        tracks += _output_tracks(store, [("", value) for value in flat], None)
    arrays = {name: as_array(value) for name, value in given.items()}
    return Reference(type(module).__name__, tracks, arrays, other_kernels=True)


def _output_tracks(store: ValueStore, results: Sequence[tuple[str, Any]], graph: Any) -> list[ProgramTrack]:
    """``output k``: the results, in their order, by the names of the nodes of ``graph`` that make them."""
    nodes = {node.name: producing_node(node) for node in graph.nodes} if graph is not None else {}
    found = []
    for k, (name, value) in enumerate(results):
        node = nodes.get(name)
        maker, line = ("", "") if node is None else (operator_name(node.target), source_location(node))
        named = name if node is None else node.name
        track = ProgramTrack(f"output {k}", {}, "", maker, named, line, role="output", position=k)
        store.add(track.values, (), value, f"output {k}")
        found += [track] if track.values else []
    return found
