"""Checks that each execution mode, the oracle and a real runtime agree on a random program."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import execution_modes
import loopdbg
import onnxruntime_peer
import openvino_peer
from comparable_values import canonical_value, canonical_values
from differential_testing import DisagreementError, assert_equal, run_every_mode
from strategies import program_oracle
from strategies.draws import ChoiceSource
from strategies.ir_export import write_ir
from strategies.onnx_export import to_onnx
from strategies.program import Program, ProgramLoop, ProgramNode, ProgramValue, all_loops, node_reads, outputs_of
from text_models import load_proto


def load_program(program: Program) -> loopdbg.Model:
    """The model that a program is written as and read from."""
    if program.system == "onnx":
        return load_proto(to_onnx(program))
    with tempfile.TemporaryDirectory() as folder:
        return loopdbg.load(write_ir(program, Path(folder) / "random.xml"))


def check_agreement(
    program: Program,
    feeds: Mapping[str, Any],
    other: Mapping[str, Any],
    draw: ChoiceSource,
    peers: bool = True,
) -> str:
    """Run a program in every mode on ``feeds``, with ``other`` in between.

    Returns:
        The outcome: ``runs``, ``fails``, ``refused``, or ``too large`` if it is of no use as a test.

    Raises:
        DisagreementError: the modes do not agree.
    """
    try:
        message = program_oracle.evaluate(program, feeds)
    except program_oracle.ProgramFailsError:
        message = None
    except program_oracle.ProgramTooLargeError:
        return "too large"
    first = execution_modes.run_headless(load_program(program), feeds)
    if (message is None) != (first[0] == "error"):
        raise DisagreementError(f"the oracle {'fails' if message is None else 'does not fail'}; got {first!r:.400}")
    if message is not None:
        assert_equal(
            "oracle",
            canonical_values(first[2]),
            {f"out{k}": canonical_value(message.outputs[v.name]) for k, v in enumerate(program.outputs)},
        )
    seen = run_every_mode(
        load_program(program), first, feeds, other if program_oracle.terminates(program, other) else None, draw
    )
    if message is not None:
        _check_boundaries(program, seen, message.boundaries)
    if first[1] == "LimitError":
        return "refused"  # a loop that nothing ends; sessions may go on in it
    if peers and message is not None and "smooth" not in program.features:
        _check_peer(program, feeds, message, first[2])
    return "fails" if message is None else "runs"


def _check_boundaries(program: Program, seen: list[Any], wanted: list[program_oracle.OracleBoundary]) -> None:
    by_name = {loop.name: loop for loop in all_loops(program.body)}
    assert_equal(
        "boundaries",
        [(s[0].rpartition(" ")[2], *s[1:3]) for s in seen],
        [(b.loop, b.entry, b.iteration) for b in wanted],
    )
    for state, boundary in zip(seen, wanted, strict=True):
        where = f"boundary of {boundary.loop}, entry {boundary.entry}, iteration {boundary.iteration}"
        loop = by_name[boundary.loop]
        if loop.kind != "Scan":
            assert_equal(f"{where}: ended", state[3], boundary.ended)
        if loop.initial is not None:
            assert_equal(f"{where}: condition", state[4], boundary.condition)
        if execution_modes.is_inspected(boundary.iteration):
            assert_equal(f"{where}: carried", canonical_values(state[5]), canonical_values(boundary.carried))
            # An IR's scan outputs have no names of their own.
            pairs = list(zip(state[6].items(), boundary.scanned.items(), strict=True))
            for (name, got), (_, value) in pairs:
                if value is not None:
                    assert_equal(f"{where}: scan output {name}", canonical_value(got), canonical_value(value))


def _check_peer(
    program: Program, feeds: Mapping[str, Any], message: program_oracle.OracleResult, outputs: Mapping[str, Any]
) -> None:
    """Compare with a real runtime where docs/peers.md states that it agrees."""
    try:
        if program.system == "onnx":
            results = _onnxruntime(program, feeds)
        else:
            results = _openvino(program, feeds, message)
    except _PeerNotComparable:
        return
    for name, value in results.items():
        ours = canonical_value(outputs[name])
        if 0 in ours.shape or 0 in value.shape:
            assert_equal(f"peer: {name}", int(np.prod(value.shape)), int(np.prod(ours.shape)))
        else:
            assert_equal(f"peer: {name}", canonical_value(value), ours)


class _PeerNotComparable(Exception):
    """The peer is known to differ here, or does not run this program."""


def _onnxruntime(program: Program, feeds: Mapping[str, Any]) -> dict[str, Any]:
    for loop in all_loops(program.body):
        # It ends loops without a condition by what the body yields, and keeps one row of strings.
        if loop.kind == "Loop" and loop.initial is None and not _forwards_condition(loop):
            raise _PeerNotComparable
        if any(s.result.type.dtype == "str" for s in loop.scanned):
            raise _PeerNotComparable
        # Empty Scans are refused, and so are growing values in a Scan.
        if loop.kind == "Scan":
            raise _PeerNotComparable
    try:
        return onnxruntime_peer.run(to_onnx(program, insulated=True), feeds, optimise=False)
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error) or "FAIL" in str(error):
            raise _PeerNotComparable from None
        raise DisagreementError(f"onnxruntime: {error}") from None


def _forwards_condition(loop: ProgramLoop) -> bool:
    """Whether the body yields the condition that it received, which is true."""
    assert loop.keep is not None
    return _origin(loop, loop.keep) is loop.condition


def _origin(loop: ProgramLoop, value: ProgramValue) -> ProgramValue:
    """The origin of a body's value, with Identities skipped."""
    for node in reversed(loop.body.nodes):
        if isinstance(node, ProgramNode) and node.output is value and node.operator == "Identity":
            value = node.inputs[0]
    return value


