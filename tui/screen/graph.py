"""The graph of the loop in focus, as a screen stands at it: which part, what is open, where the cursor is."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...debugger.picture.build import picture_of
from ...debugger.picture.moment import Marks, Moment, Moments, next_in
from ...debugger.picture.part import near
from ...debugger.picture.records import Box, Picture
from ...debugger.session.snapshot import FrameSnapshot
from ...debugger.words.moments import when
from ...runtime.frame import NodeState
from ...runtime.graph import Graph, If, Loop, Node, Value, bodies
from .graph_lines import GraphFace, paint
from .graph_places import DETAILS, Level, Places, places_of
from .program import program
from .text import printable, value_text
from .view import FrameView, Shown, graph_of


def nodes_in_frame(graph: Graph) -> list[Node]:
    """The nodes of a body in the order of a frame's: those inside Ifs included, but not those of loops inside."""
    found: list[Node] = []
    for node in graph.nodes:
        found.append(node)
        if isinstance(node, If):
            for _, branch in bodies(node):
                found += nodes_in_frame(branch)
    return found


def states_in(frame: FrameSnapshot, main: Graph) -> dict[Node, NodeState]:
    """Where the nodes of a frame stand."""
    nodes = nodes_in_frame(graph_of(frame, main))
    return {node: entry.state for node, entry in zip(nodes, frame.nodes, strict=False)}


def moments_at(shown: Shown) -> Moments:
    """How the frames of a stop stand; of a loop that ended last, how it ended."""
    views = [*shown.view.frames, shown.frame]
    return {view.frame.loop: _moment(view, shown) for view in views}


def _moment(view: FrameView, shown: Shown) -> Moment:
    frame = view.frame
    running = any(view is one for one in shown.view.frames)

    def read(value: Value) -> tuple[bool, object]:
        return value.name in frame.values, frame.values.get(value.name)

    return Moment(
        frame.iteration,
        frame.trip_count,
        frame.loop is not None and (frame.at_boundary or not running),
        running,
        False,
        "" if frame.loop is None else when(frame),
        states_in(frame, shown.main),
        read,
        frame.back_edges,
        tuple((scan.count, scan.shape) for scan in frame.scans),
    )


