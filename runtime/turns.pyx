"""Whose turn it is to move something that one may move at a time.

In C, because in Python a KeyboardInterrupt may come between any two lines: after a lock was taken and before the ``try``
that gives it back, or in the ``finally`` itself. Here it is taken and given back without a line in between.
"""

from threading import RLock

from .errors import UsageError


cdef class Turns:
    """See ``turns.pyi``."""

    cdef readonly bint taken
    #: Held while something is moved, and by others while they read what it has.
    cdef readonly object reading
    cdef object _ask, _forget
    #: Held while a turn begins or is asked to end. Not a plain lock: a signal handler asks in the thread that may hold it.
    cdef object _guard

    def __init__(self, ask, forget):
        self.reading = RLock()
        self._guard = RLock()
        self._ask = ask
        self._forget = forget

    def turn(self):
        cdef Turn turn = Turn.__new__(Turn)
        turn._turns = self
        return turn

    def interrupt(self):
        with self._guard:
            if self.taken:
                self._ask()


cdef class Turn:
    cdef Turns _turns
    cdef bint _mine, _reads

    def __enter__(self):
        cdef Turns turns = self._turns
        with turns._guard:
            if turns.taken:
                raise UsageError("the session is running; interrupt it first")
            # What came too late for the turn before is not meant for this one.
            turns._forget()
            turns.taken = self._mine = True
        try:
            turns.reading.acquire()
            self._reads = True
        finally:
            if not self._reads:
                self._end()

    def __exit__(self, *error):
        self._end()

    # A ``with`` that is left without its __exit__, as a tracer that raises can bring about, ends the turn all the same.
    def __del__(self):
        self._end()

    cdef void _end(self) noexcept:
        if self._reads:
            self._reads = False
            self._turns.reading.release()
        if self._mine:
            self._mine = False
            self._turns.taken = False
