"""Nodes whose inputs grow or shrink: bound once for a range of shapes, and appended to in place."""
