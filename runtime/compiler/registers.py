"""Registers of one program: in LLVM variables while its function runs, else in the program's memory."""

from __future__ import annotations

from .llvm_writer import (
    TYPES,
    LlvmWriter,
    TypedValue,
    bit_width,
    element_and_lanes,
    integer_type,
    shuffle_mask,
    vector_type,
)
from .program import ProgramDescription
from .register_types import register_types

#: Bytes of a kernel's argument cell, the width of its vector load: a load wider than the last store fails
#: store-to-load forwarding and stalls.
CELL_BYTES = 64


class RegisterFile:
    """The registers of a program. Each is in an LLVM variable; ``types`` are those of their values."""

    def __init__(self, program: ProgramDescription) -> None:
        self.program = program
        self.writer = LlvmWriter(program.layout.offsets)
        self.types = register_types(program)
        self._entry_end = 0
        self._entry_lines: list[str] = []
        self._gathered: dict[tuple[int, str, tuple[int, ...]], str] = {}

    def read(self, k: int) -> str:
        if k in self.program.constants and self.types[k].startswith("i"):
            return str(self.program.constants[k])
        storage = self.storage_type(k)
        return self.writer.resize_vector(self.writer.load(f"r{k}", storage), storage, self.types[k])

    def read_bits(self, k: int, llvm: str) -> str:
        """The bits of a register as an LLVM type."""
        return self.writer.reinterpret(self.read(k), self.types[k], llvm)

    def read_as_c_type(self, k: int, c_type: str) -> TypedValue:
        """A register as a C type."""
        return TypedValue(self.read_bits(k, TYPES[c_type]), c_type)

    def is_true(self, k: int) -> str:
        """A register of type bool, as i1."""
        return self.writer.is_true(self.read_as_c_type(k, "uint8_t"))

    def write(self, k: int, text: str) -> None:
        storage = self.storage_type(k)
        if storage != self.types[k]:
            text = self.writer.hide_origin(storage, self.writer.resize_vector(text, self.types[k], storage))
        self.writer.store(f"r{k}", text, storage)

    def write_bits(self, k: int, text: str, llvm: str) -> None:
        """Write the bits of an LLVM value."""
        self.write(k, self.writer.reinterpret(text, llvm, self.types[k]))

    def write_value(self, k: int, value: TypedValue) -> None:
        self.write_bits(k, value.text, value.llvm_type)

    def move(self, source: int, to: int) -> None:
        self.write(to, self.read_bits(source, self.types[to]))

    def storage_type(self, k: int) -> str:
        """The type of a register between blocks, with a power of two of lanes: LLVM splits other vectors."""
        element, lanes = element_and_lanes(self.types[k])
        storage = vector_type(element, lanes and 1 << (lanes - 1).bit_length())
        return storage if bit_width(storage) > 128 else self.types[k]

    # -- memory

    def address(self, k: int) -> str:
        """The address of a register in the program's memory."""
        return self.writer.address("%R", self.program.register_offsets[k])

    def fill(self, k: int) -> None:
        """Load a register from the program's memory."""
        self.write(k, self.writer.assign(f"load {self.types[k]}, ptr {self.address(k)}, align 1"))

    def spill(self, k: int, padded: bool = False) -> None:
        """Store a register to the program's memory. ``padded``: with the padding that kernels read."""
        t, text = self.types[k], self.read(k)
        if padded and self.program.registers[k][0] > 8:
            element, _ = element_and_lanes(t)
            target = vector_type(element, -(-bit_width(t) // (8 * CELL_BYTES)) * 8 * CELL_BYTES // bit_width(element))
            t, text = target, self.writer.resize_vector(text, t, target)
        self.writer.emit(f"store {t} {text}, ptr {self.address(k)}, align 1")

    def load_bytes(self, k: int, address: str, nbytes: int) -> None:
        """Load the first ``nbytes`` bytes of a register from an address."""
        t = self.memory_type(k, nbytes)
        self.write_bits(k, self.writer.assign(f"load {t}, ptr {address}, align 1"), t)

    def store_bytes(self, k: int, address: str, nbytes: int) -> None:
        """Store the first ``nbytes`` bytes of a register to an address."""
        t = self.memory_type(k, nbytes)
        self.writer.emit(f"store {t} {self.read_bits(k, t)}, ptr {address}, align 1")

    def memory_type(self, k: int, nbytes: int) -> str:
        """The type of the first ``nbytes`` bytes of a register in memory."""
        return self.types[k] if bit_width(self.types[k]) == 8 * nbytes else integer_type(nbytes)

    # -- elements

    def element_type(self, k: int, nbytes: int) -> str:
        """The type of elements of ``nbytes`` bytes that matches a register."""
        element, _ = element_and_lanes(self.types[k])
        return element if bit_width(element) == 8 * nbytes else f"i{8 * nbytes}"

    def lanes_at(self, k: int, element: str, offsets: list[int]) -> tuple[int, list[int]]:
        """The element count of a register, and the lanes at these byte offsets."""
        size = bit_width(element) // 8
        return max(bit_width(self.types[k]) // bit_width(element), 1), [offset // size for offset in offsets]

    def gather_lanes(self, k: int, element: str, offsets: list[int]) -> str:
        """The elements at these byte offsets as a vector; a single one as a scalar."""
        w = self.writer
        count, lanes = self.lanes_at(k, element, offsets)
        if count == 1:
            value = self.read_bits(k, element)
            return value if len(lanes) == 1 else w.splat(element, value, len(lanes))
        t = vector_type(element, count)
        text = self.read_bits(k, t)
        if len(lanes) == 1:
            return w.assign(f"extractelement {t} {text}, i32 {lanes[0]}")
        if lanes == list(range(count)):
            return text
        return w.assign(f"shufflevector {t} {text}, {t} poison, {shuffle_mask(lanes)}")

    def gather_in_entry_block(self, k: int, element: str, offsets: list[int]) -> str:
        """The same, in the entry block if the program does not change the register: LLVM does not move it there, as
        the loop has two entries."""
        if k not in self.program.unchanged:
            return self.gather_lanes(k, element, offsets)
        key = k, element, tuple(offsets)
        if key not in self._gathered:
            lines, self.writer.lines = self.writer.lines, self._entry_lines
            self._gathered[key] = self.gather_lanes(k, element, offsets)
            self.writer.lines = lines
        return self._gathered[key]

    def mark_entry_block_end(self) -> None:
        """The entry block is complete, but for its branch."""
        self._entry_end = len(self.writer.lines)

    def insert_entry_block_code(self) -> None:
        """Insert what ``gather_in_entry_block`` has put into the entry block."""
        self.writer.lines[self._entry_end : self._entry_end] = self._entry_lines

    def scatter_lanes(self, k: int, element: str, offsets: list[int], text: str) -> None:
        """Write lanes to the elements at these byte offsets; other elements are unchanged."""
        w = self.writer
        count, lanes = self.lanes_at(k, element, offsets)
        if count == 1:
            self.write_bits(k, text, element)
            return
        t = vector_type(element, count)
        if lanes != list(range(count)):
            old = self.read_bits(k, t)
            if len(lanes) == 1:
                text = w.assign(f"insertelement {t} {old}, {element} {text}, i32 {lanes[0]}")
            else:
                source, part = {lane: j for j, lane in enumerate(lanes)}, vector_type(element, len(lanes))
                mask = shuffle_mask([source.get(lane, -1) for lane in range(count)])
                new = w.assign(f"shufflevector {part} {text}, {part} poison, {mask}")
                blend_mask = shuffle_mask([count + lane if lane in source else lane for lane in range(count)])
                text = w.assign(f"shufflevector {t} {old}, {t} {new}, {blend_mask}")
        self.write_bits(k, text, t)
