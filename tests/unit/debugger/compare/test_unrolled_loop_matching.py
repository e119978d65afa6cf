"""Loops of Python that an export unrolls, compared iteration by iteration with the loop of a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from ir_builder import running_sum
from text_models import load_proto, proto

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'loopdbg[torch]'")

from loopdbg.debugger.reference.torch_api import run_torch_reference  # noqa: E402
from loopdbg.debugger.reference.torch_export import export_module  # noqa: E402

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


class HandWrittenCell(torch.nn.Module):
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


class Grid(torch.nn.Module):
    """A cell for each part of each row, whose state is turned behind each row."""

    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(3, 4)

    def forward(self, x, h):
        for row in x.unbind(0):
            for part in row.unbind(0):
                h = self.cell(part, h)
            h = torch.sin(h)
        return h


class Growing(torch.nn.Module):
    """A loop in a loop that runs once more each time, which is not reported from what is around it."""

    def forward(self, x):
        for i in range(4):
            y = x
            for _ in range(i + 1):
                y = torch.sin(y)
                y = y * 1.5
            x = x + y
        return x


class Parts(Grid):
    """Nothing but cells, of which the outer loop has nothing of its own."""

    def forward(self, x, h):
        for i in range(x.size(0)):
            for j in range(x.size(1)):
                h = self.cell(x[i, j], h)
        return h


class Corner(Grid):
    """The same for half of the parts."""

    def forward(self, x, h):
        for i in range(x.size(0)):
            for j in range(i + 2):
                h = self.cell(x[i][j], h)
        return h


class Windows(Grid):
    """One loop, of which some iterations after each other read the same row."""

    def forward(self, x, h):
        for k in range(12):
            h = self.cell(x[k // 4, 0], h)
        return h


class Layered(torch.nn.Module):
    """An LSTM that runs again and again, from its last states."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 4)

    def forward(self, x, h, c):
        for _ in range(3):
            y, (h, c) = self.lstm(x, (h, c))
            h = h * 0.5
        return y, h


class WhileInLoop(torch.nn.Module):
    """A loop of the program in a loop of Python."""

    def forward(self, x):
        from torch._higher_order_ops import while_loop

        for _ in range(3):
            y = while_loop(lambda k, y: k < 4, lambda k, y: (k + 1, torch.sin(y) * 1.5), (torch.tensor(0), x.clone()))[
                1
            ]
            x = x + y
        return x


def make_case(kind: type) -> torch.nn.Module:
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


def lstm_model(folder: Path, change: float = 0.0) -> Path:
    """The operator with the weights of the cells, whose gates PyTorch has in another order."""
    cell = make_case(Cells).cell
    i, f, g, o = (slice(4 * k, 4 * k + 4) for k in range(4))
    results = []
    for item in (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh):
        array = item.detach().numpy()
        results.append(np.concatenate([array[part] for part in (i, o, f, g)])[None])
    w, r, *biases = results
    r[0, 3, 2] += change
    return saved(LSTM, folder, w=w, r=r, b=np.concatenate(biases, 1))


def scan_model(folder: Path, *changes: tuple[str, str]) -> Path:
    gates, text = make_case(HandWrittenCell).gates, SCAN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return saved(text, folder, weight=gates.weight.detach().numpy(), bias=gates.bias.detach().numpy())


def line_of(text: str) -> str:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return f"{__file__}:{1 + next(k for k, line in enumerate(lines) if text in line)}"


def test_the_copies_of_a_line_are_iterations_with_the_bits_of_pytorch():
    reference = run_torch_reference(make_case(HandWrittenCell), STATE)
    ((loop, trips),) = reference.folds.items()
    assert trips == {(): 6}
    assert loop == f"test_unrolled_loop_matching.py:{line_of('forget, out = self.gates').rpartition(':')[2]}"
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
    reference = run_torch_reference(make_case(HandWrittenCell), STATE)
    scaled = next(track for track in reference.tracks if track.folded and track.source == line_of("h * 1.0 if t"))
    assert sorted(scaled.values) == [(k,) for k in range(1, 6)]


def test_calls_of_one_module_are_a_loop_of_its_name():
    reference = run_torch_reference(make_case(Cells), ROWS)
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

    assert not run_torch_reference(Sum(), ROWS).folds


