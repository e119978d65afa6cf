"""LLVM IR as text: types, values and a writer of instructions."""

from __future__ import annotations

from ..record import record

#: C type -> LLVM type
TYPES = {
    "float": "float",
    "double": "double",
    "int8_t": "i8",
    "uint8_t": "i8",
    "uint16_t": "i16",
    "int32_t": "i32",
    "uint32_t": "i32",
    "int64_t": "i64",
    "uint64_t": "i64",
}


class NotCompilable(Exception):
    """The program needs the interpreter."""


@record
class TypedValue:
    """An SSA value: its text and C type; ``lanes`` is the vector length, 0 for a scalar."""

    text: str
    type: str
    lanes: int = 0

    @property
    def llvm_element_type(self) -> str:
        return TYPES[self.type]

    @property
    def llvm_type(self) -> str:
        return vector_type(self.llvm_element_type, self.lanes)

    @property
    def is_signed(self) -> bool:
        return not self.type.startswith("u")

    @property
    def is_floating(self) -> bool:
        return self.llvm_element_type in ("float", "double")

    @property
    def bit_width(self) -> int:
        return bit_width(self.llvm_element_type)


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


def integer_type(nbytes: int) -> str:
    """The integer type of a size in bytes."""
    if nbytes not in (1, 2, 4, 8):
        raise NotCompilable(f"{nbytes} bytes")
    return f"i{8 * nbytes}"


def shuffle_mask(lanes: list[int]) -> str:
    """The mask of a shuffle; -1: undefined lane."""
    return f"<{len(lanes)} x i32> <{', '.join('i32 poison' if lane < 0 else f'i32 {lane}' for lane in lanes)}>"


def padded_lanes(count: int) -> list[int]:
    """The lanes of a vector, and the last one again up to a power of two of lanes."""
    return [min(k, count - 1) for k in range(1 << (count - 1).bit_length())] if count else []


def splat_constant(element: str, text: str, lanes: int) -> str:
    """A constant broadcast to all lanes."""
    return f"<{', '.join([f'{element} {text}'] * lanes)}>" if lanes else text


