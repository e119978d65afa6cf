"""Finds the rewrites that make a model faster, verifies and measures each, and writes the model with all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from ...runtime.atomic_file import scratch_folder
from ...runtime.errors import InterruptError, LoopdbgError, UsageError
from ...runtime.graph import System
from ...runtime.model import Data, Model, load
from ...runtime.text import did_you_mean
from ..compare.running.value_comparison import Tolerance
from ..rewriting.editable_model import EditableModel, open_editable
from ..rewriting.random_cases import random_inputs
from ..rewriting.rewrite import Rewrite, Verification, apply_verified
from .find import find_rewrites
from .kinds import KINDS
from .measure import measure_gain, measure_peer_gain, open_peer
from .model_facts import ModelFacts
from .report import SLOWER, Optimization, Optimizations, Rejected, gains_text

#: How long a rewrite is measured in one runtime, at most.
_MAX_MEASURED_SECONDS = 1.0
#: Inputs that are tried until the model runs to the end with one.
_MAX_FIRST_RUNS = 20
#: Rewrites of one model that are applied one after another.
_MAX_APPLIED = 1000


def find_optimizations(
    model: Model,
    inputs: Mapping[str, Data] | None = None,
    only: Sequence[str] = (),
    count: int = 1000,
    seconds: float = 60.0,
    peer: bool = True,
    save: Path | None = None,
    reports_partial: bool = False,
) -> Optimizations:
    """Find what makes a model faster; see :meth:`Model.optimizations`. With ``reports_partial``, Ctrl-C ends the
    search."""
    for name in only:
        if name not in KINDS:
            hint = did_you_mean(name, KINDS) or f"; there are {', '.join(KINDS)}"
            raise UsageError(f"there is no optimization '{name}'{hint}", name=name)
    if model.path is None or model.graph.system not in (System.ONNX, System.OPENVINO) or model.graph.is_over_requests:
        raise UsageError(f"{model.name}: only ONNX models and OpenVINO IRs in files are optimized", name=model.name)
    with ExitStack() as stack:
        search = _OptimizationSearch(model, inputs, only, count, seconds, stack, peer)
        offered: list[Optimization] = []
        rejected: list[Rejected] = []
        saved: tuple[Path, ...] = ()
        kinds: tuple[str, ...] = ()
        interrupted = False
        try:
            for result in search.results():
                if isinstance(result, Optimization):
                    offered.append(result)
                else:
                    rejected.append(result)
            if save is not None and offered:
                saved, kinds = search.save(save)
        except (KeyboardInterrupt, InterruptError):
            if not reports_partial:
                raise
            interrupted = True
        return Optimizations(
            model.name, tuple(offered), tuple(rejected), search.peer_name, saved, kinds, interrupted=interrupted
        )


class _OptimizationSearch:
    """The rewrites of one model. ``stack`` closes the peer."""

    def __init__(
        self,
        model: Model,
        inputs: Mapping[str, Data] | None,
        only: Collection[str],
        count: int,
        seconds: float,
        stack: ExitStack,
        peer: bool,
    ) -> None:
        assert model.path is not None
        self.model = model
        self.kinds = set(only) or {name for name, kind in KINDS.items() if not kind.on_request}
        self.original = open_editable(model.path, model.graph.weights, sorts_nodes=True)
        cases = [*([] if inputs is None else [inputs]), *random_inputs(model, count)][:count]
        self.cases: Sequence[Mapping[str, Data]] = cases
        self.facts, self.inputs = self._first_successful_run(model)
        self.rewrites = find_rewrites(self.facts, self.kinds)
        self.seconds = seconds / (2 * max(1, len(self.rewrites)))
        opened = open_peer(model.graph.system) if peer and self.rewrites else None
        self.peer = None if opened is None else stack.enter_context(opened)
        #: Rewrites that change results, or make the model slower.
        self._refused: set[tuple[str, str, str]] = set()
        self.peer_name = "" if self.peer is None else self.peer.name

    def _first_successful_run(self, model: Model) -> tuple[ModelFacts, Mapping[str, Data]]:
        """What a run tells, of the first inputs with which the model runs to the end.

        Raises:
            LoopdbgError: there are none; that of the first ones.
        """
        first_error: LoopdbgError | None = None
        for case in self.cases[:_MAX_FIRST_RUNS]:
            try:
                return ModelFacts(model, case), case
            except InterruptError:
                raise
            except LoopdbgError as error:
                first_error = first_error or error
        raise first_error or UsageError(f"{model.name}: no inputs to run it with")

    def results(self) -> Iterator[Optimization | Rejected]:
        """Each rewrite, alone: verified and measured, or the difference that it makes."""
        for rewrite in self.rewrites:
            edited, verification = self._verify(self.original, [rewrite])
            if edited is None:
                self._refused.add(_rewrite_key(rewrite))
                yield Rejected(rewrite.kind, rewrite.path, rewrite.node, verification.text)
                continue
            gain, peer_gain = self._measure_speedup(edited)
            if max(gain, peer_gain or 0.0) < SLOWER:
                slower = f"the same results, but {gains_text(gain, peer_gain, self.peer_name)}"
                self._refused.add(_rewrite_key(rewrite))
                yield Rejected(rewrite.kind, rewrite.path, rewrite.node, slower)
                continue
            facts = (rewrite.kind, rewrite.path, rewrite.node, rewrite.reason, KINDS[rewrite.kind].why)
            yield Optimization(*facts, verification.compared, verification.largest, gain, peer_gain)

    def _verify(
        self, model: EditableModel, rewrites: Sequence[Rewrite], rounds: bool = False
    ) -> tuple[EditableModel | None, Verification]:
        rounds = rounds or any(KINDS[rewrite.kind].rounds for rewrite in rewrites)
        tolerance = Tolerance(reordered_sums=True) if rounds else None
        return apply_verified(model, rewrites, self.model, self.cases, self.seconds, tolerance)

    def _measure_speedup(self, edited: EditableModel) -> tuple[float, float | None]:
        assert self.model.path is not None
        with scratch_folder() as folder:
            rewritten = load(edited.write(folder / self.model.path.with_suffix(_file_suffix(self.model)).name)[0])
            seconds = min(self.seconds / 5, _MAX_MEASURED_SECONDS)
            # Both are new: what runs with other shapes left behind in self.model is no property of the file.
            gain = measure_gain(self.original.load(), rewritten, self.inputs, seconds)
            if gain < SLOWER:  # other work on the processor may have delayed one side
                gain = max(gain, measure_gain(self.original.load(), rewritten, self.inputs, seconds))
            if self.peer is None:
                return gain, None
            return gain, measure_peer_gain(self.peer, self.model, rewritten, self.inputs, seconds)

    def save(self, path: Path) -> tuple[tuple[Path, ...], tuple[str, ...]]:
        """Apply one rewrite after another as long as there are any, each verified against the original, and write the
        model; returns the files and the kinds."""
        current = self.original.copy()
        applied: list[str] = []
        rounds = False
        while len(applied) + len(self._refused) < _MAX_APPLIED:
            facts, _ = self._first_successful_run(current.load())
            rewrites = [item for item in find_rewrites(facts, self.kinds) if _rewrite_key(item) not in self._refused]
            if not rewrites:
                break
            edited, _ = self._verify(current, rewrites[:1], rounds)
            if edited is None:
                self._refused.add(_rewrite_key(rewrites[0]))
                continue
            current = edited
            applied.append(rewrites[0].kind)
            rounds = rounds or KINDS[rewrites[0].kind].rounds
        return tuple(current.write(path)), tuple(applied)


def _rewrite_key(rewrite: Rewrite) -> tuple[str, str, str]:
    return rewrite.kind, rewrite.path, rewrite.node


def _file_suffix(model: Model) -> str:
    return ".xml" if model.graph.system is System.OPENVINO else ".onnx"
