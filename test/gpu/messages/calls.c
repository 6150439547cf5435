/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests every call that sends with every call that receives, expected and unexpected, from and to
 * GPUs: different layouts at the two ends, lengths from zero to several segments. Two processes. */

#include "report.h"
#include "side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG_DATA 7
#define TAG_TOKEN 8

enum send {
    SEND__SEND, SEND__SSEND, SEND__RSEND, SEND__BSEND, SEND__ISEND, SEND__ISSEND, SEND__IRSEND,
    SEND__IBSEND, SEND__SEND_INIT, SEND__SSEND_INIT, SEND__RSEND_INIT, SEND__BSEND_INIT, NSENDS
};
static const char *const send_names[NSENDS] = {
    "Send", "Ssend", "Rsend", "Bsend", "Isend", "Issend", "Irsend", "Ibsend", "Send_init",
    "Ssend_init", "Rsend_init", "Bsend_init"
};

enum recv {
    RECV__RECV, RECV__IRECV, RECV__RECV_INIT, RECV__ANY, RECV__PROBE, RECV__IPROBE, RECV__MPROBE,
    RECV__IMPROBE, NRECVS
};
static const char *const recv_names[NRECVS] = {
    "Recv", "Irecv", "Recv_init", "Irecv of any", "Probe and Recv", "Iprobe and Irecv",
    "Mprobe and Mrecv", "Improbe and Imrecv"
};

/* Layouts of the same ints. */
enum layout { LAYOUT__CONTIG, LAYOUT__VECTOR, LAYOUT__STRUCT, NLAYOUTS };
static const char *const layout_names[NLAYOUTS] = { "contiguous", "vector", "struct" };

static MPI_Comm comm;
static int rank, other;
static unsigned seed = 1;

static MPI_Datatype layout_make(enum layout layout)
{
    MPI_Datatype type, part;
    int lengths[2] = { 1, 3 };
    MPI_Aint displs[2] = { 0, 8 };
    MPI_Datatype types[2] = { MPI_INT, MPI_INT };

    /* 4 ints each */
    switch (layout) {
        case LAYOUT__CONTIG:
            MPI_Type_contiguous(4, MPI_INT, &type);
            break;
        case LAYOUT__VECTOR:
            MPI_Type_vector(4, 1, 3, MPI_INT, &type);
            break;
        default:
            MPI_Type_create_struct(2, lengths, displs, types, &part);
            MPI_Type_create_resized(part, 0, 32, &type);
            MPI_Type_free(&part);
            break;
    }
    MPI_Type_commit(&type);
    return type;
}

static void token_send(void)
{
    CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, other, TAG_TOKEN, comm));
}

static void token_recv(void)
{
    CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, other, TAG_TOKEN, comm, MPI_STATUS_IGNORE));
}

/* ---- sending ---- */

static void send_run(enum send how, const struct side *s, int is_late)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int n = (int) s->count;

    if (!is_late)
        token_recv();
    switch (how) {
        case SEND__SEND:
            CHECK_MPI(MPI_Send(s->buf, n, s->type, other, TAG_DATA, comm));
            break;
        case SEND__SSEND:
            CHECK_MPI(MPI_Ssend(s->buf, n, s->type, other, TAG_DATA, comm));
            break;
        case SEND__RSEND:
            CHECK_MPI(MPI_Rsend(s->buf, n, s->type, other, TAG_DATA, comm));
            break;
        case SEND__BSEND:
            CHECK_MPI(MPI_Bsend(s->buf, n, s->type, other, TAG_DATA, comm));
            break;
        case SEND__ISEND:
            CHECK_MPI(MPI_Isend(s->buf, n, s->type, other, TAG_DATA, comm, &request));
            break;
        case SEND__ISSEND:
            CHECK_MPI(MPI_Issend(s->buf, n, s->type, other, TAG_DATA, comm, &request));
            break;
        case SEND__IRSEND:
            CHECK_MPI(MPI_Irsend(s->buf, n, s->type, other, TAG_DATA, comm, &request));
            break;
        case SEND__IBSEND:
            CHECK_MPI(MPI_Ibsend(s->buf, n, s->type, other, TAG_DATA, comm, &request));
            break;
        case SEND__SEND_INIT:
            CHECK_MPI(MPI_Send_init(s->buf, n, s->type, other, TAG_DATA, comm, &request));
            break;
        case SEND__SSEND_INIT:
            CHECK_MPI(MPI_Ssend_init(s->buf, n, s->type, other, TAG_DATA, comm, &request));
            break;
        case SEND__RSEND_INIT:
            CHECK_MPI(MPI_Rsend_init(s->buf, n, s->type, other, TAG_DATA, comm, &request));
            break;
        default:
            CHECK_MPI(MPI_Bsend_init(s->buf, n, s->type, other, TAG_DATA, comm, &request));
            break;
    }
    if (how >= SEND__SEND_INIT)
        CHECK_MPI(MPI_Start(&request));
    if (is_late)
        token_send();
    if (request != MPI_REQUEST_NULL)
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (how >= SEND__SEND_INIT)
        CHECK_MPI(MPI_Request_free(&request));
}

