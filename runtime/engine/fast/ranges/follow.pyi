"""No Python names: see fit.pxd."""
