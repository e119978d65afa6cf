"""Translation of C expressions (the scalar operations in ``scalar_ops.h``) to LLVM IR.

The grammar covers what that file uses: C operators on numeric types (with integer promotions), casts, literals and a
few functions. Nothing is contracted and no fast-math flag is set: results are bit-identical to the C compiler's.
"""

from __future__ import annotations

import re

from .llvm_writer import TYPES, LlvmWriter, TypedValue, splat_constant, vector_type

FUNCTIONS = {"fabsf": "llvm.fabs.f32", "fabs": "llvm.fabs.f64", "sqrtf": "llvm.sqrt.f32", "sqrt": "llvm.sqrt.f64"}
#: Operator precedence, lowest first.
PRECEDENCE = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%"))
COMPARISONS = {
    "==": ("oeq", "eq", "eq"),
    "!=": ("une", "ne", "ne"),
    "<": ("olt", "slt", "ult"),
    "<=": ("ole", "sle", "ule"),
    ">": ("ogt", "sgt", "ugt"),
    ">=": ("oge", "sge", "uge"),
}
ARITHMETIC = {
    "+": ("fadd", "add", "add"),
    "-": ("fsub", "sub", "sub"),
    "*": ("fmul", "mul", "mul"),
    "/": ("fdiv", "sdiv", "udiv"),
    "%": ("", "srem", "urem"),
}
#: NaN test of an operand, such as ``a != a``.
NAN_TEST = re.compile(r"\b([ab]) != \1\b")
TOKEN = re.compile(r"\s*(\|\||&&|[=!<>]=|[-+*/%<>!?:()]|\w+)")


def promoted_type(value: TypedValue) -> str:
    """The type of a value after the integer promotion of C."""
    return "int32_t" if not value.is_floating and value.bit_width < 32 else value.type


def common_type(a: TypedValue, b: TypedValue) -> str:
    """The common type of two values by C's usual arithmetic conversions, after integer promotion."""
    types = {promoted_type(a), promoted_type(b)}
    # The first of these that occurs.
    order = ("double", "float", "uint64_t", "int64_t", "uint32_t", "int32_t")
    return next(c_type for c_type in order if c_type in types)


