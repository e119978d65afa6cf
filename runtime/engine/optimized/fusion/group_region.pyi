"""No Python names: see group_region.pxd."""
