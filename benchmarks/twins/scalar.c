/* The loops of scalar and scalar_scan. */

#include <stdint.h>

float scalar(int64_t trips, float v, float a, float b, float limit)
{
    int keep = 1;
    for (int64_t i = 0; i < trips && keep; i++) {
        v = v * a + b;
        keep = v < limit;
    }
    return v;
}

/* Stores each v in vs, which has space for all of them; *count: their number. */
float scalar_scan(int64_t trips, float v, float a, float b, float limit, float *vs, int64_t *count)
{
    int keep = 1;
    int64_t i;
    for (i = 0; i < trips && keep; i++) {
        v = v * a + b;
        vs[i] = v;
        keep = v < limit;
    }
    *count = i;
    return v;
}
