/* Marks and indices, for one vector width (data_dependent.h). */

/* Mark elements that are not 0, 64 per word; returns their number. `mask`: significant bits, without the sign. */
#define DATA_DEPENDENT_MARKS(BITS)                                                                            \
    static npy_intp NAME(marks_##BITS)(uint##BITS##_t const *x, npy_intp n, uint##BITS##_t mask, uint64_t *marks) { \
        npy_intp count = 0;                                                                                   \
        for (npy_intp k = 0; k < n; k += 64) {                                                                \
            uint8_t one[64];                                                                                  \
            uint64_t word = 0, eight;                                                                         \
            if (n - k >= 64)                                                                                  \
                for (int j = 0; j < 64; j++) one[j] = (x[k + j] & mask) != 0;                                 \
            else {                                                                                            \
                memset(one, 0, 64);                                                                           \
                for (npy_intp j = 0; j < n - k; j++) one[j] = (x[k + j] & mask) != 0;                         \
            }                                                                                                 \
            for (int j = 0; j < 64; j += 8) {                                                                 \
                memcpy(&eight, one + j, 8);                                                                   \
                word |= (eight * UINT64_C(0x0102040810204080)) >> 56 << j; /* a bit of each byte, in order */ \
            }                                                                                                 \
            marks[k / 64] = word;                                                                             \
            count += __builtin_popcountll(word);                                                              \
        }                                                                                                     \
        return count;                                                                                         \
    }
DATA_DEPENDENT_MARKS(8)
DATA_DEPENDENT_MARKS(16)
DATA_DEPENDENT_MARKS(32)
DATA_DEPENDENT_MARKS(64)

/* Split flat indices `low` of a matrix into rows and columns. */
#define DATA_DEPENDENT_SPLIT(BITS)                                                                            \
    static void NAME(split_##BITS)(int##BITS##_t *high, int##BITS##_t *low, npy_intp count, uint32_t extent) { \
        uint32_t const part = (uint32_t)((UINT64_C(1) << 32) / extent); /* the quotient or one less */        \
        for (npy_intp j = 0; j < count; j++) {                                                                \
            uint32_t place = (uint32_t)low[j], times = (uint32_t)(((uint64_t)place * part) >> 32);            \
            uint32_t rest = place - times * extent, more = rest >= extent;                                    \
            high[j] = (int##BITS##_t)(times + more);                                                          \
            low[j] = (int##BITS##_t)(rest - (more ? extent : 0));                                             \
        }                                                                                                     \
    }
DATA_DEPENDENT_SPLIT(32)
DATA_DEPENDENT_SPLIT(64)
