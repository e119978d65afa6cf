"""Models as PyTorch's exporters, ONNX Runtime's quantiser and OpenVINO's converter write them, against PyTorch.

A few that are small; ``benchmarks/run.py --real`` has large ones.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
import onnxruntime_peer

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

Arrays = dict[str, Any]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Exporters print, and warn of what they were asked to do."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


class Layers(torch.nn.Module):
    """Recurrent layers, each in both directions, one behind the other; with sizes at which weights are packed."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(24, 64, 2, bidirectional=True)
        self.gru = torch.nn.GRU(128, 48, bidirectional=True)
        self.rnn = torch.nn.RNN(96, 16)

    def forward(self, x: Any) -> Any:
        return self.rnn(self.gru(self.lstm(x)[0])[0])[0]


class Attention(torch.nn.Module):
    """A decoder's step in a scripted loop: the cache grows, the token is fed back, the loop ends by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(30, 32)
        self.qkv = torch.nn.Linear(32, 96)
        self.norm = torch.nn.LayerNorm(32)
        self.out = torch.nn.Linear(32, 30)

    def forward(self, first: torch.Tensor, most: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        keys = torch.zeros(1, 4, 0, 8)
        values = torch.zeros(1, 4, 0, 8)
        tokens = first
        seen = torch.zeros(1, 32)
        going = True
        while going:
            x = self.words(tokens[:, -1])
            q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
            keys = torch.cat([keys, k.view(1, 4, 1, 8)], 2)
            values = torch.cat([values, v.view(1, 4, 1, 8)], 2)
            weights = torch.softmax(torch.matmul(q.view(1, 4, 1, 8), keys.transpose(2, 3)), -1)
            seen = x + torch.matmul(weights, values).view(1, 32)
            token = self.out(torch.nn.functional.gelu(seen)).argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, token], 1)
            going = bool(tokens.size(1) < int(most))
        return tokens, seen


class Shrinking(torch.nn.Module):
    """Non-maximum suppression: what is left is another number of boxes in each iteration."""

    def forward(self, boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        order = torch.argsort(scores, descending=True)
        kept = torch.zeros(0, dtype=torch.long)
        while order.size(0) > 0:
            kept = torch.cat([kept, order[:1]])
            rest = order[1:]
            low = torch.max(boxes[order[:1]][:, :2], boxes[rest][:, :2])
            high = torch.min(boxes[order[:1]][:, 2:], boxes[rest][:, 2:])
            inside = torch.clamp(high - low, min=0.0)
            order = rest[inside[:, 0] * inside[:, 1] <= 40.0]
        return kept


class Scanned(torch.nn.Module):
    """A convolutional recurrence under scan."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(6, 8, 3, padding=1)
        self.norm = torch.nn.GroupNorm(2, 8)

    def forward(self, frames: Any) -> Any:
        from torch._higher_order_ops.scan import scan

        def combine(h: Any, x: Any) -> Any:
            a, b = self.norm(self.conv(torch.cat([x, h], 1))).chunk(2, 1)
            h = torch.sigmoid(a) * torch.tanh(b) + 0.5 * h
            return h, h.mean((2, 3))

        return scan(combine, frames.new_zeros(1, 4, 9, 9), frames, dim=0)


class Stepped(torch.nn.Module):
    """RK4 until a time is reached, under while_loop."""

    def __init__(self) -> None:
        super().__init__()
        self.field = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 8))

    def forward(self, x: Any) -> Any:
        from torch._higher_order_ops import while_loop

        def body(t: Any, x: Any) -> Any:
            a = self.field(x)
            b = self.field(x + 0.05 * a)
            c = self.field(x + 0.05 * b)
            return t + 0.1, x + (a + 2 * b + 2 * c + self.field(x + 0.1 * c)) / 60

        return while_loop(lambda t, x: t < 1.55, body, (torch.tensor(0.0), x.clone()))


