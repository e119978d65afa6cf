/* For make sanitize: libraries (OpenVINO's among them) that ask to be loaded with RTLD_DEEPBIND, which AddressSanitizer
 * refuses, are loaded without it. */
#define _GNU_SOURCE
#include <dlfcn.h>

void *dlopen(char const *name, int flags) {
    static void *(*next)(char const *, int);
    if (!next) next = (void *(*)(char const *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(name, flags & ~RTLD_DEEPBIND);
}
