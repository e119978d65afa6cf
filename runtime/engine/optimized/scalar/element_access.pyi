class ElementAccess:
    op: int
    n: int
    arguments: list[int]
    sizes: list[int]
    places: list[list[int]]
