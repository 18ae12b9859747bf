/* Counts what threads of shards allocate and copy: loaded before the libraries of a server (LD_PRELOAD), it writes its
   figures into the file that NG_SHARD_WORK names. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Shorter copies are of headers and of fields, not of payloads. */
enum { COUNTED_COPY = 1024 };

struct figures {
    uint64_t allocations;
    uint64_t copied_bytes;
};

static struct figures *shared;
static __thread signed char is_shard; /* 0: not known yet, 1: it is, -1: it is not */

__attribute__((constructor)) static void open_figures(void) {
    const char *path = getenv("NG_SHARD_WORK");
    int file = path ? open(path, O_RDWR) : -1;
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof(struct figures), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED)
        shared = mapped;
}

static int counted(void) {
    if (!shared || is_shard < 0)
        return 0;
    if (!is_shard) {
        char name[16] = "";
        if (syscall(SYS_gettid) == getpid()) {
            is_shard = -1;
            return 0;
        }
        /* A thread has its parent's name until it is given its own. */
        prctl(PR_GET_NAME, name);
        if (name[0] == 's' && name[1] == 'h' && name[2] == 'a' && name[3] == 'r' && name[4] == 'd' && name[5] == '-')
            is_shard = 1;
    }
    return is_shard > 0;
}

static void count_allocation(void) {
    if (counted())
        __atomic_fetch_add(&shared->allocations, 1, __ATOMIC_RELAXED);
}

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
    count_allocation();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    count_allocation();
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    count_allocation();
    return __libc_realloc(block, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    count_allocation();
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : 12;
}

void *aligned_alloc(size_t alignment, size_t size) {
    count_allocation();
    return __libc_memalign(alignment, size);
}

static void count_copy(size_t size) {
    if (size >= COUNTED_COPY && counted())
        __atomic_fetch_add(&shared->copied_bytes, size, __ATOMIC_RELAXED);
}

static void *forward(void *to, const void *from, size_t size) {
    void *end = to;
    __asm__ volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(size) : : "memory");
    return to;
}

void *memcpy(void *to, const void *from, size_t size) {
    count_copy(size);
    return forward(to, from, size);
}

void *memmove(void *to, const void *from, size_t size) {
    count_copy(size);
    if ((uintptr_t)to - (uintptr_t)from >= size)
        return forward(to, from, size);
    unsigned char *out = (unsigned char *)to + size;
    const unsigned char *in = (const unsigned char *)from + size;
    while (out != to)
        *--out = *--in;
    return to;
}
