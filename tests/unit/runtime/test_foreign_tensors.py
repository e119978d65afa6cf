"""Inputs that are tensors of other frameworks: the same bits as of the arrays that they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from text_models import SAMPLES

LSTM = SAMPLES / "lstm.xml"


def arrays() -> dict[str, Any]:
    with np.load(SAMPLES / "lstm.inputs.npz") as file:
        return dict(file)


class DlpackOnlyTensor:
    """A tensor that has nothing but DLPack."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **asked: Any) -> Any:
        return self._array.__dlpack__(**asked)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class RemoteDeviceTensor:
    """One on a device that cannot be read from here."""

    def __dlpack__(self, **asked: Any) -> Any:
        raise BufferError("the tensor is on another device")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


def same_bits(inputs: dict[str, Any]) -> bool:
    model = loopdbg.load(LSTM)
    expected, result = model.run(arrays()), model.run(inputs)
    stepped = loopdbg.debug(model, inputs)
    stepped.continue_()
    return all(
        value.tobytes() == result[name].tobytes() == stepped.outputs[name].tobytes()
        and value.dtype == result[name].dtype
        for name, value in expected.items()
        if stepped.outputs is not None
    )


def test_whatever_has_dlpack() -> None:
    assert same_bits({name: DlpackOnlyTensor(value) for name, value in arrays().items()})


def test_jax_arrays() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    assert same_bits({name: jax.numpy.asarray(value) for name, value in arrays().items()})


def test_torch_tensors_with_a_gradient_and_without() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert same_bits({name: torch.from_numpy(value) for name, value in arrays().items()})
    assert same_bits({name: torch.from_numpy(value).requires_grad_() for name, value in arrays().items()})


def test_unreadable_tensor_gives_one_error_line() -> None:
    inputs = arrays()
    name = next(iter(inputs))
    with pytest.raises(
        loopdbg.InputError, match=rf"input '{name}' .*RemoteDeviceTensor cannot be made .*another device"
    ) as caught:
        loopdbg.load(LSTM).run({**inputs, name: RemoteDeviceTensor()})
    assert caught.value.name == name and caught.value.expected is not None


def test_inputs_in_other_memory_are_not_written_to() -> None:
    inputs = {name: DlpackOnlyTensor(value) for name, value in arrays().items()}
    before = {name: item._array.tobytes() for name, item in inputs.items()}
    loopdbg.load(LSTM).run(inputs)
    assert {name: entry._array.tobytes() for name, entry in inputs.items()} == before