/* Whether a call returns before the message is received, however long it is. */
static int send_may_be_late(enum send how)
{
    return how == SEND__BSEND || how == SEND__ISEND || how == SEND__ISSEND || how == SEND__IBSEND ||
        how == SEND__SEND_INIT || how == SEND__SSEND_INIT || how == SEND__BSEND_INIT;
}

/* ---- receiving ---- */

static void recv_run(enum recv how, const struct side *s, int is_late, MPI_Status * status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    int n = (int) s->count, flag = 0;

    if (is_late)
        token_recv();
    switch (how) {
        case RECV__IRECV:
            CHECK_MPI(MPI_Irecv(s->buf, n, s->type, other, TAG_DATA, comm, &request));
            break;
        case RECV__RECV_INIT:
            CHECK_MPI(MPI_Recv_init(s->buf, n, s->type, other, TAG_DATA, comm, &request));
            CHECK_MPI(MPI_Start(&request));
            break;
        case RECV__ANY:
            CHECK_MPI(MPI_Irecv(s->buf, n, s->type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request));
            break;
        default:
            break;
    }
    if (!is_late)
        token_send();
    switch (how) {
        case RECV__RECV:
            CHECK_MPI(MPI_Recv(s->buf, n, s->type, other, TAG_DATA, comm, status));
            break;
        case RECV__PROBE:
            CHECK_MPI(MPI_Probe(MPI_ANY_SOURCE, TAG_DATA, comm, status));
            CHECK_MPI(MPI_Recv(s->buf, n, s->type, status->MPI_SOURCE, TAG_DATA, comm, status));
            break;
        case RECV__IPROBE:
            while (!flag)
                CHECK_MPI(MPI_Iprobe(other, TAG_DATA, comm, &flag, status));
            CHECK_MPI(MPI_Irecv(s->buf, n, s->type, other, TAG_DATA, comm, &request));
            break;
        case RECV__MPROBE:
            CHECK_MPI(MPI_Mprobe(other, TAG_DATA, comm, &message, status));
            CHECK_MPI(MPI_Mrecv(s->buf, n, s->type, &message, status));
            break;
        case RECV__IMPROBE:
            while (!flag)
                CHECK_MPI(MPI_Improbe(other, TAG_DATA, comm, &flag, &message, status));
            CHECK_MPI(MPI_Imrecv(s->buf, n, s->type, &message, &request));
            break;
        default:
            break;
    }
    if (request != MPI_REQUEST_NULL)
        CHECK_MPI(MPI_Wait(&request, status));
    if (how == RECV__RECV_INIT)
        CHECK_MPI(MPI_Request_free(&request));
}

/* ---- one message ---- */

static void message(enum send send, enum recv recv, int is_late, struct side *s, int is_sender,
                    const char *text)
{
    int before = report_failures, got;
    MPI_Status status;

    seed++;
    if (is_sender) {
        side_fill(s, seed);
        send_run(send, s, is_late);
        side_check(s, "the sent buffer", seed, s->size);
    } else {
        side_clear(s, seed);
        recv_run(recv, s, is_late, &status);
        side_check(s, "the received buffer", seed, s->size);
        CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &got));
        CHECK(got == s->size);
        CHECK(status.MPI_SOURCE == other);
        CHECK(status.MPI_TAG == TAG_DATA);
    }
    if (report_failures != before)
        fprintf(stderr, "... %s, %s, %s%s\n", send_names[send], recv_names[recv], text,
                is_late ? ", unexpected" : "");
}

static void pairs(struct side *s, int is_sender, const char *text, int all)
{
    int turn = 0;

    for (int send = 0; send < NSENDS; send++) {
        for (int recv = 0; recv < NRECVS; recv++) {
            int is_ready = send == SEND__RSEND || send == SEND__IRSEND || send == SEND__RSEND_INIT;
            int is_posted = recv == RECV__IRECV || recv == RECV__RECV_INIT || recv == RECV__ANY;
            if (!all && (turn++ + (int) seed) % 7)
                continue;
            if (!is_ready || is_posted)
                message(send, recv, 0, s, is_sender, text);
            if (send_may_be_late(send) && recv != RECV__ANY)
                message(send, recv, 1, s, is_sender, text);
        }
    }
}

/* Messages without data, whose datatype nobody looks at. */
static void no_datatypes(void)
{
    const struct side s = {.buf = NULL,.count = 0,.type = MPI_DATATYPE_NULL };
    MPI_Status status;

    for (int turn = 0; turn < NSENDS * NRECVS; turn++) {
        int send = turn % NSENDS, recv = turn / NSENDS, got;
        int is_late = send_may_be_late(send) && recv != RECV__ANY && turn % 2;

        if (send == SEND__RSEND || send == SEND__IRSEND || send == SEND__RSEND_INIT)
            recv = RECV__IRECV;
        if (turn / NRECVS % 2 == rank) {
            send_run(send, &s, is_late);
        } else {
            recv_run(recv, &s, is_late, &status);
            CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &got));
            CHECK(got == 0);
        }
    }
}

