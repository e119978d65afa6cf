from .growing.varying import Varied

strict_binding: bool

class Nodes(Varied): ...
