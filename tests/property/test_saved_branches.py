"""Random models: the edits of a branch, saved into a copy of the model, give the bits of the branch.

Edits that a file cannot express are refused; a wrong refusal would show in the counts.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

import loopdbg
from hypothesis_settings import example_settings
from loopdbg.debugger.extract.submodel import same_bits
from loopdbg.debugger.session.stop import Reason
from loopdbg.runtime.errors import LoopdbgError, UsageError
from loopdbg.runtime.frame import frame_reader
from loopdbg.runtime.graph import walk
from loopdbg.runtime.graph.producers import ProducerMap
from loopdbg.runtime.ops.constant_folding import ConstantFolder
from strategies import program_generator
from strategies.draws import ChoiceSource, HypothesisChoices
from strategies.ir_export import write_ir
from strategies.onnx_export import to_onnx

TOGETHER = (
    ("growing", "delayed"),
    ("condition", "products"),
    ("nested", "branches", "direct"),
    ("scan", "rows", "nested"),
    ("strings", "hot"),
    ("openvino", "direct", "growing"),
    ("openvino", "nested", "branches"),
)
#: What a session does between its edits.
MOVES = ("stay", "stay", "step", "next", "finish")


def changed(value: Any, draw: ChoiceSource) -> Any:
    """Another value of the same type."""
    if value.dtype == bool:
        return ~value
    if value.dtype.hasobject:
        return np.full(value.shape, "changed", object)
    return value + value.dtype.type(draw.integer(1, 3))


def constants(session: loopdbg.Session) -> dict[str, Any]:
    """The constants that a session shows, including those of nodes that have not run yet."""
    graph = session.model.graph
    known = ConstantFolder(ProducerMap.for_graph(graph), graph.system)
    results = {name: known.value_of(value) for name, value in frame_reader(session.frame).scope().items()}
    fixed = {value for node in walk(graph) if node.op_type == "Constant" for value in node.outputs}
    return {
        name: data
        for name, value in frame_reader(session.frame).scope().items()
        if (data := results[name]) is not None and (value in fixed or value.constant is not None)
    }


def change(session: loopdbg.Session, draw: ChoiceSource) -> None:
    """Edit something that can be edited at the session's position."""
    frame = session.frame
    kind = draw.pick(("carried", "carried", "trip_count", "cond", "constant", "value"))
    if kind == "trip_count":
        session.set("trip_count", draw.integer(0, 5))
    elif kind == "cond":
        session.set("cond", draw.chance(50))
    else:
        results = {
            "carried": frame.carried,
            "constant": constants(session),
        }
        names = sorted(name for name, value in results.get(kind, frame.values).items() if isinstance(value, np.ndarray))
        if names:
            name = draw.pick(names)
            session.set(f"`{name}`", changed(results.get(kind, frame.values)[name], draw))


def move(session: loopdbg.Session, how: str) -> None:
    if how == "step":
        session.step()
    elif how == "next":
        session.next_node()
    elif how == "finish":
        session.finish()
        session.step()


def branch_of(path: Path, feeds: dict[str, Any], draw: ChoiceSource) -> str:
    """Edit a session, save the model, and run both; returns the outcome."""
    session = loopdbg.Session(loopdbg.load(path), feeds, max_iterations=1000)
    for _ in range(draw.integer(1, 3)):
        try:
            move(session, draw.pick(MOVES))
            if session.done:
                break
            change(session, draw)
        except UsageError:
            continue
    if session.branch.parent is None:
        return "nothing was set"
    target = path.with_name(f"saved{path.suffix}")
    try:
        session.save(target, force=True)
    except LoopdbgError as error:
        assert "cannot be saved in a file" in str(error) or "is stored as" in str(error), error
        return "refused"
    stop = session.stop if session.done else session.continue_()
    if stop.reason is not Reason.DONE:
        with pytest.raises(LoopdbgError):
            loopdbg.load(target).run(feeds, max_iterations=1000)
        return "fails"
    outputs = loopdbg.load(target).run(feeds)
    expected = session.outputs
    assert expected is not None and expected.keys() == outputs.keys()
    differing = [name for name in outputs if not same_bits(outputs[name], expected[name])]
    assert not differing, (session.branch.ancestry(), differing, outputs, expected)
    return "saved"


@pytest.mark.parametrize("features", TOGETHER, ids="-".join)
@example_settings(12, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_saved_branch_gives_its_bits(
    tmp_path_factory: pytest.TempPathFactory, features: Collection[str], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("saved")
    program, feeds, _ = data.draw(program_generator.program_cases(features))
    if "openvino" in features:
        path = write_ir(program, folder / "model.xml")
    else:
        path = folder / "model.onnx"
        onnx.save(to_onnx(program), path)
    try:
        loopdbg.load(path).run(feeds, max_iterations=1000)
    except LoopdbgError:
        return
    event(branch_of(path, feeds, HypothesisChoices(data.draw)))
