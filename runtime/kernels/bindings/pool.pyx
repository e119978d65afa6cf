"""Maxima and sums over windows (pool.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor

cdef extern from "kernels/conv/pool.h" nogil:
    int loopdbg_pool_max_f32(Call *call) noexcept
    int loopdbg_pool_max_f64(Call *call) noexcept
    int loopdbg_pool_max_i8(Call *call) noexcept
    int loopdbg_pool_max_u8(Call *call) noexcept
    int loopdbg_pool_max_i32(Call *call) noexcept
    int loopdbg_pool_max_i64(Call *call) noexcept
    int loopdbg_pool_places_f32(Call *call) noexcept
    int loopdbg_pool_places_f64(Call *call) noexcept
    int loopdbg_pool_places_i8(Call *call) noexcept
    int loopdbg_pool_places_u8(Call *call) noexcept
    int loopdbg_pool_places_i32(Call *call) noexcept
    int loopdbg_pool_places_i64(Call *call) noexcept
    int loopdbg_pool_sum_f32(Call *call) noexcept
    int loopdbg_pool_sum_f64(Call *call) noexcept

loopdbg_cpu = current_processor()

ROUTINES = {
    "max_f32": <size_t><run_call>loopdbg_pool_max_f32,
    "max_f64": <size_t><run_call>loopdbg_pool_max_f64,
    "max_i8": <size_t><run_call>loopdbg_pool_max_i8,
    "max_u8": <size_t><run_call>loopdbg_pool_max_u8,
    "max_i32": <size_t><run_call>loopdbg_pool_max_i32,
    "max_i64": <size_t><run_call>loopdbg_pool_max_i64,
    "places_f32": <size_t><run_call>loopdbg_pool_places_f32,
    "places_f64": <size_t><run_call>loopdbg_pool_places_f64,
    "places_i8": <size_t><run_call>loopdbg_pool_places_i8,
    "places_u8": <size_t><run_call>loopdbg_pool_places_u8,
    "places_i32": <size_t><run_call>loopdbg_pool_places_i32,
    "places_i64": <size_t><run_call>loopdbg_pool_places_i64,
    "sum_f32": <size_t><run_call>loopdbg_pool_sum_f32,
    "sum_f64": <size_t><run_call>loopdbg_pool_sum_f64,
}
