from .memory import Memory

strict_binding: bool

class Nodes(Memory): ...
