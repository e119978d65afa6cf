"""Fixes what the rules find in a model: each rewrite is verified on many inputs, else it is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...runtime.errors import InterruptError
from ...runtime.model import Data, Model
from ..portability.check import RuleFinding, findings_for, match_rules, verdict_of
from ..portability.known_differences import KNOWN_DIFFERENCES, TargetVerdict
from ..rewriting.editable_model import EditableModel
from ..rewriting.rewrite import Rewrite, Verification, apply_verified
from .kinds import FIX_KINDS, FixKind, find_rewrites, kinds_for

#: A fix can show a place for the same fix again, as in nested loops.
_MAX_ROUNDS = 8
#: Rules without a fix, and why.
_UNFIXABLE: Mapping[str, str] = {
    "B29": "another element type gives other results",
    "B60": "the file does not tell which dimension is meant by the constant",
    "B69": "the model would have other outputs",
}


@dataclass(frozen=True)
class AppliedFix:
    """A rewrite that was tried. ``applied``: whether it is in the result; ``text``: what the runs showed, or why it was
    left out; ``inputs``: on how many inputs the results are the same, bit for bit."""

    kind: str
    path: str
    node: str
    reason: str
    applied: bool
    inputs: int
    text: str


@dataclass(frozen=True)
class UnfixedFinding:
    """A finding that is left, and why it has no fix."""

    finding: RuleFinding
    text: str


@dataclass(frozen=True)
class FixResult:
    """The result of fixing one model. ``model``: None where nothing was changed; ``interrupted``: by Ctrl-C, so that
    kinds are left that were not tried."""

    model: EditableModel | None
    fixes: tuple[AppliedFix, ...]
    unfixed: tuple[UnfixedFinding, ...]
    interrupted: bool = False


def fix_model(
    model: EditableModel,
    original: Model,
    targets: Sequence[str],
    inputs: Sequence[Mapping[str, Data]],
    seconds: float,
    on_kind: Callable[[str], None] = lambda kind: None,
) -> FixResult:
    """Apply the fixes for what the rules find.

    Args:
        model: the file; it is not changed.
        original: the same file, loaded.
        targets: fix the findings for these.
        inputs: of the runs that verify each fix.
        seconds: for the runs that verify one fix.
        on_kind: called before each kind of fix is tried.
    """
    session = _FixSession(model, original, targets, inputs, seconds)
    try:
        for kind in FIX_KINDS:
            if session.rules & set(kind.rules):
                on_kind(kind.name)
                session.apply_fix_kind(kind)
    except (InterruptError, KeyboardInterrupt):
        return session.result(interrupted=True)
    return session.result()


class _FixSession:
    """A model while fixes are applied to it, one kind after another."""

    def __init__(
        self,
        model: EditableModel,
        original: Model,
        targets: Sequence[str],
        inputs: Sequence[Mapping[str, Data]],
        seconds: float,
    ) -> None:
        self._model, self._original, self._targets = model, original, targets
        self._inputs, self._seconds = inputs, seconds
        self._loaded, self._is_changed = original, False
        self._findings = self._findings_of(original)
        self._fixes: list[AppliedFix] = []

    @property
    def rules(self) -> set[str]:
        """The labels of the findings that are left."""
        return {finding.rule for finding in self._findings}

    def apply_fix_kind(self, kind: FixKind) -> None:
        """Apply a fix wherever it applies, until no finding is left that it is for."""
        refused: set[tuple[str, str, str]] = set()
        for _ in range(_MAX_ROUNDS):
            rewrites = [r for r in find_rewrites(kind, self._model, self._loaded) if _rewrite_key(r) not in refused]
            if not rewrites or not self.rules & set(kind.rules):
                return
            if self._try_rewrites(kind, rewrites):
                continue
            if len(rewrites) > 1:
                # Each change can move the places of others.
                while rewrite := next((r for r in rewrites if _rewrite_key(r) not in refused), None):
                    refused.add(_rewrite_key(rewrite))
                    if self._try_rewrites(kind, [rewrite]):
                        break
            else:
                refused.add(_rewrite_key(rewrites[0]))

    def _try_rewrites(self, kind: FixKind, rewrites: Sequence[Rewrite]) -> bool:
        edited, verification = apply_verified(self._model, rewrites, self._original, self._inputs, self._seconds)
        obstacle = verification.text
        if edited is not None:
            loaded = edited.load()
            findings = self._findings_of(loaded)
            obstacle = self._obstacle(kind, findings)
            if not obstacle:
                self._model, self._loaded, self._findings = edited, loaded, findings
                self._is_changed = True
                self._record_fixes(rewrites, True, verification, verification.text)
                return True
        if len(rewrites) == 1:
            self._record_fixes(rewrites, False, verification, obstacle)
        return False

    def _obstacle(self, kind: FixKind, findings: Sequence[RuleFinding]) -> str:
        """Why a result is no better than before; empty if it is."""
        for target in self._targets:
            if _gravest_verdict_rank(findings, target) < _gravest_verdict_rank(self._findings, target):
                rules = sorted({f.rule for f in findings if f.target == target} - self.rules)
                return f"{target} is worse off by it: rule {', '.join(rules)}; leave that target out"
        counts = [sum(f.rule in kind.rules for f in group) for group in (self._findings, findings)]
        return "" if counts[1] < counts[0] else "the finding stays"

    def _record_fixes(self, rewrites: Sequence[Rewrite], applied: bool, shown: Verification, text: str) -> None:
        self._fixes += [
            AppliedFix(r.kind, r.path, r.node, r.reason, applied, shown.compared if applied else 0, text)
            for r in rewrites
        ]

    def _findings_of(self, model: Model) -> list[RuleFinding]:
        return findings_for(match_rules(model.graph), self._targets)

    def result(self, interrupted: bool = False) -> FixResult:
        """What was done, and what is left."""
        unfixed = tuple(UnfixedFinding(finding, self._unfixed_reason(finding)) for finding in self._findings)
        return FixResult(self._model if self._is_changed else None, tuple(self._fixes), unfixed, interrupted)

    def _unfixed_reason(self, finding: RuleFinding) -> str:
        kinds = {kind.name for kind in kinds_for(finding.rule)}
        tried = [fix for fix in self._fixes if fix.kind in kinds and not fix.applied]
        if tried:
            return f"{tried[-1].kind} was not written: {tried[-1].text}"
        if kinds:
            return f"no place for {', '.join(sorted(kinds))}"
        remedy = KNOWN_DIFFERENCES[finding.rule].remedy
        reason = f"there is no fix: {_UNFIXABLE.get(finding.rule, 'no edit is known that keeps the results')}"
        return f"{reason}; by hand: {remedy}" if remedy else reason


def _rewrite_key(rewrite: Rewrite) -> tuple[str, str, str]:
    return rewrite.path, rewrite.node, rewrite.reason


def _gravest_verdict_rank(findings: Sequence[RuleFinding], target: str) -> int:
    """The place of the verdict about a target, the gravest first."""
    return list(TargetVerdict).index(verdict_of(findings, target))
