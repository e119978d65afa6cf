"""Parser for the locations of ``break`` and ``watch``."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.graph import Loop, Node
from ...runtime.text import count_text, did_you_mean
from ..describe.value_names import mask_quoted, quote, unquote
from ..expression.expression import Expression, parse
from ..expression.tokens import WATCH_WORDS
from .assertion import IN_LOOP_CLAUSE
from .breakpoint import MAIN_GRAPH, NODE_RESULT_TRIGGERS, Breakpoint, Trigger, WatchMode
from .breakpoint_host import BreakpointContext
from .line_table import CODE_LINE_PATTERN

_IF_CLAUSE = re.compile(r"\s+if(?:\s+|(?=\()|$)")
_LEADING_IF = re.compile(r"if(?:\s+|(?=\()|$)")
#: The watch mode and its optional number, at the end of the text.
_WATCH_MODE_CLAUSE = re.compile(rf"\s+(?P<mode>{'|'.join(WATCH_WORDS)})(?:\s+(?P<level>\S+))?\s*$")
#: The engine counts in 64 bits.
MAX_ITERATION = sys.maxsize
#: Longer numbers are no line numbers; Python rejects integers with thousands of digits.
_MAX_LINE_NUMBER_DIGITS = 19
_WITHOUT_LOOPS = (
    "the model has no loop, at whose boundaries {} looks at all values; a condition such as any(isnan(NAME)) tests one"
)
_NO_NODES = (
    "a recording has boundaries only, and no nodes to stop before; break takes: iter N, if EXPRESSION, end, nan, and"
    " FILE.py:N of what is in a loop"
)
_MODES_WITH_LEVEL = (WatchMode.CROSSES, WatchMode.SETTLES)


def strip_if(condition: str) -> str:
    """A condition without the leading ``if`` of ``break``; a value with that name is written in backquotes."""
    return condition[match.end() :] if (match := _LEADING_IF.match(condition)) else condition


class LocationParser:
    """Parses one location of ``break`` or ``watch``."""

    def __init__(self, context: BreakpointContext, text: str) -> None:
        self.context = context
        self.symbols = context.symbols
        text = text.strip()
        location, condition = self._split_condition(text)
        self.loop: int | None = None
        self.location_text = self._extract_loop(location)
        self.condition: Expression | None = None
        #: The location in command syntax, without its condition.
        self.text = text
        if condition is not None:
            self.condition = parse(strip_if(self._extract_loop(condition)))
            self.text = f"{self.location_text}{self._loop_clause()}"

    def _split_condition(self, text: str) -> tuple[str, str | None]:
        match = None if _LEADING_IF.match(text) else _IF_CLAUSE.search(mask_quoted(text))
        return (text, None) if match is None else (text[: match.start()], text[match.end() :])

    def _extract_loop(self, text: str) -> str:
        """The text without a trailing ``in LOOP``, which selects the loop."""
        match = IN_LOOP_CLAUSE.search(mask_quoted(text))
        if match is None or self.loop is not None:
            return text
        self.loop = self.symbols.loop_named(unquote(text[match.start("loop") : match.end("loop")]))
        return text[: match.start()]

    def _loop_clause(self) -> str:
        if self.loop is None:
            return ""
        return f" in {quote(self.symbols.loop_label(self.loop))}"

    def parse_location(self) -> Breakpoint:
        breakpoint_ = self._parse_unconditional()
        if self.condition is None:
            return breakpoint_
        self._check_condition(self.condition, breakpoint_.loops or tuple(self._loops_of_nodes(breakpoint_.nodes)))
        if breakpoint_.kind is Trigger.BOUNDARY:
            # A conditional stop at every boundary is a condition breakpoint, which the engine tests itself.
            breakpoint_.kind, breakpoint_.expression = Trigger.CONDITION, self.condition
            breakpoint_.around = f"{breakpoint_.text} if ", ""
            breakpoint_.text = f"{breakpoint_.text} if {self.condition.text}"
        else:
            breakpoint_.condition = self.condition
        return breakpoint_

    def _parse_unconditional(self) -> Breakpoint:
        location = self.location_text
        if _LEADING_IF.match(location):
            condition = parse(strip_if(location))
            breakpoint_ = self._breakpoint_on_expression(Trigger.CONDITION, condition)
            self._check_condition(condition, breakpoint_.loops)
            breakpoint_.around = "if ", self._loop_clause()
            return breakpoint_
        word, rest = (*location.split(None, 1), "", "")[:2]
        if word == "iter":
            return self._breakpoint_at_iteration(rest)
        if location == "end":
            return self._make_breakpoint(Trigger.END, loops=(self._default_loop(),))
        if word == "nan" or location == Trigger.OVERFLOW or location.startswith(Trigger.FLOAT16):
            return self._breakpoint_on_results(location)
        code = CODE_LINE_PATTERN.fullmatch(location)
        if code is not None and not self._is_name(location):
            return self._breakpoint_at_source_line(
                self.symbols.line_table.nodes_of_line(code["file"], int(code["line"]), self._candidate_nodes())
            )
        if not self.context.has_nodes:
            raise UsageError(_NO_NODES)
        if word == "op":
            return self._breakpoint_at_nodes(self._nodes_of_type(rest))
        number = rest if word == "line" else location
        is_number = number.isdecimal() and len(number) < _MAX_LINE_NUMBER_DIGITS
        if word == "line" and not is_number:
            raise UsageError("break line needs the number of a line; list shows them")
        if is_number:
            return self._breakpoint_at_nodes(frozenset({self.symbols.node_of_line(int(number))}))
        if not location:
            return self._breakpoint_at_next_node()
        return self._breakpoint_at_nodes(self._nodes_named(unquote(location)))

    def _breakpoint_on_results(self, location: str) -> Breakpoint:
        """A breakpoint on the results of all nodes of a loop, or of all loops, or on one expression."""
        kind = next(kind for kind in NODE_RESULT_TRIGGERS if location.startswith(kind.value))
        rest = location.removeprefix(kind.value).strip()
        if rest:
            return self._breakpoint_on_expression(kind, parse(rest))
        if not self.symbols.loops:
            raise UsageError(_WITHOUT_LOOPS.format(kind.value))
        if kind is Trigger.OVERFLOW and not self.context.has_nodes:
            raise UsageError(_NO_NODES)
        self._default_loop()
        loops = range(len(self.symbols.loops)) if self.loop is None else (self.loop,)
        return self._make_breakpoint(kind, loops=tuple(loops))

    def _breakpoint_at_nodes(self, nodes: frozenset[Node]) -> Breakpoint:
        """A breakpoint before nodes; for a loop, at each of its boundaries."""
        if all(isinstance(node, Loop) for node in nodes):
            return self._make_breakpoint(
                Trigger.BOUNDARY, loops=tuple(symbol.index for symbol in self.symbols.loops if symbol.loop in nodes)
            )
        return self._make_breakpoint(Trigger.NODE, nodes=nodes)

    def _breakpoint_at_source_line(self, nodes: frozenset[Node]) -> Breakpoint:
        """A breakpoint before the nodes of a source line; in a recording, at the boundaries of the enclosing loops."""
        if self.context.has_nodes:
            return self._breakpoint_at_nodes(nodes)
        loops = {symbol.index for symbol in self.symbols.loops if symbol.loop in nodes}
        loops.update(index for node in nodes if (index := self.symbols.loop_of(node)) >= 0)
        if not loops:
            raise UsageError(_NO_NODES)
        return self._make_breakpoint(Trigger.BOUNDARY, loops=tuple(sorted(loops)))

    def _breakpoint_on_expression(self, kind: Trigger, expression: Expression) -> Breakpoint:
        """A breakpoint where an expression can be tested: at the boundaries of a loop, or once in the main graph."""
        loops = self._loops_for(expression)
        traps = self.symbols.nodes_after(expression) if loops == (MAIN_GRAPH,) else frozenset[Node]()
        return self._make_breakpoint(kind, loops=loops, traps=traps, expression=expression)

    def _breakpoint_at_next_node(self) -> Breakpoint:
        node = self.context.next_node_to_run()
        line = self.symbols.pseudo_code.line_of(node)
        if line is not None:
            self.text = f"line {line.number}{self._loop_clause()}"
        return self._breakpoint_at_nodes(frozenset({node}))

    def parse_watch(self) -> Breakpoint:
        mode, level, text = WatchMode.CHANGES, None, self.location_text
        match = _WATCH_MODE_CLAUSE.search(mask_quoted(text))
        if match is not None and (match["level"] is None or WatchMode(match["mode"]) in _MODES_WITH_LEVEL):
            mode, text = WatchMode(match["mode"]), text[: match.start()].strip()
            if mode in _MODES_WITH_LEVEL:
                level = self._parse_threshold(match["mode"], match["level"], text)
        if not text:
            raise UsageError("watch needs a value: watch h, watch err crosses 1e-3, watch x settles 1e-6")
        expression = parse(text)
        if not expression.names and not expression.uses_loop:
            raise UsageError(
                f"nothing changes in '{expression.text}', which reads no value of the model", name=expression.text
            )
        loops = self._loops_for(expression)
        if loops == (MAIN_GRAPH,):
            raise UsageError(
                f"nothing changes from boundary to boundary in '{expression.text}': "
                f"{self.symbols.expression_scopes_text(expression)}; break if tests it once",
                name=expression.text,
            )
        breakpoint_ = self._make_breakpoint(Trigger.WATCH, loops=loops, expression=expression)
        breakpoint_.mode, breakpoint_.level = mode, level
        if self.condition is not None:
            self._check_condition(self.condition, loops)
            breakpoint_.condition = self.condition
        return breakpoint_

    @staticmethod
    def _parse_threshold(word: str, number: str | None, expression_text: str) -> float:
        if number is None:
            raise UsageError(f"'{word}' needs a number: watch {expression_text} {word} 0.5", name=word)
        try:
            level = float(number)
        except ValueError:
            level = math.nan
        if math.isnan(level):
            raise UsageError(f"'{word}' needs a number, not '{number}'", name=word, expected="a number", got=number)
        if word == WatchMode.SETTLES and level <= 0:
            raise UsageError(
                f"'{word}' needs a number above 0, not '{number}'", name=word, expected="a number above 0", got=number
            )
        return level

    def _make_breakpoint(self, kind: Trigger, **fields: Any) -> Breakpoint:
        return Breakpoint(0, kind, self.text, **fields)

    def _default_loop(self) -> int:
        """The loop that is used if none is named: the current one, else the first."""
        index = self.context.current_loop_index() if self.loop is None else self.loop
        if index < 0:
            raise UsageError("the model has no loop")
        return index

    def _breakpoint_at_iteration(self, rest: str) -> Breakpoint:
        try:
            numbers = tuple(int(word) for word in rest.replace(",", " ").split())
        except ValueError:
            numbers = ()
        if not numbers or min(numbers) < 0:
            raise UsageError(
                "break iter needs iteration numbers: break iter 40, or break iter 3,7 for a nested loop",
                name="iter",
                expected="iteration numbers",
                got=rest,
            )
        if max(numbers) > MAX_ITERATION:
            raise UsageError(
                f"{max(numbers)} is too large; no iteration comes after {MAX_ITERATION}",
                iteration=max(numbers),
                expected=f"at most {MAX_ITERATION}",
            )
        symbols = self.symbols.loops
        index = self._default_loop()
        if len(numbers) > 1 and self.loop is None:
            indices = [p.index for p in symbols if len(self.symbols.enclosing_loops(p.index)) == len(numbers) - 1]
            if not indices:
                raise UsageError(
                    f"no loop of the model is inside {count_text(len(numbers) - 1, 'other')}",
                    name="iter",
                    got=f"{len(numbers)} numbers",
                )
            matching = [k for k in indices if index == k or index in self.symbols.enclosing_loops(k)]
            index = (matching or indices)[0]
        if len(numbers) - 1 > len(self.symbols.enclosing_loops(index)):
            enclosing = count_text(len(self.symbols.enclosing_loops(index)), "other")
            raise UsageError(
                f"loop '{symbols[index].loop.name}' is inside {enclosing} only", loop=symbols[index].loop.name
            )
        return self._make_breakpoint(Trigger.ITERATION, loops=(index,), iterations=numbers)

    def _loops_for(self, expression: Expression) -> tuple[int, ...]:
        """The loop whose values an expression reads: the current one if it has them all, else the first that has them,
        else the main graph."""
        if self.loop is not None:
            self._check_expression(expression, (self.loop,))
            return (self.loop,)
        # An expression of main-graph values is tested where they are computed, unless the running loop has them.
        is_main_graph = (
            bool(expression.names)
            and not expression.uses_loop
            and expression.names <= self.symbols.names_in_scope(MAIN_GRAPH)
        )
        first = [self.context.frame.index] if is_main_graph else [self.context.current_loop_index()]
        rest = [MAIN_GRAPH] if is_main_graph else range(len(self.symbols.loops))
        for index in (*first, *rest):
            if (index >= 0 or is_main_graph) and expression.names <= self.symbols.names_in_scope(index):
                self._check_expression(expression, (index,))
                return (index,)
        if expression.names and all(self.symbols.scope_text(name) for name in expression.names):
            raise UsageError(
                f"'{expression.text}' cannot be tested anywhere: {self.symbols.expression_scopes_text(expression)}",
                name=expression.text,
            )
        default = self._default_loop()
        self._check_expression(expression, (default,))
        return (default,)

    def _check_expression(self, expression: Expression, loops: Sequence[int]) -> None:
        for index in loops:
            self.context.check_expression(expression, index)

    def _check_condition(self, condition: Expression, loops: Sequence[int]) -> None:
        for index in loops:
            self.context.check_condition(condition, index)

    def _loops_of_nodes(self, nodes: frozenset[Node]) -> list[int]:
        return sorted({self.symbols.loop_of(node) for node in nodes})

    def _candidate_nodes(self) -> list[Node]:
        """All nodes, or those of the named loop."""
        return list(self.symbols.nodes(self.loop))

    def _is_name(self, name: str) -> bool:
        return any(name == node.name or name in _output_names(node) for node in self._candidate_nodes())

    def _nodes_of_type(self, op_type: str) -> frozenset[Node]:
        nodes = self._candidate_nodes()
        matches = frozenset(node for node in nodes if node.op_type.lower() == op_type.lower())
        if not matches:
            types = sorted({node.op_type for node in nodes})
            problem = f"no node of type '{op_type}'" if op_type else "break op needs a type of nodes"
            expected = ", ".join(types) or "none"
            raise UsageError(f"{problem}; there are {expected}", op_type=op_type, expected=expected)
        return matches

    def _nodes_named(self, name: str) -> frozenset[Node]:
        nodes = self._candidate_nodes()
        matches = [n for n in nodes if name in _output_names(n)] or [n for n in nodes if n.name == name]
        if matches:
            local = [node for node in matches if self.symbols.loop_of(node) == self.context.current_loop_index()]
            return frozenset((local or matches)[:1])
        if any(node.op_type == name for node in nodes):
            return self._nodes_of_type(name)
        self._reject_non_node_value(name)
        names = sorted({output for node in nodes for output in _output_names(node)})
        hint = did_you_mean(name, names)
        raise UsageError(
            f"nothing to break at is called '{name}'{hint} (break takes: iter N, line N, a node or value, op TYPE, "
            f"FILE.py:N, if EXPRESSION, end, nan, overflow, beyond float16)",
            name=name,
            expected="a place",
        )

    def _reject_non_node_value(self, name: str) -> None:
        """Reject a value that no node computes; the message says how to stop for it."""
        for symbol in self.symbols.loops:
            for edge in symbol.loop.back_edges:
                if edge.param.name == name:
                    raise UsageError(
                        f"'{name}' is what a back edge carries: watch {quote(name)} stops where it changes, "
                        f"break {quote(edge.result.name)} before the node that computes the next one",
                        name=name,
                    )
        if any(
            name in self.symbols.names_in_scope(index)
            for index in (-1, *(symbol.index for symbol in self.symbols.loops))
        ):
            raise UsageError(
                f"no node computes '{name}', so none can be stopped at; watch stops where a value changes", name=name
            )


def _output_names(node: Node) -> list[str]:
    return [name for value in node.outputs if value is not None for name in value.names]
