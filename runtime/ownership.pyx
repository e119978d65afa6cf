"""Whose turn it is to move something that one may move at a time.

In C, because in Python a KeyboardInterrupt may come between any two lines: after a lock was taken and before the ``try``
that gives it back, or in the ``finally`` itself. Here it is taken and given back without a line in between.
"""

from threading import RLock

from .errors import UsageError


cdef class SessionLock:
    """See ``turns.pyi``."""

    cdef readonly bint is_held
    #: Held while something is moved, and by others while they read what it has.
    cdef readonly object read_lock
    cdef object _request_stop, _clear_stop_request
    #: Held while a turn begins or is asked to end. Not a plain lock: a signal handler asks in the thread that may hold it.
    cdef object _state_guard

    def __init__(self, ask, forget):
        self.read_lock = RLock()
        self._state_guard = RLock()
        self._request_stop = ask
        self._clear_stop_request = forget

    def hold(self):
        cdef SessionLease turn = SessionLease.__new__(SessionLease)
        turn._lock = self
        return turn

    def interrupt(self):
        with self._state_guard:
            if self.is_held:
                self._request_stop()


cdef class SessionLease:
    cdef SessionLock _lock
    cdef bint _owns_lock, _owns_read_lock

    def __enter__(self):
        cdef SessionLock turns = self._lock
        with turns._state_guard:
            if turns.is_held:
                raise UsageError("the session is running; interrupt it first")
            # What came too late for the turn before is not meant for this one.
            turns._clear_stop_request()
            turns.is_held = self._owns_lock = True
        try:
            turns.read_lock.acquire()
            self._owns_read_lock = True
        finally:
            if not self._owns_read_lock:
                self._release()

    def __exit__(self, *error):
        self._release()

    # A ``with`` that is left without its __exit__, as a tracer that raises can bring about, ends the turn all the same.
    def __del__(self):
        self._release()

    cdef void _release(self) noexcept:
        if self._owns_read_lock:
            self._owns_read_lock = False
            self._lock.read_lock.release()
        if self._owns_lock:
            self._owns_lock = False
            self._lock.is_held = False
