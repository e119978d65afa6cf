/* Quantization of rows, for one vector width (quantize.h). */

/* y = saturate(round(x / scale) + zero); NaN becomes the minimum. numbers[5..7]: the minimum, the maximum, and the bits
 * to keep. Within such limits rounding to even is an addition and a subtraction. */
#define QUANTIZE_BODY(T, U, STEP)                                                                             \
    for (npy_intp i = 0; i < n; i++) {                                                                        \
        float z = (float)((T const *)zero)[STEP * i], v = ((float const *)x)[i] / scale[STEP * i];            \
        float least = low - z, most = high - z;                                                               \
        v = v > least ? v : least;                                                                            \
        v = v < most ? v : most;                                                                              \
        v = LOOPDBG_NEAREST(v);                                                                               \
        ((U *)y)[i] = (U)((int32_t)(v + z) & bits);                                                           \
    }
#define QUANTIZE(ID, T, U)                                                                                    \
    static void NAME(ID)(char const *x, char *restrict y, npy_intp n, float const *scale, char const *zero, npy_intp step, \
                          npy_intp const *numbers) {                                                          \
        float low = (float)numbers[5], high = (float)numbers[6];                                              \
        int32_t bits = (int32_t)numbers[7];                                                                   \
        if (step) QUANTIZE_BODY(T, U, 1)                                                                      \
        else QUANTIZE_BODY(T, U, 0)                                                                           \
    }
QUANTIZE(quantize_i8, int8_t, uint8_t)
QUANTIZE(quantize_u8, uint8_t, uint8_t)
QUANTIZE(quantize_i16, int16_t, uint16_t)
QUANTIZE(quantize_u16, uint16_t, uint16_t)

/* Sums of 32 bits times a factor for all (step 0) or one for each column, as bytes. */
#define REQUANTIZE_BODY(STEP)                                                                                 \
    for (npy_intp i = 0; i < n; i++) {                                                                        \
        float v = (float)x[i] * factor[STEP * i];                                                             \
        v = v > least ? v : least;                                                                            \
        v = v < most ? v : most;                                                                              \
        v = LOOPDBG_NEAREST(v);                                                                               \
        y[i] = (uint8_t)(int32_t)(v + z);                                                                     \
    }
static void NAME(requantize_row)(int32_t const *x, uint8_t *restrict y, npy_intp n, float const *factor, npy_intp step, float z,
                                 float low) {
    float least = low - z, most = low + 255.0f - z;
    if (step) REQUANTIZE_BODY(1)
    else REQUANTIZE_BODY(0)
}

/* y = (x - zero) * scale */
#define DEQUANTIZE(ID, T)                                                                                     \
    static void NAME(ID)(char const *x, char *restrict y, npy_intp n, float const *scale, char const *zero, npy_intp step, \
                          npy_intp const *numbers) {                                                          \
        (void)numbers;                                                                                        \
        if (step)                                                                                             \
            for (npy_intp i = 0; i < n; i++)                                                                  \
                ((float *)y)[i] = (float)(int32_t)((uint32_t)((T const *)x)[i] - (uint32_t)((T const *)zero)[i]) * scale[i]; \
        else                                                                                                  \
            for (npy_intp i = 0; i < n; i++)                                                                  \
                ((float *)y)[i] = (float)(int32_t)((uint32_t)((T const *)x)[i] - (uint32_t)((T const *)zero)[0]) * scale[0]; \
    }
DEQUANTIZE(dequantize_i8, int8_t)
DEQUANTIZE(dequantize_u8, uint8_t)
DEQUANTIZE(dequantize_i16, int16_t)
DEQUANTIZE(dequantize_u16, uint16_t)
DEQUANTIZE(dequantize_i32, int32_t)
