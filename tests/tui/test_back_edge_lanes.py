"""Source pane: the lane from each back edge to the head of its loop, the lines related to the one at the cursor, and
untruncated comments."""

from __future__ import annotations

import numpy as np
import pytest

from app_driver import AppDriver, open_app
from loopdbg.tui.render.styled_text import Role, StyledLine
from text_models import NESTED, model, sample


def row_with(screen: AppDriver, text: str) -> int:
    return next(k for k, line in enumerate(screen.source_pane.lines) if text in line.text)


def roles(line: StyledLine, role: Role) -> str:
    return "".join(text for text, item in line.spans if item is role)


async def test_back_edge_lane_leads_to_the_loop_head() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        body = screen.source_pane
        head, first, last = (row_with(screen, text) for text in ("while keep", "x = x_new", "err = err_new"))
        column = body.lines[head].text.index("while")
        signs = [body.lines[k].text[column] for k in range(head + 1, last + 1)]
        assert signs == ["▲", *"│" * (first - head - 2), "├", "╰"]
        assert body.lines[last].text[column:].startswith("╰── err = err_new")
        # Only the lane of the back edge at the cursor is bright, over its whole length.
        body.move_cursor_to_line(first)
        bright = [k for k in range(len(body.lines)) if roles(body.lines[k], Role.ARC)]
        assert bright == list(range(head + 1, first + 1))
        body.move_cursor_to_line(head)
        assert not any(roles(line, Role.ARC) for line in body.lines)


async def test_nested_loops_have_separate_back_edge_lanes() -> None:
    async with open_app(model(NESTED), {"M": np.array(3), "K": np.array(2)}) as screen:
        texts = [line.text for line in screen.source_pane.lines]
        assert sum("▲" in text for text in texts) >= 2
        assert any(text.count("│") + text.count("├") + text.count("╰") >= 2 for text in texts)


async def test_producers_and_consumers_of_the_cursor_line_are_marked() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        body = screen.source_pane
        body.move_cursor_to_line(row_with(screen, "half_q = "))
        makers = [roles(line, Role.MAKER).split() for line in body.lines if roles(line, Role.MAKER)]
        readers = [roles(line, Role.READER).split() for line in body.lines if roles(line, Role.READER)]
        assert makers == [["◂", "q"]] and readers == [["▸", "x_new"]]
        # The marks are visible without colours too.
        assert "◂" in body.lines[row_with(screen, "q = a / x")].text


async def test_keys_follow_back_edges() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        body = screen.source_pane
        body.move_cursor_to_line(row_with(screen, "half_q = "))
        await screen.press("d")
        assert "x_new = " in body.lines[body.cursor].text
        await screen.press("u", "u")
        assert "q = a / x" in body.lines[body.cursor].text
        body.move_cursor_to_line(row_with(screen, "last_err"))
        await screen.press("d")
        assert "no line reads" in str(screen.status_message.content) or body.cursor != row_with(screen, "last_err")


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
@pytest.mark.parametrize("name", ["lstm.xml", "greedy_decoder.onnx", "loop_slice_concat.xml"])
async def test_back_edge_comments_are_not_truncated(name: str, size: tuple[int, int]) -> None:
    async with open_app(*sample(name), size=size) as screen:
        kinds = {"back edge": "# back edge", "scan": "# scan output", "initial": "# initial value"}
        lines = screen.source_pane.all_source_lines
        wanted = {line.number: kinds[kind] for line in lines for kind in kinds if line.kind.value.startswith(kind)}
        seen = {line.target.number: line.text for line in screen.source_pane.lines if line.target is not None}  # type: ignore[attr-defined]
        assert wanted
        for number, comment in wanted.items():
            assert comment in seen[number] or "part 0" in seen[number] or "back edges" in seen[number]
