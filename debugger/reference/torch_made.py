"""References made of programs and of modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ...runtime.errors import ExecutionError, LoopdbgError
from .program import ProgramTrack
from .reference import Reference, Track
from .torch_cells import Calls, has_cells
from .torch_program import arguments, assigned, exported, input_names, parameter_names, quiet, user_outputs
from .torch_run import Recording
from .torch_sites import made_by, operator_name, source
from .torch_values import Store, as_array


def of_program(program: Any, inputs: Mapping[str, Any], store: Store, most: int | None) -> Reference:
    """Run an exported program. Its parameters and buffers stay what they are."""
    given = assigned(input_names(program), inputs)
    recording = Recording(program.graph_module, store, most)
    passed = arguments(program, given)
    with torch.no_grad():
        results = recording.run(passed)
    unrolled = recording.folded(passed)
    own = (replace(track, inside=unrolled.copies.get(track.loop, "")) for track in recording.tracks)
    tracks: list[Track] = [*own, *unrolled.tracks]
    if results is not None:
        tracks += _outputs(store, user_outputs(program, results), program.graph)
    arrays = {name: as_array(value) for name, value in given.items()}
    return Reference("PyTorch", tracks, arrays, recording.trips, unrolled.trips, other_kernels=True)


def of_module(module: Any, inputs: Mapping[str, Any], store: Store, most: int | None) -> Reference:
    """Export a module and run the program. Where it cannot be exported it runs in Python alone; where its own code
    calls recurrent cells in a loop, it runs so as well."""
    given = assigned(parameter_names(module), inputs)
    try:
        program = exported(module, [value.clone() for value in given.values()])
    except Exception as error:
        return _called(module, given, store, f"{type(error).__name__}: {error}".splitlines()[0])
    by_position = dict(zip(input_names(program), given.values(), strict=False))
    found = of_program(program, by_position, store, most)
    found.label = type(module).__name__
    if has_cells(module) and not (found.trips or found.folds):
        found.tracks += _called(module, given, store, "").tracks
    return found


def _called(module: Any, given: Mapping[str, torch.Tensor], store: Store, why: str) -> Reference:
    """``why``: it could not be exported."""
    calls = Calls(module, store)
    try:
        with torch.no_grad(), quiet():
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
        tracks += _outputs(store, [("", value) for value in flat], None)
    arrays = {name: as_array(value) for name, value in given.items()}
    return Reference(type(module).__name__, tracks, arrays, other_kernels=True)


def _outputs(store: Store, results: Sequence[tuple[str, Any]], graph: Any) -> list[ProgramTrack]:
    """``output k``: the results, in their order, by the names of the nodes of ``graph`` that make them."""
    nodes = {node.name: made_by(node) for node in graph.nodes} if graph is not None else {}
    found = []
    for k, (name, value) in enumerate(results):
        node = nodes.get(name)
        maker, line = ("", "") if node is None else (operator_name(node.target), source(node))
        named = name if node is None else node.name
        track = ProgramTrack(f"output {k}", {}, "", maker, named, line, role="output", position=k)
        store.put(track.values, (), value, f"output {k}")
        found += [track] if track.values else []
    return found
