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
#: Where columns are filled one after the other, a pane that can use all the room counts as so many lines.
_FULL = 24
#: How wide the columns of a wide screen are.
_SHARES = (9, 8, 8)
#: The lines of what is around the loop, where it stands below the program.
_INPUTS = 5


@dataclass(frozen=True)
class Box:
    """A place on the screen, border included; of one line: there is no border."""

    x: int
    y: int
    width: int
    height: int

    @property
    def is_line(self) -> bool:
        """Whether a pane has this line alone."""
        return self.height == 1


@dataclass(frozen=True)
class Need:
    """The lines that a pane needs to say anything, and those that it can use. Without any, one line says all of it."""

    least: int
    wanted: int

    @property
    def rows(self) -> int:
        """The rows that it takes at least, border included."""
        return self.least + _BORDER if self.least else 1


#: Of a pane that has nothing more to say than one line without a border does.
LINE = Need(0, 0)


@dataclass(frozen=True)
class Tab:
    """Panes that stand below each other where the screen is small; the first is what it is about."""

    title: str
    panes: tuple[str, ...]


TABS = (
    Tab("Source", ("body", "back-edges", "condition")),
    Tab("Values", ("back-edges", "inputs", "displays", "value")),
    Tab("Condition", ("condition",)),
    Tab("Outputs", ("scans", "outputs")),
    Tab("Time", ("timeline", "breakpoints", "stack")),
)
#: What a loop carries, what decides, what comes out of it.
_LOOP = ("back-edges", "condition", "scans", "outputs")
#: What is around it.
_AROUND = ("inputs", "displays", "stack", "breakpoints")
#: These can show more in whatever is left.
_FILLERS = ("overview", "value")
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
        return _on_tab(TABS[tab].panes, needs, Box(0, 0, width, height))
    if width >= WIDE:
        return _wide(width, height, needs)
    return _normal(width, height, needs)


def _on_tab(panes: Sequence[str], needs: Needs, room: Box) -> Boxes:
    """Below each other; beside the program the others have a line each."""
    found = _those(panes, needs)
    if "body" in found or not found:
        return _column(_program(needs) | {name: LINE for name in found if name != "body"}, room)
    for name in _FILLERS:
        if name in found and len(found) > 1 and sum(map(_rows, found.values())) > room.height:
            del found[name]
    first, *others = found
    if found[first].wanted >= ALL:
        found |= {name: _at_most(found[name], _BESIDE) for name in others}
    if not found[first].least:
        # A tab says all of what it is about.
        found[first] = Need(1, _BESIDE)
    return _column(found, room)


