"""What is known about one target: findings of rules, and trials that confirm or contradict them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...runtime.graph import MAIN
from ..portability.check import RuleFinding, verdict_of
from ..portability.known_differences import KNOWN_DIFFERENCES, TargetVerdict
from .trial import Trial

#: Evidence of a finding that only a run shows.
_RUN = "run"


@dataclass(frozen=True)
class TargetReport:
    """The result for one target. ``version``: of the runtime that was tried, empty without one. ``contradictions``:
    sentences on rules that the runtime disproves, or on behaviour without a rule."""

    target: str
    verdict: TargetVerdict
    findings: tuple[RuleFinding, ...]
    version: str = ""
    trials: tuple[Trial, ...] = ()
    contradictions: tuple[str, ...] = ()


@dataclass
class _Reconciliation:
    """Findings of one target while trials are compared with them."""

    findings: list[RuleFinding]
    contradictions: list[str] = field(default_factory=list)

    def findings_with_verdict(self, verdict: TargetVerdict) -> list[RuleFinding]:
        return [finding for finding in self.findings if finding.verdict is verdict]

    def confirm(self, verdict: TargetVerdict, confirmed: bool) -> None:
        self.findings = [
            replace(finding, confirmed=confirmed) if finding.verdict is verdict else finding
            for finding in self.findings
        ]

    def drop_findings(self, verdict: TargetVerdict) -> None:
        self.findings = [finding for finding in self.findings if finding.verdict is not verdict]


def untried_target_report(target: str, findings: Sequence[RuleFinding]) -> TargetReport:
    """The report of a target that was not tried."""
    own = tuple(finding for finding in findings if finding.target == target)
    return TargetReport(target, verdict_of(own, target), own)


def tried_target_report(
    target: str, findings: Sequence[RuleFinding], trials: Sequence[Trial], *, is_rejected: bool = False
) -> TargetReport:
    """The report of a target that was tried; the first trial is that of the whole model. ``is_rejected``: the file is
    rejected here, so that no rule can tell why the target refuses it."""
    state = _Reconciliation([finding for finding in findings if finding.target == target])
    whole, *loops = trials
    if whole.loads is False:
        _reconcile_refusal_with_rules(state, whole, loops, is_rejected)
    elif whole.loads:
        _reconcile_run_with_rules(state, whole)
    verdict = verdict_of(state.findings, target)
    return TargetReport(
        target, verdict, tuple(state.findings), whole.version, tuple(trials), tuple(state.contradictions)
    )


def _reconcile_refusal_with_rules(
    state: _Reconciliation, whole: Trial, loops: Sequence[Trial], is_rejected: bool
) -> None:
    """The target refused the model: a rule has to tell why."""
    is_unknown = is_rejected or bool(state.findings_with_verdict(TargetVerdict.UNKNOWN))
    state.drop_findings(TargetVerdict.UNKNOWN)
    if state.findings_with_verdict(TargetVerdict.DOES_NOT_LOAD):
        state.confirm(TargetVerdict.DOES_NOT_LOAD, True)
        return
    # A rule about wrong values may know that the target refuses some of these models.
    may_fail = any(
        "failure" in KNOWN_DIFFERENCES[finding.rule].effects
        for finding in state.findings_with_verdict(TargetVerdict.DIFFERS)
    )
    if not is_unknown and not may_fail:
        state.contradictions.append(f"{whole.target} {whole.version} refuses the model, and no rule says so")
    refused = [trial for trial in loops if trial.loads is False]
    state.findings += [_finding_of_run(trial, TargetVerdict.DOES_NOT_LOAD) for trial in refused or [whole]]


def _reconcile_run_with_rules(state: _Reconciliation, whole: Trial) -> None:
    """The target loaded the model."""
    name = f"{whole.target} {whole.version}"
    for finding in state.findings_with_verdict(TargetVerdict.DOES_NOT_LOAD):
        state.contradictions.append(f"{name} loads the model, against rule {finding.rule}")
    state.confirm(TargetVerdict.DOES_NOT_LOAD, False)
    if whole.alike is not None:
        state.drop_findings(TargetVerdict.UNKNOWN)
    if whole.alike:
        # What differs may depend on the inputs.
        state.confirm(TargetVerdict.DIFFERS, False)
    elif whole.alike is False:
        known = {finding.rule for finding in state.findings}
        unseen = [rule for rule in whole.rules if rule in KNOWN_DIFFERENCES and rule not in known]
        if not state.findings_with_verdict(TargetVerdict.DIFFERS) and not unseen:
            state.contradictions.append(f"{name} behaves differently, and no rule says so")
        state.confirm(TargetVerdict.DIFFERS, True)
        rules = unseen or ([] if state.findings_with_verdict(TargetVerdict.DIFFERS) else [""])
        state.findings += [_finding_of_run(whole, TargetVerdict.DIFFERS, rule) for rule in rules]


def _finding_of_run(trial: Trial, verdict: TargetVerdict, rule: str = "") -> RuleFinding:
    known = KNOWN_DIFFERENCES.get(rule)
    node = "" if trial.path == MAIN else trial.path.rpartition(" ▸ ")[2]
    text = trial.text if known is None else f"{trial.text}: {known.text}"
    remedy = "compare the two with diff, and reduce the model with repro" if known is None else known.remedy
    return RuleFinding(trial.target, verdict, rule, trial.path, node, text, (_RUN,), remedy, _RUN, True)
