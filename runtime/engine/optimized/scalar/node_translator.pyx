"""Translation of nodes: registers for their values, and instructions for their calls.

A call with a scalar operation becomes an instruction on numbers or on elements of small tensors; other nodes run their
kernels on registers, which gives the same bits.
"""

from ....kernels.call cimport Call
from ....kernels.loop_nest cimport has_fma, is_gather, is_arg_reduction, is_scalar_call, is_small_product, is_self_contained
from ...baseline.state cimport *
from .element_access cimport ElementAccess, elements_of_call, reduction_offsets, gather_access, matrix_product_offsets, extremum_search_offsets
from .program_structs cimport *

# Limit for all registers of a program.
cdef enum:
    MAX_REGISTERS_BYTES = 16384

# Products of two numbers, or numbers compared, up to which machine code is faster than a kernel.
cdef enum:
    MAX_INLINE_PRODUCTS = 512

# Types whose extremes machine code finds: NumPy's character -> C type and size.
SEARCH_TYPES = {"f": ("float", 4), "d": ("double", 8), "i": ("int32_t", 4), "l": ("int64_t", 8)}

# Sizes of the element types of tests of any element (kernels/reduce/any.h).
ANY_SIZES = (4, 8, 4, 8, 1)


cdef bint is_inline_product(const Call *call) noexcept:
    return is_small_product(call) and 0 < call.dims[1] * call.dims[2] * call.dims[3] <= MAX_INLINE_PRODUCTS


cdef list flat_offsets(list places):
    """The offsets of all numbers of an operand or result of a product."""
    return [offset for each in places for offset in each] if isinstance(places[0], list) else places


class NotScalar(Exception):
    """A scalar program cannot run the loop."""


