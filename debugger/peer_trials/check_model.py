"""Checks a model for several targets: rules first, then trials in the runtimes that are installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from ...runtime.errors import UsageError
from ...runtime.graph import MAIN, System
from ...runtime.model import Data, Model
from ..peers.process import PEERS, Peer
from ..portability.check import findings_for, match_rules
from ..portability.rule_context import RuleMatch
from .target_report import TargetReport, tried_target_report, untried_target_report
from .trial import Trial, file_refusal_reason, short_failure_text, try_loops, try_model


def installed_peers(targets: Sequence[str]) -> list[str]:
    """The targets among the runtimes that can be run here."""
    return [target for target in targets if target in PEERS and find_spec(target) is not None]


def check_by_rules(model: Model, targets: Sequence[str]) -> list[TargetReport]:
    """Check a model by rules alone; nothing is run."""
    findings = findings_for(match_rules(model.graph), targets)
    return [untried_target_report(target, findings) for target in targets]


def check_with_runs(
    model: Model,
    inputs: Mapping[str, Data],
    targets: Sequence[str],
    limit: int | None = None,
    timeout: float = 60.0,
    on_target: Callable[[str], None] = lambda target: None,
) -> list[TargetReport]:
    """Check a model by rules, and try it in the installed runtimes among the targets.

    A runtime that loads and computes the whole model alike needs no further trial; else each loop is tried alone.
    """
    findings = findings_for(match_rules(model.graph), targets)
    reports = []
    peers = installed_peers(targets)
    for target in targets:
        if target not in peers or not _can_read(target, model.graph.system):
            reports.append(untried_target_report(target, findings))
            continue
        on_target(target)
        with ExitStack() as stack:
            try:
                peer = stack.enter_context(Peer(target, timeout))
                trials = _run_trials(model, inputs, peer, limit)
            except UsageError as error:
                trials = [Trial(target, "", MAIN, None, None, (), str(error))]
        reports.append(tried_target_report(target, findings, trials))
    return reports


def check_unreadable(
    path: str, error: str, targets: Sequence[str], peers: Sequence[str], timeout: float = 60.0
) -> list[TargetReport]:
    """The reports of a file that is rejected here; ``peers``: the runtimes that are asked whether they load it."""
    findings = findings_for([RuleMatch("S2", error)], targets)
    trials = {target: [_try_file(path, target, timeout)] for target in peers if path.endswith(".onnx")}
    return [
        tried_target_report(target, findings, trials[target], is_rejected=True)
        if target in trials
        else untried_target_report(target, findings)
        for target in targets
    ]


def _try_file(path: str, target: str, timeout: float) -> Trial:
    """Whether a runtime loads a file that cannot be run here."""
    with Peer(target, timeout) as peer:
        refusal = file_refusal_reason(peer, Path(path))
        text = f"refused: {short_failure_text(refusal)}" if refusal else "loads; not compared, as it is rejected here"
        return Trial(target, peer.version, MAIN, not refusal, False if refusal else None, (), text)


def _run_trials(model: Model, inputs: Mapping[str, Data], peer: Peer, limit: int | None) -> list[Trial]:
    whole = try_model(model, inputs, peer, limit)
    if whole.alike:
        return [whole]
    return [whole, *try_loops(model, inputs, peer, limit)]


def _can_read(target: str, system: System) -> bool:
    """Whether a runtime reads files of a system."""
    return system is System.ONNX or (system is System.OPENVINO and target == "openvino")
