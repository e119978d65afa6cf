"""Translation of C expressions (the scalar operations in ``scalar_ops.h``) to LLVM IR.

The grammar covers what that file uses: C operators on numeric types (with integer promotions), casts, literals and a
few functions. Nothing is contracted and no fast-math flag is set: results are bit-identical to the C compiler's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..record import record

#: C type -> (LLVM type, signed)
TYPES = {
    "float": ("float", True),
    "double": ("double", True),
    "int8_t": ("i8", True),
    "uint8_t": ("i8", False),
    "uint16_t": ("i16", False),
    "int32_t": ("i32", True),
    "uint32_t": ("i32", False),
    "int64_t": ("i64", True),
    "uint64_t": ("i64", False),
}
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


@record
class TypedValue:
    """An SSA value: its text and C type; ``lanes`` is the vector length, 0 for a scalar."""

    text: str
    type: str
    lanes: int = 0

    @property
    def element(self) -> str:
        return TYPES[self.type][0]

    @property
    def llvm(self) -> str:
        return vector_type(self.element, self.lanes)

    @property
    def signed(self) -> bool:
        return TYPES[self.type][1]

    @property
    def floating(self) -> bool:
        return self.element in ("float", "double")

    @property
    def bit_width(self) -> int:
        return bit_width(self.element)


def vector_type(element: str, lanes: int) -> str:
    """The LLVM vector type of ``lanes`` elements, or the scalar type for 0 lanes."""
    return f"<{lanes} x {element}>" if lanes else element


def element_and_lanes(llvm: str) -> tuple[str, int]:
    """The element type and lane count of an LLVM type; 0 lanes: a scalar."""
    lanes, _, element = llvm.strip("<>").partition(" x ")
    return (element, int(lanes)) if element else (llvm, 0)


def bit_width(llvm: str) -> int:
    """The size of an LLVM type in bits."""
    element, lanes = element_and_lanes(llvm)
    return (lanes or 1) * ({"float": 32, "double": 64}.get(element) or int(element[1:]))


def splat_constant(element: str, text: str, lanes: int) -> str:
    """A constant broadcast to all lanes."""
    return f"<{', '.join([f'{element} {text}'] * lanes)}>" if lanes else text


class LlvmWriter:
    """Writer of LLVM IR, one basic block after the other."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = ""
        #: No operand is NaN: x != x is false.
        self.assume_no_nan = False
        #: Called LLVM intrinsics: name -> (result type, argument types).
        self.declared_functions: dict[str, tuple[str, str]] = {}
        self._last = 0

    def fresh_name(self, prefix: str = "v") -> str:
        """Return an unused name."""
        self._last += 1
        return f"{prefix}{self._last}"

    def emit(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def assign(self, code: str) -> str:
        """Emit an instruction and return the name of its result."""
        name = f"%{self.fresh_name()}"
        self.emit(f"{name} = {code}")
        return name

    def begin_block(self, label: str) -> None:
        """Begin a basic block; the previous one must be terminated."""
        self.block = label
        self.lines.append(f"{label}:")

    def branch(self, label: str) -> None:
        self.emit(f"br label %{label}")

    def branch_if(self, condition: str, yes: str, no: str, likely: bool | None = None) -> None:
        """End the block with a conditional branch."""
        weights = "" if likely is None else f", !prof !{0 if likely else 1}"
        self.emit(f"br i1 {condition}, label %{yes}, label %{no}{weights}")

    def compare_integers(self, kind: str, t: str, a: str, b: str | int) -> str:
        """Compare integers; the result is an i1."""
        return self.assign(f"icmp {kind} {t} {a}, {b}")

    def and_(self, a: str, b: str) -> str:
        return self.assign(f"and i1 {a}, {b}")

    def or_(self, a: str, b: str) -> str:
        return self.assign(f"or i1 {a}, {b}")

    def add(self, a: str, b: str | int) -> str:
        """The sum of two i64."""
        return self.assign(f"add i64 {a}, {b}")

    def multiply(self, a: str, b: str | int) -> str:
        """The product of two i64."""
        return self.assign(f"mul i64 {a}, {b}")

    # -- C

    def cast(self, value: TypedValue, to: str) -> TypedValue:
        """Convert a value to another C type."""
        old, new = value.element, TYPES[to][0]
        if old == new:
            return TypedValue(value.text, to, value.lanes)
        if value.floating:
            code = "fpext" if bit_width(old) < bit_width(new) else "fptrunc"
        elif new in ("float", "double"):
            code = "sitofp" if value.signed else "uitofp"
        elif bit_width(old) < bit_width(new):
            code = "sext" if value.signed else "zext"
        else:
            code = "trunc"
        result = TypedValue(
            self.assign(f"{code} {value.llvm} {value.text} to {vector_type(new, value.lanes)}"), to, value.lanes
        )
        return self.fence(result) if code in ("sitofp", "uitofp") else result

    def is_true(self, value: TypedValue) -> str:
        """Whether a value is not zero, as i1."""
        if value.floating:
            return self.assign(
                f"fcmp une {value.llvm} {value.text}, {splat_constant(value.element, '0.0', value.lanes)}"
            )
        return self.assign(f"icmp ne {value.llvm} {value.text}, {splat_constant(value.element, '0', value.lanes)}")

    def call(self, function: str, value: TypedValue) -> TypedValue:
        """Call an LLVM intrinsic with one argument."""
        name, _, suffix = function.rpartition(".")
        name = f"{name}.v{value.lanes}{suffix}" if value.lanes else function
        self.declared_functions[name] = value.llvm, value.llvm
        return TypedValue(self.assign(f"call {value.llvm} @{name}({value.llvm} {value.text})"), value.type, value.lanes)

    def fence(self, value: TypedValue) -> TypedValue:
        """Hide the origin of a float from LLVM, which otherwise moves signs across operations (a - -b is a + b,
        a * (float)-1 is -a) and so changes the sign of a NaN."""
        return self.call(f"llvm.arithmetic.fence.f{value.bit_width}", value)

    def opaque(self, llvm: str, text: str) -> str:
        """Hide the origin of a vector of at least 128 bits from LLVM."""
        element = "double" if bit_width(llvm) % 64 == 0 and bit_width(element_and_lanes(llvm)[0]) == 64 else "float"
        float_type = vector_type(element, bit_width(llvm) // bit_width(element))
        value = TypedValue(text, element, bit_width(llvm) // bit_width(element))
        if llvm != float_type:
            value = TypedValue(self.assign(f"bitcast {llvm} {text} to {float_type}"), element, value.lanes)
        text = self.fence(value).text
        return text if llvm == float_type else self.assign(f"bitcast {float_type} {text} to {llvm}")

    def bit_as_int(self, bit: str, lanes: int) -> TypedValue:
        """Convert an i1 to a C int."""
        return TypedValue(
            self.assign(f"zext {vector_type('i1', lanes)} {bit} to {vector_type('i32', lanes)}"), "int32_t", lanes
        )


def promote(value: TypedValue, writer: LlvmWriter) -> TypedValue:
    """Apply the integer promotion of C."""
    return writer.cast(value, "int32_t") if not value.floating and value.bit_width < 32 else value


def common_type(a: TypedValue, b: TypedValue) -> str:
    """The common type of two values by C's usual arithmetic conversions."""
    for c_type in ("double", "float"):
        if c_type in (a.type, b.type):
            return c_type
    width = max(a.bit_width, b.bit_width)
    unsigned = any(value.bit_width == width and not value.signed for value in (a, b))
    return f"{'u' if unsigned else ''}int{width}_t"


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
        to = common_type(promoted_type(a), promoted_type(b))
        b = w.cast(b, to)
        w.branch(end)
        from_no, rest = w.block, w.lines[insert_index:]
        del w.lines[insert_index:]
        a = w.cast(a, to)
        w.branch(end)
        w.lines += rest
        w.begin_block(end)
        return TypedValue(w.assign(f"phi {TYPES[to][0]} [ {a.text}, %{from_yes} ], [ {b.text}, %{from_no} ]"), to)

    def parse_vector_conditional(self, condition: TypedValue) -> TypedValue:
        """``c ? a : b`` in each lane: evaluates both branches."""
        self.expect("?")
        w = self.writer
        condition_bit = w.is_true(condition)
        a = self.parse_conditional()
        self.expect(":")
        b = self.parse_conditional()
        to = common_type(promoted_type(a), promoted_type(b))
        a, b = w.cast(a, to), w.cast(b, to)
        return TypedValue(
            w.assign(f"select {vector_type('i1', self.lanes)} {condition_bit}, {a.llvm} {a.text}, {b.llvm} {b.text}"),
            to,
            self.lanes,
        )

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
        a, b = promote(a, w), promote(b, w)
        to = common_type(a, b)
        a, b = w.cast(a, to), w.cast(b, to)
        column = 0 if a.floating else 1 if a.signed else 2
        if operator in COMPARISONS:
            kind = "fcmp" if a.floating else "icmp"
            return w.bit_as_int(
                w.assign(f"{kind} {COMPARISONS[operator][column]} {a.llvm} {a.text}, {b.text}"), self.lanes
            )
        return TypedValue(w.assign(f"{ARITHMETIC[operator][column]} {a.llvm} {a.text}, {b.text}"), to, self.lanes)

    def parse_unary(self) -> TypedValue:
        w = self.writer
        token = self.expect()
        if token == "-":
            value = promote(self.parse_unary(), w)
            zero = splat_constant(value.element, "0", value.lanes)
            code = f"fneg {value.llvm} {value.text}" if value.floating else f"sub {value.llvm} {zero}, {value.text}"
            result = TypedValue(w.assign(code), value.type, value.lanes)
            return w.fence(result) if value.floating else result
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


def promoted_type(value: TypedValue) -> TypedValue:
    """The value with its type after integer promotion, for type computation only."""
    return TypedValue(value.text, "int32_t", value.lanes) if not value.floating and value.bit_width < 32 else value


def write_expression(text: str, names: dict[str, TypedValue], to: str, writer: LlvmWriter) -> TypedValue:
    """Write code for a C expression; the result has the C type ``to``.
    Raises:
        ValueError: the text is outside the grammar.
        KeyError: a name is undefined.
    """
    return writer.cast(ExpressionParser(text, names, writer).parse(), to)


def declarations(writer: LlvmWriter) -> Iterator[str]:
    """Declarations of the called intrinsics."""
    for name, (result, arguments) in writer.declared_functions.items():
        yield f"declare {result} @{name}({arguments})"
