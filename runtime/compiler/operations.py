"""Code of operations on scalars, and on several register elements as lanes of LLVM vectors."""

from __future__ import annotations

from .c_expression_lowering import write_expression
from .llvm_writer import TYPES, TypedValue, element_and_lanes, padded_lanes, splat_constant, vector_type
from .program import AnyTest, Argument, ExtremeSearch, FoldOrder, ProductOrder, ScalarOperation, size_of
from .registers import RegisterFile


def lane_count(elements: list[int]) -> int:
    """The lanes of a vector with these elements; 0: one element is a scalar."""
    return len(elements) if len(elements) > 1 else 0


def emit_operations(registers: RegisterFile, first: int, last: int) -> None:
    """Emit the operations ``first`` to ``last`` (exclusive) in order. Integer divisors are not 0."""
    program, layout = registers.program, registers.program.layout
    for op, d, a, b, c in program.code[first:last]:
        if op == layout.control["EACH"]:
            apply_elementwise(registers, *program.elementwise_operations[a])
        elif op in layout.choices:
            emit_select(registers, d, a, b, c)
        else:
            emit_operation(registers, layout.operations[op], d, a, b)


def emit_operation(registers: RegisterFile, operation: ScalarOperation, d: int, a: int, b: int) -> None:
    if operation.copied_bytes:
        registers.move(a, d)
        return
    names = {"a": registers.read_as_c_type(a, operation.argument)}
    if operation.binary:
        names["b"] = registers.read_as_c_type(b, operation.argument)
    registers.write_value(d, write_expression(operation.expression, names, operation.result, registers.writer))


def emit_select(registers: RegisterFile, d: int, a: int, b: int, c: int) -> None:
    w, t = registers.writer, registers.types[d]
    yes, no = registers.read_bits(b, t), registers.read_bits(c, t)
    registers.write(d, w.select(registers.is_true(a), t, yes, no))


def apply_elementwise(registers: RegisterFile, op: int, arguments: list[Argument]) -> None:
    """Apply an operation to all lanes. Integer divisors are not 0."""
    *operands, (d, offsets) = arguments
    layout = registers.program.layout
    if op in layout.choices:
        select_lanes(registers, layout.choices[op], arguments)
        return
    operation = layout.operations[op]
    if operation.copied_bytes:
        element = registers.element_type(d, operation.copied_bytes)
        registers.scatter_lanes(d, element, offsets, registers.gather_lanes(operands[0][0], element, operands[0][1]))
        return
    element = TYPES[operation.argument]
    values = [registers.gather_lanes(register, element, operand_offsets) for register, operand_offsets in operands]
    compute = divide_lanes if operation.divides and len(offsets) > 1 else compute_lanes
    text = compute(registers, operation, values, len(offsets))
    registers.scatter_lanes(d, TYPES[operation.result], offsets, text)


def select_lanes(registers: RegisterFile, nbytes: int, arguments: list[Argument]) -> None:
    w, (*operands, (d, offsets)) = registers.writer, arguments
    lanes, element = lane_count(offsets), registers.element_type(d, nbytes)
    (flags, flag_offsets), *choices = operands
    mask = w.is_true(TypedValue(registers.gather_lanes(flags, "i8", flag_offsets), "uint8_t", lanes))
    yes, no = (registers.gather_lanes(register, element, operand_offsets) for register, operand_offsets in choices)
    registers.scatter_lanes(d, element, offsets, w.select(mask, vector_type(element, lanes), yes, no))


def compute_lanes(registers: RegisterFile, operation: ScalarOperation, values: list[str], n: int) -> str:
    lanes = n if n > 1 else 0
    names = {name: TypedValue(text, operation.argument, lanes) for name, text in zip("ab", values, strict=False)}
    return write_expression(operation.expression, names, operation.result, registers.writer).text


def divide_lanes(registers: RegisterFile, operation: ScalarOperation, values: list[str], n: int) -> str:
    """Divide integers lane by lane: a guarded division must not trap in another lane."""
    w, t = registers.writer, vector_type(TYPES[operation.argument], n)
    result, result_type = "poison", vector_type(TYPES[operation.result], n)
    for lane in range(n):
        texts = [w.assign(f"extractelement {t} {text}, i32 {lane}") for text in values]
        quotient = compute_lanes(registers, operation, texts, 1)
        result = w.assign(f"insertelement {result_type} {result}, {TYPES[operation.result]} {quotient}, i32 {lane}")
    return result


def has_zero(registers: RegisterFile, c_type: str, argument: Argument) -> str:
    """Is any element 0?"""
    w, (register, offsets), element = registers.writer, argument, TYPES[c_type]
    divisors = registers.gather_lanes(register, element, offsets)
    t, divisors = w.pad_lanes(vector_type(element, lane_count(offsets)), divisors)
    lanes = element_and_lanes(t)[1]
    return w.any_of(w.assign(f"icmp eq {t} {divisors}, {splat_constant(element, '0', lanes)}"), lanes)


def any_holds(registers: RegisterFile, test: AnyTest) -> str:
    """Does the relation of a test hold for any element?"""
    w, element, size = registers.writer, TYPES[test.c_type], size_of(test.c_type)
    places = [size * k for k in padded_lanes(test.count)]
    a = registers.gather_in_entry_block(test.a, element, places)
    b = registers.gather_in_entry_block(test.b, element, [0] * len(places) if test.is_scalar else places)
    names = {name: TypedValue(text, test.c_type, lane_count(places)) for name, text in (("a", a), ("b", b))}
    return w.any_of(w.is_true(write_expression(test.expression, names, "uint8_t", w)), lane_count(places))


