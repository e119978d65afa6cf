from .fuse import Group

class Fuser:
    @property
    def groups(self) -> list[Group]: ...