def randn(seed: int, *shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


#: Module, inputs, whether TorchScript exports it.
MODELS: dict[str, tuple[Callable[[], Any], Callable[[], Arrays], bool]] = {
    "layers": (Layers, lambda: {"x": randn(1, 12, 2, 24)}, False),
    "attention": (Attention, lambda: {"first": torch.tensor([[3]]), "most": torch.tensor(12)}, True),
    "shrinking": (
        Shrinking,
        lambda: {
            "boxes": torch.cat([c := randn(2, 40, 2).abs() * 20, c + 12 + randn(3, 40, 2)], 1),
            "scores": randn(4, 40),
        },
        True,
    ),
    "scanned": (Scanned, lambda: {"frames": randn(5, 7, 1, 2, 9, 9)}, False),
    "stepped": (Stepped, lambda: {"x": randn(6, 2, 8)}, False),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Arrays, list[Any]]]:
    """The file of a model, its inputs, and what PyTorch gives for them; exported once."""
    location: dict[str, tuple[Path, Arrays, list[Any]]] = {}

    def export(name: str) -> tuple[Path, Arrays, list[Any]]:
        if name not in location:
            make, inputs, script = MODELS[name]
            torch.manual_seed(0)
            module, feeds = make().eval(), inputs()
            path = tmp_path_factory.mktemp("real") / f"{name}.onnx"
            with quiet(), torch.no_grad():
                results = module(*(value.clone() for value in feeds.values()))
                asked = {"input_names": list(feeds), "dynamo": not script}
                if script:
                    torch.onnx.export(torch.jit.script(module), tuple(feeds.values()), str(path), **asked)
                else:
                    torch.onnx.export(module, tuple(feeds.values()), str(path), external_data=False, **asked)
            results = (results,) if isinstance(results, torch.Tensor) else results
            location[name] = path, {k: v.numpy() for k, v in feeds.items()}, [value.numpy() for value in results]
        return location[name]

    return export


Export = Callable[[str], tuple[Path, Arrays, list[Any]]]


def check(path: Path, inputs: Arrays, expected: list[Any], tolerance: float) -> None:
    """Headless and with a hook at each boundary: near to what is expected, and the same bits."""
    model = loopdbg.load(path)
    outputs = model.run(inputs)
    for got, wanted in zip(outputs.values(), expected, strict=True):
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)
    boundaries: list[int] = []
    hooked = model.run(inputs, on_iteration=lambda frame: boundaries.append(frame.iteration))
    assert boundaries
    assert all(hooked[name].tobytes() == outputs[name].tobytes() for name in outputs)


@pytest.mark.parametrize("name", MODELS)
def test_as_pytorch_exports_it(exported: Export, name: str) -> None:
    check(*exported(name), 2e-5)


@pytest.mark.parametrize("name", ["layers", "stepped"])
def test_in_half(exported: Export, name: str, tmp_path: Path) -> None:
    """``module.half()``, as people shrink models; the expected values are those of float32."""
    make, inputs, _ = MODELS[name]
    _, _, expected = exported(name)
    torch.manual_seed(0)
    module = make().eval().half()
    feeds = {k: v.half() for k, v in inputs().items()}
    path = tmp_path / f"{name}.onnx"
    with quiet():
        torch.onnx.export(
            module, tuple(feeds.values()), str(path), external_data=False, input_names=list(feeds), dynamo=True
        )
    check(path, {k: v.numpy() for k, v in feeds.items()}, expected, 5e-3)


@pytest.mark.parametrize("name", ["layers", "stepped"])
def test_quantised_by_onnxruntime(exported: Export, name: str, tmp_path: Path) -> None:
    quantization = pytest.importorskip("onnxruntime.quantization")
    path, inputs, _ = exported(name)
    target = tmp_path / "int8.onnx"
    with quiet():
        # Weights of 7 bits: without VNNI onnxruntime's sums of larger ones saturate.
        quantization.quantize_dynamic(path, target, extra_options={"EnableSubgraph": True}, reduce_range=True)
        expected = list(onnxruntime_peer.run(target, inputs).values())
    # One step of the quantiser is 1/255 of a row; where a value falls on another side of it, others follow.
    check(target, inputs, expected, 2e-2)


@pytest.mark.parametrize("name", ["layers", "scanned", "stepped"])
def test_converted_by_openvino(exported: Export, name: str, tmp_path: Path) -> None:
    ov = pytest.importorskip("openvino")
    path, inputs, expected = exported(name)
    target = tmp_path / f"{name}.xml"
    ov.save_model(ov.convert_model(path), target, compress_to_fp16=False)
    check(target, inputs, expected, 2e-5)
