/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures MPI_Pack and MPI_Unpack on host memory, beside loops written by hand for each datatype
 * and a memcpy of the same bytes, as CSV. The ways take turns, sample by sample. If the library has
 * MPIR_CVAR_GPUDT_HOST_ENGINE, the engine of MPICH's release takes part. What MPI packs is compared
 * with what the loop packs, and what it unpacks likewise.
 *
 * Copies from a buffer to another of the same type are MPI_Sendrecv of a process to itself; `hand` packs
 * and unpacks.
 *
 * With two ranks also half of a ping-pong's round trip: `hand` packs, sends contiguous bytes and
 * unpacks; `memcpy` is a contiguous message.
 *
 *   mpicc -O3 -march=native -o host_loops host_loops.c
 *   ./host_loops [BYTES ...]
 *   mpiexec -bind-to core -n 2 ./host_loops [BYTES ...] */

#include <mpi.h>
#include <stdint.h>
#include <string.h>
#include "bench.h"

#define SAMPLES 61
#define SAMPLE_BYTES (128 * 1024)       /* several small packs make one sample */
#define SKEW 2112               /* of packed memory, against the user's buffer */

/* A datatype, and what its loop needs to know. */
struct job {
    MPI_Datatype type;
    int count;
    int bytes;                  /* packed */
    size_t span;                /* of the buffer */
    int n;                      /* elements, rows or blocks */
    int *displ, *length;        /* of blocks, in doubles */
    char *user, *packed, *other;
    char *copy;                 /* of the user's buffer */
};

/* ---------------------------------------------------------------- datatypes and their loops */

/* {double, int, char}, 16 bytes apart */
struct record {
    double x;
    int i;
    char c;
};

static void struct_make(struct job *job, int bytes)
{
    const int length[3] = { 1, 1, 1 };
    const MPI_Aint displ[3] = { 0, 8, 12 };
    const MPI_Datatype member[3] = { MPI_DOUBLE, MPI_INT, MPI_CHAR };
    MPI_Datatype members;

    MPI_Type_create_struct(3, length, displ, member, &members);
    MPI_Type_create_resized(members, 0, sizeof(struct record), &job->type);
    MPI_Type_free(&members);
    job->n = job->count = bytes < 13 ? 1 : bytes / 13;
}

static void struct_pack(const struct job *job, char *restrict p)
{
    const struct record *restrict u = (const struct record *) job->user;

    for (int i = 0; i < job->n; i++, p += 13) {
        memcpy(p, &u[i].x, 8);
        memcpy(p + 8, &u[i].i, 4);
        p[12] = u[i].c;
    }
}

static void struct_unpack(const struct job *job, const char *restrict p)
{
    struct record *restrict u = (struct record *) job->user;

    for (int i = 0; i < job->n; i++, p += 13) {
        memcpy(&u[i].x, p, 8);
        memcpy(&u[i].i, p + 8, 4);
        u[i].c = p[12];
    }
}

static void vector_make(struct job *job, int bytes)
{
    job->n = bytes / 8;
    job->count = 1;
    MPI_Type_vector(job->n, 1, 2, MPI_DOUBLE, &job->type);
    if (job->n == 1) {
        /* would be contiguous: two floats instead */
        MPI_Type_free(&job->type);
        MPI_Type_vector(2, 1, 2, MPI_FLOAT, &job->type);
    }
}

static void vector_pack(const struct job *job, char *restrict p)
{
    const double *restrict u = (const double *) job->user;
    double *restrict to = (double *) p;

    if (job->bytes == 8) {
        ((float *) to)[0] = ((const float *) u)[0];
        ((float *) to)[1] = ((const float *) u)[2];
        return;
    }
    for (int i = 0; i < job->n; i++)
        to[i] = u[2 * i];
}

static void vector_unpack(const struct job *job, const char *restrict p)
{
    double *restrict u = (double *) job->user;
    const double *restrict from = (const double *) p;

    if (job->bytes == 8) {
        ((float *) u)[0] = ((const float *) from)[0];
        ((float *) u)[2] = ((const float *) from)[1];
        return;
    }
    for (int i = 0; i < job->n; i++)
        u[2 * i] = from[i];
}

static int root_of(int x, int power)
{
    int n = 1;

    while ((power == 3 ? (n + 1) * (n + 1) * (n + 1) : (n + 1) * (n + 1)) <= x)
        n++;
    return n;
}

/* A cube of n^3 doubles in one of (2 n)^3 */
static void subarray_make(struct job *job, int bytes)
{
    const int n = root_of(bytes / 8, 3);
    const int size[3] = { 2 * n, 2 * n, 2 * n }, part[3] = { n, n, n }, start[3] = { 1, 0, 0 };

    MPI_Type_create_subarray(3, size, part, start, MPI_ORDER_C, MPI_DOUBLE, &job->type);
    job->n = n;
    job->count = 1;
}

