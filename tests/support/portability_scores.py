"""Scores what ``loopdbg check`` predicts by rules against the runtimes themselves, on random loop models.

``loads``: whether the runtime loads the file. ``alike``: whether it computes the same; a rule that depends on the
inputs counts if our own run shows its condition (a condition that turns false, numbers beyond 32 bits). A case depends
only on its name: ``openvino direct 17`` is a runtime, a kind of model, and a number. ``direct``: bodies may return
inputs and outer values; ``insulated``: an Identity is before each of their outputs; ``mutated``: insulated, with one
change that some runtime refuses.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import loopdbg
from loopdbg.debugger.compare.live_peer.free_running import reasons_from_profile
from loopdbg.debugger.compare.live_peer.lockstep import Lockstep
from loopdbg.debugger.compare.live_peer.peer_run_profile import RunProfile
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.debugger.peers.jobs import OnnxJob
from loopdbg.debugger.peers.process import Peer, PeerError
from loopdbg.debugger.portability.check import RuleFinding, findings_for, match_rules, verdict_of
from loopdbg.debugger.portability.known_differences import DIFFERS, KNOWN_DIFFERENCES, TargetVerdict
from loopdbg.runtime.errors import LoopdbgError
from strategies import program_generator, program_oracle
from strategies.draws import ChoiceSource, SeededChoices
from strategies.onnx_export import to_onnx
from text_models import load_proto

_KINDS = ("onnxruntime direct", "onnxruntime insulated", "openvino direct", "openvino insulated")
_MUTATED_KINDS = ("onnxruntime mutated", "openvino mutated")
#: Seconds until a runtime is given up: small models take milliseconds.
_TIMEOUT_SECONDS = 5.0
_FEATURES = tuple(name for name in program_generator.FEATURES if name not in ("openvino", "hot", "failing"))
_SECTIONS = ("loads", "alike")
#: Rules that our own run decides: the condition that a loop ignores, and numbers beyond 32 bits.
_DECIDED_BY_RUN = ("B1", "B29")
#: Rules of a run.
_RUN_RULES = ("B14", "B15", "B19", "B29", "B67", "B72")


def case_names(numbers: Iterable[int]) -> list[str]:
    """The names of the cases; one in eleven is mutated."""
    return [f"{_MUTATED_KINDS[k // 11 % 2] if k % 11 == 10 else _KINDS[k % len(_KINDS)]} {k}" for k in numbers]


def _draw_case(name: str) -> tuple[onnx.ModelProto, dict[str, Any]] | None:
    """The model of a case and its inputs; None for a program that fails or grows."""
    _, kind, _ = name.split(" ")
    draw = SeededChoices(name)
    features = frozenset(draw.pick(_FEATURES) for _ in range(draw.integer(1, 4)))
    program = program_generator.draw_program(draw, features)
    feeds = program_generator.draw_feeds(program, draw)
    try:
        program_oracle.evaluate(program, feeds)
    except (program_oracle.ProgramFailsError, program_oracle.ProgramTooLargeError):
        return None
    proto = to_onnx(program, insulated=kind != "direct")
    if kind == "mutated":
        draw.pick(_MUTATIONS)(proto, draw)
    return proto, feeds


def describe_case(name: str) -> str:
    """The model of a case in ONNX text form, and its inputs."""
    case = _draw_case(name)
    if case is None:
        return "no case"
    feeds = {key: np.asarray(value).tolist() for key, value in case[1].items()}
    return f"{onnx.printer.to_text(case[0].graph)}\n{feeds}"


def judge_case(name: str) -> str:
    """Run one case; returns ``loads right, alike wrong: ...`` and the like."""
    case = _draw_case(name)
    if case is None:
        return "no case"
    proto, feeds = case
    target = name.split(" ")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(proto, path)
        try:
            model = loopdbg.load(path)
            outputs = list(model.run(feeds).values())
        except LoopdbgError:
            return "rejected here"
        return _judge(path, model, feeds, outputs, target)


def _judge(path: Path, model: loopdbg.Model, feeds: Mapping[str, Any], outputs: list[Any], target: str) -> str:
    findings = findings_for(match_rules(model.graph), [target])
    verdict = verdict_of(findings, target)
    if verdict is not TargetVerdict.DOES_NOT_LOAD and any(
        finding.verdict is TargetVerdict.UNKNOWN for finding in findings
    ):
        return "unknown"
    labels = ",".join(sorted({finding.rule for finding in findings})) or "no rule"
    loads, alike, text = _run_peer(path, feeds, outputs, target)
    if loads != (verdict is not TargetVerdict.DOES_NOT_LOAD):
        return f"loads wrong: {labels}: {text}"
    if not loads:
        return "loads right"
    if alike is None:
        return "loads right, not given"
    differing = _differing_rules(model, feeds, findings, target)
    if alike is not bool(differing):
        return "loads right, alike right"
    return f"loads right, alike wrong: {labels}: predicted {sorted(differing) or 'alike'}: {text}"


@functools.cache
def _peer(target: str) -> Peer:
    return Peer(target, timeout=_TIMEOUT_SECONDS)


def _run_peer(path: Path, feeds: Mapping[str, Any], outputs: list[Any], target: str) -> tuple[bool, bool | None, str]:
    """Whether the runtime loads the model, computes the same, and how it failed."""
    try:
        loaded = _peer(target).open(OnnxJob(path=str(path)))
    except PeerError as error:
        return False, False, error.text[-200:]
    try:
        results = loaded.run({name: np.asarray(value) for name, value in feeds.items()})
        loaded.close()
    except PeerError as error:
        if "Unsupported data type" in error.text or "Unknown string kind" in error.text:
            return True, None, error.text
        return True, False, f"{error.kind}: {error.text[-200:]}"
    differing = [k for k, (a, b) in enumerate(zip(outputs, results, strict=True)) if not _same(a, b)]
    return True, not differing, f"outputs {differing} differ" if differing else "alike"


def _same(ours: Any, theirs: Any) -> bool:
    a, b = np.asarray(ours), np.asarray(theirs)
    # An empty tensor has the lengths of its other axes from the declared shape or from the last run.
    if a.shape != b.shape:
        return a.size == b.size == 0
    if a.dtype.kind == "f":
        # float64 is compared as float32, as by diff.
        return np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
    return bool(np.array_equal(a, b))


def _differing_rules(
    model: loopdbg.Model, feeds: Mapping[str, Any], findings: list[RuleFinding], target: str
) -> set[str]:
    """The rules by which a target behaves differently with these inputs."""
    side, profile = ModelSide(model, feeds), RunProfile()
    Lockstep(side, None, ComparisonOptions(), profile).run()
    paths = profile.loops
    rules = {
        finding.rule
        for finding in findings
        if finding.verdict is DIFFERS
        and finding.rule not in _DECIDED_BY_RUN
        and (finding.path not in paths or paths[finding.path].iterations > (finding.rule == "B10"))
        and (finding.rule != "B10" or any(_has_text(value) for value in (side.outputs or {}).values()))
    }
    if _changes_with_condition(model, feeds, side.outputs or {}):
        rules.add("B1")
    for path, info in paths.items():
        reasons = [*side.reasons(path), *reasons_from_profile(info)]
        rules |= {reason.rule for reason in reasons if reason.rule in _RUN_RULES}
    if profile.first_wide_value is not None or any(_is_wide(value) for value in (side.outputs or {}).values()):
        rules.add("B29")
    return {rule for rule in rules if KNOWN_DIFFERENCES[rule].verdicts.get(target) is DIFFERS}


def _changes_with_condition(model: loopdbg.Model, feeds: Mapping[str, Any], outputs: Mapping[str, Any]) -> bool:
    """Whether loops without cond that obey their body's condition, as the runtimes do, return other outputs."""
    assert model.path is not None
    proto = onnx.load(model.path)
    proto.graph.node.insert(0, _constant("obeyed", True))
    if not _obey_conditions(proto.graph):
        return False
    try:
        obeyed = load_proto(proto).run(feeds)
    except LoopdbgError:
        return True
    return not all(_same(a, b) for a, b in zip(outputs.values(), obeyed.values(), strict=True))


