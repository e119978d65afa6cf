"""Where the panes stand: from the size of the screen and what each pane has to show, without a widget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: Screens smaller than this have the panes on tabs; from the wide width on there is a third column.
TABS_BELOW = (100, 30)
WIDE = 170
#: Lines that a border takes.
_BORDER = 2
#: On a tab the panes below one that uses all the room have so many lines.
_BESIDE = 4


@dataclass(frozen=True)
class Box:
    """A place on the screen, border included."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Need:
    """The lines that a pane needs to say anything, and those that it can use."""

    least: int
    wanted: int


@dataclass(frozen=True)
class Tab:
    """Panes that stand below each other where the screen is small; the first is what it is about."""

    title: str
    panes: tuple[str, ...]


TABS = (
    Tab("Source", ("body", "back-edges", "condition")),
    Tab("Values", ("back-edges", "inputs", "displays")),
    Tab("Condition", ("condition",)),
    Tab("Outputs", ("scans", "outputs")),
    Tab("Time", ("timeline", "breakpoints", "stack")),
)
_ASIDE = ("inputs", "stack", "breakpoints", "outputs")
#: More than any pane has lines.
ALL = 1 << 20


@dataclass(frozen=True)
class Arrangement:
    """What of the panes is kept for the next time: the tab in front, the pane that has all the room ("" for none), and
    the folded heads, by the numbers of their lines, with what those say."""

    tab: int = 0
    full: str = ""
    folded: Mapping[int, str] = field(default_factory=dict)


Boxes = dict[str, Box]
Needs = Mapping[str, Need]


def small(width: int, height: int) -> bool:
    """Whether a screen has the panes on tabs."""
    return width < TABS_BELOW[0] or height < TABS_BELOW[1]


def tab_of(pane: str) -> int:
    """The tab that is about a pane: where it comes first, or as early as on any."""
    return min(
        (k for k, tab in enumerate(TABS) if pane in tab.panes), key=lambda k: (TABS[k].panes.index(pane), k), default=0
    )


def tabs_with(needs: Needs) -> tuple[int, ...]:
    """The tabs on which a pane has something to show."""
    return tuple(k for k, tab in enumerate(TABS) if any(name in needs for name in tab.panes))


def arrange(width: int, height: int, needs: Needs, tab: int | None = None, full: str = "") -> Boxes:
    """The boxes of the panes that are visible; panes without a need have nothing to show, and no place.

    ``tab``: the one in front, where the screen is small, else None; ``full``: the pane that has all the room.
    """
    if full in needs:
        return {full: Box(0, 0, width, height)}
    if tab is not None:
        names = [name for name in TABS[tab].panes if name in needs]
        if names and needs[names[0]].wanted >= ALL:
            needs = {**needs, **{name: _at_most(needs[name], _BESIDE) for name in names[1:]}}
        return _column(names, needs, Box(0, 0, width, height))
    if width >= WIDE:
        return _wide(width, height, needs)
    return _normal(width, height, needs)


def _normal(width: int, height: int, needs: Needs) -> Boxes:
    """The program on the left, what the loop carries on the right, time below both."""
    foot = _foot(height, needs)
    above = height - foot
    right = [name for name in ("back-edges", "displays", "condition", "scans", "outputs") if name in needs]
    left = width * 19 // 40 if right else width
    boxes = _timeline(width, height, foot)
    pair = [name for name in ("stack", "breakpoints") if name in needs]
    beside = _lines(needs, pair, most=6)
    below = _lines(needs, ["inputs"], most=5)
    # The program keeps half of its column.
    below = below if above - beside - below >= max(8, above // 2) else 0
    body = above - beside - below
    boxes |= _column(["body"], needs, Box(0, 0, left, body))
    x = 0
    for k, name in enumerate(pair):
        wide = left - x if k else (left * 9 // 20 if len(pair) > 1 else left)
        boxes[name] = Box(x, body, wide, beside)
        x += wide
    if below:
        boxes["inputs"] = Box(0, body + beside, left, below)
    most = above * 2 // 5 - _BORDER
    fitting = {name: need if need.wanted >= ALL else _at_most(need, most) for name, need in needs.items()}
    return boxes | _column(right, fitting, Box(left, 0, width - left, above))


def _wide(width: int, height: int, needs: Needs) -> Boxes:
    """Three columns: the program, what the loop carries and decides, what goes in and out; time below all."""
    foot = _foot(height, needs)
    above = height - foot
    boxes = _timeline(width, height, foot)
    # Pictures stand where there is room for them.
    plotted = "condition" in needs and needs["condition"].wanted >= ALL
    middle = ("back-edges", "displays", "condition") if plotted else ("back-edges", "displays", "condition", "scans")
    right = ("stack", "breakpoints", "inputs", "scans", "outputs") if plotted else _ASIDE
    shares = ((("body",), 8), (middle, 7), (right, 5))
    columns = [(names, share) for panes, share in shares if (names := [name for name in panes if name in needs])]
    x = 0
    for k, (names, share) in enumerate(columns):
        wide = (width - x) * share // sum(share for _, share in columns[k:])
        boxes |= _column(names, needs, Box(x, 0, wide, above))
        x += wide
    return boxes


def _at_most(need: Need, lines: int) -> Need:
    return Need(min(need.least, lines), min(need.wanted, lines))


def _foot(height: int, needs: Needs) -> int:
    """The lines of the timeline below all others."""
    need = needs.get("timeline")
    return 0 if need is None else _BORDER + max(need.least, min(need.wanted, height // 6))


def _timeline(width: int, height: int, foot: int) -> Boxes:
    return {"timeline": Box(0, height - foot, width, foot)} if foot else {}


def _lines(needs: Needs, names: Sequence[str], most: int) -> int:
    """The lines of panes that stand side by side."""
    wanted = max((needs[name].wanted for name in names if name in needs), default=0)
    return _BORDER + max(1, min(most, wanted)) if wanted else 0


def _column(names: Sequence[str], needs: Needs, room: Box) -> Boxes:
    """Panes below each other: first what each needs, then what each can use in order, then what is left for the one
    that can use the most. Those at the end that have no room are left out."""
    shown = list(names)
    while len(shown) > 1 and sum(needs[name].least + _BORDER for name in shown) > room.height:
        shown.pop()
    heights = {name: needs[name].least + _BORDER for name in shown}
    left = room.height - sum(heights.values())
    greedy = [name for name in shown if needs[name].wanted >= ALL]
    for name in shown:
        share = 0 if name in greedy else max(0, min(needs[name].wanted - needs[name].least, left))
        heights[name] += share
        left -= share
    # Where none can use what is left, the first has it.
    takers = greedy or shown[:1]
    for k, name in enumerate(takers):
        share = max(0, left) // (len(takers) - k)
        heights[name] += share
        left -= share
    boxes: Boxes = {}
    y = room.y
    for name in shown:
        boxes[name] = Box(room.x, y, room.width, min(heights[name], room.y + room.height - y))
        y += heights[name]
    return boxes