static void subarray_pack(const struct job *job, char *restrict p)
{
    const int n = job->n;
    const double *restrict u = (const double *) job->user + 4 * n * n;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++, p += 8 * n)
            memcpy(p, u + (2 * n * i + j) * 2 * n, (size_t) n * 8);
}

static void subarray_unpack(const struct job *job, const char *restrict p)
{
    const int n = job->n;
    double *restrict u = (double *) job->user + 4 * n * n;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++, p += 8 * n)
            memcpy(u + (2 * n * i + j) * 2 * n, p, (size_t) n * 8);
}

/* A face of that array: one double of each row */
static void face_make(struct job *job, int bytes)
{
    const int n = root_of(bytes / 8, 2);
    const int size[3] = { n, n, 16 }, part[3] = { n, n, 1 }, start[3] = { 0, 0, 3 };

    MPI_Type_create_subarray(3, size, part, start, MPI_ORDER_C, MPI_DOUBLE, &job->type);
    job->n = n * n;
    job->count = 1;
}

static void face_pack(const struct job *job, char *restrict p)
{
    const double *restrict u = (const double *) job->user;
    double *restrict to = (double *) p;

    for (int i = 0; i < job->n; i++)
        to[i] = u[16 * i + 3];
}

static void face_unpack(const struct job *job, const char *restrict p)
{
    double *restrict u = (double *) job->user;
    const double *restrict from = (const double *) p;

    for (int i = 0; i < job->n; i++)
        u[16 * i + 3] = from[i];
}

/* Blocks of 1 to 8 doubles in random order */
static void random_make(struct job *job, int bytes)
{
    const int doubles = bytes / 8;
    unsigned state = 12345;
    int left = doubles, place = 0;

    job->displ = malloc((size_t) doubles * sizeof(int));
    job->length = malloc((size_t) doubles * sizeof(int));
    if (job->displ == NULL || job->length == NULL)
        exit(2);
    for (job->n = 0; left > 0; job->n++) {
        state = state * 1103515245u + 12345u;
        const int n = 1 + (int) (state >> 16) % 8;
        job->length[job->n] = n < left ? n : left;
        job->displ[job->n] = place;
        place += n + 1 + (int) (state >> 20) % 8;
        left -= job->length[job->n];
    }
    for (int i = job->n - 1; i > 0; i--) {
        state = state * 1103515245u + 12345u;
        const int j = (int) ((state >> 8) % (unsigned) (i + 1)), at = job->displ[i];
        const int n = job->length[i];
        job->displ[i] = job->displ[j];
        job->length[i] = job->length[j];
        job->displ[j] = at;
        job->length[j] = n;
    }
    MPI_Type_indexed(job->n, job->length, job->displ, MPI_DOUBLE, &job->type);
    job->count = 1;
}

static void random_pack(const struct job *job, char *restrict p)
{
    const double *restrict u = (const double *) job->user;
    double *restrict to = (double *) p;

    for (int i = 0; i < job->n; i++)
        for (int j = 0; j < job->length[i]; j++)
            *to++ = u[job->displ[i] + j];
}

static void random_unpack(const struct job *job, const char *restrict p)
{
    double *restrict u = (double *) job->user;
    const double *restrict from = (const double *) p;

    for (int i = 0; i < job->n; i++)
        for (int j = 0; j < job->length[i]; j++)
            u[job->displ[i] + j] = *from++;
}

/* A square of elements of 16 bytes, column by column */
static void transpose_make(struct job *job, int bytes)
{
    MPI_Datatype column;

    job->n = job->count = root_of(bytes / 16, 2);
    MPI_Type_vector(job->n, 1, job->n, MPI_C_DOUBLE_COMPLEX, &column);
    MPI_Type_create_resized(column, 0, 16, &job->type);
    MPI_Type_free(&column);
}

struct pair {
    double re, im;
};

#define SQUARE 8

static void transpose_pack(const struct job *job, char *restrict p)
{
    const int n = job->n;
    const struct pair *restrict u = (const struct pair *) job->user;
    struct pair *restrict to = (struct pair *) p;

    for (int i = 0; i < n; i += SQUARE)
        for (int j = 0; j < n; j += SQUARE)
            for (int x = i; x < i + SQUARE && x < n; x++)
                for (int y = j; y < j + SQUARE && y < n; y++)
                    to[x * n + y] = u[y * n + x];
}

static void transpose_unpack(const struct job *job, const char *restrict p)
{
    const int n = job->n;
    struct pair *restrict u = (struct pair *) job->user;
    const struct pair *restrict from = (const struct pair *) p;

    for (int i = 0; i < n; i += SQUARE)
        for (int j = 0; j < n; j += SQUARE)
            for (int y = j; y < j + SQUARE && y < n; y++)
                for (int x = i; x < i + SQUARE && x < n; x++)
                    u[y * n + x] = from[x * n + y];
}