def _obey_conditions(graph: onnx.GraphProto) -> bool:
    """Give each Loop without cond a true one; returns whether there is any."""
    has_changed = False
    for node in graph.node:
        if node.op_type == "Loop" and not node.input[1]:
            node.input[1] = "obeyed"
            has_changed = True
        for attribute in node.attribute:
            has_changed |= _obey_conditions(attribute.g)
    return has_changed


def _constant(name: str, value: object) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.array(value)))


def _has_text(value: Any) -> bool:
    """Whether a tensor has a string that is not empty."""
    array = np.asarray(value)
    return bool(array.dtype.hasobject and any(array.reshape(-1)))


def _is_wide(value: Any) -> bool:
    array = np.asarray(value)
    return array.dtype == np.int64 and array.size > 0 and bool(np.abs(array).max() > np.iinfo(np.int32).max)


def tally(of_kind: Mapping[str, Mapping[str, int]]) -> str:
    """The share of right predictions by kind and in all."""
    lines = [f"{'':24}{'cases':>8}{'loads':>9}{'alike':>9}{'unknown':>9}"]
    total: dict[str, int] = {}
    for kind, came in sorted(of_kind.items()):
        lines.append(_row(kind, came))
        for outcome, count in came.items():
            total[outcome] = total.get(outcome, 0) + count
    return "\n".join([*lines, _row("all", total)])