def inline_node(
    registers: RegisterFile, order: ProductOrder | ExtremeSearch | FoldOrder
) -> tuple[list[tuple[Argument, str, str]], str]:
    """The results of a node (argument, element type, lanes), and whether its kernels have to determine them instead."""
    if isinstance(order, ExtremeSearch):
        return search(registers, order)
    if isinstance(order, FoldOrder):
        total, is_nan = fold(registers, order)
        return [(order.result, TYPES[registers.program.layout.operations[order.op].result], total)], is_nan
    total, is_nan = multiply_matrices(registers, order)
    return [(order.result, "float", total)], is_nan


def multiply_matrices(registers: RegisterFile, order: ProductOrder) -> tuple[str, str]:
    """The elements of a product as lanes, and whether any is NaN: only the kernel determines which NaN results."""
    w, lanes = registers.writer, lane_count(order.result[1])
    t = vector_type("float", lanes)
    fma = f"llvm.fma.v{lanes}f32" if lanes else "llvm.fma.f32"
    if order.fused and order.a[1]:
        w.declared_functions[fma] = t, f"{t}, {t}, {t}"
    total = splat_constant("float", "0.0", lanes)
    for a_offsets, b_offsets in zip(order.a[1], order.b[1], strict=True):
        a = registers.gather_lanes(order.a[0], "float", a_offsets)
        b = registers.gather_in_entry_block(order.b[0], "float", b_offsets)
        if order.fused:
            total = w.assign(f"call {t} @{fma}({t} {a}, {t} {b}, {t} {total})")
        else:
            total = w.assign(f"fadd {t} {total}, {w.assign(f'fmul {t} {a}, {b}')}")
    return total, w.any_nan(t, total)


def fold(registers: RegisterFile, order: FoldOrder) -> tuple[str, str]:
    """The reduction as lanes, and whether any is NaN: only the kernel determines which NaN results."""
    w, n, operation = registers.writer, len(order.result[1]), registers.program.layout.operations[order.op]
    element = TYPES[operation.argument]
    numbers = [registers.gather_lanes(order.x[0], element, offsets) for offsets in order.x[1]]
    total = registers.gather_lanes(order.begin[0], element, order.begin[1])
    # A sum propagates NaN; an extreme has to test.
    w.assume_no_nan = adds = operation.name.startswith("add_")
    part = order.part if adds and order.part else 1
    for k in range(0, len(numbers), part):
        block = sum_pairwise(registers, operation, numbers[k : k + part], n)
        total = compute_lanes(registers, operation, [total, block], n)
    w.assume_no_nan = False
    if element not in ("float", "double"):
        return total, "false"
    return total, w.any_nan(vector_type(element, lane_count(order.result[1])), total)


def sum_pairwise(registers: RegisterFile, operation: ScalarOperation, numbers: list[str], n: int) -> str:
    """NumPy's sum of up to 128 numbers: eight partial sums, added in pairs, then the remainder."""

    def add(a: str, b: str) -> str:
        return compute_lanes(registers, operation, [a, b], n)

    full = len(numbers) // 8 * 8
    sums, rest = (numbers[:8], numbers[full:]) if full else (numbers[:1], numbers[1:])
    for k in range(8, full, 8):
        sums = list(map(add, sums, numbers[k : k + 8]))
    while len(sums) > 1:
        sums = list(map(add, sums[::2], sums[1::2]))
    total = sums[0]
    for number in rest:
        total = add(total, number)
    return total


def search(registers: RegisterFile, order: ExtremeSearch) -> tuple[list[tuple[Argument, str, str]], str]:
    """The indices of the extremes and, if wanted, the extremes."""
    w, lanes, element = registers.writer, lane_count(order.result[1]), TYPES[order.c_type]
    t, index_type = vector_type(element, lanes), vector_type("i32", lanes)
    best, *rows = [registers.gather_lanes(order.x[0], element, offsets) for offsets in order.x[1]]
    indices = splat_constant("i32", "0", lanes)
    for index, row in enumerate(rows, 1):
        better = is_better_extreme(registers, order, lanes, row, best)
        best = w.select(better, t, row, best)
        indices = w.select(better, index_type, splat_constant("i32", str(index), lanes), indices)
    results = [(order.result, "i64", w.assign(f"zext {index_type} {indices} to {vector_type('i64', lanes)}"))]
    if order.values is None:
        return results, "false"
    skips_nan = not order.greatest and element in ("float", "double")
    return [*results, (order.values, element, best)], w.any_nan(t, best) if skips_nan else "false"


def is_better_extreme(registers: RegisterFile, order: ExtremeSearch, lanes: int, a: str, b: str) -> str:
    """Does element ``a`` replace the earlier element ``b``?"""
    w, prefix = registers.writer, "g" if order.greatest else "l"
    t, flags = vector_type(TYPES[order.c_type], lanes), vector_type("i1", lanes)
    if TYPES[order.c_type].startswith("i"):
        return w.compare_integers(f"s{prefix}{'e' if order.last else 't'}", t, a, b)
    if order.last:
        not_less, is_nan = w.assign(f"fcmp o{prefix}e {t} {a}, {b}"), w.assign(f"fcmp uno {t} {a}, {a}")
        return w.assign(f"or {flags} {not_less}, {is_nan}")
    beyond, is_number = w.assign(f"fcmp u{prefix}t {t} {a}, {b}"), w.assign(f"fcmp ord {t} {b}, {b}")
    return w.assign(f"and {flags} {beyond}, {is_number}")
