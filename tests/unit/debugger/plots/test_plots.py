"""Figures show the numbers of the session."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

import loopdbg
from cli_runner import CliResult
from cli_runner import run_cli as command
from loopdbg.debugger.plots import frame_figures
from loopdbg.debugger.plots.figures import (
    Curve,
    differences,
    plot_comparison_sides,
    plot_curves,
    plot_difference,
    plot_heatmap,
    plot_overlaid,
)
from loopdbg.debugger.statistics.value_history import Series, ValueHistory
from loopdbg.runtime.errors import UsageError
from text_models import SAMPLES, sample


def session(name: str, steps: int = 0) -> loopdbg.Session:
    result = loopdbg.Session(*sample(name))
    if steps:
        result.step(steps)
    else:
        result.finish()
    return result


def drawn(figure: Figure) -> dict[str, tuple[list[float], list[float]]]:
    """The points of each line of a figure, by its label."""
    return {
        str(line.get_label()): (list(map(float, line.get_xdata())), list(map(float, line.get_ydata())))  # type: ignore[arg-type]
        for axis in figure.axes
        for line in axis.lines
    }


def history(name: str, values: list[float], first: int = 0, bucket: int = 1) -> ValueHistory:
    numbers = np.array(values, np.float64)
    good = np.where(np.isfinite(numbers), numbers, np.nan)
    series = Series(good, good, numbers, numbers, (~np.isfinite(numbers)).astype(np.float64))
    return ValueHistory(name, first + bucket * np.arange(len(values)), bucket, series)


def test_carried_value_over_iterations() -> None:
    run = session("newton_sqrt.onnx", 4)
    message = drawn(run.plot("x"))
    expected = [float(run.frame.history.value("x", k)) for k in range(5)]
    assert message["x"] == ([0, 1, 2, 3, 4], pytest.approx(expected))
    assert set(drawn(run.frame.plot())) == {"x", "err"}
    assert run.plot("err").axes[0].get_yscale() in ("log", "symlog")
    assert run.plot("x").axes[0].get_yscale() == "linear"


def test_tensor_is_drawn_by_its_norm() -> None:
    run = session("lstm.xml", 3)
    name = run.frame.back_edges[0].param
    message = drawn(run.plot(name))
    expected = [float(np.linalg.norm(run.frame.history.value(name, k))) for k in range(4)]
    assert message[f"norm of {name}"][1] == pytest.approx(expected, rel=1e-5)
    both = frame_figures.plot_norms(run.frame)
    assert len(both.axes) == 1 and len(drawn(both)) == 2 and both.axes[0].get_yscale() == "log"


def test_condition_has_two_sides() -> None:
    run = session("newton_sqrt.onnx")
    figure = frame_figures.plot_condition(run.frame)
    message = drawn(figure)
    assert message["tol"][1] == pytest.approx([1e-6] * len(message["tol"][0]))
    assert len(message["err_new"][0]) == run.frame.iteration
    assert figure.axes[0].get_ylabel() == "err_new > tol"
    # The threshold is labelled with its number.
    assert [text.get_text() for text in figure.axes[0].texts] == ["1e-06"]


def test_scan_outputs_and_tensors_are_heat_maps() -> None:
    run = session("lstm.xml")
    figure = run.plot("Y")
    image = next(child for child in figure.axes[0].get_children() if isinstance(child, AxesImage))
    whole = run.frame.scan_outputs["Y"]
    assert np.array_equal(np.asarray(image.get_array()), whole[0])
    rows = run.frame.plot("Y") if "Y" in run.frame.values else run.frame.plot("h")
    assert rows.axes[0].lines or rows.axes[0].images
    newton = session("newton_sqrt.onnx")
    (line,) = drawn(newton.plot("xs")).values()
    assert line[1] == pytest.approx(newton.frame.scan_outputs["xs"].tolist())


def test_non_finite_values_are_marked_and_buckets_show_their_range() -> None:
    first = history("h", [1.0, np.nan, 3.0, np.inf])
    message = drawn(plot_curves([Curve("h", first)], "title"))
    assert message["h: NaN or infinite"][0] == [1.0, 3.0]
    width = history("h", list(range(100)), bucket=4)
    figure = plot_curves([Curve("h", width)], "title")
    assert figure.axes[0].collections, "a band"
    assert figure.axes[0].get_title("right") == "4 iterations a point"
    grid = np.array([[1.0, np.nan], [3.0, 4.0]])
    assert "1 not finite" in plot_heatmap(grid, "t", "row", "column").get_suptitle()
    large = plot_heatmap(np.zeros((3000, 2)), "t", "row", "column")
    assert "every 3. row" in large.get_suptitle()


@pytest.mark.parametrize("name", ["a name of a hundred characters" * 4, "$x^{ and $y", "_hidden", "状态"])
@pytest.mark.filterwarnings("ignore:Glyph")
def test_every_name_can_be_drawn(name: str) -> None:
    item, other = Curve(name, history(name, [1.0, 2.0])), Curve(f"{name} in other.onnx", history(name, [1.0, 2.5]))
    pictures = [
        plot_curves([item], name),
        plot_curves([item, other], name),
        plot_overlaid([item, other], name),
        plot_overlaid([item, other] * 3, name),
        plot_comparison_sides(item, "<", other, name),
        plot_difference([(item, other)] * 2, name),
        plot_heatmap(np.eye(3), name, "row", "column"),
    ]
    for picture in pictures:
        with warnings.catch_warnings(action="error"):  # such as that a layout does not fit
            warnings.filterwarnings("ignore", "Glyph")
            warnings.filterwarnings("ignore", category=DeprecationWarning)  # of what Matplotlib calls
            picture.draw_without_rendering()
        axes = picture.axes[0]
        assert axes.get_position().width > 0.6
        legend = axes.get_legend()
        if legend is not None:
            assert len(legend.get_texts()) == 2
            whole = picture.get_window_extent()
            assert legend.get_window_extent().x0 > 0 and legend.get_window_extent().x1 < whole.x1


def test_difference_of_two_runs_covers_their_common_iterations() -> None:
    item, other = history("h", [1.0, 2.0, 3.0]), history("h", [2.0, 5.0, 7.0], first=1)
    assert [list(part) for part in differences(item, other)] == [[1, 2], [0.0, 2.0]]
    message = drawn(plot_difference([(Curve("a", item), Curve("b", other))], "t"))
    assert message["difference"] == ([1.0, 2.0], [0.0, 2.0])
    same = plot_difference([(Curve("a", item), Curve("b", item))], "t")
    assert same.axes[1].texts[0].get_text() == "no difference"


def test_unplottable_values_are_refused() -> None:
    run = session("newton_sqrt.onnx", 2)
    for draw, message in (
        (lambda: run.plot("xz"), "nothing called 'xz'"),
        (lambda: frame_figures.plot_norms(run.frame), "carries no tensor"),
        (lambda: frame_figures.plot_scan(run.frame, "no"), "nothing called 'no'"),
        (lambda: run.frame.plot("no"), "unknown name 'no'"),
        (lambda: frame_figures.plot_value(run.frame, "s", np.array(["a"], object)), "holds no numbers"),
        (lambda: frame_figures.plot_condition(session("lstm.xml", 1).frame), "no single comparison"),
    ):
        with pytest.raises(UsageError, match=message):
            draw()


def test_notebooks_draw_a_figure() -> None:
    data = session("newton_sqrt.onnx", 2).plot("x")._repr_png_()  # type: ignore[attr-defined]
    assert data.startswith(b"\x89PNG")


Plot = Callable[..., CliResult]


@pytest.fixture
def plot(capsys: pytest.CaptureFixture[str]) -> Plot:
    return lambda *words: command(capsys, "plot", *words)


@pytest.mark.parametrize(
    ("words", "magic"),
    [
        (("newton_sqrt.onnx", "--what", "condition", "-o", "a.png"), b"\x89PNG"),
        (("lstm.xml", "--what", "scan", "-o", "a.pdf"), b"%PDF"),
        (("lstm.xml", "--what", "norms", "-o", "a.svg"), b"<?xml"),
        (("loop_nested.xml", "--loop", "factorial", "--entry", "1", "-o", "a.png"), b"\x89PNG"),
        (("newton_sqrt.onnx", "--name", "err", "--against", "newton_sqrt.onnx", "-o", "a.png"), b"\x89PNG"),
    ],
)
def test_command_line_writes_pictures(words: tuple[str, ...], magic: bytes, tmp_path: Path, plot: Plot) -> None:
    paths = [str(SAMPLES / word) if (SAMPLES / word).is_file() else word for word in words]
    paths[-1] = str(tmp_path / words[-1])
    ran = plot(*paths)
    assert ran.status == 0, ran.err
    assert ran.out == f"drawn into {paths[-1]}\n"
    assert Path(paths[-1]).read_bytes().startswith(magic)


def test_trace_is_drawn_like_its_model(tmp_path: Path, plot: Plot, capsys: pytest.CaptureFixture[str]) -> None:
    trace, picture = tmp_path / "run.loopdb", tmp_path / "x.svg"
    assert command(capsys, "run", SAMPLES / "newton_sqrt.onnx", "--record", trace).status == 0
    assert plot(trace, "-o", picture).status == 0
    assert plot(trace, "--against", SAMPLES / "newton_sqrt.onnx", "-o", tmp_path / "b.png").status == 0
    message = plot(trace, "--seed", "1", "-o", picture)
    assert message.status == 2 and "is a recording" in message.err


def test_weights_of_one_and_two_irs(tmp_path: Path, plot: Plot) -> None:
    item, other = (Path(shutil.copy(SAMPLES / "lstm.xml", tmp_path / name)) for name in ("one.xml", "other.xml"))
    weights = ("--weights", SAMPLES / "lstm.bin")
    inputs = ("--inputs", SAMPLES / "lstm.inputs.npz", "-o", tmp_path / "x.png")
    assert plot(item, *weights, *inputs).status == 0
    assert plot(item, "--against", other, *weights, *weights, *inputs).status == 0
    assert plot(item, "--against", item, *weights, *weights, *inputs).status == 0
    message = plot(item, "--against", other, *weights, *inputs)
    assert message.status == 1 and "other.bin, which does not exist" in message.err
    message = plot(item, "--against", SAMPLES / "newton_sqrt.onnx", *weights, *weights, *inputs)
    assert message.status == 2 and f"no OpenVINO IR but {item} is read" in message.err


def test_interrupted_run_is_drawn_and_labelled(tmp_path: Path, plot: Plot) -> None:
    inputs, picture = (SAMPLES / "newton_sqrt.onnx", "--max-iterations", "3", "-o"), tmp_path / "x.png"
    for words in ((), ("--against", SAMPLES / "newton_sqrt.onnx")):
        ran = plot(*inputs, picture, *words)
        assert ran.status == 4 and ran.out == f"drawn into {picture}, as far as it came\n"
        assert "reached the limit of 3 iterations" in ran.err and picture.is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "x.gif"), "name it .png, .svg or .pdf"),
        (("-o", "nowhere/x.png"), "there is no folder"),
        (("--name", "nope", "-o", "x.png"), "nothing called 'nope'"),
        (("--loop", "nope", "-o", "x.png"), "has no loop 'nope'"),
        (("--what", "scan", "--against", "b.onnx", "-o", "x.png"), "--against compares what is carried"),
        (("--against", "nope.onnx", "-o", "x.png"), "no such file"),
        (("--entry", "7", "-o", "x.png"), "not entered so often"),
        ((), "-o/--output"),
    ],
)
def test_error_is_one_clear_line(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plot: Plot
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = plot(SAMPLES / "newton_sqrt.onnx", *words)
    assert ran.status in (1, 2) and message in ran.err
    assert len([splitline for splitline in ran.err.splitlines() if not splitline.startswith("inputs:")]) == 1
    assert not list(tmp_path.glob("x.*"))


def test_console_draws_too(tmp_path: Path) -> None:
    from console_recorder import ConsoleRecorder

    talk = ConsoleRecorder(session("newton_sqrt.onnx", 3))
    assert talk.last_line(f"plot err {tmp_path / 'e.png'}").strip() == f"drawn into {tmp_path / 'e.png'}"
    assert (tmp_path / "e.png").exists()
    assert "name it" in talk.last_line(f"plot err {tmp_path / 'e.txt'}")


#: An outer loop that carries nothing around one that does: TensorRT's, and ONNX's with an If in between.
HOLLOW = """g (int64[4] x) => (int64[4] lasts) {
  M = Constant <value_int = 4> ()
  yes = Constant <value_int = 1> ()
  go = Cast <to = 9> (yes)
  [outer] lasts = Loop <body = around (int64 i, bool c) => (bool k, int64 last) {
    k = Identity (c)
    part = Gather (x, i)
    zero = Constant <value_int = 0> ()
    some = Greater (part, zero)
    last = If (some) <then_branch = then () => (int64 a) {
      three = Constant <value_int = 3> ()
      always = Greater (three, zero)
      [inner] a = Loop <body = within (int64 j, bool d, int64 h) => (bool e, int64 h_next) {
        h_next = Add (h, part)
        e = Less (h_next, part)
      }> (three, always, zero)
    }, else_branch = otherwise () => (int64 b) { b = Identity (zero) }>
  }> (M, go)
}"""


@pytest.mark.parametrize(
    ("name", "loop", "carried"), [("trt/nested.py", "collatz", {"n", "steps"}), ("hollow", "inner", {"h"})]
)
def test_inner_loop_is_drawn_if_the_outer_one_carries_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, loop: str, carried: set[str]
) -> None:
    path, feeds = SAMPLES / name, []
    if name == "hollow":
        path = tmp_path / "hollow.onnxtxt"
        path.write_text('<ir_version: 10, opset_import: ["" : 21]>\n' + HOLLOW, encoding="utf-8")
        feeds = ["--input", "x=[1,2,3,4]"]
    for what in ("carried", "condition"):
        out = tmp_path / f"{what}.png"
        ran = command(capsys, "plot", path, *feeds, "--what", what, "-o", out)
        assert ran.status == 0 and out.stat().st_size > 1000
        assert f"note: this is loop '{loop}', entry 0; " in ran.err
    # An explicitly requested loop gives a message with what it has; nothing else is drawn instead.
    outer = "numbers" if loop == "collatz" else "outer"
    ran = command(capsys, "plot", path, *feeds, "--loop", outer, "-o", tmp_path / "no.png")
    assert ran.status == 2 and ran.err.splitlines()[-1].endswith(
        f"loop '{outer}' carries nothing that could be drawn; loop '{loop}' inside of it does"
    )
    inputs = {"x": np.arange(1, 5)} if feeds else dict(np.load(path.with_suffix(".inputs.npz")))
    run = loopdbg.Session(loopdbg.load(path), inputs)
    run.continue_()
    assert set(drawn(run.plot())) == carried
    assert loop in run.plot().get_suptitle()
