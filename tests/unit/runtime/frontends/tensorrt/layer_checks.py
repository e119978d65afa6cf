"""One layer in a network, for the tests of the layer families."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.frontends.tensorrt.enums import data_type
from loopdbg.runtime.frontends.tensorrt.layer import ITensor
from loopdbg.runtime.graph import Array
from loopdbg.runtime.model import Model
from tensorrt_networks import NetworkBuilder

Build = Callable[..., Any]


def layer(
    method: str,
    *arguments: Any,
    inputs: Mapping[int, Any] | None = None,
    initially: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Build:
    """A build of one layer: a method of the network gets the tensors and then ``arguments``.

    ``inputs``: constants that are set as inputs; ``initially``: properties as they are before ``settings`` are set.
    """

    def build(net: Any, *tensors: ITensor) -> Any:
        added = getattr(net, method)(*tensors, *arguments)
        for name, value in (initially or {}).items():
            assert getattr(added, name) == value
        for name, value in settings.items():
            setattr(added, name, value)
        for index, value in (inputs or {}).items():
            array = np.asarray(value)
            added.set_input(index, net.const(array, array.dtype))
        return added

    return build


def build_network(
    build: Build, inputs: Mapping[str, Array], dynamic: bool = False, known: Sequence[int] = ()
) -> tuple[NetworkBuilder, list[ITensor]]:
    """A network of inputs and what ``build(net, *tensors)`` makes of them: a layer, or a list of tensors.

    ``dynamic``: no size is known but for those of the axes ``known``.
    """
    net = NetworkBuilder()
    feeds = []
    for name, array in inputs.items():
        kind = data_type(array.dtype)
        assert kind is not None
        shape = [-1 if dynamic and axis not in known else size for axis, size in enumerate(array.shape)]
        feeds.append(net.add_input(name, kind, shape))
    result = build(net, *feeds)
    tensors = result if isinstance(result, list) else [result.get_output(k) for k in range(result.num_outputs)]
    for k, tensor in enumerate(tensors):
        tensor.name = f"out{k}"
        net.mark_output(tensor)
    return net, tensors


def check_layer(
    build: Build,
    inputs: Mapping[str, Any],
    *expected: Any,
    dynamic: bool = True,
    rtol: float = 1e-6,
    static: bool = True,
    known: Sequence[int] = (),
) -> None:
    """A layer gives what is expected, with the types and shapes that the network tells; the same bits every time.

    ``dynamic``: also where no size of any input is known, but for the axes ``known``; ``static``: the network tells
    shapes where they are.
    """
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    wanted = [np.asarray(value) for value in expected]
    net, tensors = build_network(build, arrays)
    first = Model(net.graph()).run(arrays)
    for k, (tensor, want) in enumerate(zip(tensors, wanted, strict=True)):
        got = first[f"out{k}"]
        assert got.dtype == want.dtype, (got.dtype, want.dtype)
        assert got.shape == want.shape, (got.shape, want.shape)
        np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=rtol, atol=rtol)
        assert tensor.dtype is data_type(want.dtype)
        if static:
            assert tuple(tensor.shape) == want.shape
    if not dynamic:
        return
    net, tensors = build_network(build, arrays, True, known)
    for tensor, want in zip(tensors, wanted, strict=True):
        assert len(tensor.shape) == want.ndim
        assert all(size in (-1, real) for size, real in zip(tensor.shape, want.shape, strict=True))
    second = Model(net.graph()).run(arrays)
    for name, array in first.items():
        assert np.array_equal(array, second[name], equal_nan=array.dtype.kind == "f")


def build_error(build: Build, inputs: Sequence[Any]) -> str:
    """The one line of the error that wrong use of a layer is, which names the line that adds it."""
    with pytest.raises(ModelError) as caught:
        net, _ = build_network(build, {f"x{k}": np.asarray(array) for k, array in enumerate(inputs)})
        net.graph()
    message = str(caught.value)
    assert f"{build.__code__.co_filename}:" in message and "\n" not in message
    return message
