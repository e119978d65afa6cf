"""The language of breakpoint conditions, ``print`` and ``set``: parts of :mod:`.language`, its public face."""
