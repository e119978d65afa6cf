"""An iteration as node data for Model Explorer: the value of each node of the loop, and how much it changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from cli_runner import run_cli as command
from text_models import SAMPLES, sample

Capture = pytest.CaptureFixture[str]


def with_names(name: str, folder: Path) -> Path:
    """A sample whose nodes have names, as exporters write them, with its inputs in the same folder."""
    result = onnx.load(SAMPLES / name)
    inner = [item for outer in result.graph.node for a in outer.attribute for item in a.g.node]
    for node in (*result.graph.node, *inner):
        node.name = f"/model/{node.output[0]}"
    path = folder / name
    onnx.save(result, path)
    inputs = SAMPLES / Path(name).with_suffix(".inputs.npz")
    (folder / inputs.name).write_bytes(inputs.read_bytes())
    return path


def exported(capsys: Capture, *options: object) -> tuple[Any, Any]:
    out = Path(str(options[-1]))
    done = command(capsys, "export", *options[:-1], "--what", "model-explorer", "-o", out)
    assert done.status == 0, done.err
    read = [json.loads(path.read_text()) for path in (out, out.with_suffix(".difference.json"))]
    return read[0], read[1]


def test_node_data_has_values_and_changes_of_an_iteration(tmp_path: Path, capsys: Capture) -> None:
    path = with_names("newton_sqrt.onnx", tmp_path)
    values, changes = exported(capsys, path, "--iteration", "2", tmp_path / "v.json")
    session = loopdbg.Session(*sample("newton_sqrt.onnx"))
    session.finish()
    history = session.frame.history
    # The graph has the adapter's name for it: the loop node, and the attribute that holds its body.
    ((graph, result),) = values.items()
    assert graph.endswith("/body") and set(result["results"]) >= {"/model/half", "/model/x_new", "/model/keep"}
    for name in ("half", "x_new", "err_new"):
        now, before = (float(history.value(name, k)) for k in (2, 1))
        assert result["results"][f"/model/{name}"]["value"] == now
        assert changes[graph]["results"][f"/model/{name}"]["value"] == pytest.approx(abs(now - before))
    assert [stop["stop"] for stop in result["gradient"]] == [0, 1]


def test_node_data_of_a_tensor_and_of_an_ir(tmp_path: Path, capsys: Capture) -> None:
    values, changes = exported(capsys, SAMPLES / "lstm.xml", tmp_path / "v.json")
    session = loopdbg.Session(*sample("lstm.xml"))
    session.finish()
    last = session.frame.iteration - 1
    node = next(entry for entry in session.frame.loop.body.nodes if entry.op_type == "LSTMCell")  # type: ignore[union-attr]
    h = session.frame.history.value(node.outputs[0].name, last)  # type: ignore[union-attr]
    assert values["results"][node.name]["value"] == pytest.approx(float(np.linalg.norm(h)), rel=1e-6)
    assert changes["results"][node.name]["value"] > 0


def test_nan_is_exported_as_text(tmp_path: Path, capsys: Capture) -> None:
    path = with_names("vanishing_scale.onnx", tmp_path)
    values, _ = exported(capsys, path, "--iteration", "137", tmp_path / "v.json")
    (result,) = values.values()
    assert result["results"]["/model/h_new"]["value"] == "nan" and "bgColor" in result["results"]["/model/h_new"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("newton_sqrt.onnx", "-o", "v.json"), "gives no node of loop 'sqrt' a name"),
        (("lstm.xml", "-o", "v.npz"), "name it .json"),
        (("lstm.xml", "--iteration", "25", "-o", "v.json"), "has no iteration 25: it ran 25 iterations"),
        (("lstm.xml", "-o", "nowhere/v.json"), "there is no folder"),
    ],
)
def test_unsupported_node_data_is_refused(
    options: tuple[str, ...], message: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(capsys, "export", SAMPLES / options[0], "--what", "model-explorer", *options[1:])
    assert done.status == 2 and message in done.err and "Traceback" not in done.err


def test_iteration_of_a_whole_trace_is_refused(tmp_path: Path, capsys: Capture) -> None:
    done = command(capsys, "export", tmp_path / "t.loopdb", "--iteration", "1", "-o", tmp_path / "t.npz")
    assert done.status == 2 and "--iteration is for --what model-explorer" in done.err
