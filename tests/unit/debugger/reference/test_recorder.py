"""record_reference: how iterations, entries and outputs are recorded, the supported tensors, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import loopdbg
from error_fields import raises_error
from loopdbg.debugger.reference.reference_files import read_reference_file


def tracks(reference: loopdbg.Reference) -> dict[tuple[str, str, str], dict[tuple[int, ...], Any]]:
    return {(track.loop, track.role, track.name): dict(track.values) for track in reference.tracks}


def test_single_unnamed_loop() -> None:
    with loopdbg.record_reference() as ref:
        ref.input(a=np.float32(2))
        for k in range(3):
            ref.received(x=k)
            ref.value(q=k * 10)
            ref.iteration(x=k + 1)
        ref.output(y=[[1, 2], [3, 4]])
    message = ref.reference
    assert message.inputs == {"a": np.float32(2)} and message.trips == {"loop": {(): 3}}
    result = tracks(message)
    assert result["loop", "carried", "x"] == {(0,): 0, (1,): 1, (2,): 2}
    assert result["loop", "result", "x"] == {(0,): 1, (1,): 2, (2,): 3}
    assert result["loop", "result", "q"] == {(0,): 0, (1,): 10, (2,): 20}
    assert result["", "output", "y"][()].tolist() == [[1, 2], [3, 4]]


def test_recorded_line_is_that_of_the_caller() -> None:
    with loopdbg.record_reference() as ref:
        ref.iteration(x=1.0)
        ref.output(y=1.0)
    lines = [track.source.rpartition(":") for track in ref.reference.tracks]
    assert {Path(file).name for file, _, _ in lines} == {Path(__file__).name}
    assert int(lines[1][2]) == int(lines[0][2]) + 1


def test_nested_and_consecutive_loops() -> None:
    with loopdbg.record_reference() as ref:
        with ref.loop("outer"):
            for i in range(2):
                with ref.loop("inner"):
                    for j in range(i + 1):
                        ref.iteration(u=10 * i + j)
                ref.iteration(t=i)
        with ref.loop("after"):
            ref.iteration(z=7)
        with ref.loop("never"):
            pass
    assert ref.reference.trips == {
        "outer": {(): 2},
        "inner": {(0,): 1, (1,): 2},
        "after": {(): 1},
        "never": {(): 0},
    }
    result = tracks(ref.reference)
    assert result["inner", "result", "u"] == {(0, 0): 0, (1, 0): 10, (1, 1): 11}
    assert result["outer", "result", "t"] == {(0,): 0, (1,): 1} and result["after", "result", "z"] == {(0,): 7}


def test_recorded_values_are_copies_and_readable_during_recording() -> None:
    state = np.zeros(2, np.float32)
    ref = loopdbg.record_reference()
    ref.iteration(h=state)
    state += 1
    ref.iteration(h=state)
    assert ref.reference.trips == {"loop": {(): 2}}
    values = tracks(ref.reference)["loop", "result", "h"]
    assert values[0,].tolist() == [0, 0] and values[1,].tolist() == [1, 1] and values[1,].dtype == np.float32


class FakeTorchTensor:
    """A tensor like PyTorch's: with a gradient, on a device, and ``__array__`` only after it is detached and on the
    CPU."""

    def __init__(self, data: Any, ready: bool = False) -> None:
        self.data, self.ready, self.dtype = data, ready, f"torch.{data.dtype.name}"

    def detach(self) -> FakeTorchTensor:
        return FakeTorchTensor(self.data)

    def cpu(self) -> FakeTorchTensor:
        return FakeTorchTensor(self.data, ready=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if not self.ready:
            raise TypeError("call detach() and cpu() first")
        return self.data


class OnlyDlpack:
    """A tensor like JAX's that offers only DLPack."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __dlpack__(self, **how: Any) -> Any:
        return self.data.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()


def test_tensors_of_other_frameworks() -> None:
    rows = np.arange(3, dtype=np.float32)
    with loopdbg.record_reference() as ref:
        ref.iteration(
            grad=FakeTorchTensor(rows), packed=OnlyDlpack(rows), none=None, text="end", several=[rows, rows[:1]]
        )
    results = {track.name: track.values[0,] for track in ref.reference.tracks}
    assert results["grad"].tolist() == results["packed"].tolist() == [0, 1, 2] and results["packed"].flags.writeable
    assert results["none"] is None and results["text"].tolist() == "end" and results["text"].dtype == object
    assert [item.tolist() for item in results["several"]] == [[0, 1, 2], [0]]


def test_tensors_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with loopdbg.record_reference() as ref:
        x = torch.arange(3.0, requires_grad=True)
        ref.iteration(x=x * 2, half=x.to(torch.bfloat16), turned=torch.eye(2).T, flag=torch.tensor(True))
    results = {track.name: track.values[0,] for track in ref.reference.tracks}
    assert results["x"].tolist() == [0, 2, 4] and results["flag"].dtype == bool
    assert results["half"].dtype == ml_dtypes.bfloat16 and results["half"].astype(float).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda ref: ref.iteration(x=object()), loopdbg.InputError, "'x': this object cannot be made an array"),
        (lambda ref: ref.iteration(x=[object()]), loopdbg.InputError, "'x': this object cannot be made an array"),
        (lambda ref: (ref.value(x=1), ref.iteration(x=2)), loopdbg.UsageError, "iteration 0 of 'loop' has a value 'x'"),
        (lambda ref: (ref.output(y=1), ref.output(y=2)), loopdbg.UsageError, "has a value 'y' already"),
        (lambda ref: (ref.iteration(x=1), ref.loop("a").__enter__()), loopdbg.UsageError, "put 'with ref.loop(NAME):'"),
        (lambda ref: enter(ref, "a", "a"), loopdbg.UsageError, "the loop 'a' was entered already|loop 'a' was entered"),
        (lambda ref: (enter(ref, "a"), ref.iteration(x=1)), loopdbg.UsageError, "this iteration is in no loop"),
    ],
)
def test_invalid_values_are_refused(do: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("(", r"\(").replace(")", r"\)")):
        do(loopdbg.record_reference())


def enter(ref: loopdbg.ReferenceRecorder, *names: str) -> None:
    for name in names:
        with ref.loop(name):
            ref.iteration(x=1)


def test_file_is_written_if_the_block_ends_without_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mine"), loopdbg.record_reference(tmp_path / "broken.npz") as ref:
        ref.iteration(x=1)
        raise ValueError("mine")
    assert not (tmp_path / "broken.npz").exists()
    with loopdbg.record_reference(tmp_path / "ref.npz") as ref:
        ref.iteration(x=1)
    assert read_reference_file(tmp_path / "ref.npz").trips == {"loop": {(): 1}}
    with (
        raises_error(loopdbg.InputError, got="No such file or directory"),
        loopdbg.record_reference(tmp_path / "no" / "ref.npz"),
    ):
        pass
