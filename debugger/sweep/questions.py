"""Which loops have the values that the expressions of a sweep name.

Apart from the job itself, since a process that runs cases without expressions need not wait for their language.
"""

from __future__ import annotations

from functools import partial

from ...runtime.errors import UsageError
from ...runtime.model import Model
from ..breakpoints.places import Places
from ..expression.language import Expression, parse
from .job import MAIN, NAN, Wanted


def homes(expression: Expression, places: Places) -> list[int]:
    """The loops that have the values of an expression; :data:`MAIN` alone where only the main graph has them.

    Raises:
        UsageError: nothing has.
    """
    found = [place.index for place in places.loops if _fits(expression, places, place.index)]
    if found:
        return found
    if not _fits(expression, places, MAIN):
        first = places.loops[0].index if places.loops else MAIN
        places.check(expression, first)
    return [MAIN]


def _fits(expression: Expression, places: Places, index: int) -> bool:
    try:
        places.check(expression, index)
    except UsageError:
        return False
    return True


def check(model: Model, wanted: Wanted) -> None:
    """See that a model has what the expressions name, and that conditions may be true or false.

    Raises:
        UsageError: it does not, or they may not; the text says what is near.
    """
    places = Places(model.graph)
    for text in wanted.measures:
        homes(parse(text), places)
    for text in (*wanted.asserts, *wanted.breaks):
        if text != NAN:
            condition = parse(text)
            condition.check_condition(partial(places.declared, homes(condition, places)[0]))
