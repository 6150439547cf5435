/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Messages of all sizes and modes, between buffers of all kinds, and what they and the other parts
 * draw. */

#include "soak.h"

#define MAX_MSGS 8              /* in a round, each way */

enum mode { STANDARD, SYNCHRONOUS, READY, BUFFERED, PERSISTENT, NMODES };

/* A message from each process to the next one, and the one received from the previous one. */
struct msg {
    enum mode mode;
    MPI_Datatype type;
    MPI_Aint count;
    struct side out, in;
    MPI_Request requests[2];
};

MPI_Datatype type_draw(struct rng *rng, MPI_Aint bytes, MPI_Aint * count)
{
    int n = (int) (bytes / 64 + 1), lens[64], displs[64];
    MPI_Aint offs[2] = { 0, 24 };
    MPI_Datatype type, types[2] = { MPI_DOUBLE, MPI_INT };

    *count = 1;
    switch (rng_range(rng, 0, 3)) {
        case 0:
            *count = bytes / 4;
            return MPI_INT;
        case 1:
            MPI_Type_vector(n, 16, (int) rng_range(rng, 17, 40), MPI_INT, &type);
            break;
        case 2:
            for (int i = 0; i < 64; i++) {
                lens[i] = (int) rng_range(rng, 1, 3);
                displs[i] = 5 * i + (int) rng_range(rng, 0, 1);
            }
            MPI_Type_indexed(64, lens, displs, MPI_INT, &type);
            *count = bytes / 512 + 1;
            break;
        default:
            lens[0] = lens[1] = (int) rng_range(rng, 1, 3);
            MPI_Type_create_struct(2, lens, offs, types, &type);
            *count = n / 2 + 1;
            break;
    }
    MPI_Type_commit(&type);
    return type;
}

enum mem_kind kind_draw(struct rng *rng)
{
    static const enum mem_kind kinds[] = {
        MEM__DEVICE, MEM__DEVICE, MEM__DEVICE, MEM__OTHER_DEVICE, MEM__MANAGED, MEM__POOL,
        MEM__PINNED, MEM__PAGEABLE
    };
    enum mem_kind kind = kinds[rng_range(rng, 0, 7)];

    return mem_exists(kind) ? kind : MEM__DEVICE;
}

/* Draw a message and make its buffers. All processes draw the same messages, each with its own
 * memory. */
static void msg_make(struct msg *m, struct rng *rng, struct rng *own, unsigned seed)
{
    int bits = (int) rng_range(rng, 3, 21);
    MPI_Aint bytes = (MPI_Aint) rng_range(rng, 8, (int64_t) 1 << bits);

    m->mode = (enum mode) rng_range(rng, 0, NMODES - 1);
    if (m->mode == BUFFERED && bytes > BUFFERED_MAX)
        m->mode = STANDARD;
    m->type = type_draw(rng, bytes, &m->count);
    side_make(&m->out, kind_draw(own), m->type, m->count, (int) rng_range(own, 0, 15));
    side_make(&m->in, kind_draw(own), m->type, m->count, (int) rng_range(own, 0, 15));
    side_fill(&m->out, seed + rank);
    side_clear(&m->in, seed + (rank + nprocs - 1) % nprocs);
}

static void msg_recv(struct msg *m, int tag, MPI_Comm comm)
{
    int from = (rank + nprocs - 1) % nprocs;

    if (m->mode == PERSISTENT) {
        CHECK_MPI(MPI_Recv_init(m->in.buf, (int) m->count, m->type, from, tag, comm,
                                &m->requests[0]));
        CHECK_MPI(MPI_Start(&m->requests[0]));
    } else {
        CHECK_MPI(MPI_Irecv(m->in.buf, (int) m->count, m->type, from, tag, comm,
                            &m->requests[0]));
    }
}

static void msg_send(struct msg *m, int tag, MPI_Comm comm, int may_be_ready)
{
    int to = (rank + 1) % nprocs, n = (int) m->count;
    MPI_Request *request = &m->requests[1];

    switch (m->mode) {
        case SYNCHRONOUS:
            CHECK_MPI(MPI_Issend(m->out.buf, n, m->type, to, tag, comm, request));
            break;
        case BUFFERED:
            CHECK_MPI(MPI_Ibsend(m->out.buf, n, m->type, to, tag, comm, request));
            break;
        case PERSISTENT:
            CHECK_MPI(MPI_Send_init(m->out.buf, n, m->type, to, tag, comm, request));
            CHECK_MPI(MPI_Start(request));
            break;
        case READY:
            if (may_be_ready) {
                CHECK_MPI(MPI_Irsend(m->out.buf, n, m->type, to, tag, comm, request));
                break;
            }
            /* fall through */
        default:
            CHECK_MPI(MPI_Isend(m->out.buf, n, m->type, to, tag, comm, request));
            break;
    }
}

static void msg_end(struct msg *m, unsigned seed)
{
    MPI_Status statuses[2];

    CHECK_MPI(MPI_Waitall(2, m->requests, statuses));
    side_check(&m->in, "a received buffer", seed + (rank + nprocs - 1) % nprocs, m->in.size);
    side_check(&m->out, "a sent buffer", seed + rank, m->out.size);
    if (m->mode == PERSISTENT) {
        MPI_Request_free(&m->requests[0]);
        MPI_Request_free(&m->requests[1]);
    }
    side_free(&m->in);
    side_free(&m->out);
}

void type_end(MPI_Datatype * type)
{
    if (*type != MPI_INT)
        MPI_Type_free(type);
}

void messages(struct rng *rng, struct rng *own, unsigned seed, MPI_Comm comm)
{
    struct msg msgs[MAX_MSGS];
    int n = (int) rng_range(rng, 1, MAX_MSGS), posted = rng_chance(rng, 50);
    int types_first = rng_chance(rng, 50);

    for (int i = 0; i < n; i++)
        msg_make(&msgs[i], rng, own, seed + 100 * i);
    for (int i = 0; posted && i < n; i++)
        msg_recv(&msgs[i], i, comm);
    CHECK_MPI(MPI_Barrier(comm));
    for (int i = 0; i < n; i++)
        msg_send(&msgs[i], i, comm, posted);
    for (int i = 0; !posted && i < n; i++)
        msg_recv(&msgs[i], i, comm);
    for (int i = 0; types_first && i < n; i++)
        type_end(&msgs[i].type);
    for (int i = 0; i < n; i++)
        msg_end(&msgs[i], seed + 100 * i);
    for (int i = 0; !types_first && i < n; i++)
        type_end(&msgs[i].type);
}
