/* Anonymous memory that grows without being copied: the system moves its pages, or adds pages in front. NULL where it
   cannot. */
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

/* Address space without memory, for memory that grows towards lower addresses: no pages can be moved to its end. */
static inline char *reserve_address_space(size_t nbytes) {
    void *space = mmap(NULL, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return NULL;
    madvise(space, nbytes, MADV_HUGEPAGE);
    return (char *)space;
}

/* Memory for a part of reserved address space, which begins and ends at a page; 0: none. */
static inline int commit_memory(char *memory, size_t nbytes) { return mprotect(memory, nbytes, PROT_READ | PROT_WRITE) == 0; }

static inline void unmap_memory(char *memory, size_t nbytes) { munmap(memory, nbytes); }
#else
static inline char *map_memory(size_t nbytes) { return (void)nbytes, NULL; }

static inline char *reserve_address_space(size_t nbytes) { return (void)nbytes, NULL; }

static inline int commit_memory(char *memory, size_t nbytes) { return (void)memory, (void)nbytes, 0; }

static inline char *remap_memory(char *memory, size_t nbytes, size_t new_nbytes) {
    return (void)memory, (void)nbytes, (void)new_nbytes, NULL;
}

static inline void unmap_memory(char *memory, size_t nbytes) { (void)memory, (void)nbytes; }
#endif

#endif
