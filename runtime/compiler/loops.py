"""Code of the loops of a program: entry, boundary, test, head and end."""

from __future__ import annotations

from .llvm_writer import TypedValue
from .prologue_epilogue import exit_if
from .registers import RegisterFile


class LoopCode:
    """Emits the code of one loop; number 0 is the outermost one, the root."""

    def __init__(self, registers: RegisterFile, number: int) -> None:
        self.registers, self.writer = registers, registers.writer
        self.number, self.loop = number, registers.program.loops[number]

    def load(self, name: str, llvm: str = "i64") -> str:
        """Load a variable of the loop."""
        return self.writer.load(f"{name}{self.number}", llvm)

    def store(self, name: str, text: str | int, llvm: str = "i64") -> None:
        self.writer.store(f"{name}{self.number}", text, llvm)

    def store_continue_flag(self, keep: str) -> None:
        """Store an i1, whether the loop continues."""
        self.store("keep", self.writer.assign(f"zext i1 {keep} to i32"), "i32")

    def exit_if(self, condition: str, status: str, instruction: int = 0) -> None:
        exit_if(self.registers, condition, status, self.number, instruction)

    # -- entry

    def enter(self, k: int) -> None:
        """Enter an inner loop, at instruction ``k`` of its parent."""
        w, loop, registers = self.writer, self.loop, self.registers
        if loop["recorders"]:
            exit_if(registers, self.is_full(), "AT_INSN", loop["parent"], k)
        self.store("trips", self.trip_count(k))
        keep = "true" if loop["initial"] < 0 else registers.is_true(loop["initial"])
        self.store_continue_flag(keep)
        if loop["cond_in"] >= 0:
            registers.write_value(loop["cond_in"], TypedValue(w.assign(f"zext i1 {keep} to i8"), "uint8_t"))
        for source, to in loop["init"]:
            registers.move(source, to)
        self.store("i", 0)
        self.store("stop_before", self.iteration_limit())
        entry = w.fetch_add(f"%entries{self.number}", 1)
        if loop["history"]:
            w.emit(f"call void @loopdbg_begin(ptr %history{self.number}, i64 {entry}, i64 0)")
            self.append_history([(param, series, count) for _, param, series, count in loop["notes"] if param >= 0])
        self.start_iteration("0", f"head{self.number}")

    def trip_count(self, k: int) -> str:
        """The trip count of an entry; exits if it is invalid (``loop_trips`` in termination.h)."""
        w, loop, numbers = self.writer, self.loop, self.registers.program.layout.numbers
        if loop["trip"] < 0:
            return str(loop["fixed_trips"])
        trips = self.registers.read_as_c_type(loop["trip"], "int64_t" if loop["trip_wide"] else "int32_t")
        text = w.cast(trips, "int64_t").text
        below = w.compare_integers("slt", "i64", text, 0)
        if loop["negative"] == numbers["NO_ITERATION"]:
            return w.select(below, "i64", "0", text)
        if loop["negative"] == numbers["NO_LIMIT"]:
            below = w.compare_integers("slt", "i64", text, -1)
        exit_if(self.registers, below, "AT_INSN", loop["parent"], k)
        return text

    def iteration_limit(self) -> str:
        """``loop_limit`` in termination.h."""
        w, address = self.writer, f"%L{self.number}"
        stop, endless_at = w.load_field(address, "loop.stop"), w.load_field(address, "loop.endless_at")
        trips = self.load("trips")
        is_set = w.compare_integers("sge", "i64", endless_at, 0)
        earlier = w.and_(is_set, w.compare_integers("slt", "i64", endless_at, stop))
        unlimited = w.or_(w.compare_integers("slt", "i64", trips, 0), w.compare_integers("eq", "i64", trips, 2**63 - 1))
        return w.select(w.and_(earlier, unlimited), "i64", endless_at, stop)

    def start_iteration(self, i: str, body: str) -> None:
        """Go from a boundary to the next iteration, through the test of the loop where it has one."""
        w, test = self.writer, self.loop["test"]
        if test >= 0:
            trips, untested = self.load("trips"), w.fresh_name("untested")
            tested = w.or_(w.compare_integers("slt", "i64", trips, 0), w.compare_integers("slt", "i64", i, trips))
            w.branch_if(tested, f"at{test}", untested)
            w.begin_block(untested)
        self.record(i)
        w.branch(body)

    # -- records

    def is_full(self) -> str:
        """Is a recorder's buffer full?"""
        w = self.writer
        return w.compare_integers("ne", "i32", w.assign(f"call i32 @loopdbg_full(ptr %L{self.number})"), 0)

    def record(self, i: str) -> None:
        """Add a record to each recorder."""
        if self.loop["recorders"]:
            for k in self.loop["recorded"]:
                self.registers.spill(k)
            self.writer.emit(f"call void @loopdbg_record(ptr %R, ptr %L{self.number}, i64 {i})")

    def append_history(self, values: list[tuple[int, int, int]]) -> None:
        """Append a row to the history; values are (register, series, element count)."""
        w, history, numbers = self.writer, f"%history{self.number}", self.registers.program.layout.numbers
        rows, full, free = numbers["ROWS"], w.fresh_name("full"), w.fresh_name("free")
        entry = w.load_field(history, "history.now", "ptr")
        count = w.load_field(entry, "entry.n", "i32")
        w.branch_if(w.compare_integers("eq", "i32", count, rows), full, free, likely=False)
        w.begin_block(full)
        w.emit(f"call void @loopdbg_flush(ptr {history}, ptr {entry})")
        w.branch(free)
        w.begin_block(free)
        count = w.assign(f"sext i32 {w.load_field(entry, 'entry.n', 'i32')} to i64")
        w.store_field(entry, "entry.n", w.assign(f"trunc i64 {w.add(count, 1)} to i32"), "i32")
        row = w.address(w.load_field(entry, "entry.ring", "ptr"), w.multiply(count, 8))
        for k, series, elements in values:
            if elements == 1:
                address = w.address(row, 8 * series * numbers["COLUMNS"] * rows)
                w.emit(f"store i64 {self.registers.read_bits(k, 'i64')}, ptr {address}")
            else:
                self.registers.spill(k)
                arguments = f"ptr {history}, i32 {series}, ptr {row}, ptr {self.registers.address(k)}, i64 {elements}"
                w.emit(f"call void @loopdbg_note({arguments})")

    # -- boundary

    def emit_boundary(self, k: int, root_bound: str) -> None:
        """Cross the boundary after an iteration, whose last instruction is ``k``."""
        w, loop, is_root = self.writer, self.loop, self.number == 0
        if loop["cond"] >= 0:
            keep = w.assign(f"zext i1 {self.registers.is_true(loop['cond'])} to i32")
        else:
            keep = self.load("keep", "i32")
        i = w.add(self.load("i"), 1)
        fuel = w.assign(f"sub i64 {w.load('fuel')}, {4 + k - loop['body']}")
        w.store("fuel", fuel)
        self.exit_if(w.compare_integers("slt", "i64", fuel, 0), "TICK", k)
        stop = w.compare_integers("sge", "i64", i, root_bound if is_root else self.load("stop_before"))
        watched = w.compare_integers("ne", "i32", w.assign("load volatile i32, ptr %watch"), 0)
        self.exit_if(w.or_(stop, watched), "AT_NEXT")
        if is_root:
            self.exit_if(w.compare_integers("eq", "i32", keep, 0), "AT_NEXT")
            for j in range(len(loop["scans"])):
                self.exit_if(w.assign(f"icmp eq i64 {w.load(f'count{j}')}, %capacity{j}"), "AT_NEXT")
        if loop["recorders"]:
            self.exit_if(self.is_full(), "AT_NEXT")
        for j, (source, nbytes) in enumerate(loop["scans"]):
            count = w.load(f"count{j}")
            self.registers.store_bytes(source, w.address(f"%buffer{j}", w.multiply(count, nbytes)), nbytes)
            w.store(f"count{j}", w.add(count, 1))
        self.store("keep", keep, "i32")
        if loop["history"]:
            self.append_history([(result, series, count) for result, _, series, count in loop["notes"]])
        self.copy_carried_values()
        self.store("i", i)
        self.start_iteration(i, "run0" if is_root else f"head{self.number}")

    def copy_carried_values(self) -> None:
        """Copy the carried values along the back edges; a parallel copy where staged."""
        registers, moves = self.registers, self.loop["moves"]
        if not self.loop["staged"]:
            for source, to in moves:
                registers.move(source, to)
            return
        values = [(registers.read_bits(source, registers.types[to]), to) for source, to in moves]
        for text, to in values:
            registers.write(to, text)

    def test(self, k: int, condition: int) -> None:
        """Test the condition before an iteration."""
        w = self.writer
        w.store("fuel", w.assign(f"sub i64 {w.load('fuel')}, {k - self.loop['test']}"))
        keep = self.registers.is_true(condition)
        self.store_continue_flag(keep)
        if not self.number:
            self.exit_if(w.assign(f"xor i1 {keep}, true"), "AT_TEST")
        if self.loop["recorders"]:
            self.record(self.load("i"))
        w.branch(f"head{self.number}" if self.number else "run0")

    # -- head

    def head(self) -> None:
        """Emit the head of the loop: tests before an iteration."""
        w, loop, number = self.writer, self.loop, self.number
        w.begin_block(f"head{number}")
        i = self.load("i")
        self.count()
        trips, keep = self.load("trips"), self.load("keep", "i32")
        refused = w.compare_integers("eq", "i32", keep, 0)
        exhausted = w.and_(w.compare_integers("sge", "i64", trips, 0), w.compare_integers("sge", "i64", i, trips))
        ends = w.or_(refused, exhausted)
        if number:
            self.end(ends, refused, i)
        else:
            self.exit_if(ends, "AT_HEAD")
            if loop["counted"] or loop["slices"]:
                self.exit_if(w.compare_integers("sge", "i64", i, "%parts0"), "AT_HEAD")
        self.exit_if(w.compare_integers("sge", "i64", i, self.load("stop_before")), "AT_HEAD")
        w.branch(f"run{number}")
        w.begin_block(f"run{number}")
        if not number:
            self.count()
            for j, (to, nbytes) in enumerate(loop["slices"]):
                offset = w.assign(f"mul i64 {w.load('i0')}, %step{j}")
                self.registers.load_bytes(to, w.address(f"%base{j}", offset), nbytes)
        w.branch(f"at{loop['body']}")

    def count(self) -> None:
        """Store the iteration number that the body reads."""
        loop = self.loop
        if loop["iteration"] >= 0:
            i = TypedValue(self.load("i"), "int64_t")
            i = self.writer.cast(i, "int64_t" if loop["iteration_wide"] else "int32_t")
            self.registers.write_value(loop["iteration"], i)

    def end(self, ends: str, refused: str, i: str) -> None:
        """End an inner loop, if ``ends``: copy its outputs out and continue after it."""
        w, numbers, number = self.writer, self.registers.program.layout.numbers, self.number
        ended, continued = w.fresh_name("over"), w.fresh_name("on")
        w.branch_if(ends, ended, continued)
        w.begin_block(ended)
        w.fetch_add(f"%iterations{number}", i)
        reason = w.select(refused, "i32", str(numbers["BY_CONDITION"]), str(numbers["BY_TRIP_COUNT"]))
        w.fetch_add(w.address(f"%by_reason{number}", w.multiply(w.assign(f"zext i32 {reason} to i64"), 8)), 1)
        length = w.select(w.compare_integers("slt", "i64", i, 2), "i64", i, "2")
        w.fetch_add(w.address(f"%by_length{number}", w.multiply(length, 8)), 1)
        self.store("ended", reason, "i32")
        for source, to in self.loop["outs"]:
            self.registers.move(source, to)
        w.branch(f"at{self.loop['after']}")
        w.begin_block(continued)
