/* Is one of some contiguous elements better than those kept, for one vector width (topk.h)? */

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
