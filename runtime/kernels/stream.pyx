"""A scan output that another engine, in another thread, reads while it grows."""


cdef class Stream:
    """Tells a reader how many rows are there. ``Loops.stream_scan`` connects it, ``Loops.read_stream`` says who reads it."""

    @property
    def rows(self):
        """How many there will be."""
        return self.c.rows

    def close(self):
        """No more rows come, or nobody reads them: a reader that waits for some fails."""
        self.c.gone = 1
