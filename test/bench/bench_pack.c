/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures MPI_Pack and MPI_Unpack on GPU memory, one rank, as CSV, together with references from
 * the same run: kernels written by hand for each layout, the driver's own copies, a contiguous copy
 * of the packed size, and an empty launch. Of each layout the plain pack to GPU memory is compared byte by
 * byte with that of the kernel by hand; the other forms, unpacking and host memory are only timed. Times are microseconds, medians of the whole call.
 *
 *   bench_pack REF_CUBIN BYTES[,BYTES...] LAYOUT[,LAYOUT...]|all
 *
 * Column `form`: plain; count, with a quarter of the datatype and four times the count; offset,
 * with the buffer one byte off any alignment. A time of -1: there is no such reference. */

#include <mpi.h>
#include <string.h>

#include "pack_types.h"
#include "refs.h"

#define USER_SZ ((size_t) 40 << 30)
#define PACKED_SZ ((size_t) 512 << 20)
#define MAX_COPIES 2048         /* a layout that needs more driver copies is left out */

enum form { PLAIN, COUNT, OFFSET, NFORMS };
static const char *const form_names[NFORMS] = { "plain", "count", "offset" };

struct bench {
    CUstream stream;
    CUmodule ref;
    CUdeviceptr user, packed, other, packed_host, count;
    int failed;
};

/* ---------------------------------------------------------------- the library */

struct call {
    MPI_Datatype type;
    int count, bytes;
    void *user, *packed;
    int unpack;
};

static void call_once(void *state)
{
    struct call *c = state;
    int position = 0;

    if (c->unpack)
        MPI_Unpack(c->packed, c->bytes, &position, c->user, c->count, c->type, MPI_COMM_SELF);
    else
        MPI_Pack(c->user, c->count, c->type, c->packed, c->bytes, &position, MPI_COMM_SELF);
}

/* ---------------------------------------------------------------- the driver */

struct driver_copy {
    CUstream stream;
    const struct layout *l;
    CUdeviceptr user, packed;
    int unpack;
};

static void copy_blocks(const struct driver_copy *d, int64_t displ, int64_t pos, int64_t width,
                        int64_t rows, int64_t pitch, int64_t planes, int64_t plane_pitch)
{
    CUDA_MEMCPY3D c;

    memset(&c, 0, sizeof(c));
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    c.srcDevice = d->unpack ? d->packed + (CUdeviceptr) pos : d->user + (CUdeviceptr) displ;
    c.dstDevice = d->unpack ? d->user + (CUdeviceptr) displ : d->packed + (CUdeviceptr) pos;
    c.srcPitch = (size_t) (d->unpack ? width : pitch);
    c.dstPitch = (size_t) (d->unpack ? pitch : width);
    c.srcHeight = (size_t) (d->unpack ? rows : plane_pitch / pitch);
    c.dstHeight = (size_t) (d->unpack ? plane_pitch / pitch : rows);
    c.WidthInBytes = (size_t) width;
    c.Height = (size_t) rows;
    c.Depth = (size_t) planes;
    CU(cuMemcpy3DAsync(&c, d->stream));
}

static void copy_rows(const struct driver_copy *d, int64_t width, int64_t rows, int64_t pitch)
{
    CUDA_MEMCPY2D c;

    memset(&c, 0, sizeof(c));
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    c.srcDevice = d->unpack ? d->packed : d->user;
    c.dstDevice = d->unpack ? d->user : d->packed;
    c.srcPitch = (size_t) (d->unpack ? width : pitch);
    c.dstPitch = (size_t) (d->unpack ? pitch : width);
    c.WidthInBytes = (size_t) width;
    c.Height = (size_t) rows;
    CU(cuMemcpy2DAsync(&c, d->stream));
}

struct block_copy {
    const struct driver_copy *d;
    int64_t pos;
};

static void copy_block(void *state, int64_t displ, int64_t len)
{
    struct block_copy *b = state;
    const CUdeviceptr user = b->d->user + (CUdeviceptr) displ;
    const CUdeviceptr packed = b->d->packed + (CUdeviceptr) b->pos;

    CU(cuMemcpyAsync(b->d->unpack ? user : packed, b->d->unpack ? packed : user, (size_t) len,
                     b->d->stream));
    b->pos += len;
}