static const struct layout {
    const char *name;
    void (*make) (struct job * job, int bytes);
    void (*pack) (const struct job * job, char *restrict p);
    void (*unpack) (const struct job * job, const char *restrict p);
} layouts[] = {
    {"struct", struct_make, struct_pack, struct_unpack},
    {"vector_8_16", vector_make, vector_pack, vector_unpack},
    {"subarray", subarray_make, subarray_pack, subarray_unpack},
    {"face", face_make, face_pack, face_unpack},
    {"random", random_make, random_pack, random_unpack},
    {"transpose", transpose_make, transpose_pack, transpose_unpack}
};

#define N_LAYOUTS ((int) (sizeof(layouts) / sizeof(layouts[0])))

/* ---------------------------------------------------------------- ways */

enum way { RECORDS, RELEASE, HAND, MEMCPY, NWAYS };
static const char *const way_names[NWAYS] = { "mpi", "release", "hand", "memcpy" };

/* The control variable that chooses the engine: 0 for records, 1 for the release's. */
static MPI_T_cvar_handle engine_handle;
static int has_engines;

static void engine_find(void)
{
    int index, n;

    has_engines = MPI_T_cvar_get_index("MPIR_CVAR_GPUDT_HOST_ENGINE", &index) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &engine_handle, &n) == MPI_SUCCESS;
}

static void engine_set(enum way way)
{
    const int engine = way == RELEASE;

    if (has_engines)
        MPI_T_cvar_write(engine_handle, &engine);
}

static void move(const struct layout *l, struct job *job, enum way way, int unpack)
{
    int position = 0;

    if (way == MEMCPY)
        memcpy(unpack ? job->other : job->packed, unpack ? job->packed : job->other,
               (size_t) job->bytes);
    else if (way == HAND && unpack)
        l->unpack(job, job->packed);
    else if (way == HAND)
        l->pack(job, job->packed);
    else if (unpack)
        MPI_Unpack(job->packed, job->bytes, &position, job->user, job->count, job->type,
                   MPI_COMM_SELF);
    else
        MPI_Pack(job->user, job->count, job->type, job->packed, job->bytes, &position,
                 MPI_COMM_SELF);
}

