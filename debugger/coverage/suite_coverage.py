"""Collects the coverage of all runs of models in a process: of a test suite."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from ...runtime import model as model_module
from ...runtime.errors import LoopdbgError
from ...runtime.graph import Graph
from ...runtime.graph.graph_json import graph_digest
from ...runtime.model import Model, RunObserver, load
from .points import CoveragePoint
from .recorder import CoverageRecorder
from .report import Coverage


@dataclass
class _CollectedModel:
    """The coverage of all models of one digest."""

    name: str
    path: str
    points: tuple[CoveragePoint, ...]
    hits: set[str] = field(default_factory=set)
    runs: int = 0


class CoverageCollector:
    """Measures every ``run`` and ``execute`` of models with loops while it is active, on engines of its own."""

    def __init__(self) -> None:
        self._recorders: WeakKeyDictionary[Model, CoverageRecorder] = WeakKeyDictionary()
        self._digests: WeakKeyDictionary[Model, str] = WeakKeyDictionary()
        self._models: dict[str, _CollectedModel] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Measure from now on."""
        model_module.observer_factory = self._make_observer

    def stop(self) -> None:
        """Measure no longer."""
        model_module.observer_factory = None

    def _make_observer(self, model: Model) -> RunObserver | None:
        """The recorder of a model; None while another thread runs it, and for a model without loops."""
        if not model.loops:
            return None
        with self._lock:
            recorder = self._recorders.get(model)
            if recorder is None:
                recorder = self._recorders[model] = CoverageRecorder(model, accumulate=True)
                # Models that are opened again go on with what is known.
                recorder.hits = self._collected_model(model, recorder.points).hits
            if not recorder.claim():
                return None
            self._collected_model(model, recorder.points).runs += 1
            return recorder

    def _collected_model(self, model: Model, points: tuple[CoveragePoint, ...]) -> _CollectedModel:
        if model not in self._digests:
            self._digests[model] = graph_digest(model.graph)
        path = "" if model.path is None else str(model.path.absolute())
        return self._models.setdefault(self._digests[model], _CollectedModel(model.name, path, points))

    def to_json(self) -> list[dict[str, Any]]:
        """What was collected, for :meth:`add` in another process."""
        return [
            {
                **Coverage(entry.name, digest, entry.points, frozenset(entry.hits), entry.runs).to_json(),
                "path": entry.path,
            }
            for digest, entry in self._models.items()
        ]

    def add(self, parts: Sequence[Mapping[str, Any]]) -> None:
        """Add what another process collected."""
        for part in parts:
            coverage = Coverage.from_json(part)
            entry = self._models.setdefault(
                coverage.digest, _CollectedModel(coverage.model, part["path"], coverage.points)
            )
            entry.hits |= coverage.hits
            entry.runs += coverage.runs

    def results(self) -> list[tuple[Coverage, Graph | None]]:
        """The coverage of each model, in the order of their names, with the graph of those whose file is unchanged."""
        pairs = [
            (
                Coverage(entry.name, digest, entry.points, frozenset(entry.hits), entry.runs),
                _load_unchanged_graph(entry.path, digest),
            )
            for digest, entry in self._models.items()
        ]
        return sorted(pairs, key=lambda pair: pair[0].model)


def _load_unchanged_graph(path: str, digest: str) -> Graph | None:
    with suppress(LoopdbgError):
        if path and Path(path).exists():
            graph = load(path).graph
            return graph if graph_digest(graph) == digest else None
    return None


def total_percent(parts: Sequence[Coverage]) -> float:
    """The share of all points of models that were hit, in percent; 100 where there are none."""
    total = sum(coverage.total for coverage in parts)
    return 100.0 * sum(coverage.covered for coverage in parts) / total if total else 100.0