static int is_named(const struct layout *l, const char *begin)
{
    return strncmp(l->name, begin, strlen(begin)) == 0;
}

static int is_rows(const struct layout *l)
{
    return is_named(l, "vector") || is_named(l, "face") || is_named(l, "bytes") ||
        is_named(l, "half") || is_named(l, "struct17");
}

static void driver_once(void *state)
{
    const struct driver_copy *d = state;
    const struct layout *l = d->l;

    if (is_rows(l)) {
        copy_rows(d, l->param[0], l->n, l->param[1]);
    } else if (is_named(l, "sub4d")) {
        const int64_t s = l->param[0], row = 64 * 8, cube = s * s * s * 8;
        for (int64_t m = 0; m < l->n; m++)
            for (int64_t i = 0; i < s; i++)
                copy_blocks(d, (m * 64 + i) * 64 * 64 * row, (m * s + i) * cube, s * 8, s, row, s,
                            64 * row);
    } else {
        struct block_copy b = { d, 0 };
        l->blocks(l, copy_block, &b);
    }
    CU(cuStreamSynchronize(d->stream));
}

static void count_block(void *state, int64_t displ, int64_t len)
{
    int64_t *nblocks = state;

    (void) displ;
    (void) len;
    (*nblocks)++;
}

/* -1 if the driver would need too many copies */
static double driver_time(struct driver_copy *d)
{
    const struct layout *l = d->l;
    int64_t ncopies = 0;

    if (is_rows(l))
        ncopies = l->param[1] < INT32_MAX ? 1 : MAX_COPIES + 1;
    else if (is_named(l, "sub4d"))
        ncopies = l->n * l->param[0];
    else
        l->blocks(l, count_block, &ncopies);
    return ncopies <= MAX_COPIES ? bench_median(driver_once, d) : -1;
}

/* ---------------------------------------------------------------- cases */

static int64_t count_different(struct bench *b, CUdeviceptr x, CUdeviceptr y, int64_t n)
{
    struct ref_args args = { (char *) x, (char *) y, n, 0, (void *) b->count, NULL };
    int64_t found = 0;

    CU(cuMemcpyHtoD(b->count, &found, 8));
    CU(cuCtxSynchronize());
    refs_run(b->ref, b->stream, "differ", &args);
    CU(cuMemcpyDtoH(&found, b->count, 8));
    return found;
}

/* Compare the library's packed data with that of the kernel by hand. */
static void check_pack(struct bench *b, const struct layout *l, const struct refs_aux *aux,
                       struct call *call)
{
    const char *name;

    if (refs_time(b->ref, b->stream, l, aux, b->user - (CUdeviceptr) l->low, b->other, 0,
                  &name) < 0)
        return;
    CU(cuMemsetD8(b->packed, 0x5a, (size_t) l->size));
    CU(cuCtxSynchronize());
    call_once(call);
    int64_t wrong = count_different(b, b->packed, b->other, l->size);
    if (wrong > 0) {
        printf("# WRONG: %s, %lld bytes differ from %s\n", l->name, (long long) wrong, name);
        b->failed = 1;
    }
}

static void time_form(struct bench *b, const struct layout *l, const struct refs_aux *aux,
                      enum form form, double empty)
{
    const int64_t shift = form == OFFSET ? 1 : 0;
    struct call call = { .bytes = (int) l->size };

