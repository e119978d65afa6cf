"""Inputs of the model as ``restart`` takes them: ``x0=5 limit=x0+1``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ....runtime.errors import UsageError
from ....runtime.graph import TensorType
from ....runtime.model import Data, Model
from ...describe.value_names import mask_quoted, unquote
from ...expression.language import Scope, parse

#: A name and the sign behind it, apart from comparisons and from the arguments of functions.
_ASSIGNMENT = re.compile(r"(?:^|(?<=[\s,]))([^\s,=<>!()\[\]]+)\s*=(?!=)\s*")


def map_inputs(text: str, model: Model, scope: Scope) -> Mapping[str, Data]:
    """The inputs that a text names, each with the value of its expression.

    Raises:
        UsageError: it names none, or one twice, or what an expression gives is no input's value.
    """
    types = {port.name: port.type for port in model.inputs}
    found: dict[str, Data] = {}
    for name, expression in _split_assignments(text):
        [own] = model._internals.resolve_aliases({name: None})
        if own in found:
            raise UsageError(f"'{name}' stands there twice")
        found[own] = _native_number(parse(expression).evaluate(scope), types.get(own))
    return found


def _split_assignments(text: str) -> Iterator[tuple[str, str]]:
    """Names with the texts of their values."""
    outside = mask_quoted(text)
    signs = [sign for sign in _ASSIGNMENT.finditer(outside) if not _bracket_depth(outside[: sign.start()])]
    if not signs or outside[: signs[0].start()].strip():
        raise UsageError(f"restart takes inputs as NAME=VALUE, as in restart x0=5, not '{text}'")
    for sign, following in zip(signs, [*signs[1:], None], strict=True):
        value = text[sign.end() : len(text) if following is None else following.start()].strip().rstrip(",")
        yield unquote(text[sign.start(1) : sign.end(1)]), value


def _bracket_depth(text: str) -> int:
    """How many brackets are open at the end of a text."""
    return sum((sign in "([") - (sign in ")]") for sign in text)


def _native_number(value: Any, declared: Any) -> Data:
    """A number as the input's type may take it: what is computed here need not be of that dtype."""
    number = isinstance(value, np.ndarray | np.generic) and not np.asarray(value).dtype.hasobject
    if number and isinstance(declared, TensorType) and declared.dtype not in (None, np.asarray(value).dtype):
        return value.tolist()
    return value
