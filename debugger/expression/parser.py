"""Precedence-climbing parser: tokens to a syntax tree. The postfix operators [...] and @ bind tightest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NoReturn, TypeVar

from ...runtime.text import close_matches
from .errors import ExpressionError
from .functions import FUNCTIONS
from .nodes import (
    Binary,
    Call,
    Compare,
    Constant,
    EllipsisIndex,
    ExpressionNode,
    Index,
    ListLiteral,
    Logic,
    Name,
    SliceIndex,
    StateVariable,
    TimeShift,
    Unary,
)
from .tokens import CONSTANTS, STATE_WORDS, TIME_SHIFT_FUNCTIONS, Token, TokenKind, tokenize

#: Maximum nesting of brackets and powers, each of which takes a dozen calls; Python's recursion limit is 1 000.
MAX_NESTING = 30
#: Maximum depth of trees (sums of many terms are deep too), since later steps are recursive.
MAX_TREE_DEPTH = 100
#: Binding powers of operators.
_LOWEST_POWER, _NOT_POWER, _COMPARISON_POWER, _SIGN_POWER, _EXPONENT_POWER = 1, 3, 4, 7, 8
_BINDING_POWER = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), _COMPARISON_POWER),
    **dict.fromkeys("+-", 5),
    **dict.fromkeys(("*", "/", "//", "%"), 6),
    "**": _EXPONENT_POWER,
}
_Parsed = TypeVar("_Parsed")


def parse_tree(text: str) -> ExpressionNode:
    """The tree of an expression.

    Raises:
        ExpressionError: the text is no expression.
    """
    if not text.strip():
        raise ExpressionError(text, 0, "an empty expression")
    parser = _Parser(text)
    tree = parser.expression()
    if parser.token.kind is not TokenKind.END:
        parser.unexpected("an operator or the end")
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.token_index = 0
        self.nesting = 0

    # -- tokens

    @property
    def token(self) -> Token:
        return self.tokens[self.token_index]

    def is_sign(self, *signs: str) -> bool:
        return self.token.kind is TokenKind.SIGN and self.token.value in signs

    def advance(self) -> Token:
        """Consume the current token, which is not the last, and return it."""
        self.token_index += 1
        return self.tokens[self.token_index - 1]

    def expect_closing(self, sign: str, opened: Token) -> None:
        if self.is_sign(sign):
            self.advance()
        elif self.token.kind is TokenKind.END:
            self.fail(f"'{opened.value}' is not closed", opened.position)
        else:
            self.unexpected(f"'{sign}'")

    def parse_bracketed_list(self, closing: str, read: Callable[[], _Parsed]) -> tuple[_Parsed, ...]:
        """Parse a bracketed list; the current token is the opening bracket."""
        opened = self.advance()
        items: list[_Parsed] = []
        while not self.is_sign(closing):
            items.append(read())
            if not self.is_sign(","):
                break
            self.advance()
        self.expect_closing(closing, opened)
        return tuple(items)

    # -- errors

    def fail(self, problem: str, position: int, hint: str = "") -> NoReturn:
        raise ExpressionError(self.text, position, problem, hint)

    def unexpected(self, expected: str) -> NoReturn:
        token = self.token
        if token.kind is TokenKind.END:
            self.fail(f"it ends where {expected} should come", token.position)
        hint = f"{expected} should come here"
        if self.is_sign("="):
            hint = "write '==' to compare"
        elif self.is_sign("/", ":"):
            hint = "names with such characters are written between backquotes: `/rnn/h:0`"
        self.fail(f"unexpected {self.text[token.position : token.end]!r}", token.position, hint)

    def check_depth(self, node: ExpressionNode) -> ExpressionNode:
        if node.depth > MAX_TREE_DEPTH:
            self.fail(f"more than {MAX_TREE_DEPTH} operations on top of one another", node.position)
        return node

    # -- operators

    def expression(self, min_power: int = _LOWEST_POWER) -> ExpressionNode:
        """Parse an expression, for instance in brackets."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.fail(f"nested more than {MAX_NESTING} deep", self.token.position)
        tree = self.parse_operator_chain(min_power)
        self.nesting -= 1
        return tree

    def binding_power(self) -> int:
        """Binding power of the current token; 0: it is no operator."""
        return _BINDING_POWER.get(self.token.value, 0) if self.token.kind is TokenKind.SIGN else 0

    def parse_operator_chain(self, min_power: int) -> ExpressionNode:
        """Parse operators with at least this binding power, and their operands."""
        tree = self.parse_prefix_expression(min_power)
        while (level := self.binding_power()) >= min_power:
            signs, operands = [], [tree]
            while self.binding_power() == level:
                signs.append(self.advance())
                # Right-associative: 2 ** 3 ** 2 is 2 ** 9, and 2 ** -1 is allowed.
                operands.append(
                    self.expression(_SIGN_POWER) if level == _EXPONENT_POWER else self.parse_operator_chain(level + 1)
                )
            tree = self.join_operands(level, signs, operands)
        return tree

    def parse_prefix_expression(self, min_power: int) -> ExpressionNode:
        """Parse an operand with its prefix operators, as far as allowed here: ``not``, or signs."""
        for signs, level, operand_power in (
            (("not",), _NOT_POWER, _COMPARISON_POWER),
            (("+", "-"), _SIGN_POWER, _EXPONENT_POWER),
        ):
            if min_power <= level and self.is_sign(*signs):
                prefixes = []
                while self.is_sign(*signs):
                    prefixes.append(self.advance())
                tree = self.parse_operator_chain(operand_power)
                for token in reversed(prefixes):
                    tree = self.check_depth(Unary(position=token.position, sign=token.value, operand=tree))
                return tree
        return self.postfix_expression()

    def join_operands(self, level: int, signs: list[Token], operands: list[ExpressionNode]) -> ExpressionNode:
        """Combine operands with the operators of one level."""
        position, operators = signs[0].position, [token.value for token in signs]
        if level < _NOT_POWER:
            return self.check_depth(Logic(position=position, operator=operators[0], operands=tuple(operands)))
        if level == _COMPARISON_POWER:
            positions = tuple(token.position for token in signs)
            return self.check_depth(
                Compare(position=position, signs=tuple(operators), operands=tuple(operands), positions=positions)
            )
        tree = operands[0]
        for token, right in zip(signs, operands[1:], strict=True):
            tree = self.check_depth(Binary(position=token.position, sign=token.value, left=tree, right=right))
        return tree

    def postfix_expression(self) -> ExpressionNode:
        tree = self.check_depth(self.atom())
        while True:
            position = self.token.position
            if self.is_sign("["):
                entries = self.parse_bracketed_list("]", self.index_entry)
                if not entries:
                    self.fail("an empty index", position)
                tree = self.check_depth(Index(position=position, operand=tree, entries=entries))
            elif self.is_sign("@"):
                self.advance()
                tree = self.check_depth(self.time_shift("at", tree, position, self.iteration()))
            elif self.is_sign("("):
                self.fail("only the functions of the language can be called", position)
            else:
                return tree

    def index_entry(self) -> ExpressionNode:
        """Parse one entry of an index."""
        position = self.token.position
        if self.is_sign("..."):
            self.advance()
            return EllipsisIndex(position=position)
        parts: list[ExpressionNode | None] = [None]
        while True:
            if self.is_sign(":") and len(parts) < 3:
                self.advance()
                parts.append(None)
            elif parts[-1] is None and not self.is_sign(",", "]"):
                parts[-1] = self.expression()
            else:
                break
        if len(parts) > 1:
            start, stop, step = (*parts, None)[:3]
            return SliceIndex(position=position, start=start, stop=stop, step=step)
        if parts[0] is None:
            self.unexpected("an index")
        return parts[0]

    # -- other iterations

    def iteration(self) -> ExpressionNode:
        token = self.token
        if token.kind is TokenKind.NUMBER:
            if not isinstance(token.value, int):
                self.fail("iterations are whole numbers", token.position)
            return Constant(position=self.advance().position, value=token.value)
        if self.is_sign("("):
            return self.parenthesized()
        self.fail("after '@' comes an iteration", token.position, "write x@40 or x@(iter - 3)")

    def time_shift(
        self,
        kind: Literal["prev", "init", "at", "all"],
        operand: ExpressionNode,
        position: int,
        iteration: ExpressionNode | None = None,
    ) -> TimeShift:
        if any(isinstance(node, TimeShift) for node in operand.walk()):
            self.fail("an earlier iteration of an earlier iteration", position, "write x@(iter - 2) for two back")
        return TimeShift(position=position, kind=kind, operand=operand, iteration=iteration)

    # -- atoms

    def atom(self) -> ExpressionNode:
        token = self.token
        if token.kind in (TokenKind.NUMBER, TokenKind.TEXT):
            return Constant(position=self.advance().position, value=token.value)
        if token.kind is TokenKind.NAME:
            return Name(position=self.advance().position, name=token.value)
        if token.kind is TokenKind.WORD:
            return self.word()
        if self.is_sign("("):
            return self.parenthesized()
        if self.is_sign("["):
            return ListLiteral(position=token.position, items=self.parse_bracketed_list("]", self.expression))
        self.unexpected("a value")

    def parenthesized(self) -> ExpressionNode:
        opened = self.advance()
        tree = self.expression()
        if self.is_sign(","):
            self.fail("unexpected ','", self.token.position, "lists are written [1, 2]")
        self.expect_closing(")", opened)
        return tree

    def word(self) -> ExpressionNode:
        word, position = self.token.value, self.advance().position
        if word in CONSTANTS:
            return Constant(position=position, value=CONSTANTS[word])
        if word in STATE_WORDS:
            return StateVariable(position=position, name=word)
        if not self.is_sign("("):
            return Name(position=position, name=word)
        if word in FUNCTIONS:
            return self.call(word, position)
        if word not in TIME_SHIFT_FUNCTIONS:
            functions = (*FUNCTIONS, *TIME_SHIFT_FUNCTIONS)
            names = " or ".join(map(repr, close_matches(word, functions)))
            hint = f"did you mean {names}?" if names else "there are " + ", ".join(sorted(functions))
            self.fail(f"no function {word!r}", position, hint)
        operands = self.parse_bracketed_list(")", self.expression)
        if len(operands) != 1:
            self.fail(f"{word}(x) takes one value", position)
        (operand,) = operands
        if word == "history":
            if not isinstance(operand, Name):
                self.fail("history(x) takes the name of a value", position)
            return self.time_shift("all", operand, position)
        if word != "delta":
            return self.time_shift("init" if word == "init" else "prev", operand, position)
        previous = self.time_shift("prev", operand, position)
        return Binary(position=position, sign="-", left=operand, right=previous)

    def call(self, word: str, position: int) -> ExpressionNode:
        function = FUNCTIONS[word]
        arguments: dict[str, ExpressionNode] = {}

        def argument() -> None:
            position = self.token.position
            rest = self.tokens[self.token_index + 1 : self.token_index + 2]
            if self.token.kind is TokenKind.WORD and rest[0].kind is TokenKind.SIGN and rest[0].value == "=":
                parameter = self.advance().value
                self.advance()
                if parameter not in function.parameters:
                    self.fail(f"no parameter {parameter!r}: {function.usage}", position)
            elif len(arguments) < len(function.parameters):
                parameter = function.parameters[len(arguments)]
            else:
                self.fail(f"too many arguments: {function.usage}", position)
            if parameter in arguments:
                self.fail(f"'{parameter}' is given twice", position)
            arguments[parameter] = self.expression()

        self.parse_bracketed_list(")", argument)
        missing = [p for p in function.parameters[: function.required_count] if p not in arguments]
        if missing:
            self.fail(f"'{missing[0]}' is missing: {function.usage}", position)
        return Call(position=position, function=word, arguments=tuple(map(arguments.get, function.parameters)))
