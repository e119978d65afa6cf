/* Memory that a process can still allocate, according to Linux: free or reclaimable, within its control groups. */
#ifndef LOOPDBG_AVAILABLE_H
#define LOOPDBG_AVAILABLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_GUARD_PATH_MAX 1024

/* Root of /proc and /sys; tests use others. */
static char memory_guard_root[MEMORY_GUARD_PATH_MAX] = "";

/* The number behind a key in a file, in bytes; -1: none or no limit. Without a key: the file's number. */
static int64_t memory_guard_read_number(const char *folder, const char *file, const char *key) {
    char path[3 * MEMORY_GUARD_PATH_MAX], line[256], *end;
    snprintf(path, sizeof path, "%s%s/%s", memory_guard_root, folder, file);
    FILE *from = fopen(path, "re");
    if (from == NULL) return -1;
    int64_t found = -1;
    size_t length = strlen(key);
    while (fgets(line, sizeof line, from) != NULL) {
        if (strncmp(line, key, length) != 0) continue;
        int64_t number = strtoll(line + length, &end, 10);
        if (end != line + length) found = strstr(end, "kB") != NULL ? number * 1024 : number;
        break;
    }
    fclose(from);
    return found;
}

static int64_t memory_guard_min(int64_t a, int64_t b) { return a < b ? a : b; }

/* Reclaimable memory of a group from its memory.stat: that of files, in version 2 also that about files. */
static const char *const memory_guard_reclaimable_v1[] = {"total_inactive_file ", "total_active_file ", NULL};
static const char *const memory_guard_reclaimable_v2[] = {"inactive_file ", "active_file ", "slab_reclaimable ", NULL};
static const char *const memory_guard_reclaimable_none[] = {NULL};

/* What a group's limit leaves, INT64_MAX: no limit. */
static int64_t memory_guard_cgroup_headroom(const char *group, const char *limit, const char *used, const char *const *freed) {
    int64_t most = memory_guard_read_number(group, limit, "");
    if (most < 0 || most > INT64_MAX / 2) /* version 1 has a number for no limit */
        return INT64_MAX;
    int64_t taken = memory_guard_read_number(group, used, "");
    for (; *freed != NULL; freed++) {
        int64_t some = memory_guard_read_number(group, "memory.stat", *freed);
        taken -= some > 0 ? some : 0;
    }
    if (taken < 0) taken = 0;
    return most > taken ? most - taken : 0;
}

static int64_t memory_guard_saturating_add(int64_t left, int64_t swap) {
    return left < INT64_MAX - swap ? left + swap : INT64_MAX;
}

/* What one group leaves. Version 1 limits memory, and memory with swap; version 2 limits each. */
static int64_t memory_guard_cgroup_available(const char *group, int version, int64_t swap) {
    if (version == 2) {
        int64_t left = memory_guard_cgroup_headroom(group, "memory.max", "memory.current", memory_guard_reclaimable_v2);
        if (left < INT64_MAX && swap > 0)
            swap = memory_guard_min(swap, memory_guard_cgroup_headroom(group, "memory.swap.max", "memory.swap.current",
                                                                       memory_guard_reclaimable_none));
        return memory_guard_saturating_add(left, swap);
    }
    int64_t left =
        memory_guard_cgroup_headroom(group, "memory.limit_in_bytes", "memory.usage_in_bytes", memory_guard_reclaimable_v1);
    return memory_guard_min(memory_guard_saturating_add(left, swap),
                            memory_guard_cgroup_headroom(group, "memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes",
                                                         memory_guard_reclaimable_v1));
}

/* Is memory among the controllers of a line of /proc/self/cgroup ("4:memory,hugetlb:/path")? */
static int memory_guard_lists_memory_controller(const char *names, const char *end) {
    while (names < end) {
        const char *next = memchr(names, ',', (size_t)(end - names));
        const char *stop = next != NULL ? next : end;
        if (stop - names == 6 && strncmp(names, "memory", 6) == 0) return 1;
        names = stop + 1;
    }
    return 0;
}

/* What the process's groups and their parents leave. In a container, outer groups are not visible. */
static int64_t memory_guard_cgroups_available(int64_t swap) {
    char path[2 * MEMORY_GUARD_PATH_MAX], line[MEMORY_GUARD_PATH_MAX], group[2 * MEMORY_GUARD_PATH_MAX];
    int64_t least = INT64_MAX;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", memory_guard_root);
    FILE *from = fopen(path, "re");
    if (from == NULL) return least;
    while (fgets(line, sizeof line, from) != NULL) {
        char *names = strchr(line, ':');
        char *inside = names != NULL ? strchr(names + 1, ':') : NULL;
        if (inside == NULL) continue;
        int version = inside == names + 1 ? 2 : memory_guard_lists_memory_controller(names + 1, inside) ? 1 : 0;
        if (version == 0) continue;
        const char *base = version == 2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        inside[1 + strcspn(inside + 1, "\n")] = 0;
        snprintf(group, sizeof group, "%s%s", base, inside + 1);
        size_t shortest = strlen(base);
        for (;;) {
            size_t length = strlen(group);
            while (length > shortest && group[length - 1] == '/') group[--length] = 0;
            least = memory_guard_min(least, memory_guard_cgroup_available(group, version, swap));
            if (length <= shortest) break;
            while (length > shortest && group[length - 1] != '/') group[--length] = 0;
        }
    }
    fclose(from);
    return least;
}

/* Resident pages of this process, the shared ones among them, and private writable pages. */
static int memory_guard_read_statm(long *resident, long *shared, long *data) {
    char path[2 * MEMORY_GUARD_PATH_MAX];
    snprintf(path, sizeof path, "%s/proc/self/statm", memory_guard_root);
    FILE *from = fopen(path, "re");
    if (from == NULL) return 0;
    int read = fscanf(from, "%*d %ld %ld %*d %*d %ld", resident, shared, data);
    fclose(from);
    return read == 3;
}

/* Memory allocated but not yet written, which still counts as available. What existed at startup is for stacks of
 * threads and the like, which will not be written. */
static int64_t memory_guard_untouched(void) {
    static int64_t least = INT64_MAX;
    long resident = 0, shared = 0, data = 0;
    if (!memory_guard_read_statm(&resident, &shared, &data)) return 0;
    int64_t unwritten = (int64_t)(data - (resident - shared)) * sysconf(_SC_PAGESIZE);
    least = memory_guard_min(least, unwritten);
    return unwritten - least;
}

/* In bytes; -1: unknown. */
static int64_t memory_guard_available(void) {
    int64_t here = memory_guard_read_number("/proc", "meminfo", "MemAvailable:");
    if (here < 0) return -1;
    int64_t swap = memory_guard_read_number("/proc", "meminfo", "SwapFree:");
    swap = swap > 0 ? swap : 0;
    int64_t there = memory_guard_min(here + swap, memory_guard_cgroups_available(swap)) - memory_guard_untouched();
    return there > 0 ? there : 0;
}

/* The private memory of this process, in bytes; -1: unknown. */
static int64_t memory_guard_private(void) {
    long resident = 0, shared = 0, data = 0;
    return memory_guard_read_statm(&resident, &shared, &data) ? (int64_t)data * sysconf(_SC_PAGESIZE) : -1;
}

/* Limit the private memory of this process to `all` bytes from now on, unless its own limit is lower: allocations in
 * libraries then fail with an error. */
static void memory_guard_set_rlimit(int64_t all, rlim_t most) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
    rlim_t wanted = (rlim_t)all;
    limit.rlim_cur = wanted < most ? wanted : most;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_DATA, &limit);
}

static double memory_guard_monotonic_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
