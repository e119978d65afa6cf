"""Every operator of OpenVINO's opsets: built by its own opset API, saved, opened here, and both run."""

from __future__ import annotations

import pickle
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

import loopdbg
import openvino_peer
from loopdbg.runtime.graph import System
from loopdbg.runtime.ops import registry

from .crash_isolation import run_jobs
from .openvino_cases import CASES, ConstInput, OpenvinoCase

HEADERS = Path(openvino.__file__).parent / "include" / "openvino" / "opsets"
#: Layers that are no operators here; loops and If have tests of their own.
STRUCTURE = {"Assign", "Constant", "If", "Loop", "Parameter", "ReadValue", "Result", "TensorIterator"}
#: The last row of each operator is also run in the body of a Loop, but random ones, which give other numbers there.
IN_A_LOOP = {case.type: k for k, case in enumerate(CASES) if case.random is None}.values()


@cache
def folder() -> Path:
    """Where all cases are saved, with OpenVINO's answers."""
    rows = [
        (case.type, case.opset, [(x.array, True) if isinstance(x, ConstInput) else (x, False) for x in case.inputs],
         case.attributes, case.oracle, k in IN_A_LOOP)
        for k, case in enumerate(CASES)
    ]  # fmt: skip
    return run_jobs("openvino_node_runner.py", rows)


def compare(got: Any, expected: Any, case: OpenvinoCase) -> None:
    assert got.shape == expected.shape, f"shape {got.shape}, OpenVINO has {expected.shape}"
    assert got.dtype == expected.dtype, f"dtype {got.dtype}, OpenVINO has {expected.dtype}"
    if case.random is not None:
        low, high = case.random
        assert ((got >= low) & (got <= high)).all()
    elif got.dtype.kind in "biuO":
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), case.rtol, case.atol)


def agrees(answer: Any, case: OpenvinoCase) -> bool:
    """Whether OpenVINO's answer is what is expected."""
    if isinstance(answer, str):
        return False
    assert case.expected is not None
    try:
        for got, wanted in zip(answer, case.expected, strict=True):
            compare(got, wanted, case)
    except AssertionError:
        return False
    return True


def feeds_of(case: OpenvinoCase) -> list[Any]:
    return [x.astype(object) if x.dtype.kind == "U" else x for x in case.inputs if not isinstance(x, ConstInput)]


def run(path: Path, case: OpenvinoCase) -> list[Any]:
    """Our outputs."""
    model = loopdbg.load(path)
    return list(model.run({port.name: x for port, x in zip(model.inputs, feeds_of(case), strict=True)}).values())


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{k}-{case.name}" for k, case in enumerate(CASES)])
def test_operator(number: int) -> None:
    case = CASES[number]
    expected = pickle.loads((folder() / f"{number}.pickle").read_bytes())
    if case.expected is not None:
        assert case.known_fault
        assert not agrees(expected, case), "OpenVINO is right by now"
        expected = list(case.expected)
    assert not isinstance(expected, str), expected
    outputs = run(folder() / f"{number}.xml", case)
    assert len(outputs) == len(expected)
    for got, wanted in zip(outputs, expected, strict=True):
        compare(got, wanted, case)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{k}-{case.name}" for k, case in enumerate(CASES)])
def test_node_has_the_version_of_its_layer(number: int) -> None:
    """The version is that of the operator's class in OpenVINO, which need not be the opset it is first in."""
    path, op_type = folder() / f"{number}.xml", CASES[number].type
    written = re.findall(rf'type="{op_type}" version="(\w+)"', path.read_text(encoding="utf-8"), re.IGNORECASE)
    nodes = [node for node in loopdbg.load(path).graph.nodes if node.op_type.lower() == op_type.lower()]
    assert written and {node.domain for node in nodes} == set(written)


@pytest.mark.parametrize("number", IN_A_LOOP, ids=[CASES[k].type for k in IN_A_LOOP])
def test_operator_in_a_loop(number: int) -> None:
    case = CASES[number]
    alone, looped = run(folder() / f"{number}.xml", case), run(folder() / f"{number}.loop.xml", case)
    for item, other in zip(looped, alone, strict=True):
        assert item.dtype == other.dtype
        np.testing.assert_array_equal(item, other)


def operators() -> set[str]:
    """The names of all opsets that the installed OpenVINO defines."""
    texts = [path.read_text(encoding="utf-8") for path in HEADERS.glob("opset*_tbl.hpp")]
    return {name for text in texts for name in re.findall(r"^_OPENVINO_OP_REG\((\w+),", text, re.MULTILINE)}


def classes() -> set[tuple[str, str]]:
    """Each operator with the namespaces of its classes: what changed from one opset to another is another class."""
    results = set()
    for path in HEADERS.glob("opset*_tbl.hpp"):
        results |= set(
            re.findall(r"^_OPENVINO_OP_REG\((\w+), *ov::op::(v\d+)\)", path.read_text(encoding="utf-8"), re.MULTILINE)
        )
    return results


def class_of(case: OpenvinoCase) -> tuple[str, str]:
    text = (HEADERS / f"opset{case.opset}_tbl.hpp").read_text(encoding="utf-8")
    match = re.search(rf"^_OPENVINO_OP_REG\({case.type}, *ov::op::(v\d+)\)", text, re.MULTILINE)
    assert match is not None
    return case.type, match[1]


def test_each_class_of_an_operator_is_tried_as_openvino_writes_it() -> None:
    tried = {class_of(case) for case in CASES}
    assert {(name, version) for name, version in classes() - tried if name not in STRUCTURE} == set()


def test_no_operator_is_without_a_case(record_property: Any) -> None:
    tried = {case.type for case in CASES}
    lines = [
        f"OpenVINO's opsets define {len(operators())} operators; {len(tried)} are tried in {len(CASES)} nodes, "
        f"{len(IN_A_LOOP)} of them in a loop; the other {len(STRUCTURE)} are structure"
    ]
    lines += [f"  OpenVINO's fault, {case.name}: {case.known_fault}" for case in CASES if case.known_fault]
    record_property("conformance", "\n".join(lines))
    assert operators() - {case.type for case in CASES} == STRUCTURE


def test_each_of_our_operators_has_a_case() -> None:
    registry._load_families()
    ours = {op_type for system, _, op_type in registry._OPERATORS if system is System.OPENVINO}
    assert ours - {case.type.lower() for case in CASES} == {"assign", "readvalue"}


@pytest.mark.parametrize("order", ["ifco", "fico", "iofc"])
def test_weights_format_is_without_effect(order: str, tmp_path: Path) -> None:
    """OpenVINO writes ifco unless it is reported otherwise, and reads the weights as f, i, c, o whatever it says."""
    number = next(k for k, case in enumerate(CASES) if (case.type, case.opset) == ("LSTMCell", 1))
    text = (folder() / f"{number}.xml").read_text(encoding="utf-8")
    assert 'weights_format="ifco"' in text
    path = tmp_path / f"{number}.xml"
    path.write_text(text.replace('weights_format="ifco"', f'weights_format="{order}"'), encoding="utf-8")
    shutil.copy(folder() / f"{number}.bin", tmp_path)
    for got, wanted in zip(run(path, CASES[number]), openvino_peer.run(path, feeds_of(CASES[number])), strict=True):
        compare(got, wanted, CASES[number])
