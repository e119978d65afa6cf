/* Anonymous memory that grows without being copied: the system moves its pages. NULL where it cannot. */
#ifndef LOOPDBG_MAPPED_MEMORY_H
#define LOOPDBG_MAPPED_MEMORY_H

#include <stddef.h>

#ifdef __linux__
#include <sys/mman.h>

static inline char *map_memory(size_t nbytes) {
    void *memory = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    /* All of it: memory with different advice in its parts could not be moved. */
    madvise(memory, nbytes, MADV_HUGEPAGE);
    return (char *)memory;
}

static inline char *remap_memory(char *memory, size_t nbytes, size_t new_nbytes) {
    void *moved = mremap(memory, nbytes, new_nbytes, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : (char *)moved;
}

static inline void unmap_memory(char *memory, size_t nbytes) { munmap(memory, nbytes); }
#else
static inline char *map_memory(size_t nbytes) { return (void)nbytes, NULL; }

static inline char *remap_memory(char *memory, size_t nbytes, size_t new_nbytes) {
    return (void)memory, (void)nbytes, (void)new_nbytes, NULL;
}

static inline void unmap_memory(char *memory, size_t nbytes) { (void)memory, (void)nbytes; }
#endif

#endif
