"""Positions of the panes from the screen size and the space that each pane requests, without widgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: Smaller screens use tabs; screens of the wide width have a third column.
TABS_BELOW_SIZE_CELLS = (100, 30)
THREE_COLUMNS_MIN_WIDTH = 170
#: Lines of a border.
_BORDER_LINES = 2
#: Lines of each pane below an unlimited one on a tab.
_SECONDARY_PANE_LINES = 4
#: Lines that an unlimited pane counts for when panes are assigned to columns.
_UNLIMITED_PANE_WEIGHT_LINES = 24
#: Relative widths of the three columns.
_COLUMN_SHARES = (9, 8, 8)
#: Most lines of a context pane below the source.
_CONTEXT_PANE_MAX_LINES = 5


@dataclass(frozen=True)
class PaneBox:
    """A rectangle on the screen, border included; a one-line box has no border."""

    x: int
    y: int
    width: int
    height: int

    @property
    def is_one_line(self) -> bool:
        """Whether the pane has a single line."""
        return self.height == 1


@dataclass(frozen=True)
class SpaceRequest:
    """The lines that a pane needs and those that it can use. A pane that needs none shows one line."""

    min_lines: int
    max_lines: int

    @property
    def min_rows(self) -> int:
        """The smallest number of rows, border included."""
        return self.min_lines + _BORDER_LINES if self.min_lines else 1


#: Request of a pane that needs one line without a border.
ONE_LINE = SpaceRequest(0, 0)


@dataclass(frozen=True)
class TabSpec:
    """Panes stacked on one tab of a small screen; the first is the main one."""

    title: str
    panes: tuple[str, ...]


TABS = (
    TabSpec("Source", ("body", "back-edges", "condition")),
    TabSpec("Values", ("back-edges", "inputs", "displays", "value")),
    TabSpec("Condition", ("condition",)),
    TabSpec("Outputs", ("scans", "outputs")),
    TabSpec("Time", ("timeline", "breakpoints", "stack")),
)
#: Panes about the loop: carried values, condition, outputs.
_LOOP_PANES = ("back-edges", "condition", "scans", "outputs")
#: Panes about the context of the loop.
_CONTEXT_PANES = ("inputs", "displays", "stack", "breakpoints")
#: Panes that can use the remaining lines.
_FILLER_PANES = ("overview", "value")
#: A number of lines that no pane reaches.
UNLIMITED_LINES = 1 << 20


@dataclass(frozen=True)
class PaneArrangement:
    """Persistent state of the panes: the active tab, the maximized pane ("" for none), and the folded head lines, by
    number, with their text."""

    tab: int = 0
    maximized_pane: str = ""
    folded: Mapping[int, str] = field(default_factory=dict)


PaneBoxes = dict[str, PaneBox]
SpaceRequests = Mapping[str, SpaceRequest]


def is_small_screen(width: int, height: int) -> bool:
    """Whether a screen shows the panes on tabs."""
    return width < TABS_BELOW_SIZE_CELLS[0] or height < TABS_BELOW_SIZE_CELLS[1]


def tab_for_pane(pane: str) -> int:
    """The tab on which a pane has the earliest position."""
    return min(
        (k for k, tab in enumerate(TABS) if pane in tab.panes), key=lambda k: (TABS[k].panes.index(pane), k), default=0
    )


def non_empty_tabs(needs: SpaceRequests) -> tuple[int, ...]:
    """The tabs on which a pane has something to show."""
    return tuple(k for k, tab in enumerate(TABS) if any(name in needs for name in tab.panes))


def arrange_panes(width: int, height: int, needs: SpaceRequests, tab: int | None = None, zoomed: str = "") -> PaneBoxes:
    """The boxes of the visible panes; a pane without a request is hidden.

    ``tab``: the active tab on a small screen, else None; ``zoomed``: the pane that covers the screen.
    """
    if zoomed in needs:
        return {zoomed: PaneBox(0, 0, width, height)}
    if tab is not None:
        return _arrange_tab(TABS[tab].panes, needs, PaneBox(0, 0, width, height))
    if width >= THREE_COLUMNS_MIN_WIDTH:
        return _arrange_three_columns(width, height, needs)
    return _arrange_two_columns(width, height, needs)


def _arrange_tab(panes: Sequence[str], needs: SpaceRequests, box: PaneBox) -> PaneBoxes:
    """Stack the panes of a tab; next to the source the others have one line each."""
    stack = _select_requests(panes, needs)
    if "body" in stack or not stack:
        return _stack_column(
            _unlimited_source_request(needs) | {name: ONE_LINE for name in stack if name != "body"}, box
        )
    for name in _FILLER_PANES:
        if name in stack and len(stack) > 1 and sum(map(_max_rows, stack.values())) > box.height:
            del stack[name]
    first, *secondary = stack
    if stack[first].max_lines >= UNLIMITED_LINES:
        stack |= {name: _cap_request(stack[name], _SECONDARY_PANE_LINES) for name in secondary}
    if not stack[first].min_lines:
        # The main pane of a tab shows its contents.
        stack[first] = SpaceRequest(1, _SECONDARY_PANE_LINES)
    return _stack_column(stack, box)


def _arrange_two_columns(width: int, height: int, needs: SpaceRequests) -> PaneBoxes:
    """The source on the left, the loop's values on the right, the timeline below both."""
    footer = _timeline_height(height, needs)
    above = height - footer
    loop = _cap_requests(_select_requests(_LOOP_PANES, needs), above // 2)
    if not any(map(_has_border, loop.values())):
        loop |= _select_requests(("overview", "value"), needs)
    elif not _condition_has_plot(needs):
        # A plot has priority over the value at the cursor.
        loop |= _select_requests(("value",), needs)
    elif "scans" in loop:
        loop["scans"] = SpaceRequest(loop["scans"].min_lines, min(loop["scans"].max_lines, _SECONDARY_PANE_LINES))
    # The source keeps half of its column.
    left = _unlimited_source_request(needs, above // 2 - _BORDER_LINES) | _cap_requests(
        _select_requests(_CONTEXT_PANES, needs), _CONTEXT_PANE_MAX_LINES
    )
    if not any(map(_has_border, loop.values())):
        return _stack_column(left | loop, PaneBox(0, 0, width, above)) | _timeline_box(width, height, footer)
    x = width * 19 // 40
    boxes = _stack_column(left, PaneBox(0, 0, x, above)) | _stack_column(loop, PaneBox(x, 0, width - x, above))
    return boxes | _timeline_box(width, height, footer)


def _arrange_three_columns(width: int, height: int, needs: SpaceRequests) -> PaneBoxes:
    """Three columns with the timeline below."""
    footer = _timeline_height(height, needs)
    columns = _assign_columns(needs, height - footer)
    visible = [
        (column, share)
        for column, share in zip(columns, _COLUMN_SHARES, strict=True)
        if any(map(_has_border, column.values()))
    ]
    # One-line panes get no column of their own.
    small = {
        name: need
        for column in columns[1:]
        if not any(map(_has_border, column.values()))
        for name, need in column.items()
    }
    boxes, x = _timeline_box(width, height, footer), 0
    for k, (column, share) in enumerate(visible):
        column_width = (width - x) * share // sum(share for _, share in visible[k:])
        boxes |= _stack_column(column if k else column | small, PaneBox(x, 0, column_width, height - footer))
        x += column_width
    return boxes


def _assign_columns(
    needs: SpaceRequests, height: int
) -> tuple[dict[str, SpaceRequest], dict[str, SpaceRequest], dict[str, SpaceRequest]]:
    """Assign panes to three columns: the source (with the graph below, if short); the loop and its context; the graph
    and the overflow of the middle column. The value at the cursor goes to the column with more free space."""
    body, value, right = (_select_requests((name,), needs) for name in ("body", "value", "overview"))
    middle: dict[str, SpaceRequest] = {}
    candidates = _cap_requests(_select_requests((*_LOOP_PANES, *_CONTEXT_PANES), needs), _UNLIMITED_PANE_WEIGHT_LINES)
    # An unlimited pane leaves no space for the value, which goes to another column.
    is_filled = any(need.max_lines >= UNLIMITED_LINES for need in candidates.values())
    used = 0 if is_filled else sum(need.min_rows for need in value.values())
    for name, need in candidates.items():
        used += need.min_rows + min(need.max_lines, _UNLIMITED_PANE_WEIGHT_LINES) - need.min_lines
        (middle if used <= height else right)[name] = need
    source_is_short = sum(map(_max_rows, body.values())) <= height // 2 and len(right) == 1
    is_filled = any(need.max_lines >= UNLIMITED_LINES for need in middle.values())
    if source_is_short:
        left, right = body | right, {}
    else:
        left = _unlimited_source_request(needs)
        if "overview" in right and not is_filled and _free_lines(middle | value, height) > _free_lines(right, height):
            # The middle column has more free lines.
            middle["overview"] = right.pop("overview")
    (left if is_filled else middle).update(value)
    return left, middle, right


def _free_lines(needs: SpaceRequests, height: int) -> int:
    """The lines that remain for an unlimited pane."""
    return height - sum(_max_rows(need) for need in needs.values() if need.max_lines < UNLIMITED_LINES)


def _unlimited_source_request(needs: SpaceRequests, min_lines: int = 0) -> dict[str, SpaceRequest]:
    """The source, as an unlimited pane."""
    return {
        name: SpaceRequest(max(need.min_lines, min_lines), UNLIMITED_LINES)
        for name, need in _select_requests(("body",), needs).items()
    }


def _max_rows(need: SpaceRequest) -> int:
    """The largest number of rows that it can use."""
    return need.min_rows + need.max_lines - need.min_lines


def _has_border(need: SpaceRequest) -> bool:
    return need.min_lines > 0


def _select_requests(names: Sequence[str], needs: SpaceRequests) -> dict[str, SpaceRequest]:
    """The requests of some panes, in order."""
    return {name: needs[name] for name in names if name in needs}


def _condition_has_plot(needs: SpaceRequests) -> bool:
    """Whether the condition pane requests a plot."""
    return "condition" in needs and needs["condition"].max_lines >= UNLIMITED_LINES


def _cap_request(need: SpaceRequest, lines: int) -> SpaceRequest:
    return SpaceRequest(min(need.min_lines, lines), min(need.max_lines, lines))


def _cap_requests(needs: SpaceRequests, lines: int) -> dict[str, SpaceRequest]:
    """Limit requests to ``lines``, except unlimited ones."""
    return {
        name: need if need.max_lines >= UNLIMITED_LINES else _cap_request(need, lines) for name, need in needs.items()
    }


def _timeline_height(height: int, needs: SpaceRequests) -> int:
    """The lines of the timeline at the bottom."""
    need = needs.get("timeline")
    return 0 if need is None else need.min_rows + max(0, min(need.max_lines, height // 6) - need.min_lines)


def _timeline_box(width: int, height: int, footer: int) -> PaneBoxes:
    return {"timeline": PaneBox(0, height - footer, width, footer)} if footer else {}


def _fit_height(needs: SpaceRequests, height: int) -> dict[str, SpaceRequest]:
    """On a small screen reduce the last panes to one line each, then drop them."""
    result = dict(needs)
    low_priority = [*needs][:0:-1]
    for name in low_priority:
        if sum(need.min_rows for need in result.values()) > height:
            result[name] = ONE_LINE
    for name in low_priority:
        if sum(need.min_rows for need in result.values()) > height:
            del result[name]
    return result


def _stack_column(needs: SpaceRequests, box: PaneBox) -> PaneBoxes:
    """Stack panes: first their minimum, then in order what each can use; the rest goes to unlimited panes, else to a
    filler pane, else stays free."""
    column = _fit_height(needs, box.height)
    heights = {name: need.min_rows for name, need in column.items()}
    spare = box.height - sum(heights.values())
    unlimited = [name for name, need in column.items() if need.max_lines >= UNLIMITED_LINES]
    for name, need in column.items():
        share = 0 if name in unlimited else max(0, min(need.max_lines - need.min_lines, spare))
        heights[name] += share
        spare -= share
    unlimited = unlimited or [name for name in _FILLER_PANES if name in column and column[name].min_lines][:1]
    for k, name in enumerate(unlimited):
        share = max(0, spare) // (len(unlimited) - k)
        heights[name] += share
        spare -= share
    boxes: PaneBoxes = {}
    y = box.y
    for name in column:
        boxes[name] = PaneBox(box.x, y, box.width, min(heights[name], box.y + box.height - y))
        y += heights[name]
    return boxes
