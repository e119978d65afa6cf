"""Checks a model against the rules of each target: what does not load, and what behaves differently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...runtime.frontends.onnx.type_checks import disallowed_type_notes
from ...runtime.graph import Graph, Loop, OptionalType, SequenceType, System, ValueType
from .known_differences import KNOWN_DIFFERENCES, TargetVerdict
from .loop_rules import LOOP_RULES
from .operator_rules import NODE_RULES
from .rule_context import RuleContext, RuleMatch
from .tensorrt_rules import TENSORRT_RULES

#: The newest opset of onnxruntime 1.32.
_ONNXRUNTIME_OPSET = 28


@dataclass(frozen=True)
class RuleFinding:
    """One finding for one target.

    ``path``: of the loop, or ``main``; ``node``: its name in the file, empty for the whole model. ``source``: ``rule``,
    or ``run`` where only a run with the target shows it. ``confirmed``: whether a run with the target agrees with the
    rule; None: it was not run, or its result tells nothing about the rule.
    """

    target: str
    verdict: TargetVerdict
    rule: str
    path: str
    node: str
    text: str
    evidence: tuple[str, ...]
    remedy: str
    source: str = "rule"
    confirmed: bool | None = None


def match_rules(graph: Graph) -> list[RuleMatch]:
    """All rules that apply to a model, without those that depend on a run."""
    return list(dict.fromkeys(_rule_matches(graph, RuleContext(graph))))


def match_loop_rules(graph: Graph) -> list[RuleMatch]:
    """The rules about the loops of an ONNX model, without those that are notes of its front end."""
    context = RuleContext(graph)
    return list(_loop_matches(context)) if graph.system is System.ONNX else []


def findings_for(matches: Iterable[RuleMatch], targets: Sequence[str]) -> list[RuleFinding]:
    """The findings for some targets: by target, the gravest first."""
    findings = [
        RuleFinding(
            target, rule.verdicts[target], match.rule, match.path, match.node, match.text, rule.evidence, rule.remedy
        )
        for match in matches
        if (rule := KNOWN_DIFFERENCES.get(match.rule)) is not None
        for target in targets
        if target in rule.verdicts
    ]
    grave = list(TargetVerdict)
    return sorted(findings, key=lambda finding: (targets.index(finding.target), grave.index(finding.verdict)))


def verdict_of(findings: Iterable[RuleFinding], target: str) -> TargetVerdict:
    """The gravest verdict about a target."""
    verdicts = {finding.verdict for finding in findings if finding.target == target}
    return next((verdict for verdict in TargetVerdict if verdict in verdicts), TargetVerdict.FINE)


def _rule_matches(graph: Graph, context: RuleContext) -> Iterator[RuleMatch]:
    for note in graph.notes:
        rule = getattr(note, "rule", "")
        if rule:
            yield RuleMatch(rule, str(note))
    for scope in context.scopes:
        for node in scope.nodes:
            if isinstance(node, Loop):
                path = f"{scope.path} ▸ {node.name}"
                for note in node.notes:
                    yield RuleMatch(getattr(note, "rule", ""), str(note), path, node.name)
    if graph.system is not System.ONNX:
        yield (
            RuleMatch("B51", "onnxruntime and TensorRT's parser read ONNX, and the model is an OpenVINO IR.")
            if graph.system is System.OPENVINO
            else RuleMatch("B71", "onnxruntime and OpenVINO read model files, and the model is a TensorRT network.")
        )
        return
    yield from _loop_matches(context)
    for scope in context.scopes:
        for node in scope.nodes:
            for rule in (*NODE_RULES, *TENSORRT_RULES):
                for label, text in rule(node, scope, context):
                    yield RuleMatch(label, text, scope.path, node.name)
    yield from _model_matches(graph, context)


def _loop_matches(context: RuleContext) -> Iterator[RuleMatch]:
    for scope in context.scopes:
        for node in scope.nodes:
            if isinstance(node, Loop):
                for rule in LOOP_RULES:
                    for label, text in rule(node, scope, context):
                        yield RuleMatch(label, text, f"{scope.path} ▸ {node.name}", node.name)


def _model_matches(graph: Graph, context: RuleContext) -> Iterator[RuleMatch]:
    """Rules about the model as a whole."""
    opset = graph.opsets.get("", 0)
    if opset > _ONNXRUNTIME_OPSET:
        yield RuleMatch("B66", f"the model imports opset {opset}, and onnxruntime reads up to {_ONNXRUNTIME_OPSET}.")
    for item in graph.excluded:
        yield RuleMatch("B69", f"{item.subject}: {item.reason}.")
    for value in (*graph.inputs, *graph.outputs):
        if _is_sequence_type(value.type):
            yield RuleMatch("B57", f"OpenVINO refuses the sequence '{value.name}' as an input or output of the model.")
    for text in disallowed_type_notes(graph, context.value_type):
        yield RuleMatch("S1", text)


def _is_sequence_type(kind: ValueType) -> bool:
    return isinstance(kind, SequenceType | OptionalType)