def test_loops_in_loops_are_folded_by_the_iterations_of_both():
    reference = run_torch_reference(make_case(Twice), {"x": drawn(3)})
    outer, inner = reference.folds
    assert inner.startswith(f"{outer}/test_unrolled_loop_matching.py:")
    assert reference.folds == {outer: {(): 3}, inner: {(0,): 4, (1,): 4, (2,): 4}}
    tracks = {track.name: track.values for track in reference.tracks if track.loop == inner}
    received, turned, grown = (tracks[f"{inner}/{name}"] for name in ("mul received", "sin", "mul"))
    x = torch.from_numpy(drawn(3))
    for i in range(3):
        y = x
        for j in range(4):
            assert received[i, j].tobytes() == y.numpy().tobytes()
            y = torch.sin(y)
            assert turned[i, j].tobytes() == y.numpy().tobytes()
            y = y * 1.5
            assert grown[i, j].tobytes() == y.numpy().tobytes()
        x = x + y


def test_an_lstm_operator_and_cells_in_python(tmp_path):
    result = loopdbg.diff(lstm_model(tmp_path), make_case(Cells), ROWS)
    assert result.same
    assert [(loop.other, loop.iterations, loop.trips) for loop in result.loops] == [("cell", 6, (6, 6))]


def test_wrong_weight_has_iteration_and_line(tmp_path):
    result = loopdbg.diff(lstm_model(tmp_path, 0.5), make_case(Cells), ROWS)
    assert not result.same
    # In the first iteration the state is zero.
    assert (result.first.iteration, result.first.op_type) == (1, "LSTM")
    assert result.first.source == line_of("h, c = self.cell(row")


def test_a_scan_and_a_cell_written_by_hand(tmp_path):
    result = loopdbg.diff(
        scan_model(tmp_path), make_case(HandWrittenCell), {"x": ROWS["x"], "h0": STATE["h"], "c0": STATE["c"]}
    )
    assert result.same
    # All that its nodes compute, and what it carries.
    assert str(result).count("(value)") == 11


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
    result = loopdbg.diff(scan_model(tmp_path, (old, new)), make_case(HandWrittenCell), inputs)
    assert result.first.iteration == 0
    assert result.first.source == line_of(source)
    assert len(result.first.nodes) <= 3
    assert any(new.split()[-1] in node for node in result.first.nodes)


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
    result = loopdbg.diff(model, make_case(Turning), inputs)
    assert not result.same
    assert result.loops[0].trips == (4, 5)
    assert loopdbg.diff(model, make_case(Turning), inputs | {"n": np.int64(5)}).same


def test_a_tensor_iterator_and_a_program_in_a_file(tmp_path):
    path = running_sum().save(tmp_path)
    inputs = {"x": drawn(4, 2), "start": drawn(1, 2)}
    program = export_module(make_case(Sums), [torch.from_numpy(array) for array in inputs.values()])
    torch.export.save(program, tmp_path / "sums.pt2")
    again = torch.export.load(tmp_path / "sums.pt2")
    result = loopdbg.diff(path, again, inputs)
    assert result.same
    assert [(loop.iterations, loop.trips) for loop in result.loops] == [(4, (4, 4))]


def test_a_loop_that_the_program_does_not_have_is_not_held_against_its_copies(tmp_path):
    """The model has the copies too, and a loop of its own next to them."""
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
    result = loopdbg.diff(tmp_path / "model.onnx", make_case(Copies), {"x": drawn(2)})
    assert result.same
    assert not [loop for loop in result.loops if loop.other.startswith("test_unrolled_loop_matching.py")]


NESTED = """
g (float[3] x) => (float[3] y) <int64 n = {3}, int64 m = {4}, float k = {1.5}> {
  [O] y = Loop (n, , x) <body = body (int64 i, bool keep, float[3] h) => (bool go, float[3] h_new) {
    go = Identity (keep)
    [I] z = Loop (m, , h) <body = inner (int64 j, bool keep2, float[3] u) => (bool go2, float[3] u_new) {
      go2 = Identity (keep2)
      [turned] t = Sin (u)
      [grown] u_new = Mul (t, k)
    }>
    [added] h_new = Add (h, z)
  }>
}"""