def _computed(loop: ProgramLoop, value: ProgramValue) -> bool:
    """Whether the body recomputes the value from something that differs between iterations."""
    moving = set(loop.params)
    for node in loop.body.nodes:
        if any(read in moving for read in node_reads(node)):
            moving.update(outputs_of(node))
    origin = _origin(loop, value)
    return origin in moving and origin not in loop.params


def _openvino(program: Program, feeds: Mapping[str, Any], message: program_oracle.OracleResult) -> dict[str, Any]:
    for loop in all_loops(program.body):
        # Its back edges are written one after the other, values passed through a body unchanged are confused with
        # others, growing values are garbage, 64 bits are 32, and zero trips leave what was there.
        if any(value.type.dtype not in ("float32", "bool") for value in loop.outputs):
            raise _PeerNotComparable
        if not all(_computed(loop, value) for value in loop.results):
            raise _PeerNotComparable
        # For slices whose number of rows is known only at run time it overwrites memory, or returns none: it can crash.
        if any(s.keeps_axis and not isinstance(s.result.type.shape[s.axis], int) for s in loop.scanned):
            raise _PeerNotComparable
        # Unread slices are removed, and with them the number of iterations.
        used = {*loop.results, *(value for node in loop.body.nodes for value in node_reads(node))}
        if loop.kind == "TensorIterator" and not any(part.param in used for part in loop.sliced):
            raise _PeerNotComparable
    if any(b.ended and b.iteration == 0 for b in message.boundaries) or _shape_changed(message):
        raise _PeerNotComparable
    if any(0 in np.shape(value) for value in (*feeds.values(), *message.outputs.values())):
        raise _PeerNotComparable
    with tempfile.TemporaryDirectory() as folder:
        try:
            return openvino_peer.run_by_name(write_ir(program, Path(folder) / "model.xml"), feeds)
        except RuntimeError:
            raise _PeerNotComparable from None


def _shape_changed(message: program_oracle.OracleResult) -> bool:
    """Whether a carried value had more than one shape."""
    shapes: dict[tuple[str, str], set[tuple[int, ...]]] = {}
    for boundary in message.boundaries:
        for name, value in boundary.carried.items():
            shapes.setdefault((boundary.loop, name), set()).add(np.shape(value))
    return any(len(met) > 1 for met in shapes.values())
