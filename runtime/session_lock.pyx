"""Exclusive ownership of a session while a command runs.

In C, because a KeyboardInterrupt in Python may occur between any two lines: after acquiring a lock and before the
``try`` that releases it, or in the ``finally`` itself. Here acquire and release cannot be split.
"""

from threading import RLock

from .errors import UsageError


cdef class SessionLock:
    """See ``session_lock.pyi``."""

    cdef readonly bint is_held
    #: Held while a command runs, and by readers of the session.
    cdef readonly object read_lock
    cdef object request_stop, clear_stop_request
    #: Guards acquisition and stop requests. Reentrant: a signal handler may request a stop in the thread that holds it.
    cdef object state_guard

    def __init__(self, request_stop, clear_stop_request):
        self.read_lock = RLock()
        self.state_guard = RLock()
        self.request_stop = request_stop
        self.clear_stop_request = clear_stop_request

    def hold(self):
        cdef SessionLease lease = SessionLease.__new__(SessionLease)
        lease.lock = self
        return lease

    def interrupt(self):
        with self.state_guard:
            if self.is_held:
                self.request_stop()


cdef class SessionLease:
    cdef SessionLock lock
    cdef bint _owns_lock, _owns_read_lock

    def __enter__(self):
        cdef SessionLock lock = self.lock
        with lock.state_guard:
            if lock.is_held:
                raise UsageError("the session is running; interrupt it first")
            # A late request for the previous command must not stop this one.
            lock.clear_stop_request()
            lock.is_held = self._owns_lock = True
        try:
            lock.read_lock.acquire()
            self._owns_read_lock = True
        finally:
            if not self._owns_read_lock:
                self._release()

    def __exit__(self, *error):
        self._release()

    # Releases also if __exit__ was skipped, as by a tracer that raises.
    def __del__(self):
        self._release()

    cdef void _release(self) noexcept:
        if self._owns_read_lock:
            self._owns_read_lock = False
            self.lock.read_lock.release()
        if self._owns_lock:
            self._owns_lock = False
            self.lock.is_held = False
