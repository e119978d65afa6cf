/* Overlap of a box with the kept ones, for one vector width (nms.h). */

/* As in NumPy, rounded at each step, with NaNs propagated: see ops/boxes.py. */
#define BOXES_MAX(a, b) ((a) >= (b) || (a) != (a) ? (a) : (b))
#define BOXES_MIN(a, b) ((a) <= (b) || (a) != (a) ? (a) : (b))
#define BOXES_OF(C, ID, T)                                                                                    \
    static inline int NAME(box_suppresses_##ID)(boxes_##ID const *kept, npy_intp k, T const *box, T area, T limit, T more, \
                                          int at_limit) {                                                     \
        T low0 = BOXES_MAX(kept->low[0][k], box[0]), low1 = BOXES_MAX(kept->low[1][k], box[1]);               \
        T high0 = BOXES_MIN(kept->high[0][k], box[2]), high1 = BOXES_MIN(kept->high[1][k], box[3]);           \
        T side0 = high0 - low0 + more, side1 = high1 - low1 + more, own = kept->area[k];                      \
        T shared = BOXES_MAX(side0, (T)0) * BOXES_MAX(side1, (T)0), all, part;                                \
        shared = ((more != 0) & ((low0 > high0) | (low1 > high1))) ? (T)0 : shared;                           \
        all = own + area - shared;                                                                            \
        part = shared / (all == 0 ? (T)1 : all);                                                              \
        part = ((own > 0) & (area > 0) & (all > 0)) ? part : (T)0;                                            \
        return at_limit ? !(part < limit) : !(part <= limit);                                                 \
    }                                                                                                         \
    static int NAME(box_goes_##ID)(boxes_##ID const *kept, npy_intp count, T const *box, T area, T limit, T more, \
                                  int at_limit) {                                                             \
        npy_intp k = 0;                                                                                       \
        for (; k + LOOPDBG_NMS_BLOCK <= count; k += LOOPDBG_NMS_BLOCK) {                                  \
            int goes = 0;                                                                                     \
            if (at_limit)                                                                                     \
                for (int l = 0; l < LOOPDBG_NMS_BLOCK; l++)                                                 \
                    goes |= NAME(box_suppresses_##ID)(kept, k + l, box, area, limit, more, 1);                \
            else                                                                                              \
                for (int l = 0; l < LOOPDBG_NMS_BLOCK; l++)                                                 \
                    goes |= NAME(box_suppresses_##ID)(kept, k + l, box, area, limit, more, 0);                \
            if (goes) return 1;                                                                               \
        }                                                                                                     \
        for (; k < count; k++)                                                                                \
            if (NAME(box_suppresses_##ID)(kept, k, box, area, limit, more, at_limit)) return 1;               \
        return 0;                                                                                             \
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-trapping-math") /* for several at once: 5x */
#endif
FLOATS(BOXES_OF)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