cdef class NodeTranslator:
    """Collects instructions in Python lists, with registers as byte offsets; -1: none."""

    def __init__(self, plan, set changing):
        self.plan, self.changing = plan, changing
        self.registers, self.values, self.nbytes, self.used, self.large = {}, [], 0, 0, set()
        self.code, self.positions, self.calls, self.loads = [], [], [], []
        self.elementwise_operations, self.nodes, self.any_tests = [], [], []
        self.fixed, self.boundary_registers = {}, {}
        self.constants = {slot for slot, _ in plan.constants}

    cdef int slot(self, int k) except -1:
        """The register of a slot."""
        cdef Slot *slot = self.s.slots + k
        if k in self.boundary_registers:
            if self.boundary_registers[k] < 0:
                raise NotScalar
            return self.boundary_registers[k]
        if k >= len(self.plan.slots):
            raise NotScalar     # derived from another loop
        if slot.spec == 0 or slot.data == NULL or not 0 < slot.nbytes <= REGISTER_BYTES:
            raise NotScalar
        return self.register(("slot", k), k, 0, slot.nbytes, True)

    cdef int optional_slot_register(self, int k) except -2:
        return -1 if k < 0 else self.slot(k)

    cdef int register(self, tuple key, int slot, size_t cell, Py_ssize_t nbytes, bint exact) except -1:
        cdef Py_ssize_t alignment
        if key not in self.registers:
            alignment = REGISTER_ALIGNMENT_BYTES if nbytes > 8 else 8
            self.nbytes = (self.nbytes + alignment - 1) // alignment * alignment
            self.registers[key] = self.nbytes
            self.values.append((slot, cell, self.nbytes, nbytes, exact))
            self.nbytes += (nbytes + alignment - 1) // alignment * alignment
            self.used += nbytes
            if self.used > MAX_REGISTERS_BYTES:
                raise NotScalar
        return self.registers[key]

    cdef list moves(self, int source, int target):
        """Moves of 8 bytes from one register to another. Both are slots of one spec."""
        a, b = self.slot(source), self.slot(target)
        return [(a + k, b + k) for k in range(0, self.s.slots[target].nbytes, 8)]

    cdef int slot_of_cell(self, char **cell) except -2:
        """The slot of a call's argument; -1: a temp."""
        cdef size_t first = <size_t>&self.s.slots[0].data
        cdef size_t address = <size_t>cell
        cdef size_t end = first + self.s.nslots * sizeof(Slot)
        if not first <= address < end:
            return -1
        if (address - first) % sizeof(Slot):
            raise NotScalar     # a sequence
        return <int>((address - first) // sizeof(Slot))

    cdef int argument(self, Call *call, int j, dict temps) except -1:
        """The register of a call's argument. ``temps``: sizes of temps; others hold one number."""
        cdef int slot = self.slot_of_cell(call.cell[j])
        cdef size_t cell = <size_t>call.cell[j]
        if slot >= 0:
            return self.slot(slot)
        # Temps have at least 8 bytes.
        return self.register(("temp", cell), -1, cell, temps.get(cell, 8), cell in temps)

    def emit(self, int position, int op, int d=0, int a=0, int b=0, int c=0):
        """Append an instruction; returns its index."""
        self.code.append((op, d, a, b, c))
        self.positions.append(position)
        return len(self.code) - 1

    cdef int node(self, int pc, Instr *ins, char **answer) except -1:
        """Translate a bound node: into instructions if all of its calls have one, else as kernels. ``answer``: the cell
        of a predicate's result."""
        cdef int k
        cdef ElementAccess e
        elements = [self.elements(ins.calls + k) for k in range(ins.ncalls)]
        temps = {}      # cell -> bytes of the node's own memory
        products = {}       # call -> its order
        for k in range(ins.ncalls):
            if is_inline_product(ins.calls + k):
                places = matrix_product_offsets(ins.calls + k)
                for j in range(3):
                    cell = <size_t>ins.calls[k].cell[j]
                    temps[cell] = max(temps.get(cell, 0), 4 + max(flat_offsets(places[j])))
                if all([self.port_bytes(ins.calls + k, j) <= REGISTER_BYTES and
                        temps[<size_t>ins.calls[k].cell[j]] <= REGISTER_BYTES for j in range(3)]):
                    products[k] = places
        tests = {k for k in range(ins.ncalls) if self.is_any_test(ins.calls + k)}
        if not all([elements[k] is not None or k in products or k in tests or self.has_scalar_arguments(ins.calls + k) or
                    self.is_invariant_gather(ins.calls + k) for k in range(ins.ncalls)]):
            return self.emit_kernel_node(pc, ins, answer)
        for k in tests:
            for j in range(ins.calls[k].nargs - 1):
                cell = <size_t>ins.calls[k].cell[<int>j]
                n = 1 if j and ins.calls[k].extra[2] else ins.calls[k].extra[3]
                temps[cell] = max(temps.get(cell, 0), n * ANY_SIZES[ins.calls[k].extra[0]])
        for k, e in enumerate(elements):
            for j, size, places in zip(e.arguments, e.sizes, e.places) if e is not None else ():
                cell = <size_t>ins.calls[k].cell[<int>j]
                temps[cell] = max(temps.get(cell, 0), max(places) + size)
        for k, e in enumerate(elements):
            registers = [self.argument(ins.calls + k, j, temps) for j in self.arguments(ins.calls + k, e)]
            if k in products:
                self.nodes.append((<size_t>(ins.calls + k), 1, ins.cost, [registers], [registers[2]],
                                   ("product", (has_fma(),), *zip(registers, products[k]))))
                self.emit(pc, OP_NODE, a=len(self.nodes) - 1)
            elif k in tests:
                self.emit_any_test(pc, <size_t>(ins.calls + k), registers)
            elif e is not None:
                self.emit_elementwise(pc, ins.calls + k, e, registers)
            elif is_gather(ins.calls + k):
                self.load(pc, ins.calls + k, registers[0], registers[1])
            else:
                self.emit_scalar_call(pc, ins.calls + k, registers)

    cdef list arguments(self, Call *call, ElementAccess e):
        """The indices of a call's register arguments."""
        return e.arguments if e is not None else [1, 2] if is_gather(call) else list(range(call.nargs))

    cdef ElementAccess elements(self, Call *call):
        """The elements of an operation on registers; None for other calls."""
        cdef ElementAccess e = gather_access(call, self.indices(call)) if is_gather(call) else elements_of_call(call)
        cdef Py_ssize_t nbytes
        if e is None:
            return None
        for j, size, places in zip(e.arguments, e.sizes, e.places):
            nbytes = self.port_bytes(call, j)
            if nbytes > REGISTER_BYTES or 0 <= nbytes < max(places) + size:
                return None
        return e

    cdef bytes indices(self, Call *call):
        """The indices of a Gather if they are constants of the model, which the program then assumes; else b"" """
        cdef int slot = self.slot_of_cell(call.cell[1])
        cdef Py_ssize_t nbytes = call.extra[3] * call.extra[4]
        if slot not in self.constants or call.offset[1] or self.s.slots[slot].nbytes != nbytes:
            return b""
        self.fixed[slot] = (<const char *>self.s.slots[slot].data)[:nbytes]
        return self.fixed[slot]

    cdef Py_ssize_t port_bytes(self, Call *call, int j) except -2:
        """The size of the slot of a call's argument; -1: a temp."""
        cdef int slot = self.slot_of_cell(call.cell[j])
        return -1 if slot < 0 else self.s.slots[slot].nbytes

    cdef bint is_number(self, Call *call, int j) except -1:
        """Does an argument fill a register of at most 8 bytes?"""
        return not call.offset[j] and self.port_bytes(call, j) <= 8

    cdef bint has_scalar_arguments(self, Call *call) except -1:
        return is_scalar_call(call) and all([self.is_number(call, j) for j in range(call.nargs)])

    cdef bint is_invariant_gather(self, Call *call) except -1:
        """Is it a Gather of one part of a tensor that the loop does not write?"""
        # extra: outer count, axis length, block bytes, number of indices, bytes of an index
        return is_gather(call) and call.extra[0] == 1 and call.extra[3] == 1 and self.is_number(call, 1) and \
            not call.offset[2] and 0 < call.extra[2] <= REGISTER_BYTES and \
            (self.port_bytes(call, 2) == call.extra[2] or (self.port_bytes(call, 2) < 0 and call.extra[2] <= 8)) and \
            self.slot_of_cell(call.cell[0]) not in self.changing

    cdef int load(self, int pc, Call *call, int index, int result) except -1:
        source = self.slot_of_cell(call.cell[0])
        base = 0 if source >= 0 else <size_t>call.cell[0][0]
        self.loads.append((source, call.offset[0], call.extra[2], call.extra[1], base, index, call.extra[4] == 8))
        self.emit(pc, OP_LOAD, d=result, a=len(self.loads) - 1)

    cdef bint is_any_test(self, Call *call) except -1:
        """Is it a test of any element, of values that fill registers?"""
        from ....kernels.bindings.data_movement import ROUTINES

        return <size_t>call.run == ROUTINES["any"] and all([
            not call.offset[j] and self.port_bytes(call, j) <= REGISTER_BYTES for j in range(call.nargs)]) and \
            call.extra[3] * ANY_SIZES[call.extra[0]] <= REGISTER_BYTES

    def emit_any_test(self, int pc, size_t address, list registers):
        from ....kernels.bindings.data_movement import any_function_address

        cdef Call *call = <Call *>address
        parameters = call.extra[0], call.extra[1], call.extra[2]
        operands = registers[0], registers[len(registers) - 2]
        self.any_tests.append((any_function_address(*parameters), *parameters, *operands, call.extra[3]))
        self.emit(pc, OP_ANY, d=registers[len(registers) - 1], a=len(self.any_tests) - 1)

    cdef int emit_scalar_call(self, int pc, Call *call, list registers) except -1:
        self.calls.append((<size_t>call.loop, <size_t>call.data, registers, [call.steps[j] for j in range(call.nargs)]))
        self.emit(pc, OP_CALL, a=len(self.calls) - 1)

    cdef int emit_elementwise(self, int pc, Call *call, ElementAccess e, list registers) except -1:
        """Emit an operation on whole registers, or on elements in them."""
        is_whole = all([places == [0] and self.port_bytes(call, j) in (-1, size)
                    for j, size, places in zip(e.arguments, e.sizes, e.places)])
        if is_whole:
            last = len(registers) - 1
            inputs = (registers[:last] + [0, 0, 0])[:3]
            self.emit(pc, e.op, registers[last], inputs[0], inputs[1], inputs[2])
            return 0
        places = [[register + offset for offset in places] for register, places in zip(registers, e.places)]
        self.elementwise_operations.append((e.op, registers, places, 0 if is_gather(call) else <size_t>call))
        self.emit(pc, OP_EACH, a=len(self.elementwise_operations) - 1)

    cdef int emit_kernel_node(self, int pc, Instr *ins, char **answer) except -1:
        """Run a node by its kernels. Arguments without a register stay in place: temps, and unwritten slots."""
        cdef int k
        registers, results = [], [self.slot(slot) for slot in self.results(pc, answer)]
        for k in range(ins.ncalls):
            if not is_self_contained(ins.calls + k):
                raise NotScalar
            registers.append([self.place(ins.calls + k, j, answer) for j in range(ins.calls[k].nargs)])
        if answer != NULL and self.slot_of_cell(answer) < 0:
            results.append(self.register(("temp", <size_t>answer), -1, <size_t>answer, 8, False))
        order = None
        if ins.ncalls == 1 and is_arg_reduction(ins.calls):
            order = self.search(ins.calls, ins.calls, 1)
        elif ins.ncalls == 2:
            order = self.top_one_search(ins.calls) if is_arg_reduction(ins.calls) else self.fold(ins.calls)
        self.nodes.append((<size_t>ins.calls, ins.ncalls, ins.cost, registers, results, order))
        self.emit(pc, OP_NODE, a=len(self.nodes) - 1)

    cdef object search(self, Call *call, Call *last, int j):
        """How a call searches for extremes: ("search", (C type, is it the maximum, the last), and for x and the
        indices: register, places); None: it does not. Argument ``j`` of the call ``last`` has the indices."""
        kind = SEARCH_TYPES.get(chr(call.extra[0]))
        if kind is None or not 0 <= self.port_bytes(call, 0) <= REGISTER_BYTES or self.port_bytes(last, j) < 0 or \
                call.extra[1] * call.extra[2] * call.extra[3] > MAX_INLINE_PRODUCTS:
            return None
        x, count = extremum_search_offsets(call, kind[1])
        return "search", (kind[0], bool(call.extra[4]), bool(call.extra[5])), (self.argument(call, 0, {}), x), \
            (self.argument(last, j, {}), [last.offset[j] + 8 * k for k in range(count)])

    cdef object top_one_search(self, Call *calls):
        """How TopK with k = 1 is done: a search for extremes, whose second call copies them too."""
        from ....kernels.bindings.data_movement import ROUTINES

        cdef Call *pick = calls + 1
        if <size_t>pick.run != ROUTINES["top1"] or pick.cell[0] != calls.cell[0] or pick.cell[1] != calls.cell[1] or \
                pick.offset[0] != calls.offset[0] or pick.offset[1] != calls.offset[1] or self.port_bytes(pick, 2) < 0:
            return None
        order = self.search(calls, pick, 3)
        if order is None:
            return None
        size = SEARCH_TYPES[chr(calls.extra[0])][1]
        values = [pick.offset[2] + size * k for k in range(len(order[3][1]))]
        return *order, (self.argument(pick, 2, {}), values)

    cdef object fold(self, Call *calls):
        """How two calls fold numbers into a result: ("fold", (opcode, numbers of a part), register and places of the
        initial values, of the operands and of the result); None: they do not."""
        cdef tuple fold = reduction_offsets(calls, calls + 1)
        if fold is None or not 0 <= self.port_bytes(calls + 1, 1) <= REGISTER_BYTES or \
                self.port_bytes(calls + 1, 2) < 0:
            return None
        op, part, size, starts, x, result = fold
        if len(x) * len(result) > MAX_INLINE_PRODUCTS or self.port_bytes(calls, 0) > REGISTER_BYTES:
            return None
        begin = self.argument(calls, 0, {<size_t>calls.cell[0]: max(starts) + size})
        return "fold", (op, part), (begin, starts), (self.argument(calls + 1, 1, {}), x), \
            (self.argument(calls + 1, 2, {}), result)

    cdef list results(self, int pc, char **answer):
        """Slots that a node writes."""
        slots = self.plan.code[pc].outputs if answer == NULL else [self.slot_of_cell(answer)]
        return [slot for slot in slots if slot >= 0]

    cdef int place(self, Call *call, int j, char **answer) except -2:
        """The register of an argument of a kernel node; -1: none."""
        cdef int slot = self.slot_of_cell(call.cell[j])
        if call.cell[j] == answer or (slot >= 0 and self.s.slots[slot].nbytes <= REGISTER_BYTES):
            return self.argument(call, j, {})
        if slot >= 0:
            self.large.add(slot)
        return -1
