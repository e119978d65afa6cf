"""What an inspector shows: a value of a frame, in the iteration of the stop or in another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.cells import cell_len

from ...debugger.session.debuggee import Debuggee
from ...debugger.statistics.tensor import TensorRef, tensor_of
from ...debugger.words.names import scan_names
from ...runtime.errors import UsageError
from ...runtime.graph import Graph, Value, visible
from ...runtime.text import grouped, size_text
from ..screen.bands import Band
from ..screen.evolution import band
from ..screen.inspected import Course
from ..screen.lines import fit
from ..screen.plots import number_of
from ..screen.program import program
from ..screen.targets import Of, ValueTarget
from ..screen.text import dtype_name
from ..screen.view import Shown

#: So many other iterations are asked for one number each, at most, where no history has them.
_ASKED = 64
#: Tensors of more elements are not computed again in other iterations for a picture.
_SMALL = 100_000


class Inspected:
    """A value and where it stands in time.

    ``iteration``: of which iteration the value at the stop is, or of what is carried which one gets it; None where it
    is of none. ``last``: the newest iteration that it can be asked of.
    """

    def __init__(self, target: ValueTarget, shown: Shown) -> None:
        self.target = target
        self.there, self.value = target.find(shown.view)
        #: What is said of it where it is not there.
        self.absent = target.absent(shown.view)
        found = target.view(shown.view)
        self._frame = None if found is None or target.of is Of.OUTPUT else found.frame
        self.loop = "" if self._frame is None or self._frame.loop is None else self._frame.name
        self.iteration: int | None = None
        self.last = -1
        self.trip_count: int | None = None
        frame = self._frame
        if target.of is Of.SCAN and frame is not None:
            scan = next((one for one in frame.scans if one.name == target.name), None)
            if scan is not None and scan.whole is not None:
                self.there, self.value = True, scan.whole
        elif frame is not None and frame.loop is not None:
            self.trip_count = frame.trip_count
            between = frame.at_boundary
            if target.of is Of.CARRIED:
                self.iteration = self.last = frame.iteration
            else:
                self.iteration = self.last = frame.iteration - (between and frame.iteration > 0)
        #: The line of code that what computes it comes from; empty where that is not known.
        self.code = self._code(shown.main)
        #: What it was in the iteration before, where the stop knows that.
        self.previous: Any = None
        if target.of is Of.CARRIED and frame is not None and self.iteration and frame.at_boundary:
            edge = next((one for one in frame.back_edges if one.param == target.name), None)
            self.previous = None if edge is None else edge.previous

    def _code(self, main: Graph) -> str:
        source, value = program(main), self._made(main)
        node = None if value is None else source.phrases.origins.maker(source.phrases.origins.origin(value))
        return "" if node is None else source.code.told(node)

    def _made(self, main: Graph) -> Value | None:
        """The value as a node computes it: of a back edge what it takes from the body."""
        name, loop = self.target.name, None if self._frame is None else self._frame.loop
        if loop is None:
            return visible([main]).get(name)
        if self.target.of is Of.CARRIED:
            return next((edge.result for edge in loop.back_edges if edge.param.name == name), None)
        if self.target.of is Of.SCAN:
            pairs = zip(scan_names(loop), loop.scan_outputs, strict=True)
            return next((port.result for called, port in pairs if called == name), None)
        return self.target.declared or visible([loop.body]).get(name)

    def head(self, called: str, value: Any, tensor: TensorRef | None, iteration: int | None, width: int) -> str:
        """A line that says what is shown: a value, which may be that of another iteration, or an item of it."""
        parts = [called]
        if tensor is not None:
            parts.append(f"{dtype_name(tensor.dtype)} [{','.join(map(str, tensor.shape))}]")
        elif isinstance(value, list | tuple):
            parts.append(f"sequence of {len(value)}")
        if self.target.of is Of.OUTPUT:
            parts.append("output")
        elif self.loop:
            whose = {Of.CARRIED: "carried by", Of.SCAN: "scan output of"}.get(self.target.of, "of")
            parts.append(f"{whose} '{self.loop}'")
        if iteration is not None:
            of = "" if self.trip_count is None else f" of {self.trip_count}"
            word = "into iteration" if self.target.of is Of.CARRIED else "iteration"
            parts.append(f"{word} {iteration}{of}")
            if iteration != self.iteration:
                parts.append(f"(the stop is at {self.iteration})")
        if tensor is not None:
            count = "1 element" if tensor.size == 1 else f"{grouped(tensor.size)} elements"
            parts.append(f"{count}, {size_text(tensor.nbytes)}" if tensor.dtype.kind != "O" else count)
        text = "   ".join(parts)
        # How many elements there are stands below as well.
        return text if cell_len(text) <= width or tensor is None else fit("   ".join(parts[:-1]), width)

    def question(self, iteration: int) -> Callable[[Debuggee], Any]:
        """How a session tells what the value was in another iteration."""
        name, depth = self.target.name, self.target.frame

        def find(session: Debuggee) -> Any:
            frames = session.frames
            if depth is not None and depth >= len(frames):
                # A key typed ahead moved the session.
                raise UsageError("its loop does not run any more")
            frame = session.frame if depth is None else frames[depth]
            return frame.history.value(name, iteration)

        return find

    def course(self) -> Course | None:
        """How it went over iterations, as far as the stop knows; None where the session has to be asked."""
        frame = self._frame
        if frame is None or self.iteration is None:
            return Course((), Band.of(np.empty(0)))
        history = frame.history.get(self.target.name)
        if history is None:
            return None
        what = "norm" if history.is_tensor else ""
        each = f"{what}, {history.bucket} iterations each".strip(", ") if history.bucket > 1 else what
        return Course(tuple(history.iterations.tolist()), band(history), each)

    @property
    def what(self) -> str:
        """What one number that stands for it is."""
        return "norm" if getattr(self.value, "size", 1) != 1 else ""

    @property
    def asks(self) -> bool:
        """Whether the session may be asked for its course: it is small, and has been in other iterations."""
        return self.last > 0 and getattr(self.value, "size", 1) <= _SMALL

    @property
    def not_asked(self) -> str:
        """Why it may not be asked."""
        large = getattr(self.value, "size", 1) > _SMALL
        return "not computed for large tensors" if large else "no other iteration yet"

    def course_question(self) -> Callable[[Debuggee], Course]:
        """How a session tells the course: of some iterations, evenly apart, where there are many."""
        count = min(_ASKED, self.last + 1)
        wanted = sorted({round(k * self.last / max(1, count - 1)) for k in range(count)})
        # In the middle of an iteration only the stop knows what that one has computed so far.
        now = [(self.iteration, number_of(self.value))] if self.there and self.iteration in wanted else []
        finds = [(iteration, self.question(iteration)) for iteration in wanted if iteration != self.iteration]
        what = self.what

        def find(session: Debuggee) -> Course:
            told = [(iteration, number_of(one(session))) for iteration, one in finds] + now
            return Course(tuple(i for i, _ in told), Band.of(np.array([v for _, v in told])), what)

        return find


def as_tensor(value: Any) -> TensorRef | None:
    """The tensor that a value is; None of sequences and of nothing."""
    if value is None or isinstance(value, list | tuple):
        return None
    if isinstance(value, str | bytes):
        word = np.empty((), object)
        word[()] = value
        return TensorRef.of(word)
    return tensor_of(value)
