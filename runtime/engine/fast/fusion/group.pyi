"""No Python names: see groups.pxd."""
