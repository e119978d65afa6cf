"""One trial: a model, or one of its loops alone, in a runtime in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...runtime.atomic_file import scratch_folder
from ...runtime.errors import LoopdbgError, one_line
from ...runtime.graph import MAIN, System
from ...runtime.model import Data, Model, load
from ...runtime.modelfile.onnx_storage import read_model, write_model
from ..compare.live_peer.peer_comparison import compare_with_peer
from ..compare.report.findings import Comparison, Difference
from ..compare.report.findings import Verdict as ComparisonVerdict
from ..compare.running.boundary_merge import ComparisonOptions
from ..extract.capture_runs import CaptureRuns
from ..extract.extract_loop import build_submodel, values_by_port, write_submodel
from ..peers.jobs import OnnxJob
from ..peers.process import Peer, PeerError

#: Verdicts of a comparison without a difference.
_ALIKE = (ComparisonVerdict.SAME, ComparisonVerdict.STEP, ComparisonVerdict.LIMITED, ComparisonVerdict.PARTLY)
#: Messages of the runtimes begin with their own source files, and end with the reason.
_MAX_MESSAGE_CHARS = 240


@dataclass(frozen=True)
class Trial:
    """The result of a trial.

    ``path``: of the loop, or ``main`` for the whole model. ``loads``, ``alike``: None where it was not tried or could
    not be compared. ``rules``: labels of the known differences that explain the result. ``text``: one sentence.
    """

    target: str
    version: str
    path: str
    loads: bool | None
    alike: bool | None
    rules: tuple[str, ...]
    text: str


def try_model(model: Model, inputs: Mapping[str, Data], peer: Peer, limit: int | None = None) -> Trial:
    """Try the whole model, one of ONNX as an .onnx file: OpenVINO loads more from memory than from a file."""
    if model.graph.system is not System.ONNX or model.path is None or model.path.suffix == ".onnx":
        return _run_trial(model, inputs, peer, MAIN, limit)
    with scratch_folder() as folder:
        path = folder / f"{model.path.stem}.onnx"
        write_model(read_model(model.path), path)
        return _run_trial(load(path), inputs, peer, MAIN, limit)


def try_loops(model: Model, inputs: Mapping[str, Data], peer: Peer, limit: int | None = None) -> Iterator[Trial]:
    """Try each loop alone, with the values that enter it first in a run."""
    runs = CaptureRuns(model, inputs, limit)
    for plan in model.plan.loops:
        try:
            part = build_submodel(runs, runs.first_entry(plan), None)
            with scratch_folder() as folder:
                loop_model = load(write_submodel(part, folder))
                yield _run_trial(loop_model, values_by_port(part, loop_model)["inputs"], peer, plan.path, limit)
        except LoopdbgError as error:
            text = f"not tried alone: {one_line(error)}"
            yield Trial(peer.name, peer.version, plan.path, None, None, (), text)


def _run_trial(model: Model, inputs: Mapping[str, Data], peer: Peer, path: str, limit: int | None) -> Trial:
    try:
        result = compare_with_peer(model, inputs, peer, ComparisonOptions(), limit=limit, lockstep=False)
    except LoopdbgError as error:
        return Trial(peer.name, peer.version, path, None, None, (), f"not compared: {one_line(error)}")
    comparison = result.comparisons[-1]
    loads, alike = _load_and_match_results(comparison)
    if model.path is not None and model.path.suffix == ".onnx" and (loads is None or model.graph.missing_outputs):
        # The comparison does not open the file: it cannot give the inputs, or leaves outputs out.
        refusal = file_refusal_reason(peer, model.path)
        if refusal:
            return Trial(peer.name, result.version, path, False, False, (), f"refused: {short_failure_text(refusal)}")
        loads = True
    rules = _rules_in_comparison(comparison)
    if loads and alike is False and not rules:
        # Only iteration by iteration is the node seen that differs, and of what numbers.
        with suppress(LoopdbgError):
            thorough = compare_with_peer(model, inputs, peer, ComparisonOptions(), limit=limit)
            rules = tuple(dict.fromkeys(rule for each in thorough.comparisons for rule in _rules_in_comparison(each)))
    return Trial(peer.name, result.version, path, loads, alike, rules, _trial_text(comparison, loads, alike))


def _rules_in_comparison(comparison: Comparison) -> tuple[str, ...]:
    reasons = (*comparison.reasons, *(reason for failure in comparison.failures for reason in failure.reasons))
    return tuple(dict.fromkeys(reason.rule for reason in reasons if reason.rule))


def file_refusal_reason(peer: Peer, path: Path) -> str:
    """Why a runtime refuses an ONNX file; empty if it loads it."""
    try:
        peer.open(OnnxJob(path=str(path))).close()
    except PeerError as error:
        return error.text
    return ""


def short_failure_text(text: str) -> str:
    """The end of a runtime's message, which has the reason."""
    if len(text) <= _MAX_MESSAGE_CHARS:
        return text
    return f"... {text[-_MAX_MESSAGE_CHARS:].partition(' ')[2]}"


def _load_and_match_results(comparison: Comparison) -> tuple[bool | None, bool | None]:
    if comparison.failures:
        return comparison.failures[0].kind != "refused", False
    if comparison.verdict in _ALIKE:
        return True, True
    if comparison.verdict in (ComparisonVerdict.DIFFER, ComparisonVerdict.UNSTABLE):
        return True, False
    return (True, None) if comparison.compared_outputs else (None, None)


def _trial_text(comparison: Comparison, loads: bool | None, alike: bool | None) -> str:
    if comparison.failures:
        failure = comparison.failures[0]
        return f"{'refused' if not loads else failure.kind}: {short_failure_text(failure.text)}"
    if alike:
        return "loads and computes the same"
    if alike is None:
        return next(iter(comparison.notes), "not compared")
    first: Difference | None = next(iter(comparison.outputs), None)
    return "loads, and the loops differ" if first is None else f"loads, and the output '{first.name}' differs"