class ExpressionParser:
    """Single-pass recursive-descent compiler of one expression over named values."""

    def __init__(self, text: str, names: dict[str, TypedValue], writer: LlvmWriter) -> None:
        text = NAN_TEST.sub("0", text) if writer.assume_no_nan else text
        self.tokens = [m.group(1) for m in TOKEN.finditer(text)]
        if "".join(self.tokens) != re.sub(r"\s+", "", text):
            raise ValueError(f"unsupported expression: {text!r}")
        self.position = 0
        self.names, self.writer = names, writer
        self.lanes = max([value.lanes for value in names.values()], default=0)

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def expect(self, expected: str = "") -> str:
        token = self.peek()
        if not token or (expected and token != expected):
            raise ValueError(f"expected {expected or 'more'} at {self.position} of {' '.join(self.tokens)}")
        self.position += 1
        return token

    def parse(self) -> TypedValue:
        value = self.parse_conditional()
        if self.peek():
            raise ValueError(f"unexpected {self.peek()!r} in {' '.join(self.tokens)}")
        return value

    def parse_conditional(self) -> TypedValue:
        """``c ? a : b``: a scalar evaluates only the selected branch, since divisions trap."""
        start = self.position
        condition = self.parse_binary(0)
        if self.peek() != "?":
            return condition
        if self.lanes:
            return self.parse_vector_conditional(condition)
        tested = self.tokens[start : self.position]
        self.expect("?")
        w = self.writer
        yes, no, end = w.fresh_name("yes"), w.fresh_name("no"), w.fresh_name("end")
        # NaN is rare: a predicted branch does not wait for the comparison.
        w.branch_if(w.is_true(condition), yes, no, likely=False if tested == [tested[0], "!=", tested[0]] else None)
        w.begin_block(yes)
        # The common type needs both branches: insert the cast of ``a`` into its block afterwards.
        a = self.parse_conditional()
        self.expect(":")
        from_yes, insert_index = w.block, len(w.lines)
        w.begin_block(no)
        b = self.parse_conditional()
        to = common_type(a, b)
        b = w.cast(b, to)
        w.branch(end)
        from_no, rest = w.block, w.lines[insert_index:]
        del w.lines[insert_index:]
        a = w.cast(a, to)
        w.branch(end)
        w.lines += rest
        w.begin_block(end)
        return TypedValue(w.assign(f"phi {TYPES[to]} [ {a.text}, %{from_yes} ], [ {b.text}, %{from_no} ]"), to)

    def parse_vector_conditional(self, condition: TypedValue) -> TypedValue:
        """``c ? a : b`` in each lane: evaluates both branches."""
        self.expect("?")
        w = self.writer
        condition_bit = w.is_true(condition)
        a = self.parse_conditional()
        self.expect(":")
        b = self.parse_conditional()
        to = common_type(a, b)
        a, b = w.cast(a, to), w.cast(b, to)
        return TypedValue(w.select(condition_bit, vector_type(TYPES[to], self.lanes), a.text, b.text), to, self.lanes)

    def parse_binary(self, level: int) -> TypedValue:
        if level == len(PRECEDENCE):
            return self.parse_unary()
        a = self.parse_binary(level + 1)
        while self.peek() in PRECEDENCE[level]:
            a = self.combine(self.expect(), a, self.parse_binary(level + 1))
        return a

    def combine(self, operator: str, a: TypedValue, b: TypedValue) -> TypedValue:
        w = self.writer
        if operator in ("&&", "||"):
            # No short circuit: operands have no side effects.
            x, y = w.is_true(a), w.is_true(b)
            code = "and" if operator == "&&" else "or"
            return w.bit_as_int(w.assign(f"{code} {vector_type('i1', self.lanes)} {x}, {y}"), self.lanes)
        a, b = w.cast(a, promoted_type(a)), w.cast(b, promoted_type(b))
        to = common_type(a, b)
        a, b = w.cast(a, to), w.cast(b, to)
        column = 0 if a.is_floating else 1 if a.is_signed else 2
        if operator in COMPARISONS:
            kind = "fcmp" if a.is_floating else "icmp"
            bit = w.assign(f"{kind} {COMPARISONS[operator][column]} {a.llvm_type} {a.text}, {b.text}")
            return w.bit_as_int(bit, self.lanes)
        return TypedValue(w.assign(f"{ARITHMETIC[operator][column]} {a.llvm_type} {a.text}, {b.text}"), to, self.lanes)

    def parse_unary(self) -> TypedValue:
        w = self.writer
        token = self.expect()
        if token == "-":
            value = self.parse_unary()
            value = w.cast(value, promoted_type(value))
            zero = splat_constant(value.llvm_element_type, "0", value.lanes)
            code = (
                f"fneg {value.llvm_type} {value.text}"
                if value.is_floating
                else f"sub {value.llvm_type} {zero}, {value.text}"
            )
            result = TypedValue(w.assign(code), value.type, value.lanes)
            return w.fence(result) if value.is_floating else result
        if token == "!":
            true = splat_constant("i1", "true", self.lanes)
            return w.bit_as_int(
                w.assign(f"xor {vector_type('i1', self.lanes)} {w.is_true(self.parse_unary())}, {true}"), self.lanes
            )
        if token == "(":
            if self.peek() in TYPES:
                to = self.expect()
                self.expect(")")
                return w.cast(self.parse_unary(), to)
            value = self.parse_conditional()
            self.expect(")")
            return value
        if token in FUNCTIONS:
            self.expect("(")
            value = self.parse_conditional()
            self.expect(")")
            return w.fence(w.call(FUNCTIONS[token], value))
        if token.isdigit():
            return TypedValue(splat_constant("i32", token, self.lanes), "int32_t", self.lanes)
        return self.names[token]


def write_expression(text: str, names: dict[str, TypedValue], to: str, writer: LlvmWriter) -> TypedValue:
    """Write code for a C expression; the result has the C type ``to``.

    Raises:
        ValueError: the text is outside the grammar.
        KeyError: a name is undefined.
    """
    return writer.cast(ExpressionParser(text, names, writer).parse(), to)
