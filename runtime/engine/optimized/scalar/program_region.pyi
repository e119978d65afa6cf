"""No Python names: see programs.pxd."""
