/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a buffer that MPI has used before, and the program has freed, gives an MPI error and
 * no change of the other side's memory: for each kind of GPU memory, each side, packing and
 * unpacking. And that the error for one that is longer than its allocation says so. */

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <stdlib.h>
#include <string.h>

#define N 100

/* Which side was freed. */
enum gone { GONE__USER, GONE__PACKED };

static void call(enum mem_kind kind, enum mem_kind other, enum gone gone, int is_unpack)
{
    struct strided s;
    struct mem *left;           /* the other side */
    char *addr, *before, *after;
    int position = 0, err;
    char *user, *packed;

    if (gone == GONE__USER)
        strided_make(&s, kind, other, N, 0);
    else
        strided_make(&s, other, kind, N, 0);
    strided_both_ways(&s);
    addr = gone == GONE__USER ? s.user.addr : s.packed.addr;
    mem_free(gone == GONE__USER ? &s.user : &s.packed);
    left = gone == GONE__USER ? &s.packed : &s.user;
    before = malloc(left->sz);
    after = malloc(left->sz);
    mem_read(left, 0, before, left->sz);

    user = gone == GONE__USER ? addr : s.user.addr;
    packed = gone == GONE__PACKED ? addr : s.packed.addr;
    if (is_unpack)
        err = MPI_Unpack(packed, N * 4, &position, user, 1, s.type, MPI_COMM_SELF);
    else
        err = MPI_Pack(user, 1, s.type, packed, N * 4, &position, MPI_COMM_SELF);
    if (err == MPI_SUCCESS)
        report_fail("%s with freed %s memory for the %s and %s memory for the other side: no error",
                    is_unpack ? "unpack" : "pack", mem_name(kind),
                    gone == GONE__USER ? "user's buffer" : "packed data", mem_name(other));
    mem_read(left, 0, after, left->sz);
    report_compare("memory of the other side", after, before, left->sz);
    free(before);
    free(after);
    MPI_Type_free(&s.type);
    mem_free(&s.user);
    mem_free(&s.packed);
}

/* With the emulated driver only: a real one may copy all the same, and what else is there would be lost. */
static void too_long(int is_unpack)
{
    enum { sz = 4096 };
    static char host[2 * sz];
    char text[MPI_MAX_ERROR_STRING] = "";
    struct mem mem;
    int position = 0, n, err;

    mem_alloc(&mem, MEM__DEVICE, sz);
    if (is_unpack)
        err = MPI_Unpack(host, 2 * sz, &position, mem.addr, 2 * sz, MPI_BYTE, MPI_COMM_SELF);
    else
        err = MPI_Pack(mem.addr, 2 * sz, MPI_BYTE, host, 2 * sz, &position, MPI_COMM_SELF);
    if (err)
        MPI_Error_string(err, text, &n);
    CHECK(err != MPI_SUCCESS);
    if (strstr(text, "beyond the end of the GPU allocation of 4096 bytes") == NULL)
        report_fail("%s of too many bytes: %s", is_unpack ? "unpack" : "pack", text);
    mem_free(&mem);
}

int main(void)
{
    struct strided s;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    strided_make(&s, MEM__DEVICE, MEM__PINNED, N, 1);
    strided_both_ways(&s);
    for (int kind = MEM__DEVICE; kind < MEM__NKINDS; kind++) {
        for (int other = MEM__PAGEABLE; other <= MEM__DEVICE && mem_exists(kind); other++) {
            for (int i = 0; i < 4; i++)
                call(kind, other, i % 2 ? GONE__USER : GONE__PACKED, i / 2);
        }
    }
    for (int i = 0; i < 2 && gpu.is_emulated; i++)
        too_long(i);
    strided_both_ways(&s);
    strided_free(&s);
    MPI_Finalize();
    return report_done();
}
