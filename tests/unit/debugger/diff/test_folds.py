"""Loops of Python that an export unrolls, compared iteration by iteration with the loop of a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from ir import running_sum
from models import proto

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'loopdbg[torch]'")

from loopdbg.debugger.reference.torch import reference_of  # noqa: E402
from loopdbg.debugger.reference.torch_program import exported  # noqa: E402

LSTM = """
g (float[6,2,3] x) => (float[6,1,2,4] y) {
  y, h, c = LSTM <hidden_size = 4> (x, w, r, b)
}"""
SCAN = """
g (float[6,2,3] x, float[2,4] h0, float[2,4] c0) => (float[2,4] last, float[6,2,4] rows) {
  last, c_last, rows = Scan <num_scan_inputs = 1, body = body
    (float[2,4] h, float[2,4] c, float[2,3] row) => (float[2,4] h_new, float[2,4] c_new, float[2,4] h_out) {
    both = Concat <axis = 1> (row, h)
    sums = Gemm <transB = 1> (both, weight, bias)
    forget, out = Split <axis = 1, num_outputs = 2> (sums)
    kept = Sigmoid (forget)
    old = Mul (c, kept)
    new = Tanh (out)
    c_new = Add (old, new)
    h_new = Tanh (c_new)
    h_out = Identity (h_new)
  }> (h0, c0, x)
}"""


class Cells(torch.nn.Module):
    """An LSTM cell that Python calls for each row."""

    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTMCell(3, 4)

    def forward(self, x):
        h = c = x.new_zeros(x.size(1), 4)
        rows = []
        for row in x.unbind(0):
            h, c = self.cell(row, (h, c))
            rows.append(h)
        return torch.stack(rows).unsqueeze(1)


class Hand(torch.nn.Module):
    """A cell that is written by hand, for each row but the first with one node more."""

    def __init__(self):
        super().__init__()
        self.gates = torch.nn.Linear(7, 8)

    def forward(self, x, h, c):
        rows = []
        for t in range(x.size(0)):
            forget, out = self.gates(torch.cat([x[t], h], 1)).chunk(2, 1)
            c = c * torch.sigmoid(forget) + torch.tanh(out)
            h = torch.tanh(c)
            rows.append(h * 1.0 if t else h)
        return h, torch.stack(rows)


class Sums(torch.nn.Module):
    """A sum, row by row."""

    def forward(self, x, start):
        total, rows = start, []
        for t in range(x.size(0)):
            total = total + x[t : t + 1]
            rows.append(total)
        return torch.cat(rows), total


class Twice(torch.nn.Module):
    """A loop in a loop."""

    def forward(self, x):
        for _ in range(3):
            y = x
            for _ in range(4):
                y = torch.sin(y)
                y = y * 1.5
            x = x + y
        return x


def made(kind: type) -> torch.nn.Module:
    torch.manual_seed(3)
    return kind().eval()


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


ROWS = {"x": drawn(6, 2, 3)}
STATE = {**ROWS, "h": drawn(2, 4), "c": drawn(2, 4)}


def saved(text: str, folder: Path, **weights: np.ndarray) -> Path:
    model = proto(text)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in weights.items())
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


def an_lstm(folder: Path, change: float = 0.0) -> Path:
    """The operator with the weights of the cells, whose gates PyTorch has in another order."""
    cell = made(Cells).cell
    i, f, g, o = (slice(4 * k, 4 * k + 4) for k in range(4))
    found = []
    for one in (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh):
        array = one.detach().numpy()
        found.append(np.concatenate([array[part] for part in (i, o, f, g)])[None])
    w, r, *biases = found
    r[0, 3, 2] += change
    return saved(LSTM, folder, w=w, r=r, b=np.concatenate(biases, 1))


def a_scan(folder: Path, *changes: tuple[str, str]) -> Path:
    gates, text = made(Hand).gates, SCAN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return saved(text, folder, weight=gates.weight.detach().numpy(), bias=gates.bias.detach().numpy())


def line_of(text: str) -> str:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return f"{__file__}:{1 + next(k for k, line in enumerate(lines) if text in line)}"


def test_the_copies_of_a_line_are_iterations_with_the_bits_of_pytorch():
    reference = reference_of(made(Hand), STATE)
    ((loop, trips),) = reference.folds.items()
    assert trips == {(): 6}
    assert loop == f"test_folds.py:{line_of('forget, out = self.gates').rpartition(':')[2]}"
    tracks = [track for track in reference.tracks if track.loop == loop]
    c = torch.from_numpy(STATE["c"])
    kept = next(track for track in tracks if track.maker == "aten.sigmoid.default")
    carried = next(track for track in tracks if track.role == "carried" and track.maker == "aten.add.Tensor")
    new = next(track for track in tracks if track.name.endswith("/tanh"))
    assert kept.source == line_of("c = c * torch.sigmoid")
    for k in range(6):
        assert carried.values[(k,)].tobytes() == c.numpy().tobytes()
        c = c * torch.from_numpy(kept.values[(k,)]) + torch.from_numpy(new.values[(k,)])
    assert carried.values[(6,)].tobytes() == c.numpy().tobytes()


def test_a_node_that_the_first_iteration_lacks_begins_with_the_second():
    reference = reference_of(made(Hand), STATE)
    scaled = next(track for track in reference.tracks if track.folded and track.source == line_of("h * 1.0 if t"))
    assert sorted(scaled.values) == [(k,) for k in range(1, 6)]


def test_calls_of_one_module_are_a_loop_of_its_name():
    reference = reference_of(made(Cells), ROWS)
    assert reference.folds == {"cell": {(): 6}}
    assert [track.role for track in reference.tracks if track.loop == "cell"] == [
        "carried",
        "carried",
        "result",
        "result",
    ]


def test_what_is_no_loop_is_none():
    class Sum(torch.nn.Module):
        def forward(self, x):
            return x.sin() + x.cos() + x.exp()

    assert not reference_of(Sum(), ROWS).folds


def test_the_outermost_loop_is_folded():
    reference = reference_of(made(Twice), {"x": drawn(3)})
    assert list(reference.folds.values()) == [{(): 3}]


def test_an_lstm_operator_and_cells_in_python(tmp_path):
    found = loopdbg.diff(an_lstm(tmp_path), made(Cells), ROWS)
    assert found.same
    assert [(loop.other, loop.iterations, loop.trips) for loop in found.loops] == [("cell", 6, (6, 6))]


def test_a_wrong_weight_is_told_with_the_iteration_and_the_line(tmp_path):
    found = loopdbg.diff(an_lstm(tmp_path, 0.5), made(Cells), ROWS)
    assert not found.same
    # In the first iteration the state is zero.
    assert (found.first.iteration, found.first.op_type) == (1, "LSTM")
    assert found.first.source == line_of("h, c = self.cell(row")


def test_a_scan_and_a_cell_written_by_hand(tmp_path):
    found = loopdbg.diff(a_scan(tmp_path), made(Hand), {"x": ROWS["x"], "h0": STATE["h"], "c0": STATE["c"]})
    assert found.same
    # All that its nodes compute, and what it carries.
    assert str(found).count("(value)") == 11


@pytest.mark.parametrize(
    ("old", "new", "source"),
    [
        ("kept = Sigmoid", "kept = Tanh", "c = c * torch.sigmoid"),
        ("c_new = Add", "c_new = Sub", "c = c * torch.sigmoid"),
        ("h_new = Tanh", "h_new = Sin", "h = torch.tanh(c)"),
    ],
)
def test_a_wrong_node_is_among_those_named(tmp_path, old, new, source):
    inputs = {"x": ROWS["x"], "h0": STATE["h"], "c0": STATE["c"]}
    found = loopdbg.diff(a_scan(tmp_path, (old, new)), made(Hand), inputs)
    assert found.first.iteration == 0
    assert found.first.source == line_of(source)
    assert len(found.first.nodes) <= 3
    assert any(new.split()[-1] in node for node in found.first.nodes)


def test_a_trip_count_that_is_not_the_python_loops(tmp_path):
    model = tmp_path / "model.onnx"
    text = """