def _normal(width: int, height: int, needs: Needs) -> Boxes:
    """The program on the left, what the loop carries on the right, time below both."""
    foot = _foot(height, needs)
    above = height - foot
    loop = _limited(_those(_LOOP, needs), above // 2)
    if not any(map(_boxed, loop.values())):
        loop |= _those(("overview", "value"), needs)
    elif not _is_plotted(needs):
        # A plot has more to say than the value at the cursor.
        loop |= _those(("value",), needs)
    elif "scans" in loop:
        loop["scans"] = Need(loop["scans"].least, min(loop["scans"].wanted, _BESIDE))
    # The program keeps half of its column.
    left = _program(needs, above // 2 - _BORDER) | _limited(_those(_AROUND, needs), _INPUTS)
    if not any(map(_boxed, loop.values())):
        return _column(left | loop, Box(0, 0, width, above)) | _timeline(width, height, foot)
    wide = width * 19 // 40
    boxes = _column(left, Box(0, 0, wide, above)) | _column(loop, Box(wide, 0, width - wide, above))
    return boxes | _timeline(width, height, foot)


def _wide(width: int, height: int, needs: Needs) -> Boxes:
    """Three columns, time below all."""
    foot = _foot(height, needs)
    columns = _columns(needs, height - foot)
    shown = [(found, share) for found, share in zip(columns, _SHARES, strict=True) if any(map(_boxed, found.values()))]
    # What has a line alone needs no column of its own.
    lines = {
        name: need for found in columns[1:] if not any(map(_boxed, found.values())) for name, need in found.items()
    }
    boxes, x = _timeline(width, height, foot), 0
    for k, (found, share) in enumerate(shown):
        wide = (width - x) * share // sum(share for _, share in shown[k:])
        boxes |= _column(found if k else found | lines, Box(x, 0, wide, height - foot))
        x += wide
    return boxes


def _columns(needs: Needs, height: int) -> tuple[dict[str, Need], dict[str, Need], dict[str, Need]]:
    """The program, and below a short one its graph; what is in and around the loop; the graph beside a long one, and
    what the middle has no room for. The value at the cursor stands where there is more."""
    body, value, right = (_those((name,), needs) for name in ("body", "value", "overview"))
    middle: dict[str, Need] = {}
    others = _limited(_those((*_LOOP, *_AROUND), needs), _FULL)
    # One that uses all that there is leaves nothing for others, and the value stands elsewhere.
    filled = any(need.wanted >= ALL for need in others.values())
    used = 0 if filled else sum(need.rows for need in value.values())
    for name, need in others.items():
        used += need.rows + min(need.wanted, _FULL) - need.least
        (middle if used <= height else right)[name] = need
    short = sum(map(_rows, body.values())) <= height // 2 and len(right) == 1
    filled = any(need.wanted >= ALL for need in middle.values())
    if short:
        left, right = body | right, {}
    else:
        left = _program(needs)
        if "overview" in right and not filled and _spare(middle | value, height) > _spare(right, height):
            # Where more is left for it.
            middle["overview"] = right.pop("overview")
    (left if filled else middle).update(value)
    return left, middle, right


def _spare(needs: Needs, height: int) -> int:
    """The lines that panes leave for one that can use all."""
    return height - sum(_rows(need) for need in needs.values() if need.wanted < ALL)


def _program(needs: Needs, least: int = 0) -> dict[str, Need]:
    """The program, which can use all that there is."""
    return {name: Need(max(need.least, least), ALL) for name, need in _those(("body",), needs).items()}


def _rows(need: Need) -> int:
    """The rows that it can use."""
    return need.rows + need.wanted - need.least


def _boxed(need: Need) -> bool:
    return need.least > 0


def _those(names: Sequence[str], needs: Needs) -> dict[str, Need]:
    """The needs of some panes, in order."""
    return {name: needs[name] for name in names if name in needs}


def _is_plotted(needs: Needs) -> bool:
    """Whether the condition is a picture, now or later."""
    return "condition" in needs and needs["condition"].wanted >= ALL


def _at_most(need: Need, lines: int) -> Need:
    return Need(min(need.least, lines), min(need.wanted, lines))


def _limited(needs: Needs, lines: int) -> dict[str, Need]:
    """Needs of at most so many lines, but of those that can use all."""
    return {name: need if need.wanted >= ALL else _at_most(need, lines) for name, need in needs.items()}


def _foot(height: int, needs: Needs) -> int:
    """The lines of the timeline below all others."""
    need = needs.get("timeline")
    return 0 if need is None else need.rows + max(0, min(need.wanted, height // 6) - need.least)


def _timeline(width: int, height: int, foot: int) -> Boxes:
    return {"timeline": Box(0, height - foot, width, foot)} if foot else {}


def _fitted(needs: Needs, height: int) -> dict[str, Need]:
    """Where there is little room, the last panes have a line each, and then none."""
    found = dict(needs)
    later = [*needs][:0:-1]
    for name in later:
        if sum(need.rows for need in found.values()) > height:
            found[name] = LINE
    for name in later:
        if sum(need.rows for need in found.values()) > height:
            del found[name]
    return found


def _column(needs: Needs, room: Box) -> Boxes:
    """Panes below each other: first what each needs, then what each can use in order, then what is left for those that
    can use the most, else for one that has always more to show; without one it stays free."""
    found = _fitted(needs, room.height)
    heights = {name: need.rows for name, need in found.items()}
    left = room.height - sum(heights.values())
    takers = [name for name, need in found.items() if need.wanted >= ALL]
    for name, need in found.items():
        share = 0 if name in takers else max(0, min(need.wanted - need.least, left))
        heights[name] += share
        left -= share
    takers = takers or [name for name in _FILLERS if name in found and found[name].least][:1]
    for k, name in enumerate(takers):
        share = max(0, left) // (len(takers) - k)
        heights[name] += share
        left -= share
    boxes: Boxes = {}
    y = room.y
    for name in found:
        boxes[name] = Box(room.x, y, room.width, min(heights[name], room.y + room.height - y))
        y += heights[name]
    return boxes
