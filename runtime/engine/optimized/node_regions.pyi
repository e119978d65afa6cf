"""No Python names: see node_regions.pxd."""
