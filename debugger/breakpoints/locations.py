"""The words of ``break`` and ``watch``: where to stop, as a person types it."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.graph import Loop, Node
from ...runtime.text import counted, did_you_mean
from ..expression.language import Expression, parse
from ..expression.tokens import WATCH_WORDS
from ..words.names import mask, quote, unquote
from .breakpoint import MAIN_GRAPH, Breakpoint, Mode, Trigger
from .code_places import CODE_PLACE
from .host import Host

_IN = re.compile(r"(?:^|\s+)in\s+(?P<loop>\S+)\s*$")
_IF = re.compile(r"\s+if(?:\s+|(?=\()|$)")
_IF_FIRST = re.compile(r"if(?:\s+|(?=\()|$)")
#: How a watched value changes, and the number that it may be about, after everything else.
_HOW = re.compile(rf"\s+(?P<mode>{'|'.join(WATCH_WORDS)})(?:\s+(?P<level>\S+))?\s*$")
#: The engine counts in 64 bits.
LAST = sys.maxsize
#: A line has fewer in its number; Python reads no number with thousands of them.
_DIGITS = 19
_NAN_WITHOUT_LOOPS = (
    "the model has no loop, at whose boundaries nan looks at all values; a condition such as any(isnan(NAME)) tests one"
)
_NO_NODES = (
    "a recording has boundaries only, and no nodes to stop before; break takes: iter N, if EXPRESSION, end, nan, and"
    " FILE.py:N of what is in a loop"
)
_LEVELS = (Mode.CROSSES, Mode.SETTLES)


def without_if(condition: str) -> str:
    """A condition without the ``if`` that ``break`` has before it; a value of that name is written in backquotes."""
    return condition[found.end() :] if (found := _IF_FIRST.match(condition)) else condition


class LocationReader:
    """Reads the words of ``break`` and ``watch``."""

    def __init__(self, host: Host, text: str) -> None:
        self.host = host
        self.places = host.places
        text = text.strip()
        place, condition = self._split_condition(text)
        self.loop: int | None = None
        self.place = self._take_loop(place)
        self.condition: Expression | None = None
        #: The place in the words of the command, without its condition.
        self.text = text
        if condition is not None:
            self.condition = parse(without_if(self._take_loop(condition)))
            self.text = f"{self.place}{self._in_loop()}"

    def _split_condition(self, text: str) -> tuple[str, str | None]:
        found = None if _IF_FIRST.match(text) else _IF.search(mask(text))
        return (text, None) if found is None else (text[: found.start()], text[found.end() :])

    def _take_loop(self, text: str) -> str:
        """The text without ``in LOOP`` at its end, which says what loop is meant."""
        found = _IN.search(mask(text))
        if found is None or self.loop is not None:
            return text
        self.loop = self.places.loop_named(unquote(text[found.start("loop") : found.end("loop")]))
        return text[: found.start()]

    def _in_loop(self) -> str:
        if self.loop is None:
            return ""
        return f" in {quote(self.places.called(self.loop))}"

    def location(self) -> Breakpoint:
        made = self._location()
        if self.condition is None:
            return made
        self._check_condition(self.condition, made.loops or tuple(self._loops_of_nodes(made.nodes)))
        if made.kind is Trigger.BOUNDARY:
            # Every boundary where something holds: what conditions are for, which the engine tests itself.
            made.kind, made.expression = Trigger.CONDITION, self.condition
            made.around = f"{made.text} if ", ""
            made.text = f"{made.text} if {self.condition.text}"
        else:
            made.condition = self.condition
        return made

    def _location(self) -> Breakpoint:
        place = self.place
        if _IF_FIRST.match(place):
            condition = parse(without_if(place))
            made = self._about(Trigger.CONDITION, condition)
            self._check_condition(condition, made.loops)
            made.around = "if ", self._in_loop()
            return made
        word, rest = (*place.split(None, 1), "", "")[:2]
        if word == "iter":
            return self._iteration(rest)
        if place == "end":
            return self._made(Trigger.END, loops=(self._here(),))
        if word == "nan":
            if not rest:
                if not self.places.loops:
                    raise UsageError(_NAN_WITHOUT_LOOPS)
                self._here()
                loops = range(len(self.places.loops)) if self.loop is None else (self.loop,)
                return self._made(Trigger.NAN, loops=tuple(loops))
            return self._about(Trigger.NAN, parse(rest))
        code = CODE_PLACE.fullmatch(place)
        if code is not None and not self._is_name(place):
            return self._of_code(self.places.code.nodes(code["file"], int(code["line"]), self._nodes()))
        if not self.host.has_nodes:
            raise UsageError(_NO_NODES)
        if word == "op":
            return self._at(self._of_type(rest))
        number = rest if word == "line" else place
        numbered = number.isdecimal() and len(number) < _DIGITS
        if word == "line" and not numbered:
            raise UsageError("break line needs the number of a line; list shows them")
        if numbered:
            return self._at(frozenset({self.places.node_of_line(int(number))}))
        if not place:
            return self._next_node()
        return self._at(self._named(unquote(place)))

    def _at(self, nodes: frozenset[Node]) -> Breakpoint:
        """Before nodes; of a loop at each of its boundaries."""
        if all(isinstance(node, Loop) for node in nodes):
            return self._made(Trigger.BOUNDARY, loops=tuple(p.index for p in self.places.loops if p.loop in nodes))
        return self._made(Trigger.NODE, nodes=nodes)

    def _of_code(self, nodes: frozenset[Node]) -> Breakpoint:
        """Before the nodes of a line of code; in a recording at the boundaries of the loops around them."""
        if self.host.has_nodes:
            return self._at(nodes)
        loops = {place.index for place in self.places.loops if place.loop in nodes}
        loops.update(index for node in nodes if (index := self.places.inside(node)) >= 0)
        if not loops:
            raise UsageError(_NO_NODES)
        return self._made(Trigger.BOUNDARY, loops=tuple(sorted(loops)))

    def _about(self, kind: Trigger, expression: Expression) -> Breakpoint:
        """Where an expression can be tested: at the boundaries of a loop, or once in the main graph."""
        loops = self._loops_for(expression)
        traps = self.places.after(expression) if loops == (MAIN_GRAPH,) else frozenset[Node]()
        return self._made(kind, loops=loops, traps=traps, expression=expression)

    def _next_node(self) -> Breakpoint:
        node = self.host.node_here()
        line = self.places.source.line_of(node)
        if line is not None:
            self.text = f"line {line.number}{self._in_loop()}"
        return self._at(frozenset({node}))

    def watch(self) -> Breakpoint:
        mode, level, text = Mode.CHANGES, None, self.place
        found = _HOW.search(mask(text))
        if found is not None and (found["level"] is None or Mode(found["mode"]) in _LEVELS):
            mode, text = Mode(found["mode"]), text[: found.start()].strip()
            if mode in _LEVELS:
                level = self._level(found["mode"], found["level"], text)
        if not text:
            raise UsageError("watch needs a value: watch h, watch err crosses 1e-3, watch x settles 1e-6")
        expression = parse(text)
        if not expression.names and not expression.uses_loop:
            raise UsageError(f"nothing changes in '{expression.text}', which reads no value of the model")
        loops = self._loops_for(expression)
        if loops == (MAIN_GRAPH,):
            raise UsageError(
                f"nothing changes from boundary to boundary in '{expression.text}': "
                f"{self.places.homes(expression)}; break if tests it once"
            )
        made = self._made(Trigger.WATCH, loops=loops, expression=expression)
        made.mode, made.level = mode, level
        if self.condition is not None:
            self._check_condition(self.condition, loops)
            made.condition = self.condition
        return made

    @staticmethod
    def _level(word: str, number: str | None, watched: str) -> float:
        if number is None:
            raise UsageError(f"'{word}' needs a number: watch {watched} {word} 0.5")
        try:
            level = float(number)
        except ValueError:
            level = math.nan
        if math.isnan(level):
            raise UsageError(f"'{word}' needs a number, not '{number}'")
        if word == Mode.SETTLES and level <= 0:
            raise UsageError(f"'{word}' needs a number above 0, not '{number}'")
        return level

    def _made(self, kind: Trigger, **fields: Any) -> Breakpoint:
        return Breakpoint(0, kind, self.text, **fields)

    def _here(self) -> int:
        """The loop that is meant where none is named: the one stopped in, else the first."""
        index = self.host.here() if self.loop is None else self.loop
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
        if max(numbers) > LAST:
            raise UsageError(f"{max(numbers)} is too large; no iteration comes after {LAST}")
        plans = self.places.loops
        index = self._here()
        if len(numbers) > 1 and self.loop is None:
            deep = [plan.index for plan in plans if len(self.places.around(plan.index)) == len(numbers) - 1]
            if not deep:
                raise UsageError(f"no loop of the model stands inside {counted(len(numbers) - 1, 'other')}")
            inside = [k for k in deep if index == k or index in self.places.around(k)]
            index = (inside or deep)[0]
        if len(numbers) - 1 > len(self.places.around(index)):
            around = counted(len(self.places.around(index)), "other")
            raise UsageError(f"loop '{plans[index].loop.name}' stands inside {around} only")
        return self._made(Trigger.ITERATION, loops=(index,), iterations=numbers)

    def _loops_for(self, expression: Expression) -> tuple[int, ...]:
        """The loop whose values an expression is about: the present one if it has them all, else the first that has,
        else the main graph."""
        if self.loop is not None:
            self._check(expression, (self.loop,))
            return (self.loop,)
        # What no loop has to do with is tested where it is computed, unless a loop that runs has it.
        plain = (
            bool(expression.names) and not expression.uses_loop and expression.names <= self.places.names(MAIN_GRAPH)
        )
        running = [self.host.frame.index] if plain else [self.host.here()]
        others = [MAIN_GRAPH] if plain else range(len(self.places.loops))
        for index in (*running, *others):
            if (index >= 0 or plain) and expression.names <= self.places.names(index):
                self._check(expression, (index,))
                return (index,)
        if expression.names and all(self.places.home(name) for name in expression.names):
            raise UsageError(f"'{expression.text}' cannot be tested anywhere: {self.places.homes(expression)}")
        here = self._here()
        self._check(expression, (here,))
        return (here,)

    def _check(self, expression: Expression, loops: Sequence[int]) -> None:
        for index in loops:
            self.host.check_expression(expression, index)

    def _check_condition(self, condition: Expression, loops: Sequence[int]) -> None:
        for index in loops:
            self.host.check_condition(condition, index)

    def _loops_of_nodes(self, nodes: frozenset[Node]) -> list[int]:
        return sorted({self.places.inside(node) for node in nodes})

    def _nodes(self) -> list[Node]:
        """The nodes that are meant: all, or those of the loop that was named."""
        return list(self.places.nodes(self.loop))

    def _is_name(self, name: str) -> bool:
        return any(name == node.name or name in _outputs(node) for node in self._nodes())

    def _of_type(self, op_type: str) -> frozenset[Node]:
        nodes = self._nodes()
        found = frozenset(node for node in nodes if node.op_type.lower() == op_type.lower())
        if not found:
            have = sorted({node.op_type for node in nodes})
            missing = f"no node of type '{op_type}'" if op_type else "break op needs a type of nodes"
            raise UsageError(f"{missing}; there are {', '.join(have) or 'none'}")
        return found

    def _named(self, name: str) -> frozenset[Node]:
        nodes = self._nodes()
        found = [node for node in nodes if name in _outputs(node)] or [node for node in nodes if node.name == name]
        if found:
            near = [node for node in found if self.places.inside(node) == self.host.here()]
            return frozenset((near or found)[:1])
        if any(node.op_type == name for node in nodes):
            return self._of_type(name)
        self._not_computed(name)
        known = sorted({output for node in nodes for output in _outputs(node)})
        hint = did_you_mean(name, known)
        raise UsageError(
            f"nothing to break at is called '{name}'{hint} (break takes: iter N, line N, a node or value, op TYPE, "
            f"FILE.py:N, if EXPRESSION, end, nan)"
        )

    def _not_computed(self, name: str) -> None:
        """Say of a value that no node computes how to stop for it."""
        for plan in self.places.loops:
            for edge in plan.loop.back_edges:
                if edge.param.name == name:
                    raise UsageError(
                        f"'{name}' is what a back edge carries: watch {quote(name)} stops where it changes, "
                        f"break {quote(edge.result.name)} before the node that computes the next one"
                    )
        if any(name in self.places.names(index) for index in (-1, *(plan.index for plan in self.places.loops))):
            raise UsageError(f"no node computes '{name}', so none can be stopped at; watch stops where a value changes")


def _outputs(node: Node) -> list[str]:
    return [name for value in node.outputs if value is not None for name in value.names]
