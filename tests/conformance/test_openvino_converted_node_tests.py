"""The ONNX project's node tests as OpenVINO's front end converts them, saved as IR and opened here.

What counts are those that OpenVINO itself converts and computes as the test expects; all of them must come out here.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import loopdbg
from onnx_node_tests import load_node_tests

from .crash_isolation import run_jobs
from .single_node_tests import as_loopdbg_value

#: What does not come out here although OpenVINO has it right, and why.
EXCEPTIONS = {
    "test_div_int32_trunc": "the file says m_pythondiv=true, which floors; OpenVINO's CPU plugin truncates in any case",
}
#: Minimum share of the converted tests that come out right here.
MIN_SHARE_RIGHT = 0.95


@cache
def cases() -> list[Any]:
    """The tests whose inputs and outputs are tensors."""
    tests = [test for test in load_node_tests() if len(test.data_sets) == 1]
    return [test for test in tests if all(_is_tensor(value) for side in test.data_sets[0] for value in side)]


def _is_tensor(value: Any) -> bool:
    return isinstance(as_loopdbg_value(value), np.ndarray)


def inputs_of(test: Any) -> dict[str, Any]:
    names = [value.name for value in test.model.graph.input]
    return dict(zip(names, map(as_loopdbg_value, test.data_sets[0][0]), strict=False))


def converted(tests: Sequence[Any], with_answers: bool) -> Path:
    """A folder with the models converted, and what OpenVINO answers (or why it does not convert them)."""
    rows = [(test.model.SerializeToString(), inputs_of(test) if with_answers else None) for test in tests]
    return run_jobs("openvino_converter.py", rows)


def difference(outputs: list[Any], test: Any) -> str:
    """In what way outputs are not those of the test; empty: they are."""
    expected = [as_loopdbg_value(value) for value in test.data_sets[0][1]]
    if len(outputs) != len(expected):
        return f"{len(outputs)} outputs, not {len(expected)}"
    for got, wanted in zip(outputs, expected, strict=True):
        if got.shape != wanted.shape or got.dtype != wanted.dtype:
            return f"{got.dtype.name}{list(got.shape)}, not {wanted.dtype.name}{list(wanted.shape)}"
        try:
            if got.dtype.kind in "biuO":
                np.testing.assert_array_equal(got, wanted)
            else:
                widened = np.complex128 if got.dtype.kind == "c" else np.float64
                np.testing.assert_allclose(got.astype(widened), wanted.astype(widened), test.rtol, test.atol)
        except AssertionError as error:
            return " ".join(str(error).split())[:200]
    return ""


def ours(path: Path, test: Any) -> str:
    """What is wrong with our answer; empty: nothing."""
    try:
        model = loopdbg.load(path)
        inputs = inputs_of(test)
        outputs = model.run({port.name: inputs[port.name] for port in model.inputs if port.name in inputs})
    except loopdbg.LoopdbgError as error:
        return str(error).replace(str(path.parent), "")
    return difference(list(outputs.values()), test)


def test_what_openvino_converts_and_gets_right_comes_out_right(record_property: Any) -> None:
    """Most come out here as the test expects, which settles them; OpenVINO is asked for the others alone."""
    place = converted(cases(), with_answers=False)
    kinds = {number: pickle.loads((place / f"{number}.pickle").read_bytes()) for number in range(len(cases()))}
    messages = {number: ours(place / f"{number}.xml", cases()[number]) for number, kind in kinds.items() if kind == []}
    wrong = [number for number, what in messages.items() if what]
    answers = converted([cases()[number] for number in wrong], with_answers=True)
    failed = {}
    for k, number in enumerate(wrong):
        test, answer = cases()[number], pickle.loads((answers / f"{k}.pickle").read_bytes())
        if not isinstance(answer, str) and not difference(answer, test):
            failed[test.name] = messages[number]
    record_property(
        "conformance",
        f"of {len(cases())} node tests OpenVINO converts {len(messages)}; right here {len(messages) - len(wrong)}; "
        f"right only in OpenVINO {len(failed)}: {', '.join(sorted(failed)) or 'none'}",
    )
    left = {name: what for name, what in failed.items() if name not in EXCEPTIONS}
    assert not left, "\n".join(f"{name}: {what}" for name, what in left.items())
    assert len(messages) - len(wrong) >= MIN_SHARE_RIGHT * len(messages)
