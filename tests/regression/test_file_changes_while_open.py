"""A weights file that was cut while a session was open ended the process, and one that was rewritten changed what the
session went back over; an ONNX file that was cut while it was loaded ended it, too."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import loopdbg
from cli_runner import run_cli as command
from cli_runner import run_python_code
from ir_builder import TRUE, IrNetBuilder, back_edges, input_map_entry, loop_sections, output_map_entry
from loopdbg.runtime.safe_file_reading import StableFile
from text_models import proto

#: A session in a process of its own, since it may crash: it goes back over what it loaded, as a second run does.
SESSION = """
import sys, numpy as np, loopdbg
model = loopdbg.load(sys.argv[1])
given = {"x": np.linspace(0.5, 1, 4096).astype(np.float32)}
session = loopdbg.debug(model, given)
session.step(3)
first = {name: np.array(value) for name, value in session.frame.carried.items()}
before = model.run(given)
data = np.fromfile(sys.argv[2], np.uint8)
if sys.argv[3] == "rewritten":
    with open(sys.argv[2], "r+b") as file:
        file.write((data // 2).tobytes())
else:
    import os
    os.truncate(sys.argv[2], int(float(sys.argv[3]) * len(data)))
session.back(3)
session.step(3)
assert all(np.array_equal(first[name], value) for name, value in session.frame.carried.items())
after = model.run(given)
assert all(np.array_equal(before[name], after[name]) for name in before)
print("the same bits")
"""
TEXT = """g (float[4096] x) => (float[4096] y) {
  n = Constant <value = int64 {5}> ()
  y = Loop (n, , x) <body = b (int64 i, bool c, float[4096] a) => (bool c2, float[4096] b) {
    c2 = Identity (c)
    b = Mul (a, w)
  }>
}"""


def weights() -> np.ndarray[Any, Any]:
    return np.linspace(0.9, 1.1, 4096).astype(np.float32)


def ir(folder: Path) -> tuple[Path, Path]:
    """x times weights, 5 times."""
    net = IrNetBuilder()
    body = net.body_builder()
    a, factor = body.parameter("4096"), body.constant(weights())
    product = body.result(body.layer("Multiply", [a, factor], shape="4096", data='auto_broadcast="numpy"'))
    go = body.result(body.constant(TRUE))
    ports = [
        input_map_entry(2, a),
        output_map_entry(-1, go, 'purpose="execution_condition"'),
        output_map_entry(3, product),
    ]
    inputs = [net.constant(np.array(5)), net.constant(TRUE), net.parameter("4096", name="x")]
    result = net.layer(
        "Loop", inputs, version="opset5", shape="4096", extra=loop_sections(body, ports, back_edges((product, a)))
    )
    net.result(result)
    path = net.save(folder)
    return path, path.with_suffix(".bin")


def with_external_data(folder: Path) -> tuple[Path, Path]:
    model = proto(TEXT)
    model.graph.initializer.append(numpy_helper.from_array(weights(), "w"))
    path = folder / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path, folder / "weights.bin"


def in_itself(folder: Path) -> tuple[Path, Path]:
    model = proto(TEXT)
    model.graph.initializer.append(numpy_helper.from_array(np.resize(weights(), 1 << 16)[:4096], "w"))
    large = np.zeros(1 << 16, np.float32)
    model.graph.initializer.append(numpy_helper.from_array(large, "more"))
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path, path


def as_text(folder: Path) -> tuple[Path, Path]:
    path, _ = in_itself(folder)
    text = path.with_suffix(".json")
    onnx.save(onnx.load(path), text)
    return text, text


Form = Callable[[Path], tuple[Path, Path]]
READ_INTO = StableFile.read_into
FORMS = [ir, with_external_data, in_itself, as_text]


@pytest.mark.parametrize("change", ["rewritten", "0", "0.5"])
@pytest.mark.parametrize("form", FORMS)
def test_a_session_goes_back_over_what_it_loaded(tmp_path: Path, form: Form, change: str) -> None:
    path, file = form(tmp_path)
    ran = run_python_code(SESSION, path, file, change)
    assert (ran.status, ran.out) == (0, "the same bits\n"), ran.err


def rewrite(path: Path) -> None:
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.write(bytes(255 - byte for byte in data))


def halve_file(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


@pytest.mark.parametrize("change", [rewrite, halve_file, append, lambda path: os.truncate(path, 0)])
@pytest.mark.parametrize("form", FORMS)
def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Form, change: Callable[[Path], None]
) -> None:
    """At whichever read: the one error says what happened, and not what the change made of the file."""
    for number in itertools.count(1):
        path, file = form(tmp_path)
        os.utime(file, (1, 1))  # two changes within one tick of the clock look like one
        reads = ChangingReads(file, number, change)
        monkeypatch.setattr(StableFile, "read_into", reads.method())
        message = None
        try:
            loopdbg.load(path)
        except loopdbg.ModelError as error:
            message = str(error)
        if reads.seen < number:
            assert message is None
            assert number > 1
            return
        assert (
            message is not None
            and message.startswith(str(tmp_path / "model."))
            and "changed while it was read" in message
        )


class ChangingReads:
    """Reads of one file, which changes before one of them."""

    def __init__(self, file: Path, number: int, change: Callable[[Path], None]) -> None:
        self.file, self.number, self.change = str(file), number, change
        self.seen = 0

    def method(self) -> Any:
        """In place of that of ``Held``."""

        def read_into(held: StableFile, start: int, out: Any) -> None:
            if held.path == self.file:
                self.seen += 1
                if self.seen == self.number:
                    self.change(Path(self.file))
            READ_INTO(held, start, out)

        return read_into


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_in_place_of_weights_and_traces(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The errors called a pipe a file that is not there, or one whose suffix is not known."""
    path, weights_file = ir(tmp_path)
    (_, external), trace = with_external_data(tmp_path), tmp_path / "run.loopdb"
    for file in (weights_file, external):
        file.unlink()
        os.mkfifo(file)
    os.mkfifo(trace)
    for item in ((path,), (path, "--weights", weights_file), (tmp_path / "model.onnx",), (trace,)):
        ran = command(capsys, "info", *item)
        assert ran.status == 1
        assert "is a pipe or a device, no regular file" in ran.error_line
    assert "is a pipe or a device" in command(capsys, "export", trace, tmp_path / "out.csv").error_line


@pytest.mark.parametrize("name", ["huge.onnx", "huge.json", "huge.xml", "huge.py", "huge.loopdb"])
def test_a_huge_file_of_zeros(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    """It was an error about memory, or read until there was none."""
    with (tmp_path / name).open("wb") as file:
        file.truncate(1 << 43)
    ran = command(capsys, "info", tmp_path / name)
    assert ran.status == 1
    assert name in ran.error_line and "memory" not in ran.error_line