def report_text(result: loopdbg.Diff) -> list[tuple[str, int, tuple[int | None, int | None]]]:
    return [(loop.other.rpartition("/")[2].partition(":")[0], loop.iterations, loop.trips) for loop in result.loops]


@pytest.mark.parametrize("kind", [Twice, WhileInLoop])
def test_a_loop_in_a_loop_and_loops_in_a_loop_of_python(kind):
    result = loopdbg.diff(load_proto(proto(NESTED)), make_case(kind), {"x": drawn(3)})
    assert result.same
    inner = "test_unrolled_loop_matching.py" if kind is Twice else "while_loop"
    assert report_text(result) == [("test_unrolled_loop_matching.py", 3, (3, 3)), (inner, 12, (4, 4))]


@pytest.mark.parametrize("kind", [Twice, WhileInLoop])
@pytest.mark.parametrize(
    ("node", "old", "new"), [("turned", "Sin (u)", "Tanh (u)"), ("grown", "Mul (t, k)", "Add (t, k)")]
)
def test_a_wrong_node_of_the_inner_loop_is_named_with_both_iterations(kind, node, old, new):
    result = loopdbg.diff(load_proto(proto(NESTED.replace(old, new))), make_case(kind), {"x": drawn(3)})
    assert (result.first.entry, result.first.iteration) == ((0,), 0)
    assert node in result.first.nodes and set(result.first.nodes) <= {"turned", "grown"}


def test_a_wrong_node_of_the_outer_loop_is_named():
    result = loopdbg.diff(
        load_proto(proto(NESTED.replace("Add (h, z)", "Sub (h, z)"))), make_case(Twice), {"x": drawn(3)}
    )
    assert (result.first.entry, result.first.iteration, result.first.nodes) == ((), 0, ("added",))


def test_another_trip_count_of_the_inner_loop():
    result = loopdbg.diff(load_proto(proto(NESTED.replace("m = {4}", "m = {3}"))), make_case(Twice), {"x": drawn(3)})
    assert not result.same
    assert [loop.trips for loop in result.loops if loop.loop.endswith("I")] == [(3, 4)]


GRID = """
g (float[3,4,2,3] x, float[2,4] h) => (float[2,4] y) {
  y = Scan <num_scan_inputs = 1, body = rows (float[2,4] s, float[4,2,3] row) => (float[2,4] s_new) {
    t = Scan <num_scan_inputs = 1, body = parts (float[2,4] u, float[2,3] part) => (float[2,4] u_new) {
      one = Unsqueeze (part, first)
      before = Unsqueeze (u, first)
      all, last = GRU <hidden_size = 4, linear_before_reset = 1> (one, w, r, b, , before)
      u_new = Squeeze (last, first)
    }> (s, row)
    s_new = Sin (t)
  }> (h, x)
}"""


