"""Templates of logpoints: text with expressions, as in ``x = {x}, moved by {norm(delta(x))}``."""

from __future__ import annotations

from .expression import Expression, ExpressionError, Scope, format_value, parse
from .tokens import mask_quoted

#: Width of one value.
_VALUE_WIDTH = 60


class LogTemplate:
    """A parsed template; ``{{`` and ``}}`` are literal braces.

    Raises:
        ExpressionError: a brace is not closed, or its contents are no expression.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts: list[str | Expression] = []
        literal = ""
        position = 0
        while position < len(text):
            if text[position : position + 2] in ("{{", "}}"):
                literal += text[position]
                position += 2
            elif text[position] == "{":
                # A name or a string may hold a brace.
                end = position + 1 + mask_quoted(text[position + 1 :]).find("}")
                if end <= position:
                    raise ExpressionError(text, position, "this brace is not closed", "{{ is a literal brace")
                self._parts += [literal, parse(text[position + 1 : end])]
                literal = ""
                position = end + 1
            else:
                literal += text[position]
                position += 1
        self._parts.append(literal)

    def __str__(self) -> str:
        return self.text

    @property
    def expressions(self) -> list[Expression]:
        """The expressions of the template."""
        return [part for part in self._parts if isinstance(part, Expression)]

    def format(self, scope: Scope) -> str:
        """The text with the values of a scope; an error is printed in angle brackets."""
        texts = []
        for part in self._parts:
            if isinstance(part, Expression):
                try:
                    texts.append(format_value(part.evaluate(scope), _VALUE_WIDTH))
                except ExpressionError as error:
                    texts.append(f"<{error.problem}>")
            else:
                texts.append(part)
        return "".join(texts)
