"""No Python names: see follow.pxd."""
