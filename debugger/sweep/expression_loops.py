"""Which loops have the values that the expressions of a sweep name.

This is a separate module, so that a process that runs cases without expressions does not load their parser.
"""

from __future__ import annotations

from functools import partial

from ...runtime.errors import UsageError
from ...runtime.model import Model
from ..breakpoints.assertion import split_loop_clause
from ..breakpoints.symbol_table import SymbolTable
from ..describe.value_names import unquote
from ..expression.expression import Expression, parse
from .job import MAIN_GRAPH, NAN_BREAKPOINT, SweepSpec


def loops_with_values(expression: Expression, table: SymbolTable) -> list[int]:
    """Return the loops that have the values of an expression; only :data:`MAIN_GRAPH` if no loop has.

    Raises:
        UsageError: neither loops nor the main graph have.
    """
    indices = [loop.index for loop in table.loops if _is_valid_in_loop(expression, table, loop.index)]
    if indices:
        return indices
    if not _is_valid_in_loop(expression, table, MAIN_GRAPH):
        first = table.loops[0].index if table.loops else MAIN_GRAPH
        table.check_names(expression, first)
    return [MAIN_GRAPH]


def _is_valid_in_loop(expression: Expression, table: SymbolTable, index: int) -> bool:
    try:
        table.check_names(expression, index)
    except UsageError:
        return False
    return True


def check_spec(model: Model, spec: SweepSpec) -> None:
    """Check that a model has the values that the expressions name, and that conditions are boolean.

    Raises:
        UsageError: a name is unknown or a condition is not boolean; the text suggests similar names.
    """
    table = SymbolTable(model.graph)
    for text in spec.measures:
        loops_with_values(parse(text), table)
    for text in (*spec.asserts, *spec.breaks):
        if text != NAN_BREAKPOINT:
            expression, clause = split_loop_clause(text)
            condition = parse(expression)
            if clause:
                index = table.loop_named(unquote(clause.removeprefix("in").strip()))
                table.check_names(condition, index)
            else:
                index = loops_with_values(condition, table)[0]
            condition.check_condition(partial(table.declared_type, index))
