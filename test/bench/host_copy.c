/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* How fast one core copies 64 buffers of the program into a ring of shared memory, which is what
 * the sender of messages from pageable host memory has to do for each byte: by memcpy, by "rep
 * movsb", and by stores that bypass the caches; and how fast it gathers blocks of 8 bytes that are
 * 16 bytes apart there. Prints GB/s of the ring, median of nine rounds.
 *
 * Build: cc -O3 -march=native -o host_copy host_copy.c
 * Usage: host_copy [MiB of the ring] */

#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define NBUFFERS 64
#define ROUNDS 9
#define CHUNK_MAX ((size_t) 4 << 20)
#define CHUNK_MIN ((size_t) 512 << 10)

static void by_memcpy(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
}

static void by_movsb(char *to, const char *from, size_t n)
{
    __asm__ volatile ("rep movsb":"+D" (to), "+S"(from), "+c"(n)::"memory");
}

/* Both addresses and n are multiples of 64. */
static void by_stream(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 64) {
#ifdef __AVX512F__
        _mm512_stream_si512((void *) (to + i), _mm512_load_si512((const void *) (from + i)));
#else
        for (size_t k = i; k < i + 64; k += 16)
            _mm_stream_si128((void *) (to + k), _mm_load_si128((const void *) (from + k)));
#endif
        _mm_prefetch(from + i + 2048, _MM_HINT_T0);
    }
    _mm_sfence();
}

/* Addresses and n are multiples of 8. */
static void by_gather(char *to, const char *from, size_t n)
{
    const uint64_t *in = (const uint64_t *) (const void *) from;
    uint64_t *out = (uint64_t *) (void *) to;

    for (size_t i = 0; i < n / 8; i++)
        out[i] = in[2 * i];
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

/* Copy sz bytes of each buffer, in which they are spread over `spread` times as many. */
static double rate(void (*copy) (char *, const char *, size_t), char *ring, size_t ring_sz,
                   char **buffers, size_t sz, size_t spread)
{
    size_t chunk = sz / 4 < CHUNK_MIN ? CHUNK_MIN : sz / 4 > CHUNK_MAX ? CHUNK_MAX : sz / 4;
    double all[ROUNDS];

    if (chunk > sz)
        chunk = sz;
    for (int k = 0; k < ROUNDS; k++) {
        double start = now();
        size_t at = 0;
        for (int i = 0; i < NBUFFERS; i++) {
            for (size_t done = 0; done < sz; done += chunk) {
                copy(ring + at, buffers[i] + done * spread, chunk);
                at = (at + chunk) % ring_sz;
            }
        }
        all[k] = NBUFFERS * (double) sz / (now() - start) / 1e9;
    }
    qsort(all, ROUNDS, sizeof(all[0]), compare);
    return all[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    size_t ring_sz = (size_t) (argc > 1 ? atoi(argv[1]) : 64) << 20;
    char *ring = mmap(NULL, ring_sz, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *buffers[NBUFFERS];

    if (ring == MAP_FAILED || ring_sz < CHUNK_MAX)
        return 1;
    memset(ring, 1, ring_sz);
    printf("bytes,memcpy,movsb,stream,gather\n");
    for (size_t sz = 256 << 10; sz <= (size_t) 16 << 20; sz *= 4) {
        for (int i = 0; i < NBUFFERS; i++) {
            buffers[i] = aligned_alloc(4096, 2 * sz);
            if (buffers[i] == NULL)
                return 1;
            memset(buffers[i], i, 2 * sz);
        }
        printf("%zu,%.1f,%.1f,%.1f,%.1f\n", sz, rate(by_memcpy, ring, ring_sz, buffers, sz, 1),
               rate(by_movsb, ring, ring_sz, buffers, sz, 1),
               rate(by_stream, ring, ring_sz, buffers, sz, 1),
               rate(by_gather, ring, ring_sz, buffers, sz, 2));
        for (int i = 0; i < NBUFFERS; i++)
            free(buffers[i]);
    }
    return 0;
}