g (float[2] x, int64 n) => (float[2] y) {
  y = Loop (n, , x) <body = body (int64 i, bool keep, float[2] h) => (bool go, float[2] h_new) {
    go = Identity (keep)
    turned = Sin (h)
    h_new = Add (turned, x)
  }>
}"""

    class Turning(torch.nn.Module):
        def forward(self, x, n):
            h = x
            for _ in range(5):
                h = torch.sin(h)
                h = h + x
            return h

    onnx.save(proto(text), model)
    inputs = {"x": drawn(2), "n": np.int64(4)}
    found = loopdbg.diff(model, made(Turning), inputs)
    assert not found.same
    assert found.loops[0].trips == (4, 5)
    assert loopdbg.diff(model, made(Turning), inputs | {"n": np.int64(5)}).same


def test_a_tensor_iterator_and_a_program_in_a_file(tmp_path):
    path = running_sum().save(tmp_path)
    inputs = {"x": drawn(4, 2), "start": drawn(1, 2)}
    program = exported(made(Sums), [torch.from_numpy(array) for array in inputs.values()])
    torch.export.save(program, tmp_path / "sums.pt2")
    again = torch.export.load(tmp_path / "sums.pt2")
    found = loopdbg.diff(path, again, inputs)
    assert found.same
    assert [(loop.iterations, loop.trips) for loop in found.loops] == [(4, (4, 4))]


def test_a_loop_that_the_program_does_not_have_is_not_held_against_its_copies(tmp_path):
    """The model has the copies too, and a loop of its own beside them."""
    text = """
g (float[2] x) => (float[2] y) <int64 n = {3}> {
  a = Sin (x)
  b = Add (a, x)
  c = Sin (b)
  d = Add (c, x)
  y = Loop (n, , d) <body = body (int64 i, bool keep, float[2] h) => (bool go, float[2] h_new) {
    go = Identity (keep)
    h_new = Neg (h)
  }>
}"""

    class Copies(torch.nn.Module):
        def forward(self, x):
            h = x
            for _ in range(2):
                h = torch.sin(h)
                h = h + x
            return while_loop(lambda k, h: k < 3, lambda k, h: (k + 1, -h), (torch.tensor(0), h.clone()))[1]

    from torch._higher_order_ops import while_loop

    onnx.save(proto(text), tmp_path / "model.onnx")
    found = loopdbg.diff(tmp_path / "model.onnx", made(Copies), {"x": drawn(2)})
    assert found.same
    assert not [loop for loop in found.loops if loop.other.startswith("test_folds.py")]