def grid_model(folder: Path, change: float = 0.0) -> Path:
    """The cell's gates are reset, update and new, the operator's update, reset and new."""
    cell = make_case(Grid).cell
    w, r, b_w, b_r = (
        np.concatenate([item.detach().numpy()[4 * k : 4 * k + 4] for k in (1, 0, 2)])[None]
        for item in (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    )
    r[0, 3, 2] += change
    return saved(GRID, folder, w=w, r=r, b=np.concatenate([b_w, b_r], 1), first=np.array([0], np.int64))


CELLS = {"x": drawn(3, 4, 2, 3), "h": drawn(2, 4)}


def test_nested_python_loops_match_nested_scan(tmp_path):
    result = loopdbg.diff(grid_model(tmp_path), make_case(Grid), CELLS)
    assert result.same
    assert report_text(result)[:2] == [("test_unrolled_loop_matching.py", 3, (3, 3)), ("cell", 12, (4, 4))]


def test_wrong_cell_weight_has_both_iterations(tmp_path):
    result = loopdbg.diff(grid_model(tmp_path, 0.5), make_case(Grid), CELLS)
    assert (result.first.entry, result.first.iteration) == ((0,), 0)
    assert result.first.source == line_of("h = self.cell(part, h)")


STATES = {"x": drawn(5, 2, 3), "h": drawn(1, 2, 4), "c": drawn(1, 2, 4)}
LAYERED = """
g (float[5,2,3] x, float[1,2,4] h, float[1,2,4] c) => (float[5,1,2,4] y, float[1,2,4] h_last)
  <int64 n = {3}, float half = {0.5}, float[5,1,2,4] none> {
  h_last, c_last, y = Loop (n, , h, c, none) <body = body
    (int64 i, bool keep, float[1,2,4] h0, float[1,2,4] c0, float[5,1,2,4] y0)
    => (bool go, float[1,2,4] h_new, float[1,2,4] c_new, float[5,1,2,4] y_new) {
    go = Identity (keep)
    y_new, h_out, c_new = LSTM <hidden_size = 4> (x, w, r, b, , h0, c0)
    h_new = Mul (h_out, half)
  }>
}"""


def layer_model(folder: Path, change: float = 0.0) -> Path:
    layer = make_case(Layered).lstm
    w, r, b_w, b_r = (
        np.concatenate([item.detach().numpy()[4 * k : 4 * k + 4] for k in (0, 3, 1, 2)])[None]
        for item in (layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0)
    )
    r[0, 3, 2] += change
    text = LAYERED.replace(", float[5,1,2,4] none>", ">")
    return saved(text, folder, w=w, r=r, b=np.concatenate([b_w, b_r], 1), none=np.zeros((5, 1, 2, 4), np.float32))


def test_an_lstm_in_a_loop_of_python_steps_in_each_iteration(tmp_path):
    reference = run_torch_reference(make_case(Layered), STATES)
    outer, inner = reference.folds
    assert inner == f"{outer}/lstm/l0"
    assert reference.folds == {outer: {(): 3}, inner: {(0,): 5, (1,): 5, (2,): 5}}
    result = loopdbg.diff(layer_model(tmp_path), make_case(Layered), STATES)
    assert report_text(result)[:2] == [(outer.partition(":")[0], 3, (3, 3)), ("l0", 15, (5, 5))]
    assert result.first is None


def test_wrong_lstm_weight_has_both_iterations(tmp_path):
    result = loopdbg.diff(layer_model(tmp_path, 0.5), make_case(Layered), STATES)
    assert (result.first.entry, result.first.iteration, result.first.op_type) == ((0,), 0, "LSTM")
    assert result.first.source == line_of("y, (h, c) = self.lstm(x, (h, c))")


@pytest.mark.parametrize(
    ("kind", "trips"),
    [
        (Parts, [{(): 3}, {(0,): 4, (1,): 4, (2,): 4}]),
        (Corner, [{(): 3}, {(0,): 2, (1,): 3, (2,): 4}]),
        (Windows, [{(): 12}]),
    ],
)
def test_restarting_index_identifies_outer_loop(kind, trips):
    assert list(run_torch_reference(make_case(kind), CELLS).folds.values()) == trips


@pytest.mark.parametrize(("change", "iteration"), [(0.0, None), (0.5, 0)])
def test_bare_cells_in_nested_python_loops_match_nested_scan(tmp_path, change, iteration):
    path = grid_model(tmp_path, change)
    model = onnx.load(path)
    rows = next(node for node in model.graph.node if node.op_type == "Scan")
    next(node for node in rows.attribute if node.name == "body").g.node[-1].op_type = "Identity"
    result = loopdbg.diff(load_proto(model), make_case(Parts), CELLS)
    assert report_text(result)[:2] == [
        ("test_unrolled_loop_matching.py", 3, (3, 3)),
        ("test_unrolled_loop_matching.py", 12, (4, 4)),
    ]
    assert (result.first and (result.first.entry, result.first.iteration)) == (None if iteration is None else ((0,), 0))


def test_loops_that_are_taken_for_others_are_held_against_none():
    text = NESTED.replace("n = {3}, int64 m = {4}", "n = {4}, int64 one = {1}")
    text = text.replace("go = Identity (keep)\n", "go = Identity (keep)\n    m = Add (i, one)\n")
    assert "Add (i, one)" in text
    result = loopdbg.diff(load_proto(proto(text)), make_case(Growing), {"x": drawn(3)})
    assert result.first is None
    assert not result.outputs
