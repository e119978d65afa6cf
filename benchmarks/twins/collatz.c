/* The loop of collatz. */

#include <stdint.h>

int64_t collatz(int64_t trips, int64_t n, int64_t addend)
{
    for (int64_t i = 0; i < trips && n > 1; i++)
        n = n % 2 == 0 ? n / 2 : 3 * n + addend;
    return n;
}
