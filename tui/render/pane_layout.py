"""Where the panes stand: from the size of the screen and what each pane has to show, without a widget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: Screens smaller than this have the panes on tabs; from the wide width on there is a third column.
TABS_BELOW_SIZE_CELLS = (100, 30)
THREE_COLUMNS_MIN_WIDTH = 170
#: Lines that a border takes.
_BORDER_LINES = 2
#: On a tab the panes below one that uses all the room have so many lines.
_SECONDARY_PANE_LINES = 4
#: Where columns are filled one after the other, a pane that can use all the room counts as so many lines.
_UNLIMITED_PANE_WEIGHT_LINES = 24
#: How wide the columns of a wide screen are.
_COLUMN_SHARES = (9, 8, 8)
#: The lines of what is around the loop, where it stands below the program.
_CONTEXT_PANE_MAX_LINES = 5


@dataclass(frozen=True)
class PaneBox:
    """A place on the screen, border included; of one line: there is no border."""

    x: int
    y: int
    width: int
    height: int

    @property
    def is_one_line(self) -> bool:
        """Whether a pane has this line alone."""
        return self.height == 1


@dataclass(frozen=True)
class SpaceRequest:
    """The lines that a pane needs to say anything, and those that it can use. Without any, one line says all of it."""

    min_lines: int
    max_lines: int

    @property
    def min_rows(self) -> int:
        """The rows that it takes at least, border included."""
        return self.min_lines + _BORDER_LINES if self.min_lines else 1


#: Of a pane that has nothing more to say than one line without a border does.
ONE_LINE = SpaceRequest(0, 0)


@dataclass(frozen=True)
class TabSpec:
    """Panes that stand below each other where the screen is small; the first is what it is about."""

    title: str
    panes: tuple[str, ...]


TABS = (
    TabSpec("Source", ("body", "back-edges", "condition")),
    TabSpec("Values", ("back-edges", "inputs", "displays", "value")),
    TabSpec("Condition", ("condition",)),
    TabSpec("Outputs", ("scans", "outputs")),
    TabSpec("Time", ("timeline", "breakpoints", "stack")),
)
#: What a loop carries, what decides, what comes out of it.
_LOOP_PANES = ("back-edges", "condition", "scans", "outputs")
#: What is around it.
_CONTEXT_PANES = ("inputs", "displays", "stack", "breakpoints")
#: These can show more in whatever is left.
_FILLER_PANES = ("overview", "value")
#: More than any pane has lines.
UNLIMITED_LINES = 1 << 20


@dataclass(frozen=True)
class PaneArrangement:
    """What of the panes is kept for the next time: the tab in front, the pane that has all the room ("" for none), and
    the folded heads, by the numbers of their lines, with what those say."""

    tab: int = 0
    maximized_pane: str = ""
    folded: Mapping[int, str] = field(default_factory=dict)


PaneBoxes = dict[str, PaneBox]
SpaceRequests = Mapping[str, SpaceRequest]


def is_small_screen(width: int, height: int) -> bool:
    """Whether a screen has the panes on tabs."""
    return width < TABS_BELOW_SIZE_CELLS[0] or height < TABS_BELOW_SIZE_CELLS[1]


def tab_for_pane(pane: str) -> int:
    """The tab that is about a pane: where it comes first, or as early as on any."""
    return min(
        (k for k, tab in enumerate(TABS) if pane in tab.panes), key=lambda k: (TABS[k].panes.index(pane), k), default=0
    )


def non_empty_tabs(needs: SpaceRequests) -> tuple[int, ...]:
    """The tabs on which a pane has something to show."""
    return tuple(k for k, tab in enumerate(TABS) if any(name in needs for name in tab.panes))


def arrange_panes(width: int, height: int, needs: SpaceRequests, tab: int | None = None, full: str = "") -> PaneBoxes:
    """The boxes of the panes that are visible; panes without a need have nothing to show, and no place.

    ``tab``: the one in front, where the screen is small, else None; ``full``: the pane that has all the room.
    """
    if full in needs:
        return {full: PaneBox(0, 0, width, height)}
    if tab is not None:
        return _arrange_tab(TABS[tab].panes, needs, PaneBox(0, 0, width, height))
    if width >= THREE_COLUMNS_MIN_WIDTH:
        return _arrange_three_columns(width, height, needs)
    return _arrange_two_columns(width, height, needs)


def _arrange_tab(panes: Sequence[str], needs: SpaceRequests, room: PaneBox) -> PaneBoxes:
    """Below each other; beside the program the others have a line each."""
    found = _select_requests(panes, needs)
    if "body" in found or not found:
        return _stack_column(_source_request(needs) | {name: ONE_LINE for name in found if name != "body"}, room)
    for name in _FILLER_PANES:
        if name in found and len(found) > 1 and sum(map(_max_rows, found.values())) > room.height:
            del found[name]
    first, *others = found
    if found[first].max_lines >= UNLIMITED_LINES:
        found |= {name: _cap_request(found[name], _SECONDARY_PANE_LINES) for name in others}
    if not found[first].min_lines:
        # A tab says all of what it is about.
        found[first] = SpaceRequest(1, _SECONDARY_PANE_LINES)
    return _stack_column(found, room)


def _arrange_two_columns(width: int, height: int, needs: SpaceRequests) -> PaneBoxes:
    """The program on the left, what the loop carries on the right, time below both."""
    foot = _timeline_height(height, needs)
    above = height - foot
    loop = _cap_requests(_select_requests(_LOOP_PANES, needs), above // 2)
    if not any(map(_has_border, loop.values())):
        loop |= _select_requests(("overview", "value"), needs)
    elif not _is_plotted(needs):
        # A plot has more to say than the value at the cursor.
        loop |= _select_requests(("value",), needs)
    elif "scans" in loop:
        loop["scans"] = SpaceRequest(loop["scans"].min_lines, min(loop["scans"].max_lines, _SECONDARY_PANE_LINES))
    # The program keeps half of its column.
    left = _source_request(needs, above // 2 - _BORDER_LINES) | _cap_requests(
        _select_requests(_CONTEXT_PANES, needs), _CONTEXT_PANE_MAX_LINES
    )
    if not any(map(_has_border, loop.values())):
        return _stack_column(left | loop, PaneBox(0, 0, width, above)) | _timeline_box(width, height, foot)
    wide = width * 19 // 40
    boxes = _stack_column(left, PaneBox(0, 0, wide, above)) | _stack_column(loop, PaneBox(wide, 0, width - wide, above))
    return boxes | _timeline_box(width, height, foot)


def _arrange_three_columns(width: int, height: int, needs: SpaceRequests) -> PaneBoxes:
    """Three columns, time below all."""
    foot = _timeline_height(height, needs)
    columns = _assign_columns(needs, height - foot)
    shown = [
        (found, share)
        for found, share in zip(columns, _COLUMN_SHARES, strict=True)
        if any(map(_has_border, found.values()))
    ]
    # What has a line alone needs no column of its own.
    lines = {
        name: need for found in columns[1:] if not any(map(_has_border, found.values())) for name, need in found.items()
    }
    boxes, x = _timeline_box(width, height, foot), 0
    for k, (found, share) in enumerate(shown):
        wide = (width - x) * share // sum(share for _, share in shown[k:])
        boxes |= _stack_column(found if k else found | lines, PaneBox(x, 0, wide, height - foot))
        x += wide
    return boxes


def _assign_columns(
    needs: SpaceRequests, height: int
) -> tuple[dict[str, SpaceRequest], dict[str, SpaceRequest], dict[str, SpaceRequest]]:
    """The program, and below a short one its graph; what is in and around the loop; the graph beside a long one, and
    what the middle has no room for. The value at the cursor stands where there is more."""
    body, value, right = (_select_requests((name,), needs) for name in ("body", "value", "overview"))
    middle: dict[str, SpaceRequest] = {}
    others = _cap_requests(_select_requests((*_LOOP_PANES, *_CONTEXT_PANES), needs), _UNLIMITED_PANE_WEIGHT_LINES)
    # One that uses all that there is leaves nothing for others, and the value stands elsewhere.
    filled = any(need.max_lines >= UNLIMITED_LINES for need in others.values())
    used = 0 if filled else sum(need.min_rows for need in value.values())
    for name, need in others.items():
        used += need.min_rows + min(need.max_lines, _UNLIMITED_PANE_WEIGHT_LINES) - need.min_lines
        (middle if used <= height else right)[name] = need
    short = sum(map(_max_rows, body.values())) <= height // 2 and len(right) == 1
    filled = any(need.max_lines >= UNLIMITED_LINES for need in middle.values())
    if short:
        left, right = body | right, {}
    else:
        left = _source_request(needs)
        if "overview" in right and not filled and _free_lines(middle | value, height) > _free_lines(right, height):
            # Where more is left for it.
            middle["overview"] = right.pop("overview")
    (left if filled else middle).update(value)
    return left, middle, right


def _free_lines(needs: SpaceRequests, height: int) -> int:
    """The lines that panes leave for one that can use all."""
    return height - sum(_max_rows(need) for need in needs.values() if need.max_lines < UNLIMITED_LINES)


def _source_request(needs: SpaceRequests, least: int = 0) -> dict[str, SpaceRequest]:
    """The program, which can use all that there is."""
    return {
        name: SpaceRequest(max(need.min_lines, least), UNLIMITED_LINES)
        for name, need in _select_requests(("body",), needs).items()
    }


def _max_rows(need: SpaceRequest) -> int:
    """The rows that it can use."""
    return need.min_rows + need.max_lines - need.min_lines


def _has_border(need: SpaceRequest) -> bool:
    return need.min_lines > 0


def _select_requests(names: Sequence[str], needs: SpaceRequests) -> dict[str, SpaceRequest]:
    """The needs of some panes, in order."""
    return {name: needs[name] for name in names if name in needs}


def _is_plotted(needs: SpaceRequests) -> bool:
    """Whether the condition is a picture, now or later."""
    return "condition" in needs and needs["condition"].max_lines >= UNLIMITED_LINES


def _cap_request(need: SpaceRequest, lines: int) -> SpaceRequest:
    return SpaceRequest(min(need.min_lines, lines), min(need.max_lines, lines))


def _cap_requests(needs: SpaceRequests, lines: int) -> dict[str, SpaceRequest]:
    """Needs of at most so many lines, but of those that can use all."""
    return {
        name: need if need.max_lines >= UNLIMITED_LINES else _cap_request(need, lines) for name, need in needs.items()
    }


def _timeline_height(height: int, needs: SpaceRequests) -> int:
    """The lines of the timeline below all others."""
    need = needs.get("timeline")
    return 0 if need is None else need.min_rows + max(0, min(need.max_lines, height // 6) - need.min_lines)


def _timeline_box(width: int, height: int, foot: int) -> PaneBoxes:
    return {"timeline": PaneBox(0, height - foot, width, foot)} if foot else {}


def _fit_height(needs: SpaceRequests, height: int) -> dict[str, SpaceRequest]:
    """Where there is little room, the last panes have a line each, and then none."""
    found = dict(needs)
    later = [*needs][:0:-1]
    for name in later:
        if sum(need.min_rows for need in found.values()) > height:
            found[name] = ONE_LINE
    for name in later:
        if sum(need.min_rows for need in found.values()) > height:
            del found[name]
    return found


def _stack_column(needs: SpaceRequests, room: PaneBox) -> PaneBoxes:
    """Panes below each other: first what each needs, then what each can use in order, then what is left for those that
    can use the most, else for one that has always more to show; without one it stays free."""
    found = _fit_height(needs, room.height)
    heights = {name: need.min_rows for name, need in found.items()}
    left = room.height - sum(heights.values())
    takers = [name for name, need in found.items() if need.max_lines >= UNLIMITED_LINES]
    for name, need in found.items():
        share = 0 if name in takers else max(0, min(need.max_lines - need.min_lines, left))
        heights[name] += share
        left -= share
    takers = takers or [name for name in _FILLER_PANES if name in found and found[name].min_lines][:1]
    for k, name in enumerate(takers):
        share = max(0, left) // (len(takers) - k)
        heights[name] += share
        left -= share
    boxes: PaneBoxes = {}
    y = room.y
    for name in found:
        boxes[name] = PaneBox(room.x, y, room.width, min(heights[name], room.y + room.height - y))
        y += heights[name]
    return boxes
