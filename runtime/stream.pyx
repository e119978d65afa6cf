"""A scan output that another engine, in another thread, reads while it grows."""


cdef class Stream:
    """Tells a reader how many rows are there. ``Loops.stream_scan`` connects it, ``Nodes.streams`` says who reads it."""

    def close(self):
        """No more rows come, or nobody reads them: a reader that waits for some fails."""
        self.c.gone = 1
