"""The language of breakpoint conditions, ``print`` and ``set``: parts of :mod:`..expressions`, its public face."""
