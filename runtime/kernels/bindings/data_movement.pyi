ROUTINES: dict[str, int]
MAX_AXES: int

def any_function_address(type: int, relation: int, is_scalar: int) -> int: ...