@dataclass(eq=False)
class GraphState:
    """What is seen of the graph of a stop. ``cursor``: the key of the box that it is on (:attr:`Box.key`); ``window``:
    the columns and rows that it is seen in; ``least``: the level where even that has no room; ``asked``: the level that
    somebody asked for, whatever has room."""

    shown: Shown
    least: Level = Level.VALUES
    opened: set[Node] = field(default_factory=set)
    cursor: object = None
    window: tuple[int, int] = (0, 0)
    asked: Level | None = None
    _pictures: dict[tuple[Loop | None, frozenset[Node]], Picture] = field(default_factory=dict)
    _places: dict[tuple[Picture, Level], Places] = field(default_factory=dict)
    _part: Picture | None = None
    _moments: Moments = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._moments = moments_at(self.shown)
        self.go_to_next()

    def show(self, shown: Shown) -> None:
        """Another stop: the cursor goes to what runs next, where that is in sight or can be."""
        moved = shown.view is not self.shown.view or shown.frame is not self.shown.frame
        self.shown, self._moments = shown, moments_at(shown)
        if moved:
            self.go_to_next()

    @property
    def whole(self) -> Picture:
        """The picture of all of the loop in focus."""
        loop = self.shown.frame.frame.loop
        key = (loop, frozenset(self.opened))
        if key not in self._pictures:
            graph = graph_of(self.shown.frame.frame, self.shown.main)
            self._pictures[key] = picture_of(graph, loop, program(self.shown.main).phrases, self.opened)
        return self._pictures[key]

    @property
    def picture(self) -> Picture:
        """What of it is seen: all, or what is near the cursor."""
        whole = self.whole
        if self._part is None or (self._part is not whole and self._part.whole is not whole):
            at = whole.find(self.cursor)
            self._part = near(whole, 0 if at is None else at)
        return self._part

    @property
    def level(self) -> Level:
        """How much of each box is seen: what was asked for, or as much as the window has room for. Values change
        nothing of it."""
        if self.asked is not None:
            return self.asked
        return next((level for level in reversed(Level) if level >= self.least and self._fits(level)), self.least)

    def _fits(self, level: Level) -> bool:
        """Whether the window has room. What takes one row for a box may be higher than it; more is shown only where all
        of the loop is seen: of a part the boxes would change from stop to stop."""
        width, height = self.window
        if DETAILS[level].rows == 1:
            return self._placed(level).width <= width
        if self.picture is not self.whole:
            return False
        places = self._placed(level)
        return places.width <= width and places.height <= height

    @property
    def places(self) -> Places:
        """Where the boxes stand."""
        return self._placed(self.level)

    def _placed(self, level: Level) -> Places:
        key = (self.picture, level)
        if key not in self._places:
            if len(self._places) > 16:
                self._places.clear()
            self._places[key] = places_of(*key)
        return self._places[key]

    @property
    def at(self) -> int:
        """The box that the cursor is on."""
        found = self.picture.find(self.cursor)
        return 0 if found is None else found

    @property
    def box(self) -> Box | None:
        """The box that the cursor is on."""
        boxes = self.picture.boxes
        return boxes[self.at] if boxes else None

    def face(self) -> GraphFace:
        """What is seen now."""
        return paint(self.places, self._moments, self.at if self.picture.boxes else None)

    # -- the cursor

    def go_to_next(self) -> None:
        """Put the cursor on the node that runs next, or on the If in which it stands; where none does it stays, if it
        can."""
        moment = self._moments.get(self.shown.frame.frame.loop)
        found = None if moment is None else next_in(self.whole, moment)
        if found is not None:
            self.put(self.whole.boxes[found].key)
        elif self.whole.find(self.cursor) is None and self.whole.boxes:
            self.put(self.whole.boxes[0].key)

    def put(self, key: object) -> None:
        """Put the cursor on a box; of a large graph another part is seen where much around it is not."""
        self.cursor = key
        part = self._part
        at = None if part is None or part.whole is not self.whole else part.find(key)
        if part is None or at is None or at in part.hidden:
            self._part = None

    def pick(self, box: int) -> None:
        """Put the cursor on a box that is seen."""
        self.put(self.picture.boxes[box].key)

    def move(self, right: int, down: int) -> None:
        """The nearest box in a direction; to the side the next of the layer, where there is one."""
        chips = self.places.chips
        if not chips:
            return
        here = chips[self.at]
        x, y = here.left + here.width / 2, here.top + here.height / 2
        found = []
        for k, chip in enumerate(chips):
            dx, dy = chip.left + chip.width / 2 - x, chip.top + chip.height / 2 - y
            ahead = dx * right + dy * down
            far = ahead + abs(dx) / 8 if down else ahead + abs(dy) * here.width
            if ahead > 0 and k != self.at:
                found.append((far, k))
        if found:
            self.pick(min(found)[1])
        else:
            self._move_on(1 if right + down > 0 else -1)

    def _move_on(self, way: int) -> None:
        """From the edge of a part: the next box of all (-1: the one before) that is not seen."""
        whole, seen = self.whole, {box.key for box in self.picture.boxes}
        at = whole.find(self.cursor)
        hidden = [] if at is None else [box.key for box in whole.boxes[at + 1 :] if box.key not in seen]
        if way < 0:
            hidden = [] if at is None else [box.key for box in reversed(whole.boxes[:at]) if box.key not in seen]
        if hidden:
            self.put(hidden[0])

    def toggle(self) -> bool:
        """Open the loop or the If at the cursor, or close it; False where there is none."""
        node = None if self.box is None else self.box.node
        if node is None or not bodies(node):
            return False
        self.opened ^= {node}
        self._part = None
        return True

    # -- words

    def title(self) -> str:
        """What is shown: ``main ▸ outer ▸ inner, in iteration 3 / 10``."""
        frame = self.shown.frame.frame
        of = "" if frame.trip_count is None else f" / {frame.trip_count}"
        told = printable(frame.path) + ("" if frame.loop is None else f", {when(frame)}{of}")
        told += "" if self.shown.has_loops else "   the model has no loop"
        seen, whole = self.picture, self.whole
        if seen is whole:
            return told
        arcs = "" if not whole.arcs else f", {len(seen.arcs)} of {len(whole.arcs)} back edges"
        return f"{told}   near the cursor: {len(seen.boxes)} of {len(whole.boxes)} boxes{arcs}"

    def detail(self, marks: Marks) -> str:
        """All of the box at the cursor."""
        box = self.box
        if box is None:
            return "nothing to show"
        node = "" if box.node is None else box.node.describe()
        value = value_text(marks.values[self.at], 60) if self.at in marks.values else ""
        hidden = self.picture.hidden.get(self.at, 0)
        more = f"{hidden} neighbours not shown: the cursor there shows them" if hidden else ""
        return printable("   ".join(filter(None, (box.told, node or str(box.kind), value, more))))
