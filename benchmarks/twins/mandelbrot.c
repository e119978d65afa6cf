/* The nested loops of mandelbrot: counts has side * side elements. */

#include <stdint.h>

void mandelbrot(int64_t side, int64_t limit, int64_t *counts)
{
    float step = 2.0f / (float)side;
    for (int64_t pixel = 0; pixel < side * side; pixel++) {
        float c_im = -1.0f + (float)(pixel / side) * step;
        float c_re = -1.5f + (float)(pixel % side) * step;
        float re = 0, im = 0;
        int64_t count = 0;
        int inside = 1;
        while (count < limit && inside) {
            float re_re = re * re, im_im = im * im, re_im = re * im;
            re = re_re - im_im + c_re;
            im = re_im + re_im + c_im;
            inside = re_re + im_im < 4.0f;
            count++;
        }
        counts[pixel] = count;
    }
}