/* Messages through an attached buffer in GPU memory. */
static void attached_on_gpu(void)
{
    const int size = 100000;
    struct side s;
    struct mem attached;
    void *detached;
    int detached_sz;

    mem_alloc(&attached, MEM__DEVICE, size);
    CHECK_MPI(MPI_Buffer_attach(attached.addr, size));
    side_make(&s, MEM__DEVICE, MPI_INT, 10000, 0);
    for (enum send send = SEND__SEND; send < NSENDS; send++) {
        if (send == SEND__BSEND || send == SEND__IBSEND || send == SEND__BSEND_INIT)
            message(send, RECV__RECV, 1, &s, rank == 0, "attached on a GPU");
    }
    CHECK_MPI(MPI_Buffer_detach(&detached, &detached_sz));
    CHECK(detached == attached.addr && detached_sz == size);
    side_free(&s);
    mem_free(&attached);
}

/* ---- the calls that do both ---- */

static void exchanges(enum mem_kind mine, MPI_Datatype type, MPI_Aint count)
{
    struct side out, in;
    MPI_Request request;
    MPI_Status status;
    unsigned mine_seed, other_seed;

    side_make(&out, mine, type, count, 0);
    side_make(&in, mine, type, count, 0);
    for (int i = 0; i < 4; i++) {
        seed += 2;
        mine_seed = seed + rank;
        other_seed = seed + other;
        side_fill(&out, mine_seed);
        side_clear(&in, other_seed);
        switch (i) {
            case 0:
                CHECK_MPI(MPI_Sendrecv(out.buf, count, type, other, 1, in.buf, count, type, other,
                                       1, comm, &status));
                break;
            case 1:
                CHECK_MPI(MPI_Isendrecv(out.buf, count, type, other, 1, in.buf, count, type, other,
                                        1, comm, &request));
                CHECK_MPI(MPI_Wait(&request, &status));
                break;
            case 2:
                CHECK_MPI(MPI_Sendrecv_replace(out.buf, count, type, other, 1, other, 1, comm,
                                               &status));
                break;
            default:
                CHECK_MPI(MPI_Isendrecv_replace(out.buf, count, type, other, 1, other, 1, comm,
                                                &request));
                CHECK_MPI(MPI_Wait(&request, &status));
                break;
        }
        if (i < 2) {
            side_check(&in, "the received buffer of an exchange", other_seed, in.size);
            side_check(&out, "the sent buffer of an exchange", mine_seed, out.size);
        } else {
            side_check(&out, "the replaced buffer", other_seed, out.size);
        }
    }
    side_free(&out);
    side_free(&in);
}

int main(int argc, char **argv)
{
    static const enum mem_kind kinds[][2] = {
        {MEM__DEVICE, MEM__DEVICE}, {MEM__DEVICE, MEM__PAGEABLE}, {MEM__PAGEABLE, MEM__DEVICE},
        {MEM__OTHER_DEVICE, MEM__MANAGED}, {MEM__POOL, MEM__PINNED}
    };
    static const int counts[] = { 0, 1, 200, 1500, 6000 };
    MPI_Datatype types[NLAYOUTS];
    void *attached;
    int attached_sz = 1 << 20;
    int all = argc > 1 && strcmp(argv[1], "all") == 0;

    report_time_limit(600);
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    attached = malloc(attached_sz);
    MPI_Buffer_attach(attached, attached_sz);
    for (int i = 0; i < NLAYOUTS; i++)
        types[i] = layout_make((enum layout) i);

    no_datatypes();
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        if (!mem_exists(kinds[k][0]) || !mem_exists(kinds[k][1]))
            continue;
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            for (int a = 0; a < NLAYOUTS; a++) {
                int b = (a + (int) (k + c)) % NLAYOUTS;
                int mine = rank == 0 ? 0 : 1;
                int layout = mine == 0 ? a : b;
                struct side s;
                char text[200];

                snprintf(text, sizeof(text), "%d x 16 bytes, %s in %s memory to %s in %s memory",
                         counts[c], layout_names[a], mem_name(kinds[k][0]), layout_names[b],
                         mem_name(kinds[k][1]));
                side_make(&s, kinds[k][mine], types[layout], counts[c], (int) c % 2 * 4);
                pairs(&s, rank == 0, text, all);
                side_free(&s);
            }
            exchanges(kinds[k][rank], types[c % NLAYOUTS], counts[c]);
        }
    }

    MPI_Buffer_detach(&attached, &attached_sz);
    free(attached);
    attached_on_gpu();
    for (int i = 0; i < NLAYOUTS; i++)
        MPI_Type_free(&types[i]);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return report_done();
}
