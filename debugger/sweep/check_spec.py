"""Which loops have the values that the expressions of a sweep name.

Apart from the job itself, since a process that runs cases without expressions need not wait for their language.
"""

from __future__ import annotations

from functools import partial

from ...runtime.errors import UsageError
from ...runtime.model import Model
from ..breakpoints.symbol_table import SymbolTable
from ..expression.language import Expression, parse
from .job import MAIN_GRAPH, NAN_BREAKPOINT, SweepSpec


def loops_with_values(expression: Expression, places: SymbolTable) -> list[int]:
    """The loops that have the values of an expression; :data:`MAIN` alone where only the main graph has them.

    Raises:
        UsageError: nothing has.
    """
    found = [place.index for place in places.loops if _is_valid_in_loop(expression, places, place.index)]
    if found:
        return found
    if not _is_valid_in_loop(expression, places, MAIN_GRAPH):
        first = places.loops[0].index if places.loops else MAIN_GRAPH
        places.check_names(expression, first)
    return [MAIN_GRAPH]


def _is_valid_in_loop(expression: Expression, places: SymbolTable, index: int) -> bool:
    try:
        places.check_names(expression, index)
    except UsageError:
        return False
    return True


def check_spec(model: Model, wanted: SweepSpec) -> None:
    """See that a model has what the expressions name, and that conditions may be true or false.

    Raises:
        UsageError: it does not, or they may not; the text says what is near.
    """
    places = SymbolTable(model.graph)
    for text in wanted.measures:
        loops_with_values(parse(text), places)
    for text in (*wanted.asserts, *wanted.breaks):
        if text != NAN_BREAKPOINT:
            condition = parse(text)
            condition.check_condition(partial(places.declared_type, loops_with_values(condition, places)[0]))