    pack_type_make(l, &call.type, &call.count);
    if (form == COUNT)
        call.count *= 4;
    call.bytes *= form == COUNT ? 4 : 1;
    call.user = (void *) (b->user - (CUdeviceptr) l->low + (CUdeviceptr) shift);
    for (int i = 0; i < 4; i++) {
        const CUdeviceptr packed = i / 2 ? b->packed_host : b->packed;
        const char *name = "none";
        double hand = -1, driver = -1;

        call.unpack = i % 2;
        call.packed = (void *) packed;
        double copy = refs_time_copy(b->stream, call.unpack ? b->other : packed,
                                     call.unpack ? packed : b->other, (size_t) call.bytes);
        if (form == PLAIN) {
            struct driver_copy d = {
                b->stream, l, b->user - (CUdeviceptr) l->low, packed, call.unpack
            };
            if (i == 0)
                check_pack(b, l, aux, &call);
            hand = refs_time(b->ref, b->stream, l, aux, d.user, packed, call.unpack, &name);
            driver = driver_time(&d);
        }
        double t = bench_median(call_once, &call);
        printf("%s,%s,%d,%s,%s,%.2f,%.1f,%s,%.2f,%.2f,%.2f,%.2f\n", l->name, form_names[form],
               call.bytes, call.unpack ? "unpack" : "pack", i / 2 ? "host" : "device", t,
               (double) call.bytes / t, name, hand, driver, copy, empty);
    }
    fflush(stdout);
    MPI_Type_free(&call.type);
}

static void time_layout(struct bench *b, int which, int64_t bytes)
{
    for (int form = 0; form < NFORMS; form++) {
        struct layout l;
        struct refs_aux aux;
        layout_make(which, form == COUNT ? bytes / 4 : bytes, &l);
        const int64_t span = (l.high - l.low) * (form == COUNT ? 8 : 1);        /* extents vary */
        if ((size_t) span + 8 <= USER_SZ &&
            (size_t) l.size * (form == COUNT ? 4 : 1) <= PACKED_SZ) {
            struct ref_args fill = { (char *) b->user, NULL, span / 8, 1, NULL, NULL };
            refs_run(b->ref, b->stream, "fill", &fill);
            refs_aux_make(&l, &aux);
            time_form(b, &l, &aux, (enum form) form, refs_time_empty(b->ref, b->stream));
            refs_aux_free(&aux);
        } else {
            printf("# %s of %lld bytes does not fit\n", l.name, (long long) bytes);
        }
        layout_free(&l);
    }
}

static int in_list(const char *list, const char *name)
{
    const size_t n = strlen(name);

    if (strcmp(list, "all") == 0)
        return 1;
    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name)) {
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct bench b = { .failed = 0 };
    CUdevice device;
    CUcontext context;
    void *host;

    MPI_Init(&argc, &argv);
    if (argc != 4) {
        fprintf(stderr, "usage: %s REF_CUBIN BYTES[,BYTES...] LAYOUT[,LAYOUT...]|all\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&b.stream, CU_STREAM_NON_BLOCKING));
    b.ref = bench_load_module(argv[1]);
    CU(cuMemAlloc(&b.user, USER_SZ));
    CU(cuMemAlloc(&b.packed, PACKED_SZ));
    CU(cuMemAlloc(&b.other, PACKED_SZ));
    CU(cuMemAlloc(&b.count, 8));
    CU(cuMemHostAlloc(&host, PACKED_SZ, CU_MEMHOSTALLOC_DEVICEMAP));
    b.packed_host = (CUdeviceptr) host;

    printf("type,form,bytes,direction,packed_in,us,MB/s,by_hand,by_hand_us,driver_us,copy_us,"
           "empty_us\n");
    for (char *at = argv[2], *end; *at != '\0'; at = *end == ',' ? end + 1 : end) {
        int64_t bytes = strtoll(at, &end, 0);
        if (end == at || bytes < 64) {
            fprintf(stderr, "%s: no list of sizes\n", argv[2]);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        for (int i = 0; i < layout_count(); i++) {
            /* Faces have a fixed size: measured once. */
            if (in_list(argv[3], layout_name(i)) &&
                (at == argv[2] || strncmp(layout_name(i), "face", 4) != 0))
                time_layout(&b, i, bytes);
        }
    }

    CU(cuMemFreeHost(host));
    CU(cuMemFree(b.count));
    CU(cuMemFree(b.other));
    CU(cuMemFree(b.packed));
    CU(cuMemFree(b.user));
    CU(cuModuleUnload(b.ref));
    CU(cuStreamDestroy(b.stream));
    CU(cuDevicePrimaryCtxRelease(device));
    MPI_Finalize();
    return b.failed;
}
