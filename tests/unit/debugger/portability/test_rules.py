"""The rules of ``check``: each applies to its own model, and none to a sound one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from loopdbg.debugger.portability.check import findings_for, match_rules, verdict_of
from loopdbg.debugger.portability.known_differences import (
    KNOWN_DIFFERENCES,
    ONNXRUNTIME,
    OPENVINO,
    SPECIFICATION,
    TARGETS,
    TENSORRT,
    TargetVerdict,
)
from loopdbg.runtime.errors import UnsupportedError
from onnx_node_tests import load_node_tests
from portability_models import RULE_CASES, SOUND_CASES, RuleCase
from text_models import SAMPLES, load_proto

#: Rules of IRs and scripts (tests/unit/runtime/frontends/openvino has models of them), and of files that are rejected.
_OTHER_FORMATS = {"B22", "B23", "B24", "B34", "B39", "B41", "B46", "B51", "B71", "S2"}


@pytest.mark.parametrize("case", RULE_CASES, ids=lambda case: case.name)
def test_rule_applies_to_its_model(case: RuleCase) -> None:
    rules = {match.rule for match in match_rules(load_proto(case.model).graph)}
    assert case.rule in rules
    assert rules == {case.rule, *case.also}


@pytest.mark.parametrize("case", SOUND_CASES, ids=lambda case: case.name)
def test_no_rule_applies_to_a_sound_model(case: RuleCase) -> None:
    findings = findings_for(match_rules(load_proto(case.model).graph), TARGETS)
    assert [finding for finding in findings if finding.target != TENSORRT] == []


def test_every_rule_has_a_model() -> None:
    covered = {rule for case in RULE_CASES for rule in (case.rule, *case.also)}
    static = {label for label, rule in KNOWN_DIFFERENCES.items() if not rule.needs_run}
    assert static - covered - _OTHER_FORMATS == set()


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.onnx")), ids=lambda path: path.name)
def test_sample_models_are_fine(path: Path) -> None:
    findings = findings_for(match_rules(loopdbg.load(path).graph), (ONNXRUNTIME, OPENVINO, SPECIFICATION))
    assert findings == []


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.xml")), ids=lambda path: path.name)
def test_sample_irs_are_fine_in_openvino(path: Path) -> None:
    findings = findings_for(match_rules(loopdbg.load(path).graph), TARGETS)
    assert {finding.target: finding.rule for finding in findings} == {ONNXRUNTIME: "B51", TENSORRT: "B51"}


def test_findings_are_located_and_the_gravest_is_first() -> None:
    case = next(case for case in RULE_CASES if case.name == "two values that swap")
    findings = findings_for(match_rules(load_proto(case.model).graph), [OPENVINO])
    assert [(finding.rule, finding.verdict) for finding in findings] == [
        ("B49", TargetVerdict.DOES_NOT_LOAD),
        ("B8", TargetVerdict.DIFFERS),
    ]
    assert {finding.path for finding in findings} == {"main ▸ Loop_0"}
    assert verdict_of(findings, OPENVINO) is TargetVerdict.DOES_NOT_LOAD
    assert verdict_of(findings, ONNXRUNTIME) is TargetVerdict.FINE


def test_an_expanded_operator_is_checked_as_in_the_file() -> None:
    case = next(case for case in RULE_CASES if case.rule == "B61")
    (match,) = match_rules(load_proto(case.model).graph)
    assert (match.rule, match.path, match.node) == ("B61", "main", "rnn")


def test_every_rule_states_evidence_and_remedy() -> None:
    for label, rule in KNOWN_DIFFERENCES.items():
        known = set(rule.verdicts.values()) - {TargetVerdict.UNKNOWN}
        assert bool(rule.evidence) == bool(known) or label in ("B45", "S2"), label
        assert rule.remedy or rule.needs_run, label


def test_models_of_rules_are_what_they_claim() -> None:
    for case in (*RULE_CASES, *SOUND_CASES):
        if case.runs and case.rule != "B60":
            outputs = load_proto(case.model).run(case.inputs)
            assert all(isinstance(value, np.ndarray | list) for value in outputs.values()), case.name
        assert isinstance(case.model, onnx.ModelProto)


def test_no_rule_of_the_specification_applies_to_a_node_test() -> None:
    applied: dict[str, set[str]] = {}
    for test in load_node_tests()[::2]:
        try:
            graph = load_proto(test.model).graph
        except UnsupportedError:
            continue
        rules = {finding.rule for finding in findings_for(match_rules(graph), [SPECIFICATION])}
        if rules:
            applied[test.name] = rules
    assert applied == {}


def test_sixty_models_are_of_public_reports() -> None:
    reports = [case.report for case in RULE_CASES if case.report]
    assert len(reports) == len(set(reports)) >= 60
