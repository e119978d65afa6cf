"""The graph view of a loop: boxes, wires, back edges, their layout, and the overlay of a stop. Shared by the TUI and
SVG export."""
