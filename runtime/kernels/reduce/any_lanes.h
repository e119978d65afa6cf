/* Does a relation hold for any element? For one vector width (any.h). A hit among many elements ends the search. */
#if WIDTH >= 8
#define ANY_BIT(hit) (!_mm256_testz_si256((__m256i)(hit), (__m256i)(hit)))
#else
#define ANY_BIT(hit) NAME(any_bit)(&(hit))
static inline int NAME(any_bit)(void const *hit) {
    uint64_t words[4];
    memcpy(words, hit, sizeof words);
    return (words[0] | words[1] | words[2] | words[3]) != 0;
}
#endif

/* The last vector overlaps the one before. Few elements take no loop: scalar programs test them in each iteration. */
#define ANY_FUNCTION(ID, T, I, LOAD, Y, RELATION)                                                              \
    typedef T NAME(vector_##ID) __attribute__((vector_size(32)));                                              \
    typedef T NAME(unaligned_##ID) __attribute__((vector_size(32), aligned(1), may_alias));                    \
    typedef I NAME(bits_##ID) __attribute__((vector_size(32)));                                                \
    static __attribute__((noinline)) int NAME(any_##ID##_many)(T const *a, T const *b, npy_intp n) {           \
        typedef NAME(vector_##ID) vector __attribute__((unused));                                              \
        typedef NAME(unaligned_##ID) unaligned;                                                                \
        typedef NAME(bits_##ID) bits;                                                                          \
        enum { LANES = 32 / sizeof(T), BLOCK = 64 * LANES };                                                   \
        npy_intp k = 0, last = n - LANES;                                                                      \
        bits hit = {0};                                                                                        \
        (void)b;                                                                                               \
        while (last - k > BLOCK) {                                                                             \
            for (npy_intp end = k + BLOCK; k < end; k += LANES)                                                \
                hit |= (bits)(*(unaligned const *)(a + k) RELATION(LOAD(k)));                                  \
            if (ANY_BIT(hit)) return 1;                                                                        \
        }                                                                                                      \
        for (; k < last; k += LANES) hit |= (bits)(*(unaligned const *)(a + k) RELATION(LOAD(k)));             \
        hit |= (bits)(*(unaligned const *)(a + last) RELATION(LOAD(last)));                                    \
        return ANY_BIT(hit);                                                                                   \
    }                                                                                                          \
    static int NAME(any_##ID)(void const *x, void const *y, npy_intp n) {                                      \
        typedef NAME(vector_##ID) vector __attribute__((unused));                                              \
        typedef NAME(unaligned_##ID) unaligned;                                                                \
        typedef NAME(bits_##ID) bits;                                                                          \
        enum { LANES = 32 / sizeof(T) };                                                                       \
        T const *a = x, *b = y;                                                                                \
        if (n > 2 * LANES) return NAME(any_##ID##_many)(a, b, n);                                              \
        if (n >= LANES) {                                                                                      \
            npy_intp last = n - LANES;                                                                         \
            bits hit = (bits)(*(unaligned const *)a RELATION(LOAD(0)));                                        \
            hit |= (bits)(*(unaligned const *)(a + last) RELATION(LOAD(last)));                                \
            return ANY_BIT(hit);                                                                               \
        }                                                                                                      \
        I hit = 0;                                                                                             \
        for (npy_intp k = 0; k < n; k++) hit |= a[k] RELATION(Y);                                              \
        return hit;                                                                                            \
    }
#define ANY_ELEMENT(k) *(unaligned const *)(b + (k))
#define ANY_SCALAR(k) ((vector){0} + *b)
#define ANY_ZERO(k) ((vector){0})
#define ANY_RELATION(ID, T, I, RELATION)                                                                       \
    ANY_FUNCTION(ID, T, I, ANY_ELEMENT, b[k], RELATION) ANY_FUNCTION(ID##_scalar, T, I, ANY_SCALAR, *b, RELATION)
#define ANY_RELATIONS(N, T, I)                                                                                 \
    ANY_RELATION(lt_##N, T, I, <)                                                                              \
    ANY_RELATION(le_##N, T, I, <=)                                                                             \
    ANY_RELATION(gt_##N, T, I, >)                                                                              \
    ANY_RELATION(ge_##N, T, I, >=)                                                                             \
    ANY_RELATION(eq_##N, T, I, ==)                                                                             \
    ANY_RELATION(ne_##N, T, I, !=)
ANY_RELATIONS(f32, float, int32_t)
ANY_RELATIONS(f64, double, int64_t)
ANY_RELATIONS(i32, int32_t, int32_t)
ANY_RELATIONS(i64, int64_t, int64_t)
ANY_FUNCTION(eq_b, uint8_t, int8_t, ANY_ZERO, 0, ==)
ANY_FUNCTION(ne_b, uint8_t, int8_t, ANY_ZERO, 0, !=)

#define ANY_PAIR(ID) {NAME(any_##ID), NAME(any_##ID##_scalar)}
#define ANY_ROW(N)                                                                                             \
    {ANY_PAIR(lt_##N), ANY_PAIR(le_##N), ANY_PAIR(gt_##N), ANY_PAIR(ge_##N), ANY_PAIR(eq_##N), ANY_PAIR(ne_##N)}
static loopdbg_any_function const NAME(any_functions)[5][6][2] = {
    ANY_ROW(f32),
    ANY_ROW(f64),
    ANY_ROW(i32),
    ANY_ROW(i64),
    {{0}, {0}, {0}, {0}, {NAME(any_eq_b), NAME(any_eq_b)}, {NAME(any_ne_b), NAME(any_ne_b)}}};
#undef ANY_BIT
#undef ANY_FUNCTION
#undef ANY_ELEMENT
#undef ANY_SCALAR
#undef ANY_ZERO
#undef ANY_RELATION
#undef ANY_RELATIONS
#undef ANY_PAIR
#undef ANY_ROW
