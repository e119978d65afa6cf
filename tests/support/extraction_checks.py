"""Checks of extracted models."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import loopdbg
import onnxruntime_peer
import openvino_peer
from loopdbg.debugger.extract.capture_runs import CaptureRuns, LoopEntryRef
from loopdbg.debugger.extract.extract_loop import ExtractionResult, extract
from loopdbg.debugger.extract.submodel import same_bits
from loopdbg.runtime.errors import ExecutionError, LimitError, UsageError
from loopdbg.runtime.graph import System
from loopdbg.tui.cli.model_inputs.files import read_npz, read_test_inputs, read_test_outputs


def load_sidecar_data(result: ExtractionResult) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs and the expected outputs that were written next to an extracted model, by name."""
    model = loopdbg.load(result.model)
    if model.graph.system is System.OPENVINO:
        sides = (result.model.with_suffix(f".{side}.npz") for side in ("inputs", "outputs"))
        inputs, outputs = (read_npz(path, model.inputs + model.outputs) for path in sides)
        return inputs, outputs
    folder = result.model.parent / "test_data_set_0"
    return read_test_inputs(folder, model.inputs) if model.inputs else {}, read_test_outputs(folder, model.outputs)


def extract_every_part(model: loopdbg.Model, inputs: Mapping[str, Any], folder: Path) -> Iterator[ExtractionResult]:
    """Extract each loop that a run enters, whole, and the first, the last and one more iteration of its first entry.
    The written models give the same bits, which ``extract`` checks itself, and this checks independently from the
    files."""
    for plan in model.plan.loops:
        runs = CaptureRuns(model, inputs, limit=10_000)  # a drawn loop may be endless
        try:
            place = runs.first_entry(plan)
        except (UsageError, LimitError, ExecutionError):
            continue
        for number in (None, *_iterations(runs, place)):
            target = folder / "part"
            shutil.rmtree(target, ignore_errors=True)
            try:
                result = extract(runs, place, number, target)
            except ExecutionError as error:
                if "cut out" in str(error):
                    raise
                continue
            except LimitError:
                continue
            if result.failure:  # it fails by itself, which ``extract`` checks
                continue
            fed, expected = load_sidecar_data(result)
            got = loopdbg.load(result.model).run(fed)
            assert got.keys() == expected.keys()
            assert all(same_bits(got[name], expected[name]) for name in got), (result, got, expected)
            yield result


def _iterations(runs: CaptureRuns, place: LoopEntryRef) -> list[int]:
    try:
        last = runs.last_iteration(place)
    except (UsageError, ExecutionError, LimitError):
        return []
    return sorted({0, last // 2, last})


def check_onnxruntime_agrees(result: ExtractionResult) -> None:
    """Check that onnxruntime loads an extracted model, and gives the expected outputs."""
    fed, expected = load_sidecar_data(result)
    inputs = onnxruntime_peer.run(result.model, fed, optimise=False)
    for name, value in expected.items():
        if np.asarray(value).dtype.hasobject:
            np.testing.assert_array_equal(inputs[name], value)
        else:
            np.testing.assert_allclose(inputs[name], value, rtol=1e-4, atol=1e-5)


def check_openvino_agrees(result: ExtractionResult) -> None:
    """Check that OpenVINO loads an extracted model, and gives the expected outputs."""
    fed, expected = load_sidecar_data(result)
    inputs = openvino_peer.run(result.model, list(fed.values()))
    for name, value in zip(expected, inputs, strict=True):
        np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)
