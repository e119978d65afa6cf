"""Findings of rules next to trials: what a runtime confirms, and what it contradicts."""

from __future__ import annotations

from loopdbg.debugger.peer_trials.target_report import TargetReport, tried_target_report, untried_target_report
from loopdbg.debugger.peer_trials.trial import Trial, short_failure_text
from loopdbg.debugger.portability.check import RuleFinding, findings_for
from loopdbg.debugger.portability.known_differences import ONNXRUNTIME, OPENVINO, TargetVerdict
from loopdbg.debugger.portability.rule_context import RuleMatch


def findings(*rules: str) -> list[RuleFinding]:
    return findings_for([RuleMatch(rule, rule, "main ▸ loop", "loop") for rule in rules], (ONNXRUNTIME, OPENVINO))


def trial(loads: bool | None, alike: bool | None, *rules: str, path: str = "main") -> Trial:
    return Trial(OPENVINO, "1.0", path, loads, alike, rules, "text")


def report(rules: list[RuleFinding], *trials: Trial) -> TargetReport:
    return tried_target_report(OPENVINO, rules, trials)


def test_report_rules_takes_the_gravest_verdict_of_the_target() -> None:
    result = untried_target_report(OPENVINO, findings("B40", "B35", "B49"))
    assert result.verdict is TargetVerdict.DOES_NOT_LOAD
    assert [finding.rule for finding in result.findings] == ["B49", "B35"]


def test_refusal_confirms_a_rule() -> None:
    result = report(findings("B49"), trial(False, False))
    assert result.contradictions == ()
    assert [finding.confirmed for finding in result.findings] == [True]


def test_refusal_without_a_rule_is_a_contradiction_with_its_loop() -> None:
    result = report([], trial(False, False), trial(False, False, path="main ▸ a"), trial(True, True, path="main ▸ b"))
    assert len(result.contradictions) == 1
    (finding,) = result.findings
    assert (finding.path, finding.node, finding.source, finding.verdict) == (
        "main ▸ a",
        "a",
        "run",
        TargetVerdict.DOES_NOT_LOAD,
    )


def test_refusal_where_nothing_is_known_is_no_contradiction() -> None:
    result = report(findings("B70"), trial(False, False))
    assert (result.verdict, result.contradictions) == (TargetVerdict.DOES_NOT_LOAD, ())


def test_loading_against_a_rule_is_a_contradiction() -> None:
    result = report(findings("B49"), trial(True, True))
    assert len(result.contradictions) == 1 and "B49" in result.contradictions[0]
    assert [finding.confirmed for finding in result.findings] == [False]


def test_difference_with_a_rule_is_confirmed() -> None:
    result = report(findings("B35"), trial(True, False))
    assert (result.verdict, result.contradictions) == (TargetVerdict.DIFFERS, ())
    assert [finding.confirmed for finding in result.findings] == [True]


def test_difference_that_only_a_run_shows_has_its_rule() -> None:
    result = report([], trial(True, False, "B29"))
    assert result.contradictions == ()
    assert [(finding.rule, finding.source) for finding in result.findings] == [("B29", "run")]


def test_difference_without_a_rule_is_a_contradiction() -> None:
    result = report([], trial(True, False))
    assert (result.verdict, len(result.contradictions)) == (TargetVerdict.DIFFERS, 1)


def test_no_difference_with_these_inputs_refutes_no_rule() -> None:
    result = report(findings("B1"), trial(True, True))
    assert (result.verdict, result.contradictions) == (TargetVerdict.DIFFERS, ())
    assert [finding.confirmed for finding in result.findings] == [False]


def test_run_decides_what_is_unknown() -> None:
    assert report(findings("B70"), trial(True, True)).verdict is TargetVerdict.FINE
    assert report(findings("B70"), trial(None, None)).verdict is TargetVerdict.UNKNOWN


def test_short_failure_keeps_the_end() -> None:
    assert short_failure_text("short") == "short"
    text = short_failure_text("file.cpp:1 " * 50 + "the reason")
    assert text.startswith("... ") and text.endswith("the reason") and len(text) < 260
