"""A loop as a graph to look at: its boxes, the wires between them, its back edges, where each stands, and what a stop
says of each. Terminals and files draw the same."""
