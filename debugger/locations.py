"""The words of ``break`` and ``watch``: where to stop, as a person types it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..runtime.errors import UsageError
from ..runtime.graph import Node
from .breakpoint import Breakpoint, Kind, Mode
from .expressions import Expression, parse, quote
from .names import mask, unquote

if TYPE_CHECKING:
    from .standing import Standing

_IN = re.compile(r"(?:^|\s+)in\s+(?P<loop>\S+)\s*$")
_IF = re.compile(r"\s+if\s+")
_MODES = {
    "changes": Mode.CHANGES,
    "crosses": Mode.CROSSES,
    "settles": Mode.SETTLES,
    "shape": Mode.SHAPE,
    "nan": Mode.NAN,
    "sign": Mode.SIGN,
}


class LocationReader:
    """Reads the words of ``break`` and ``watch``."""

    def __init__(self, session: Standing, text: str) -> None:
        self.session = session
        text = text.strip()
        place, condition = self._split_condition(text)
        self.loop: int | None = None
        self.place = self._take_loop(place)
        self.condition: Expression | None = None
        #: The place in the words of the command, without its condition.
        self.text = text
        if condition is not None:
            self.condition = parse(self._take_loop(condition))
            self.text = f"{self.place}{self._in_loop()}"

    def _split_condition(self, text: str) -> tuple[str, str | None]:
        found = None if text == "if" or text.startswith("if ") else _IF.search(mask(text))
        return (text, None) if found is None else (text[: found.start()], text[found.end() :])

    def _take_loop(self, text: str) -> str:
        """The text without ``in LOOP`` at its end, which says what loop is meant."""
        found = _IN.search(mask(text))
        if found is None or self.loop is not None:
            return text
        self.loop = self.session.places.loop_named(unquote(text[found.start("loop") : found.end("loop")]))
        return text[: found.start()]

    def _in_loop(self) -> str:
        if self.loop is None:
            return ""
        plan = self.session.places.loops[self.loop]
        names = [other.loop.name for other in self.session.places.loops]
        return f" in {quote(plan.loop.name if names.count(plan.loop.name) == 1 else plan.path)}"

    def location(self) -> Breakpoint:
        made = self._location()
        if self.condition is not None:
            self._check(self.condition, made.loops or tuple(self._loops_of_nodes(made.nodes)))
            made.condition = self.condition
        return made

    def _location(self) -> Breakpoint:
        place = self.place
        word, _, rest = place.partition(" ")
        rest = rest.strip()
        if word == "if":
            expression = parse(rest)
            return self._made(Kind.CONDITION, loops=self._loops_for(expression), expression=expression)
        if word == "iter":
            return self._iteration(rest)
        if place == "end":
            return self._made(Kind.END, loops=(self._here(),))
        if word == "nan":
            if not rest:
                self._here()
                loops = range(len(self.session.places.loops)) if self.loop is None else (self.loop,)
                return self._made(Kind.NAN, loops=tuple(loops))
            expression = parse(rest)
            return self._made(Kind.NAN, loops=self._loops_for(expression), expression=expression)
        self.session.places.check_nodes()
        if word == "op":
            return self._made(Kind.NODE, nodes=self._of_type(rest))
        number = rest if word == "line" else place
        if word == "line" and not number.isdecimal():
            raise UsageError("break line needs the number of a line; list shows them")
        if number.isdecimal():
            return self._made(Kind.NODE, nodes=frozenset({self.session.places.node_of_line(int(number))}))
        if not place:
            return self._next_node()
        return self._made(Kind.NODE, nodes=self._named(unquote(place)))

    def _next_node(self) -> Breakpoint:
        places = self.session.places
        pc = places.node_here()
        line = places.source.line_of(places.node_at(pc))
        if line is not None:
            self.text = f"line {line.number}{self._in_loop()}"
        return self._made(Kind.NODE, nodes=frozenset({pc}))

    def watch(self) -> Breakpoint:
        words = self.place.split(" ")
        mode, level, text = Mode.CHANGES, None, self.place
        if len(words) > 1 and words[-1] in ("changes", "shape", "nan", "sign"):
            mode, text = _MODES[words[-1]], " ".join(words[:-1])
        elif len(words) > 2 and words[-2] in ("crosses", "settles"):
            mode, text = _MODES[words[-2]], " ".join(words[:-2])
            try:
                level = float(words[-1])
            except ValueError:
                raise UsageError(f"'{words[-2]}' needs a number, not '{words[-1]}'") from None
        elif len(words) > 1 and words[-1] in ("crosses", "settles"):
            raise UsageError(f"'{words[-1]}' needs a number: watch {words[0]} {words[-1]} 0.5")
        if not text:
            raise UsageError("watch needs a value: watch h, watch err crosses 1e-3, watch x settles 1e-6")
        expression = parse(text)
        loops = self._loops_for(expression)
        made = self._made(Kind.WATCH, loops=loops, expression=expression)
        made.mode, made.level = mode, level
        if self.condition is not None:
            self._check(self.condition, loops)
            made.condition = self.condition
        return made

    def _made(self, kind: Kind, **fields: Any) -> Breakpoint:
        return Breakpoint(0, kind, self.text, **fields)

    def _here(self) -> int:
        """The loop that is meant where none is named: the one stopped in, else the first."""
        index = self.session.places.here() if self.loop is None else self.loop
        if index < 0:
            raise UsageError("the model has no loop")
        return index

    def _iteration(self, rest: str) -> Breakpoint:
        try:
            numbers = tuple(int(word) for word in rest.replace(",", " ").split())
        except ValueError:
            numbers = ()
        if not numbers or min(numbers) < 0:
            raise UsageError("break iter needs iteration numbers: break iter 40, or break iter 3,7 for a nested loop")
        plans = self.session.places.loops
        index = self._here()
        if len(numbers) > 1 and self.loop is None:
            deep = [plan.index for plan in plans if len(self.session.places.around(plan.index)) == len(numbers) - 1]
            if not deep:
                raise UsageError(f"no loop of the model stands inside {len(numbers) - 1} others")
            inside = [k for k in deep if index == k or index in self.session.places.around(k)]
            index = (inside or deep)[0]
        if len(numbers) - 1 > len(self.session.places.around(index)):
            raise UsageError(
                f"loop '{plans[index].loop.name}' stands inside {len(self.session.places.around(index))} loops only"
            )
        return self._made(Kind.ITERATION, loops=(index,), iterations=numbers)

    def _loops_for(self, expression: Expression) -> tuple[int, ...]:
        """The loop whose values an expression is about: the present one if it has them all, else the first that has."""
        if self.loop is not None:
            self._check(expression, (self.loop,))
            return (self.loop,)
        here = self._here()
        for index in (here, *range(len(self.session.places.loops))):
            if expression.names <= self.session.places.names(index):
                self._check(expression, (index,))
                return (index,)
        self._check(expression, (here,))
        return (here,)

    def _check(self, expression: Expression, loops: Sequence[int]) -> None:
        for index in loops:
            self.session.places.check(expression, index)

    def _loops_of_nodes(self, nodes: frozenset[int]) -> list[int]:
        return [self.session.places.inside(pc) for pc in nodes]

    def _nodes(self) -> list[tuple[int, Node]]:
        """The nodes that are meant: all, or those of the loop that was named."""
        return list(self.session.places.nodes(self.loop))

    def _of_type(self, op_type: str) -> frozenset[int]:
        nodes = self._nodes()
        found = frozenset(pc for pc, node in nodes if node.op_type.lower() == op_type.lower())
        if not found:
            have = sorted({node.op_type for _, node in nodes})
            missing = f"no node of type '{op_type}'" if op_type else "break op needs a type of nodes"
            raise UsageError(f"{missing}; there are {', '.join(have) or 'none'}")
        return found

    def _named(self, name: str) -> frozenset[int]:
        nodes = self._nodes()
        found = [pc for pc, node in nodes if name in _outputs(node)] or [pc for pc, node in nodes if node.name == name]
        if found:
            near = [pc for pc in found if self.session.places.inside(pc) == self.session.places.here()]
            return frozenset((near or found)[:1])
        if any(node.op_type == name for _, node in nodes):
            return self._of_type(name)
        self._not_computed(name)
        known = sorted({output for _, node in nodes for output in _outputs(node)})
        similar = difflib.get_close_matches(name, known, 3)
        hint = f"; did you mean {' or '.join(repr(n) for n in similar)}?" if similar else ""
        raise UsageError(
            f"nothing to break at is called '{name}'{hint} (break takes: iter N, line N, a node or value, op TYPE, "
            f"if EXPRESSION, end, nan)"
        )

    def _not_computed(self, name: str) -> None:
        """Say of a value that no node computes how to stop for it."""
        places = self.session.places
        for plan in places.loops:
            for edge in plan.loop.back_edges:
                if edge.param.name == name:
                    raise UsageError(
                        f"'{name}' is what a back edge carries: watch {quote(name)} stops where it changes, "
                        f"break {quote(edge.result.name)} before the node that computes the next one"
                    )
        if any(name in places.names(index) for index in (-1, *(plan.index for plan in places.loops))):
            raise UsageError(f"no node computes '{name}', so none can be stopped at; watch stops where a value changes")


def _outputs(node: Node) -> list[str]:
    return [value.name for value in node.outputs if value is not None]
