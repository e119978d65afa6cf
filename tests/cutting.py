"""Parts of models cut out: what they are held against."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import in_onnxruntime
import in_openvino
import loopdbg
from loopdbg.debugger.cut.captured import Place, Runs
from loopdbg.debugger.cut.extract import Extracted, extract
from loopdbg.debugger.cut.part import same_bits
from loopdbg.runtime.errors import ExecutionError, LimitError, UsageError
from loopdbg.runtime.graph import System
from loopdbg.tui.cli.input_files import read_folder, read_npz, read_outputs


def data(found: Extracted) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs and the expected outputs that were written beside a part, by name."""
    model = loopdbg.load(found.model)
    if model.graph.system is System.OPENVINO:
        sides = (found.model.with_suffix(f".{side}.npz") for side in ("inputs", "outputs"))
        inputs, outputs = (read_npz(path, model.inputs + model.outputs) for path in sides)
        return inputs, outputs
    folder = found.model.parent / "test_data_set_0"
    return read_folder(folder, model.inputs) if model.inputs else {}, read_outputs(folder, model.outputs)


def every_part(model: loopdbg.Model, inputs: Mapping[str, Any], folder: Path) -> Iterator[Extracted]:
    """Each loop that a run enters, whole, and the first, the last and one more iteration of its first entry; what is
    written gives the same bits, which ``extract`` holds itself and this does over again from the files."""
    for plan in model.plan.loops:
        runs = Runs(model, inputs)
        try:
            place = runs.first_entry(plan)
        except (UsageError, LimitError, ExecutionError):
            continue
        for number in (None, *_iterations(runs, place)):
            target = folder / "part"
            shutil.rmtree(target, ignore_errors=True)
            try:
                found = extract(runs, place, number, target)
            except ExecutionError as error:
                if "cut out" in str(error):
                    raise
                continue
            except LimitError:
                continue
            if found.failure:  # it fails by itself, which ``extract`` holds
                continue
            fed, expected = data(found)
            got = loopdbg.load(found.model).run(fed)
            assert got.keys() == expected.keys()
            assert all(same_bits(got[name], expected[name]) for name in got), (found, got, expected)
            yield found


def _iterations(runs: Runs, place: Place) -> list[int]:
    try:
        last = runs.last_iteration(place)
    except (UsageError, ExecutionError, LimitError):
        return []
    return sorted({0, last // 2, last})


def agrees_with_onnxruntime(found: Extracted) -> None:
    """onnxruntime takes a part, and gives what was expected."""
    fed, expected = data(found)
    given = in_onnxruntime.run(found.model, fed, optimise=False)
    for name, value in expected.items():
        if np.asarray(value).dtype.hasobject:
            np.testing.assert_array_equal(given[name], value)
        else:
            np.testing.assert_allclose(given[name], value, rtol=1e-4, atol=1e-5)


def agrees_with_openvino(found: Extracted) -> None:
    """OpenVINO takes a part, and gives what was expected."""
    fed, expected = data(found)
    given = in_openvino.run(found.model, list(fed.values()))
    for name, value in zip(expected, given, strict=True):
        np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)
