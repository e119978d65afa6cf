"""The picture of a loop as SVG: all its boxes, wires and back edges at their expected positions."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

import loopdbg
from browser import BROWSER, evaluate_on_svg
from cli_runner import run_cli as command
from loopdbg.debugger.plots.loop_svg import draw_loop, loop_svg
from loopdbg.runtime.graph import loops
from text_models import SAMPLES, model, sample

#: Where each arc begins and ends, and which texts leave their boxes.
MEASURE = """root => {
  const boxes = [...root.querySelectorAll('rect.lg-box:not(.lg-sheet)')].map(rect => rect.getBBox());
  const within = (p, b) => p.x >= b.x - 1 && p.x <= b.x + b.width + 1 && p.y >= b.y - 1 && p.y <= b.y + b.height + 1;
  const texts = [...root.querySelectorAll('text')].map(text => [text.textContent, text.getBBox()]);
  const named = p => {
    const box = boxes.filter(b => within(p, b)).sort((a, b) => a.width * a.height - b.width * b.height)[0];
    return box ? texts.filter(([_, t]) => within({x: t.x, y: t.y + t.height / 2}, box)).map(([text]) => text)[0] : '';
  };
  const joined = [...root.querySelectorAll('path[data-from]')].map(path => [
    path.dataset.from, path.dataset.to,
    named(path.getPointAtLength(0)), named(path.getPointAtLength(path.getTotalLength()))
  ]);
  const page = root.getBBox(), [, , width, height] = root.getAttribute('viewBox').split(' ').map(Number);
  const inside = boxes.every(b => b.x >= 0 && b.y >= 0 && b.x + b.width <= width && b.y + b.height <= height);
  const overlap = boxes.filter((a, i) => boxes.some((b, j) => j > i && a.x < b.x + b.width && b.x < a.x + a.width
    && a.y < b.y + b.height && b.y < a.y + a.height)).length;
  const loose = texts.filter(([text, t]) => boxes.some(b => within({x: t.x, y: t.y + t.height / 2}, b)
    && t.x + t.width > b.x + b.width + 1)).map(([text]) => text);
  return {joined, inside, overlap, loose};
}"""


def paths(svg: str, style: str) -> set[tuple[str, str]]:
    """The points that lines of a style connect."""
    root = etree.fromstring(svg.encode())
    result = root.iterfind(f".//{{*}}path[@class='lg-{style}']")
    return {(item.get("data-from", ""), item.get("data-to", "")) for item in result} - {("", "")}


def picture(name: str, steps: int) -> str:
    session = loopdbg.Session(*sample(name))
    session.step(steps)
    return loop_svg(session.model.graph, session.frame.loop, session.frame)


def test_back_edges_and_their_carried_values() -> None:
    svg = picture("greedy_decoder.onnx", 3)
    session = loopdbg.Session(*sample("greedy_decoder.onnx"))
    names = {edge.param.name for edge in session.frame.loop.back_edges}  # type: ignore[union-attr]
    result = paths(svg, "arc") | paths(svg, "decides")
    assert {(name, name) for name in names} <= result
    assert "token ← " in svg or "h ← " in svg


def test_path_of_nan_is_red() -> None:
    result = paths(picture("vanishing_scale.onnx", 138), "odd")
    assert {("q", "magnitude"), ("q", "h_new"), ("h", "h")} <= result and ("s", "q") not in result


def test_scan_output_is_a_growing_stack() -> None:
    def sheets(steps: int) -> int:
        root = etree.fromstring(picture("newton_sqrt.onnx", steps).encode())
        return len(root.findall(".//{*}rect"))

    assert sheets(1) < sheets(2) < sheets(3)


def test_picture_without_a_frame_is_the_bare_loop() -> None:
    main = sample("newton_sqrt.onnx")[0].graph
    (loop,) = loops(main)
    svg = loop_svg(main, loop)
    assert "sqrt" in svg and "▶" not in svg
    assert etree.fromstring(loop_svg(main, None).encode()) is not None


def test_names_from_a_file_are_escaped() -> None:
    odd = model("test (float[1] x) => (float[1] y) { y = Neg(x) }")
    odd.graph.nodes[0].outputs[0].name = "<script>\x07&\"'"  # type: ignore[union-attr]
    svg = loop_svg(odd.graph, None)
    assert "<script>" not in svg and etree.fromstring(svg.encode()) is not None


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
@pytest.mark.parametrize(("name", "steps"), [("newton_sqrt.onnx", 3), ("lstm.xml", 2)])
def test_picture_in_a_browser(name: str, steps: int, tmp_path: Path) -> None:
    message = evaluate_on_svg(picture(name, steps), MEASURE, tmp_path)
    assert message["joined"] and message["inside"] and not message["overlap"] and not message["loose"]
    for source, target, begins, ends in message["joined"]:
        assert (begins, ends) == (source, target)


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
def test_large_body_in_a_browser(tmp_path: Path) -> None:
    lines = "\n".join(f"v{k} = Add(v{k - 1}, v{max(0, k - 7)})" for k in range(1, 300))
    main = model(f"test (float[1] v0) => (float[1] v299) {{ {lines} }}").graph
    message = evaluate_on_svg(loop_svg(main, None), MEASURE, tmp_path)
    assert len(message["joined"]) > 500 and message["inside"] and not message["overlap"]


Capture = pytest.CaptureFixture[str]


def command_drew(capsys: Capture, folder: Path, *options: str) -> bytes:
    out = folder / options[-1]
    done = command(capsys, "plot", *options[:-1], "--what", "graph", "-o", str(out))
    assert done.status == 0, done.err
    return out.read_bytes()


def test_command_draws_an_iteration(tmp_path: Path, capsys: Capture) -> None:
    svg = command_drew(capsys, tmp_path, str(SAMPLES / "newton_sqrt.onnx"), "--iteration", "2", "g.svg").decode()
    assert "before iteration 2" in svg and "▶" in svg
    session = loopdbg.Session(*sample("newton_sqrt.onnx"))
    session.step(2)
    assert svg == loop_svg(session.model.graph, session.frame.loop, session.frame)


def test_command_draws_other_file_formats(tmp_path: Path, capsys: Capture) -> None:
    assert command_drew(capsys, tmp_path, str(SAMPLES / "lstm.xml"), "g.png").startswith(b"\x89PNG")
    assert command_drew(capsys, tmp_path, str(SAMPLES / "fibonacci.onnx"), "g.pdf").startswith(b"%PDF")


def test_command_draws_the_whole_model_with_open_loops(tmp_path: Path, capsys: Capture) -> None:
    svg = command_drew(capsys, tmp_path, str(SAMPLES / "mandelbrot.onnx"), "--loop", "main", "g.svg").decode()
    assert "main graph" in svg and {("re", "re"), ("im", "im"), ("count", "count")} <= paths(svg, "arc") | paths(
        svg, "decides"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--iteration", "300", "--what", "graph"), "has no iteration 300"),
        (("--what", "graph", "--name", "hlf"), "nothing is called 'hlf'"),
        (("--what", "norms", "--iteration", "1"), "--iteration is for --what graph"),
    ],
)
def test_command_refusals(options: tuple[str, ...], message: str, tmp_path: Path, capsys: Capture) -> None:
    done = command(capsys, "plot", str(SAMPLES / "newton_sqrt.onnx"), *options, "-o", str(tmp_path / "g.svg"))
    assert done.status == 2 and message in done.err and "Traceback" not in done.err


def test_excerpt_of_a_large_body_around_a_value() -> None:
    lines = "\n".join(f"v{k} = Add(v{k - 1}, v{max(0, k - 7)})" for k in range(1, 300))
    main = model(f"test (float[1] v0) => (float[1] v299) {{ {lines} }}").graph
    names = {source for source, _ in paths(draw_loop(main, None, {}, name="v150").svg(), "wire")}
    assert "v150" in names and "v2" not in names and len(names) <= 60
