/* Ranges of numbers. */
#ifndef LOOPDBG_FILL_H
#define LOOPDBG_FILL_H

#include <stdint.h>
#include "../call.h"

#define FILL_RANGE(T)                                                                        \
    {                                                                                        \
        T const start = *(T const *)LOOPDBG_ARG(c, 0), step = *(T const *)LOOPDBG_ARG(c, 1); \
        T *out = (T *)LOOPDBG_ARG(c, 2);                                                     \
        for (npy_intp i = 0; i < c->extra[0]; i++) out[i] = (T)(start + (T)i * step);        \
    }

/* start, step -> range; extra: count, bytes of an element. Overflow wraps around. */
static int loopdbg_arange(loopdbg_call *c) {
    switch (c->extra[1]) {
        case 1: FILL_RANGE(uint8_t) break;
        case 2: FILL_RANGE(uint16_t) break;
        case 4: FILL_RANGE(uint32_t) break;
        default: FILL_RANGE(uint64_t)
    }
    return 0;
}

#endif