def _row(kind: str, came: Mapping[str, int]) -> str:
    def count(word: str) -> int:
        return sum(number for outcome, number in came.items() if word in outcome)

    unknown = came.get("unknown", 0)
    cases = count("loads ") + unknown
    shares = [f"{count(f'{word} right') / n:9.1%}" if (n := count(f"{word} ")) else f"{'-':>9}" for word in _SECTIONS]
    return f"{kind:24}{cases:8}{''.join(shares)}{unknown / cases if cases else 0:9.1%}"


# -- mutations: each changes a model in place


def _first_loop(proto: onnx.ModelProto) -> onnx.NodeProto | None:
    return next((node for node in proto.graph.node if node.op_type in ("Loop", "Scan")), None)


def _body(node: onnx.NodeProto) -> onnx.GraphProto:
    return next(attribute.g for attribute in node.attribute if attribute.name == "body")


def _reverse_body(proto: onnx.ModelProto, draw: ChoiceSource) -> None:
    """The nodes of a body in reverse order."""
    node = _first_loop(proto)
    if node is not None:
        body = _body(node)
        nodes = list(reversed(body.node))
        del body.node[:]
        body.node.extend(nodes)


def _narrow_iteration(proto: onnx.ModelProto, draw: ChoiceSource) -> None:
    """An iteration number of type int32."""
    node = _first_loop(proto)
    if node is not None and node.op_type == "Loop":
        _body(node).input[0].type.tensor_type.elem_type = TensorProto.INT32


def _narrow_trip_count(proto: onnx.ModelProto, draw: ChoiceSource) -> None:
    """A trip count of type int32."""
    node = _first_loop(proto)
    if node is not None and node.op_type == "Loop" and node.input[0]:
        cast = helper.make_node("Cast", [node.input[0]], ["narrow_trips"], to=TensorProto.INT32)
        proto.graph.node.insert(list(proto.graph.node).index(node), cast)
        node.input[0] = "narrow_trips"


def _one_element_condition(proto: onnx.ModelProto, draw: ChoiceSource) -> None:
    """A condition of shape [1] for a body that declares a scalar."""
    node = _first_loop(proto)
    if node is not None and node.op_type == "Loop":
        proto.graph.node.insert(0, _constant("one_condition", [True]))
        node.input[1] = "one_condition"


def _double_initial(proto: onnx.ModelProto, draw: ChoiceSource) -> None:
    """The first carried value starts as another type."""
    node = _first_loop(proto)
    first = 2 if node is not None and node.op_type == "Loop" else 0
    if node is not None and len(node.input) > first:
        source = node.input[first]
        cast = helper.make_node("Cast", [source], ["other_type"], to=TensorProto.DOUBLE)
        proto.graph.node.insert(list(proto.graph.node).index(node), cast)
        node.input[first] = "other_type"


def _outer_result(proto: onnx.ModelProto, draw: ChoiceSource) -> None:
    """A body whose condition is an outer value."""
    node = _first_loop(proto)
    if node is not None and node.op_type == "Loop":
        proto.graph.node.insert(0, _constant("outer_condition", True))
        _body(node).output[0].name = "outer_condition"


_MUTATIONS: tuple[Callable[[onnx.ModelProto, ChoiceSource], None], ...] = (
    _reverse_body,
    _narrow_iteration,
    _narrow_trip_count,
    _one_element_condition,
    _double_initial,
    _outer_result,
)
