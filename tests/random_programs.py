"""Whether everything that can run a random program agrees: each way of running it, the oracle, and a real runtime."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import in_onnxruntime
import in_openvino
import loopdbg
import ways
from agreement import Differs, every_way, same
from models import loaded
from plain import all_plain, plain
from strategies import oracle
from strategies.draws import Draw
from strategies.ir_form import to_ir
from strategies.onnx_form import to_onnx
from strategies.programs import Loop, Node, Program, Value, loops, outputs_of, reads


def load(program: Program) -> loopdbg.Model:
    """The model that a program is written as and read from."""
    if program.system == "onnx":
        return loaded(to_onnx(program))
    with tempfile.TemporaryDirectory() as folder:
        return loopdbg.load(to_ir(program, Path(folder) / "random.xml"))


def agree(
    program: Program,
    feeds: Mapping[str, Any],
    other: Mapping[str, Any],
    draw: Draw,
    peers: bool = True,
) -> str:
    """Run a program in every way on ``feeds``, on ``other`` in between; what came of it: ``runs``, ``fails``,
    ``refused``, or ``too large`` where it is of no use.

    Raises:
        Differs: the ways do not agree.
    """
    try:
        told = oracle.evaluate(program, feeds)
    except oracle.Fails:
        told = None
    except oracle.TooLarge:
        return "too large"
    first = ways.executed(load(program), feeds)
    if (told is None) != (first[0] == "error"):
        raise Differs(f"the oracle {'fails' if told is None else 'does not fail'}; got {first!r:.400}")
    if told is not None:
        same(
            "oracle",
            all_plain(first[2]),
            {f"out{k}": plain(told.outputs[v.name]) for k, v in enumerate(program.outputs)},
        )
    seen = every_way(load(program), first, feeds, other if oracle.ends(program, other) else None, draw)
    if told is not None:
        _boundaries(program, seen, told.boundaries)
    if first[1] == "LimitError":
        return "refused"  # a loop that nothing ends; sessions may go on in it
    if peers and told is not None and "smooth" not in program.features:
        _peer(program, feeds, told, first[2])
    return "fails" if told is None else "runs"


def _boundaries(program: Program, seen: list[Any], wanted: list[oracle.Boundary]) -> None:
    by_name = {loop.name: loop for loop in loops(program.body)}
    same(
        "boundaries",
        [(s[0].rpartition(" ")[2], *s[1:3]) for s in seen],
        [(b.loop, b.entry, b.iteration) for b in wanted],
    )
    for state, boundary in zip(seen, wanted, strict=True):
        where = f"boundary of {boundary.loop}, entry {boundary.entry}, iteration {boundary.iteration}"
        loop = by_name[boundary.loop]
        if loop.kind != "Scan":
            same(f"{where}: ended", state[3], boundary.ended)
        if loop.initial is not None:
            same(f"{where}: condition", state[4], boundary.condition)
        if ways.looked_at(boundary.iteration):
            same(f"{where}: carried", all_plain(state[5]), all_plain(boundary.carried))
            # An IR's scan outputs have no names of their own.
            pairs = list(zip(state[6].items(), boundary.scanned.items(), strict=True))
            for (name, got), (_, value) in pairs:
                if value is not None:
                    same(f"{where}: scan output {name}", plain(got), plain(value))


def _peer(program: Program, feeds: Mapping[str, Any], told: oracle.Told, outputs: Mapping[str, Any]) -> None:
    """Compare with a real runtime where docs/peers.md says that it agrees."""
    try:
        if program.system == "onnx":
            results = _onnxruntime(program, feeds)
        else:
            results = _openvino(program, feeds, told)
    except _Refused:
        return
    for name, value in results.items():
        ours = plain(outputs[name])
        if 0 in ours.shape or 0 in value.shape:
            same(f"peer: {name}", int(np.prod(value.shape)), int(np.prod(ours.shape)))
        else:
            same(f"peer: {name}", plain(value), ours)


class _Refused(Exception):
    """The peer is known to differ here, or does not run this."""


def _onnxruntime(program: Program, feeds: Mapping[str, Any]) -> dict[str, Any]:
    for loop in loops(program.body):
        # It ends loops without a condition by what the body yields, and keeps one row of strings.
        if loop.kind == "Loop" and loop.initial is None and not _passes_on(loop):
            raise _Refused
        if any(s.result.type.dtype == "str" for s in loop.scanned):
            raise _Refused
        # Empty Scans are refused; what grows in a Scan is too.
        if loop.kind == "Scan":
            raise _Refused
    try:
        return in_onnxruntime.run(to_onnx(program, insulated=True), feeds, optimise=False)
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error) or "FAIL" in str(error):
            raise _Refused from None
        raise Differs(f"onnxruntime: {error}") from None


def _passes_on(loop: Loop) -> bool:
    """The body yields the condition that it got, which is true."""
    assert loop.keep is not None
    return _origin(loop, loop.keep) is loop.condition


def _origin(loop: Loop, value: Value) -> Value:
    """Where a body's value comes from, Identities left out."""
    for node in reversed(loop.body.nodes):
        if isinstance(node, Node) and node.output is value and node.operator == "Identity":
            value = node.inputs[0]
    return value


def _computed(loop: Loop, value: Value) -> bool:
    """The body computes it anew, from what differs between iterations."""
    moving = set(loop.params)
    for node in loop.body.nodes:
        if any(read in moving for read in reads(node)):
            moving.update(outputs_of(node))
    origin = _origin(loop, value)
    return origin in moving and origin not in loop.params


def _openvino(program: Program, feeds: Mapping[str, Any], told: oracle.Told) -> dict[str, Any]:
    for loop in loops(program.body):
        # Its back edges are written one after the other, what passes through a body unchanged is mixed up with others,
        # what grows is garbage, 64 bits are 32, and zero trips leave what was there.
        if any(value.type.dtype not in ("float32", "bool") for value in loop.outputs):
            raise _Refused
        if not all(_computed(loop, value) for value in loop.results):
            raise _Refused
        # Of parts that have so many rows as the run alone knows it writes over its memory, or gives none: it can crash.
        if any(s.keep and not isinstance(s.result.type.shape[s.axis], int) for s in loop.scanned):
            raise _Refused
        # Slices that nobody reads are taken out, and with them what counts the iterations.
        used = {*loop.results, *(value for node in loop.body.nodes for value in reads(node))}
        if loop.kind == "TensorIterator" and not any(part.param in used for part in loop.sliced):
            raise _Refused
    if any(b.ended and b.iteration == 0 for b in told.boundaries) or _grew(told):
        raise _Refused
    if any(0 in np.shape(value) for value in (*feeds.values(), *told.outputs.values())):
        raise _Refused
    with tempfile.TemporaryDirectory() as folder:
        try:
            return in_openvino.named(to_ir(program, Path(folder) / "model.xml"), feeds)
        except RuntimeError:
            raise _Refused from None


def _grew(told: oracle.Told) -> bool:
    """A carried value had more than one shape."""
    shapes: dict[tuple[str, str], set[tuple[int, ...]]] = {}
    for boundary in told.boundaries:
        for name, value in boundary.carried.items():
            shapes.setdefault((boundary.loop, name), set()).add(np.shape(value))
    return any(len(met) > 1 for met in shapes.values())
