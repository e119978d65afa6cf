/* Whether one of some neighbours is better than what is kept, for one width (picks.h). */

#define PICKS_OF(C, ID, T)                                                                                    \
    static int NAME(any_above_##ID)(T const *x, T limit) {                                                    \
        int found = 0;                                                                                        \
        for (int j = 0; j < LOOPDBG_TOPK_BLOCK; j++) found |= !(x[j] <= limit);                               \
        return found;                                                                                         \
    }                                                                                                         \
    static int NAME(any_below_##ID)(T const *x, T limit) {                                                    \
        int found = 0;                                                                                        \
        for (int j = 0; j < LOOPDBG_TOPK_BLOCK; j++) found |= !(x[j] >= limit);                               \
        return found;                                                                                         \
    }
NUMBERS(PICKS_OF)
