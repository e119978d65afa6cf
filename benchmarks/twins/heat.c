/* The loop of heat in direct form: u is side * side, and is updated in place. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static void pad(const float *u, float *padded, int64_t side)
{
    int64_t width = side + 2;
    for (int64_t y = 0; y < width; y++) {
        int64_t row = y == 0 ? 0 : y > side ? side - 1 : y - 1;
        for (int64_t x = 0; x < side; x++)
            padded[y * width + x + 1] = u[row * side + x];
        padded[y * width] = u[row * side];
        padded[y * width + side + 1] = u[row * side + side - 1];
    }
}

static float spread(float *u, const float *padded, int64_t side, float k)
{
    int64_t width = side + 2;
    float largest = 0;
    for (int64_t y = 0; y < side; y++) {
        const float *p = padded + (y + 1) * width + 1;
        for (int64_t x = 0; x < side; x++) {
            float neighbours = (p[x - width] + p[x + width]) + (p[x - 1] + p[x + 1]);
            float change = (neighbours - p[x] * 4.0f) * k;
            u[y * side + x] = p[x] + change;
            largest = fabsf(change) > largest ? fabsf(change) : largest;
        }
    }
    return largest;
}

/* Returns -1 if memory allocation fails. */
int heat(int64_t trips, float *u, int64_t side, float k, float tol)
{
    float *padded = malloc((size_t)((side + 2) * (side + 2)) * sizeof *padded);
    if (!padded)
        return -1;
    int moving = 1;
    for (int64_t i = 0; i < trips && moving; i++) {
        pad(u, padded, side);
        moving = spread(u, padded, side, k) > tol;
    }
    free(padded);
    return 0;
}