/* One message, from one of two ranks to the other. */
static void message(const struct layout *l, struct job *job, enum way way, int other, int is_send)
{
    const int is_typed = way == RECORDS || way == RELEASE;
    char *mem = is_typed ? job->user : way == HAND ? job->packed : job->other;
    const int count = is_typed ? job->count : job->bytes;
    const MPI_Datatype type = is_typed ? job->type : MPI_BYTE;

    if (is_send) {
        if (way == HAND)
            l->pack(job, job->packed);
        MPI_Send(mem, count, type, other, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(mem, count, type, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (way == HAND)
            l->unpack(job, job->packed);
    }
}

/* To the other buffer of the same type. */
static void copy(const struct layout *l, struct job *job, enum way way)
{
    char *user = job->user;

    if (way == MEMCPY) {
        memcpy(job->packed, job->other, (size_t) job->bytes);
    } else if (way == HAND) {
        l->pack(job, job->packed);
        job->user = job->copy;
        l->unpack(job, job->packed);
        job->user = user;
    } else {
        MPI_Sendrecv(job->user, job->count, job->type, 0, 0, job->copy, job->count, job->type, 0, 0,
                     MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
}

enum measure { PACK, UNPACK, COPY, PINGPONG };
static const char *const measure_names[] = { "pack", "unpack", "copy", "pingpong" };

static void run(const struct layout *l, struct job *job, enum way way, enum measure what, int rank)
{
    if (what == PINGPONG) {
        message(l, job, way, 1 - rank, rank == 0);
        message(l, job, way, 1 - rank, rank == 1);
    } else if (what == COPY) {
        copy(l, job, way);
    } else {
        move(l, job, way, what == UNPACK);
    }
}

/* ---------------------------------------------------------------- jobs */

static int job_init(struct job *job, const struct layout *l, int bytes)
{
    MPI_Aint lb, extent, low, true_extent;

    memset(job, 0, sizeof(*job));
    l->make(job, bytes);
    MPI_Type_commit(&job->type);
    MPI_Type_get_extent(job->type, &lb, &extent);
    MPI_Type_get_true_extent(job->type, &low, &true_extent);
    MPI_Type_size(job->type, &job->bytes);
    job->bytes *= job->count;
    job->span = (size_t) (extent * (job->count - 1) + low + true_extent);
    job->user = bench_alloc(job->span + 64, 0);
    job->packed = bench_alloc((size_t) job->bytes, SKEW);
    job->other = bench_alloc((size_t) job->bytes, 2 * SKEW);
    job->copy = bench_alloc(job->span + 64, 3 * SKEW);
    return job->user && job->packed && job->other && job->copy;
}

static void job_free(struct job *job)
{
    bench_free(job->user, 0);
    bench_free(job->packed, SKEW);
    bench_free(job->other, 2 * SKEW);
    bench_free(job->copy, 3 * SKEW);
    free(job->displ);
    free(job->length);
    MPI_Type_free(&job->type);
}

static void fill(char *mem, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1103515245u + 12345u;
        mem[i] = (char) (seed >> 16);
    }
}

/* Whether MPI packs, unpacks and copies as the loop does. */
static int job_is_right(struct job *job, const struct layout *l)
{
    char *unpacked = malloc(job->span);
    int right;

    if (unpacked == NULL)
        return 0;
    fill(job->user, job->span, 1);
    l->pack(job, job->packed);
    memcpy(job->other, job->packed, (size_t) job->bytes);
    memset(job->packed, 0, (size_t) job->bytes);
    move(l, job, RECORDS, 0);
    right = memcmp(job->other, job->packed, (size_t) job->bytes) == 0;
    fill(job->packed, (size_t) job->bytes, 2);
    l->unpack(job, job->packed);
    memcpy(unpacked, job->user, job->span);
    fill(job->user, job->span, 1);
    move(l, job, RECORDS, 1);
    right = right && memcmp(unpacked, job->user, job->span) == 0;
    fill(job->copy, job->span, 3);
    copy(l, job, HAND);
    memcpy(unpacked, job->copy, job->span);
    fill(job->copy, job->span, 3);
    copy(l, job, RECORDS);
    right = right && memcmp(unpacked, job->copy, job->span) == 0;
    free(unpacked);
    return right;
}

static void job_time(struct job *job, const struct layout *l, enum measure what, int rank)
{
    static double seconds[NWAYS][SAMPLES];
    const int batch = job->bytes < SAMPLE_BYTES ? SAMPLE_BYTES / job->bytes : 1;
    const int runs = what == PINGPONG ? (batch < 200 ? batch : 200) : batch;
    double us[NWAYS];

    for (int i = -3; i < SAMPLES; i++) {
        for (int way = 0; way < NWAYS; way++) {
            engine_set((enum way) way);
            const double start = MPI_Wtime();
            for (int j = 0; j < runs; j++)
                run(l, job, (enum way) way, what, rank);
            if (i >= 0)
                seconds[way][i] = (MPI_Wtime() - start) / runs / (what == PINGPONG ? 2 : 1);
        }
    }
    if (rank > 0)
        return;
    printf("%s,%s,%d", l->name, measure_names[what], job->bytes);
    for (int way = 0; way < NWAYS; way++) {
        qsort(seconds[way], SAMPLES, sizeof(double), bench_compare);
        us[way] = bench_quantile(seconds[way], SAMPLES, 0.5) * 1e6;
        printf(",%.4f", way == RELEASE && !has_engines ? -1 : us[way]);
    }
    printf(",%.2f,%.2f\n", us[RELEASE] / us[RECORDS], us[HAND] / us[RECORDS]);
    fflush(stdout);
}

/* All measurements of one type in one size. Returns 0 on failure. */
static int job_run(const struct layout *l, int bytes, int rank, int nranks)
{
    struct job job;
    const int good = job_init(&job, l, bytes) && job_is_right(&job, l);

    if (!good)
        fprintf(stderr, "host_loops: %s of %d bytes: wrong data, or no memory\n", l->name,
                job.bytes);
    for (int what = PACK; good && what <= (nranks == 2 ? PINGPONG : COPY); what++) {
        if (rank == 0 || what == PINGPONG)
            job_time(&job, l, (enum measure) what, rank);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    job_free(&job);
    return good;
}

int main(int argc, char *argv[])
{
    static char *sizes[] = { "", "8", "1024", "65536", "4194304" };
    int provided, rank, nranks, good = 1;

    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    engine_find();
    if (argc < 2) {
        argv = sizes;
        argc = 5;
    }
    if (rank == 0) {
        printf("type,measure,bytes");
        for (int way = 0; way < NWAYS; way++)
            printf(",%s_us", way_names[way]);
        printf(",release/mpi,hand/mpi\n");
    }
    for (int s = 1; s < argc && good; s++) {
        const int bytes = (int) bench_number(argv[s], 1 << 28);

        for (int i = 0; i < N_LAYOUTS && bytes >= 8 && good; i++)
            good = job_run(&layouts[i], bytes, rank, nranks);
    }
    MPI_T_finalize();
    MPI_Finalize();
    return good ? 0 : 1;
}
