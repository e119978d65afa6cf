"""loopdbg.diff: what can be compared, what comes of it, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from text_models import COUNT, SAMPLES, SUM, model, sample

from .newton_models import NEWTON, write_wrong_newton

F32 = np.float32
V, S = F32([1, 2, 4, 7]), F32([1, 4, 16, 49])
MODEL_INPUTS = {"M": np.int64(4), "v0": F32(1)}


def test_two_models(tmp_path: Path) -> None:
    source, wrong = SAMPLES / "newton_sqrt.onnx", write_wrong_newton(tmp_path / "wrong.onnx")
    same = loopdbg.diff(source, loopdbg.load(source), NEWTON)
    assert same.same and same.first is None and same.outputs == [] and same.verdict is loopdbg.Verdict.SAME
    result = loopdbg.diff(str(source), wrong, NEWTON)
    first = result.first
    assert result.verdict is loopdbg.Verdict.DIFFER and first is not None
    assert (first.loop, first.iteration, first.value) == ("main ▸ sqrt", 0, "x") and first.left == F32(1.5)
    assert result.written == ["loop 'main ▸ sqrt': constant 'one_half', which the condition depends on"]
    assert result.outputs == ["root", "xs"] and result.loops[0].differing and not result.loops[0].same
    assert str(result).startswith("differ: newton_sqrt.onnx and wrong.onnx\n") and "cause:" in str(result)
    assert loopdbg.diff(source, wrong, NEWTON, rtol=10, max_iterations=1).verdict is loopdbg.Verdict.LIMITED
    assert repr(same) == "<Diff same: newton_sqrt.onnx and newton_sqrt.onnx>"


def test_the_node_that_is_to_blame_and_its_source() -> None:
    values = {(0,): V[0], (1,): V[1], (2,): F32(5)}
    tracks = [
        loopdbg.Track("f", {(k,): F32(k) for k in range(3)}),
        loopdbg.Track("v", values, source="model.py:87", role="result"),
    ]
    reference = loopdbg.Reference("mine", tracks, MODEL_INPUTS)
    first = loopdbg.diff(model(SUM), reference, names={"v_out": "v"}).first
    assert first is not None
    assert first.nodes == ("Add_2",)
    assert (first.node, first.op_type, first.iteration, first.other, first.source) == (
        "Add_2",
        "Add",
        2,
        "v",
        "model.py:87",
    )


def test_the_nodes_one_of_which_it_is() -> None:
    first = loopdbg.diff(model(SUM), {"v_in": F32([1, 2, 5, 8]), "s": S}, MODEL_INPUTS).first
    assert first is not None and first.node == "" and first.nodes == ("Cast_1", "Add_2")


def record() -> loopdbg.ReferenceRecorder:
    with loopdbg.record_reference() as ref:
        ref.input(**MODEL_INPUTS)
        v = F32(1)
        for i in range(4):
            v = v + F32(i)
            ref.iteration(v_in=v, e=v * v)
    return ref


@pytest.mark.parametrize("form", ["recorder", "reference", "arrays", "file", "folder"])
def test_a_model_and_a_reference_of_any_form(form: str, tmp_path: Path) -> None:
    first = model(SUM)
    outcome: Any = {
        "recorder": record,
        "reference": lambda: record().reference,
        "arrays": lambda: {"v_in": V.tolist(), "s": S, **MODEL_INPUTS},
        "file": lambda: written(tmp_path / "ref.npz"),
        "folder": lambda: folder(tmp_path / "test_data_set_0"),
    }[form]()
    for a, b in ((first, outcome), (outcome, first)):
        result = loopdbg.diff(a, b)
        assert result.same, str(result)
        assert str(result).startswith("same: sum and ")


def written(path: Path) -> Path:
    np.savez(path, v_in=V, s=S, **MODEL_INPUTS)
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    inputs = {"input_0": MODEL_INPUTS["M"], "input_1": MODEL_INPUTS["v0"], "output_0": V[-1], "output_1": S}
    for name, array in inputs.items():
        (path / f"{name}.pb").write_bytes(onnx.numpy_helper.from_array(np.asarray(array)).SerializeToString())
    return path


def test_names_are_those_of_the_first_one() -> None:
    first = model(SUM)
    assert loopdbg.diff(first, {"state": V, "s": S}, MODEL_INPUTS, names={"v_out": "state"}).same
    assert loopdbg.diff({"state": V, "s": S}, first, MODEL_INPUTS, names={"state": "v_out"}).same
    with pytest.raises(loopdbg.UsageError, match="v_out=nothing: the values given has no 'nothing'"):
        loopdbg.diff(first, {"state": V}, MODEL_INPUTS, names={"v_out": "nothing"})
    source = SAMPLES / "newton_sqrt.onnx"
    with pytest.raises(loopdbg.UsageError, match=r"x=nothing: newton_sqrt\.onnx has no 'nothing'"):
        loopdbg.diff(source, source, NEWTON, names={"x": "nothing"})


def test_traces(tmp_path: Path) -> None:
    item, path = model(COUNT), tmp_path / "run.loopdb"
    inputs = {"M": np.int64(9), "cond": np.True_, "v0": np.int64(0), "bound": np.int64(4)}
    with loopdbg.Recorder(path, item, inputs) as recorder:
        recorder.finish(item.execute(inputs, on_iteration=recorder))
    assert loopdbg.diff(item, path).same
    trace = loopdbg.Trace.open(path)
    assert loopdbg.diff(trace, item).same and loopdbg.diff(trace, path).same
    assert trace.outputs is not None  # it is still open
    result = loopdbg.diff(path, {"v_in": [1, 2, 3, 5], "s": [0, 1, 2, 3]})
    assert result.first is not None and (result.first.iteration, result.first.value) == (3, "v_in")
    with pytest.raises(loopdbg.UsageError, match="is a trace, which has its inputs"):
        loopdbg.diff(item, path, inputs)
    trace.close()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (({"x": 1}, {"x": 1}), loopdbg.UsageError, "both are references"),
        ((SAMPLES / "newton_sqrt.onnx", 7), loopdbg.UsageError, "a builtins.int cannot be compared; give a path"),
        ((SAMPLES / "none.onnx", {"x": 1}), loopdbg.ModelError, "no such file"),
        ((SAMPLES / "newton_sqrt.onnx", {"x": object()}), loopdbg.InputError, "'x': this object cannot be"),
        ((SAMPLES / "newton_sqrt.onnx", {"x": [1.5]}), loopdbg.InputError, "input 'a'"),
        ((SAMPLES / "newton_sqrt.onnx", {"x": [1.5]}, {"b": 1}), loopdbg.InputError, "no input 'b'"),
    ],
)
def test_what_is_refused(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        loopdbg.diff(*arguments)


@pytest.mark.parametrize("number", [-1.0, float("nan"), float("inf")])
def test_a_tolerance_is_a_number_from_0_on(number: float) -> None:
    with pytest.raises(loopdbg.UsageError, match="a tolerance is a number from 0 on"):
        loopdbg.diff(model(SUM), {"v_in": V}, MODEL_INPUTS, rtol=number)


def test_a_model_of_another_system() -> None:
    item, inputs = sample("reverse_sum.xml")
    sums = item.run(inputs)["suffix_sums"].copy()
    sums[2] += 1
    first = loopdbg.diff(item, {"suffix_sums": sums}, inputs).first
    assert first is not None and (first.iteration, first.node) == (3, "add_row")


def test_the_examples_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (SAMPLES.parent / "docs" / "diff.md").read_text(encoding="utf-8")
    examples = [text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "Peer" not in text]
    assert len(examples) == 2
    (tmp_path / "sample_models").symlink_to(SAMPLES)
    monkeypatch.chdir(tmp_path)
    for example in examples:
        exec(example, {})
    assert loopdbg.diff(SAMPLES / "newton_sqrt.onnx", "reference.npz").loops[0].same


def test_the_proof_of_the_page_on_how_diff_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (SAMPLES.parent / "docs" / "diff-decides.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    report = str(loopdbg.diff("model.onnx", "changed.onnx", {"x": F32([0.5, 0.25]), "n": 3, "go": True}))
    shown = "with this edit applied to model.onnx, the outputs are those of changed.onnx, bit for bit"
    assert shown in report
    assert shown in " ".join(page.split())


def test_a_pytorch_module() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Doubled(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.relu(x * 2)

    first = model(
        "g (float[3] x) => (float[3] y) { two = Constant <value = float {2}> () t = Mul (x, two) y = Relu (t) }"
    )
    x = F32([-1, 0, 1])
    assert loopdbg.diff(first, Doubled().eval(), {"x": x}).same
    with pytest.raises(loopdbg.UsageError, match="give the inputs of the model"):
        loopdbg.diff(first, Doubled().eval())
