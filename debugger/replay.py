"""A recorded run under the debugger: everything but execution.

A replay stands at recorded boundaries and steps from one to another, in either direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from ..runtime.errors import UsageError
from ..runtime.graph import Loop, loops
from ..runtime.model import Data, LoopTotals, Model
from ..runtime.plan import Plan
from .stop import ENDED, Reason, Stop
from .trace.frames import RecordedFrame, frame_around
from .trace.reader import Mark, Trace


class RecordedModel(Model):
    """The model of a recording: its graph can be looked at, but not run."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace.graph, Path(trace.model))

    @property
    def plan(self) -> Plan:
        """There is none.

        Raises:
            UsageError: always.
        """
        _refuse("running it")

    def __repr__(self) -> str:
        return f"<RecordedModel {self.name}>"


class Replay:
    """A recording, standing at one of its boundaries; at first before iteration 0 of the first loop.

    It has the surface of :class:`~.session.Session`; what would have to run something is a :class:`UsageError`.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.model: Model = RecordedModel(trace)
        self._loops: Sequence[Loop] = list(loops(trace.graph))
        self._mark: Mark | None = None
        self.stop = Stop(Reason.ENTRY, "")
        self.restart()

    def __repr__(self) -> str:
        return f"<Replay {self.trace.path}: {self.stop.text}>"

    # -- where it stands

    @property
    def done(self) -> bool:
        """True behind the last boundary of a run that came to its end."""
        return self.stop.reason is Reason.DONE

    @property
    def running(self) -> bool:
        """Never: nothing runs here."""
        return False

    @property
    def inputs(self) -> dict[str, Data]:
        """The inputs of the recorded run."""
        return self.trace.inputs

    @cached_property
    def _outputs(self) -> dict[str, Data] | None:
        return self.trace.outputs

    @property
    def outputs(self) -> dict[str, Data] | None:
        """The outputs of the recorded run, once the replay is at its end; None before."""
        return self._outputs if self.done else None

    @property
    def frame(self) -> RecordedFrame:
        """The innermost loop that ran here; at the end the loop that ended last."""
        return self._frame(self._mark) if self._mark is not None else self._main()

    @property
    def frames(self) -> list[RecordedFrame]:
        """All loops that ran here, outermost first, the main graph before them."""
        if self._mark is None or self.done:
            return [self._main()]
        entry = self.trace.entry(self._mark.entry)
        chain = [entry.loop]
        while (parent := self.trace.loops[chain[0]].parent) is not None:
            chain.insert(0, parent)
        around = [
            frame_around(self.trace, self._loops, chain[k - 1] if k else None, entry.around[:k], inside)
            for k, inside in enumerate(chain)
        ]
        return [*around, self._frame(self._mark)]

    @property
    def totals(self) -> list[LoopTotals]:
        """How often each loop had run here."""
        if self.done:
            return self.trace.totals
        last = 0 if self._mark is None else self._mark.id
        counted = {
            loop: (iterations, entries)
            for loop, iterations, entries in self.trace.rows(
                "SELECT e.loop, sum(b.most), count(*) FROM"
                " (SELECT entry, max(iteration) AS most FROM boundary WHERE id <= ? GROUP BY entry) b"
                " JOIN entry e ON e.id = b.entry GROUP BY e.loop",
                last,
            )
        }
        seconds = 0.0 if self._mark is None else self._mark.time
        return [
            LoopTotals(
                loop.name,
                loop.path,
                *counted.get(loop.index, (0, 0)),
                None,
                {},
                None,
                seconds if loop.parent is None and loop.index in counted else 0.0,
            )
            for loop in self.trace.loops
        ]

    def _main(self) -> RecordedFrame:
        return RecordedFrame(self.trace, self._loops, -1, over=self.done)

    def _frame(self, mark: Mark) -> RecordedFrame:
        entry = self.trace.entry(mark.entry)
        return RecordedFrame(self.trace, self._loops, entry.loop, entry, mark, mark.iteration)

    # -- steps

    def restart(self) -> Stop:
        """Go to the first boundary."""
        first = self._find("ORDER BY id LIMIT 1")
        if first is None:
            self._mark = None
            return self._end()
        return self._at(first)

    def step(self, count: int = 1) -> Stop:
        """To the next recorded boundary of this loop, ``count`` times; from a loop's end to that of any loop."""
        for _ in range(count):
            mark = self._current("step")
            following = None if mark.ended else self._in_entry(mark, 1)
            self._go(following or self._after(mark))
            if self.stop.reason not in (Reason.STEP, Reason.ENTRY, Reason.LOOP_END):
                break
        return self.stop

    def into(self) -> Stop:
        """To the next recorded boundary of any loop: down into a loop inside this one."""
        return self._go(self._after(self._current("go on")))

    def finish(self) -> Stop:
        """To the end of this loop; at its end already: to the end of the loop around it."""
        mark = self._current("finish")
        if not mark.ended:
            end = self._find("WHERE entry = ? ORDER BY iteration DESC LIMIT 1", mark.entry)
            # A loop that was cut off has no end.
            return self._go(end if end is not None and end.ended else None)
        entry = self.trace.entry(mark.entry)
        parent = self.trace.loops[entry.loop].parent
        if parent is None:
            return self._go(self._after(mark))
        text = "/".join(map(str, entry.around[:-1]))
        end = self._find(
            "WHERE entry IN (SELECT id FROM entry WHERE loop = ? AND around = ?) ORDER BY iteration DESC LIMIT 1",
            parent,
            text,
        )
        return self._go(end if end is not None and end.ended else None)

    def continue_(self) -> Stop:
        """To the end of the recording."""
        self._current("go on")
        return self._go(None)

    def back(self, count: int = 1) -> Stop:
        """To the previous recorded boundary of this loop, ``count`` times; from its entry to that of any loop."""
        for _ in range(count):
            if self.done:
                self._go(self._last())
                continue
            mark = self._current("go back")
            before = self._in_entry(mark, -1) or self._find("WHERE id < ? ORDER BY id DESC LIMIT 1", mark.id)
            if before is None:
                raise UsageError("this is the first boundary of the recording")
            self._go(before)
        return self.stop

    def reverse_continue(self) -> Stop:
        """To the first boundary."""
        return self.restart()

    def goto(self, iteration: int) -> Stop:
        """To the boundary before that iteration, of the loop and entry where the replay stands.

        Raises:
            UsageError: that boundary was not recorded.
        """
        if self._mark is None:
            self._current("go there")
            raise AssertionError
        found = self._find("WHERE entry = ? AND iteration = ?", self._mark.entry, iteration)
        if found is None:
            near = [
                self._find(
                    f"WHERE entry = ? AND iteration {sign} ? ORDER BY iteration {order} LIMIT 1",
                    self._mark.entry,
                    iteration,
                )
                for sign, order in (("<", "DESC"), (">", "ASC"))
            ]
            told = " and ".join(str(mark.iteration) for mark in near if mark is not None)
            name = self._frame(self._mark).name
            raise UsageError(f"iteration {iteration} of loop '{name}' is not recorded here; the nearest are {told}")
        return self._go(found)

    def until(self, iteration: int) -> Stop:
        """On to the first recorded boundary of this entry from that iteration on, or to the loop's end."""
        mark = self._current("go on")
        found = self._find(
            "WHERE entry = ? AND iteration > ? AND (iteration >= ? OR ended IS NOT NULL) ORDER BY iteration LIMIT 1",
            mark.entry,
            mark.iteration,
            iteration,
        )
        return self._go(found)

    def interrupt(self) -> None:
        """Nothing: there is nothing to interrupt."""

    def next_node(self) -> NoReturn:
        """A recording has boundaries only.

        Raises:
            UsageError: always.
        """
        _refuse("stepping by nodes")

    def back_node(self) -> NoReturn:
        """See :meth:`next_node`."""
        _refuse("stepping by nodes")

    def set(self, *_: object, **__: object) -> NoReturn:
        """What was recorded cannot be changed.

        Raises:
            UsageError: always.
        """
        _refuse("changing a value")

    # -- how

    def _current(self, what: str) -> Mark:
        if self.done:
            raise UsageError("the recording is at its end; restart to see it again")
        if self._mark is None:
            raise UsageError(f"the recording holds no boundary; there is nowhere to {what}")
        return self._mark

    def _find(self, where: str, *given: object) -> Mark | None:
        return next(self.trace.marks(where, *given), None)

    def _after(self, mark: Mark) -> Mark | None:
        return self._find("WHERE id > ? ORDER BY id LIMIT 1", mark.id)

    def _last(self) -> Mark | None:
        return self._find("ORDER BY id DESC LIMIT 1")

    def _in_entry(self, mark: Mark, way: int) -> Mark | None:
        sign, order = (">", "ASC") if way > 0 else ("<", "DESC")
        return self._find(
            f"WHERE entry = ? AND iteration {sign} ? ORDER BY iteration {order} LIMIT 1", mark.entry, mark.iteration
        )

    def _go(self, mark: Mark | None) -> Stop:
        return self._end() if mark is None else self._at(mark)

    def _at(self, mark: Mark) -> Stop:
        self._mark = mark
        frame = self._frame(mark)
        name = frame.name
        if mark.ended is not None:
            why = ENDED.get(mark.ended, mark.ended.value)
            if mark.iteration == 0:
                self.stop = Stop(Reason.ENTRY, f"loop '{name}' runs no iteration: {why} before the first")
            else:
                self.stop = Stop(Reason.LOOP_END, f"loop '{name}' ends after {mark.iteration} iterations: {why}")
        else:
            reason = Reason.STEP if mark.iteration else Reason.ENTRY
            self.stop = Stop(reason, f"before iteration {mark.iteration} of loop '{name}'")
        return self.stop

    def _end(self) -> Stop:
        """Behind the last boundary: the model's end, or where the recording was cut off."""
        if (last := self._last()) is not None:
            self._mark = last
        trace = self.trace
        if trace.ended == "end":
            # What a screen shows then is the loop of the main graph that ended last.
            main = self._find(
                "WHERE entry IN (SELECT e.id FROM entry e JOIN loop l ON l.id = e.loop WHERE l.parent IS NULL)"
                " ORDER BY id DESC LIMIT 1"
            )
            self._mark = main or self._mark
            self.stop = Stop(Reason.DONE, "the recording is at its end: the model ran to its end")
        elif trace.ended is not None or trace.error:
            reason = {"limit": Reason.LIMIT, "interrupt": Reason.INTERRUPT}.get(trace.ended or "", Reason.ERROR)
            self.stop = Stop(reason, f"the recording ends here: {trace.error or trace.ended}")
        else:
            self.stop = Stop(Reason.INTERRUPT, "the recording ends here: its program was ended, or still records")
        return self.stop


def _refuse(what: str) -> NoReturn:
    raise UsageError(
        f"{what} is not possible: this is a recording; with the model: loopdbg MODEL, or loopdbg run MODEL --resume"
    )
