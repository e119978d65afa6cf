/* Non-maximum suppression of boxes. */
#ifndef LOOPDBG_BOXES_H
#define LOOPDBG_BOXES_H

#include <stdint.h>
#include "../call.h"
#include "../reduce/topk.h"
#include "../dispatch/processor.h"

/* Number of kept boxes compared before a check for an early exit. */
enum { LOOPDBG_NMS_BLOCK = 16 };

#define BOX_TYPES(C, ID, T)                                                                                   \
    typedef struct {                                                                                          \
        T const *low[2], *high[2], *area;                                                                     \
    } boxes_##ID;
FLOATS(BOX_TYPES)

#define BODY "../image/nms_lanes.h"
#include "../dispatch/foreach_target.h"

#define BOXES(C, ID, T)                                                                                       \
    /* The boxes kept of one class, at most `most`; `memory`: a heap element per box, then five numbers for each \
     * that may be kept. */                                                                                   \
    static npy_intp boxes_kept_##ID(T const *table, T const *scores, npy_intp n, npy_intp most, T const *limits, int at_limit, \
                                    char *memory, int64_t batch, int64_t category, int64_t *rows) {           \
        loopdbg_pick_##ID *heap = (loopdbg_pick_##ID *)memory;                                                \
        T *low0 = (T *)(heap + n), *low1 = low0 + most, *high0 = low1 + most, *high1 = high0 + most, *areas = high1 + most; \
        boxes_##ID kept = {{low0, low1}, {high0, high1}, areas};                                              \
        npy_intp left = 0, count = 0;                                                                         \
        /* The best on top, of equals the first one, whose place counts down. */                              \
        for (npy_intp k = 0; k < n; k++)                                                                      \
            if (scores[k] > limits[1]) heap[left++] = (loopdbg_pick_##ID){scores[k], -k};                     \
        for (npy_intp k = left / 2; k-- > 0;) loopdbg_sift_##ID(heap, left, k, 0);                            \
        while (left && count < most) {                                                                        \
            npy_intp k = -heap[0].place;                                                                      \
            T const *box = table + 4 * k;                                                                     \
            T area = (box[2] - box[0] + limits[2]) * (box[3] - box[1] + limits[2]);                           \
            heap[0] = heap[--left];                                                                           \
            loopdbg_sift_##ID(heap, left, 0, 0);                                                              \
            if (DISPATCH(box_goes_##ID)(&kept, count, box, area, limits[0], limits[2], at_limit)) continue;     \
            low0[count] = box[0], low1[count] = box[1], high0[count] = box[2], high1[count] = box[3];         \
            areas[count] = area;                                                                              \
            rows[0] = batch, rows[1] = category, rows[2] = k;                                                 \
            rows += 3, count++;                                                                               \
        }                                                                                                     \
        return count;                                                                                         \
    }
FLOATS(BOXES)

#define BOXES_CASE(C, ID, T)                                                                                  \
    case C:                                                                                                   \
        for (npy_intp batch = 0; batch < batches; batch++, boxes += n * 4 * sizeof(T))                        \
            for (npy_intp k = 0; k < classes; k++, scores += n * sizeof(T))                                   \
                count += boxes_kept_##ID((T const *)boxes, (T const *)scores, n, most, (T const *)limits, at_limit, \
                                         scratch, batch, k, rows + 3 * count);                                \
        break;
/* Boxes as ordered corners [batches, n, 4], scores [batches, classes, n], limits (overlap, score, maximum) -> (batch,
 * class, box) of those kept, of each class the best first, and their number; scratch: 16 bytes per box, and five
 * numbers for each that may be kept.
 * extra: batches, classes, n, maximum, the type's character, whether an overlap equal to the limit is too much. */
static int loopdbg_nms(loopdbg_call *call) {
    npy_intp batches = call->extra[0], classes = call->extra[1], n = call->extra[2], most = call->extra[3];
    int at_limit = (int)call->extra[5];
    char const *boxes = LOOPDBG_ARG(call, 0), *scores = LOOPDBG_ARG(call, 1), *limits = LOOPDBG_ARG(call, 2);
    int64_t *rows = (int64_t *)LOOPDBG_ARG(call, 3), count = 0;
    char *scratch = LOOPDBG_ARG(call, 5);
    switch ((char)call->extra[4]) {
        FLOATS(BOXES_CASE)
        default: return 1;
    }
    *(int64_t *)LOOPDBG_ARG(call, 4) = count;
    return 0;
}

#endif