class LlvmWriter:
    """Writer of LLVM IR, one basic block after the other.

    Args:
        offsets: "struct.field" -> its offset, for ``load_field`` and ``store_field``.
    """

    def __init__(self, offsets: dict[str, int] | None = None) -> None:
        self.offsets = offsets or {}
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

    def select(self, condition: str, t: str, yes: str, no: str) -> str:
        """Select a value, or in a vector type select each lane."""
        return self.assign(f"select {vector_type('i1', element_and_lanes(t)[1])} {condition}, {t} {yes}, {t} {no}")

    def reinterpret(self, text: str, old: str, new: str) -> str:
        """Reinterpret the bits as another type, truncated or zero-extended."""
        if old == new:
            return text
        if element_and_lanes(old)[1] or element_and_lanes(new)[1]:
            if bit_width(old) != bit_width(new):
                raise NotCompilable(f"{old} as {new}")
            return self.assign(f"bitcast {old} {text} to {new}")
        if old in ("float", "double"):
            text, old = self.assign(f"bitcast {old} {text} to i{bit_width(old)}"), f"i{bit_width(old)}"
        if bit_width(old) != bit_width(new):
            code = "zext" if bit_width(old) < bit_width(new) else "trunc"
            text, old = self.assign(f"{code} {old} {text} to i{bit_width(new)}"), f"i{bit_width(new)}"
        return text if old == new else self.assign(f"bitcast {old} {text} to {new}")

    # -- memory

    def address(self, base: str, offset: int | str) -> str:
        return self.assign(f"getelementptr i8, ptr {base}, i64 {offset}")

    def load(self, name: str, llvm: str = "i64") -> str:
        """Load a variable, or from an address, whose name is without its %."""
        return self.assign(f"load {llvm}, ptr %{name}")

    def store(self, name: str, text: str | int, llvm: str = "i64") -> None:
        self.emit(f"store {llvm} {text}, ptr %{name}")

    def load_field(self, base: str, name: str, llvm: str = "i64") -> str:
        """Load a field of a structure."""
        return self.assign(f"load {llvm}, ptr {self.address(base, self.offsets[name])}")

    def load_named_field(self, variable: str, base: str, name: str, llvm: str = "ptr") -> None:
        """Load a field of a structure that the function does not change, under a name of its own."""
        self.emit(f"%{variable} = load {llvm}, ptr {self.address(base, self.offsets[name])}")

    def store_field(self, base: str, name: str, text: str, llvm: str = "i64") -> None:
        self.emit(f"store {llvm} {text}, ptr {self.address(base, self.offsets[name])}")

    def fetch_add(self, address: str, increment: int | str) -> str:
        """Add to an int64 in memory; return the previous value."""
        previous = self.assign(f"load i64, ptr {address}")
        self.emit(f"store i64 {self.add(previous, increment)}, ptr {address}")
        return previous

    # -- vectors; those of 0 lanes are scalars, those of 1 lane do not occur

    def splat(self, element: str, text: str, lanes: int) -> str:
        """A vector with the same value in all lanes."""
        t = vector_type(element, lanes)
        first = self.assign(f"insertelement {t} poison, {element} {text}, i32 0")
        return self.assign(f"shufflevector {t} {first}, {t} poison, {shuffle_mask([0] * lanes)}")

    def resize_vector(self, text: str, old: str, new: str) -> str:
        """Truncate a vector, or extend it with undefined lanes."""
        lanes, new_lanes = element_and_lanes(old)[1], element_and_lanes(new)[1]
        if lanes == new_lanes:
            return text
        mask = shuffle_mask([k if k < lanes else -1 for k in range(new_lanes)])
        return self.assign(f"shufflevector {old} {text}, {old} poison, {mask}")

    def pad_lanes(self, t: str, text: str) -> tuple[str, str]:
        """A vector with copies of its last lane, up to a power of two of lanes, and its type.

        LLVM takes flags of other vectors apart, one by one.
        """
        element, lanes = element_and_lanes(t)
        padded = padded_lanes(lanes)
        if len(padded) == lanes:
            return t, text
        text = self.assign(f"shufflevector {t} {text}, {t} poison, {shuffle_mask(padded)}")
        return vector_type(element, len(padded)), text

    def any_of(self, flags: str, lanes: int) -> str:
        """Is any flag set? There is a power of two of them; see ``pad_lanes``."""
        if not lanes:
            return flags
        bits = self.assign(f"bitcast {vector_type('i1', lanes)} {flags} to i{lanes}")
        return self.compare_integers("ne", f"i{lanes}", bits, 0)

    def any_nan(self, t: str, text: str) -> str:
        """Is any lane NaN?"""
        t, text = self.pad_lanes(t, text)
        return self.any_of(self.assign(f"fcmp uno {t} {text}, {text}"), element_and_lanes(t)[1])

    # -- C

    def cast(self, value: TypedValue, to: str) -> TypedValue:
        """Convert a value to another C type."""
        old, new = value.llvm_element_type, TYPES[to]
        if old == new:
            return TypedValue(value.text, to, value.lanes)
        if value.is_floating:
            code = "fpext" if bit_width(old) < bit_width(new) else "fptrunc"
        elif new in ("float", "double"):
            code = "sitofp" if value.is_signed else "uitofp"
        elif bit_width(old) < bit_width(new):
            code = "sext" if value.is_signed else "zext"
        else:
            code = "trunc"
        text = self.assign(f"{code} {value.llvm_type} {value.text} to {vector_type(new, value.lanes)}")
        result = TypedValue(text, to, value.lanes)
        return self.fence(result) if code in ("sitofp", "uitofp") else result

    def is_true(self, value: TypedValue) -> str:
        """Whether a value is not zero, as i1."""
        compare, zero = ("fcmp une", "0.0") if value.is_floating else ("icmp ne", "0")
        return self.assign(
            f"{compare} {value.llvm_type} {value.text}, {splat_constant(value.llvm_element_type, zero, value.lanes)}"
        )

    def call(self, function: str, value: TypedValue) -> TypedValue:
        """Call an LLVM intrinsic with one argument."""
        name, _, suffix = function.rpartition(".")
        name = f"{name}.v{value.lanes}{suffix}" if value.lanes else function
        self.declared_functions[name] = value.llvm_type, value.llvm_type
        return TypedValue(
            self.assign(f"call {value.llvm_type} @{name}({value.llvm_type} {value.text})"), value.type, value.lanes
        )

    def fence(self, value: TypedValue) -> TypedValue:
        """Hide the origin of a float from LLVM, which otherwise moves signs across operations (a - -b is a + b,
        a * (float)-1 is -a) and so changes the sign of a NaN."""
        return self.call(f"llvm.arithmetic.fence.f{value.bit_width}", value)

    def hide_origin(self, llvm: str, text: str) -> str:
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
        text = self.assign(f"zext {vector_type('i1', lanes)} {bit} to {vector_type('i32', lanes)}")
        return TypedValue(text, "int32_t", lanes)

    def declarations(self) -> list[str]:
        """Declarations of the called intrinsics."""
        functions = self.declared_functions.items()
        return [f"declare {result} @{name}({arguments})" for name, (result, arguments) in functions]
