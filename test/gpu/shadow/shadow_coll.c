/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The collectives whose buffers are moved to device memory: blocking, with a request and
 * persistent; see shadow.c. */

#include "shadow.h"

static const struct range no_range;

/* ---- ranges ---- */

static int is_inter(MPI_Comm comm)
{
    int flag = 0;

    PMPI_Comm_test_inter(comm, &flag);
    return flag;
}

/* Processes that this one exchanges data with: those of the other group, if there is one. */
static int npeers(MPI_Comm comm)
{
    int n = 0;

    if (is_inter(comm))
        PMPI_Comm_remote_size(comm, &n);
    else
        PMPI_Comm_size(comm, &n);
    return n;
}

static int rank_in(MPI_Comm comm)
{
    int rank = 0;

    PMPI_Comm_rank(comm, &rank);
    return rank;
}

static int is_root(int root, MPI_Comm comm)
{
    return is_inter(comm) ? root == MPI_ROOT : rank_in(comm) == root;
}

/* Whether the process has data for the root or gets some. In one group, the root does too. */
static int is_leaf(int root, MPI_Comm comm)
{
    return !is_inter(comm) || root >= 0;
}

static int sum(const int counts[], int n)
{
    int total = 0;

    for (int i = 0; i < n; i++)
        total += counts[i];
    return total;
}

/* A block for each peer, at a multiple of the extent, or of a byte if there are several types. */
static struct range blocks(const void *buf, int n, const int counts[], const int displs[],
                           const MPI_Aint byte_displs[], MPI_Datatype type,
                           const MPI_Datatype types[])
{
    struct range all = no_range;

    if (buf == MPI_IN_PLACE)
        return no_range;
    for (int i = 0; i < n; i++) {
        MPI_Datatype one = types ? types[i] : type;
        struct range block = range_of(buf, counts[i], one);
        MPI_Count lb, extent, at;

        if (block.hi <= block.lo)
            continue;
        PMPI_Type_get_extent_x(one, &lb, &extent);
        at = byte_displs ? byte_displs[i] : types ? displs[i] : displs[i] * extent;
        if (all.hi <= all.lo || block.lo + at < all.lo)
            all.lo = block.lo + at;
        if (block.hi + at > all.hi)
            all.hi = block.hi + at;
    }
    return all;
}

/* Neighbours that this process sends to, or receives from. */
static int nneighbours(MPI_Comm comm, int receives)
{
    int kind = MPI_UNDEFINED, n = 0, in = 0, out = 0, weighted;

    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &n);
        return 2 * n;
    }
    if (kind == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(comm, rank_in(comm), &n);
        return n;
    }
    if (kind == MPI_DIST_GRAPH)
        PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    return receives ? in : out;
}

/* ---- calls ---- */

#define LIST(...) __VA_ARGS__
#define IN op->in.addr
#define OUT op->out.addr

/* The three forms of a call. Lists are in parentheses: parameters before the communicator, and the
 * arguments for them. in_ and out_ are the ranges of sendbuf and recvbuf. */
#define COLL(Name_, name_, params_, args_, in_, out_)                                           \
int MPI_##Name_(LIST params_, MPI_Comm comm)                                                    \
{                                                                                               \
    struct operation *op = operation_make_ranges(sendbuf, in_, recvbuf, out_);                  \
                                                                                                \
    operation_start(op);                                                                        \
    return operation_end(op, PMPI_##Name_(LIST args_, comm));                                   \
}                                                                                               \
int MPI_I##name_(LIST params_, MPI_Comm comm, MPI_Request * request)                            \
{                                                                                               \
    struct operation *op = operation_make_ranges(sendbuf, in_, recvbuf, out_);                  \
                                                                                                \
    operation_start(op);                                                                        \
    return operation_pending(op, request, PMPI_I##name_(LIST args_, comm, request));            \
}                                                                                               \
int MPI_##Name_##_init(LIST params_, MPI_Comm comm, MPI_Info info, MPI_Request * request)       \
{                                                                                               \
    struct operation *op = operation_make_ranges(sendbuf, in_, recvbuf, out_);                  \
                                                                                                \
    op->persistent = true;                                                                      \
    return operation_pending(op, request,                                                       \
                             PMPI_##Name_##_init(LIST args_, comm, info, request));             \
}

#define SEND const void *sendbuf, int sendcount, MPI_Datatype sendtype
#define RECV void *recvbuf, int recvcount, MPI_Datatype recvtype
#define SENDV const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype
#define RECVV void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype
#define REDUCE const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op_

#define SENT(n_) range_of(sendbuf, (n_) * (MPI_Count) sendcount, sendtype)
#define RECEIVED(n_) range_of(recvbuf, (n_) * (MPI_Count) recvcount, recvtype)
#define SENTV(n_) blocks(sendbuf, n_, sendcounts, sdispls, NULL, sendtype, NULL)
#define RECEIVEDV(n_) blocks(recvbuf, n_, recvcounts, rdispls, NULL, recvtype, NULL)

COLL(Gather, gather, (SEND, RECV, int root),
     (IN, sendcount, sendtype, OUT, recvcount, recvtype, root),
     is_leaf(root, comm) ? SENT(1) : no_range,
     is_root(root, comm) ? RECEIVED(npeers(comm)) : no_range)
COLL(Gatherv, gatherv, (SEND, RECVV, int root),
     (IN, sendcount, sendtype, OUT, recvcounts, rdispls, recvtype, root),
     is_leaf(root, comm) ? SENT(1) : no_range,
     is_root(root, comm) ? RECEIVEDV(npeers(comm)) : no_range)
COLL(Scatter, scatter, (SEND, RECV, int root),
     (IN, sendcount, sendtype, OUT, recvcount, recvtype, root),
     is_root(root, comm) ? SENT(npeers(comm)) : no_range,
     is_leaf(root, comm) ? RECEIVED(1) : no_range)
COLL(Scatterv, scatterv, (SENDV, RECV, int root),
     (IN, sendcounts, sdispls, sendtype, OUT, recvcount, recvtype, root),
     is_root(root, comm) ? SENTV(npeers(comm)) : no_range,
     is_leaf(root, comm) ? RECEIVED(1) : no_range)
COLL(Allgather, allgather, (SEND, RECV), (IN, sendcount, sendtype, OUT, recvcount, recvtype),
     SENT(1), RECEIVED(npeers(comm)))
COLL(Allgatherv, allgatherv, (SEND, RECVV),
     (IN, sendcount, sendtype, OUT, recvcounts, rdispls, recvtype),
     SENT(1), RECEIVEDV(npeers(comm)))
COLL(Alltoall, alltoall, (SEND, RECV), (IN, sendcount, sendtype, OUT, recvcount, recvtype),
     SENT(npeers(comm)), RECEIVED(npeers(comm)))
COLL(Alltoallv, alltoallv, (SENDV, RECVV),
     (IN, sendcounts, sdispls, sendtype, OUT, recvcounts, rdispls, recvtype),
     SENTV(npeers(comm)), RECEIVEDV(npeers(comm)))
COLL(Alltoallw, alltoallw,
     (const void *sendbuf, const int sendcounts[], const int sdispls[],
      const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const int rdispls[],
      const MPI_Datatype recvtypes[]),
     (IN, sendcounts, sdispls, sendtypes, OUT, recvcounts, rdispls, recvtypes),
     blocks(sendbuf, npeers(comm), sendcounts, sdispls, NULL, MPI_BYTE, sendtypes),
     blocks(recvbuf, npeers(comm), recvcounts, rdispls, NULL, MPI_BYTE, recvtypes))

COLL(Neighbor_allgather, neighbor_allgather, (SEND, RECV),
     (IN, sendcount, sendtype, OUT, recvcount, recvtype),
     SENT(1), RECEIVED(nneighbours(comm, 1)))
COLL(Neighbor_allgatherv, neighbor_allgatherv, (SEND, RECVV),
     (IN, sendcount, sendtype, OUT, recvcounts, rdispls, recvtype),
     SENT(1), RECEIVEDV(nneighbours(comm, 1)))
COLL(Neighbor_alltoall, neighbor_alltoall, (SEND, RECV),
     (IN, sendcount, sendtype, OUT, recvcount, recvtype),
     SENT(nneighbours(comm, 0)), RECEIVED(nneighbours(comm, 1)))
COLL(Neighbor_alltoallv, neighbor_alltoallv, (SENDV, RECVV),
     (IN, sendcounts, sdispls, sendtype, OUT, recvcounts, rdispls, recvtype),
     SENTV(nneighbours(comm, 0)), RECEIVEDV(nneighbours(comm, 1)))
COLL(Neighbor_alltoallw, neighbor_alltoallw,
     (const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
      const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]),
     (IN, sendcounts, sdispls, sendtypes, OUT, recvcounts, rdispls, recvtypes),
     blocks(sendbuf, nneighbours(comm, 0), sendcounts, NULL, sdispls, MPI_BYTE, sendtypes),
     blocks(recvbuf, nneighbours(comm, 1), recvcounts, NULL, rdispls, MPI_BYTE, recvtypes))

COLL(Reduce, reduce, (REDUCE, int root), (IN, OUT, count, type, op_, root),
     is_leaf(root, comm) ? range_of(sendbuf, count, type) : no_range,
     is_root(root, comm) ? range_of(recvbuf, count, type) : no_range)
COLL(Allreduce, allreduce, (REDUCE), (IN, OUT, count, type, op_),
     range_of(sendbuf, count, type), range_of(recvbuf, count, type))
COLL(Scan, scan, (REDUCE), (IN, OUT, count, type, op_),
     range_of(sendbuf, count, type), range_of(recvbuf, count, type))
COLL(Exscan, exscan, (REDUCE), (IN, OUT, count, type, op_),
     range_of(sendbuf, count, type), range_of(recvbuf, count, type))

static int nlocal(MPI_Comm comm)
{
    int n = 0;

    PMPI_Comm_size(comm, &n);
    return n;
}

COLL(Reduce_scatter, reduce_scatter,
     (const void *sendbuf, void *recvbuf, const int counts[], MPI_Datatype type, MPI_Op op_),
     (IN, OUT, counts, type, op_),
     range_of(sendbuf, sum(counts, nlocal(comm)), type),
     range_of(recvbuf, sendbuf == MPI_IN_PLACE ? sum(counts, nlocal(comm)) :
              counts[rank_in(comm)], type))
COLL(Reduce_scatter_block, reduce_scatter_block,
     (const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op_),
     (IN, OUT, count, type, op_),
     range_of(sendbuf, (MPI_Count) count * nlocal(comm), type),
     range_of(recvbuf, sendbuf == MPI_IN_PLACE ? (MPI_Count) count * nlocal(comm) : count, type))

/* One buffer, which the root reads and the others write. */
int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    struct operation *op = operation_make_replace(buf, count, type);

    operation_start(op);
    return operation_end(op, PMPI_Bcast(OUT, count, type, root, comm));
}

int MPI_Ibcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request * request)
{
    struct operation *op = operation_make_replace(buf, count, type);

    operation_start(op);
    return operation_pending(op, request, PMPI_Ibcast(OUT, count, type, root, comm, request));
}

int MPI_Bcast_init(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                   MPI_Request * request)
{
    struct operation *op = operation_make_replace(buf, count, type);

    op->persistent = true;
    return operation_pending(op, request, PMPI_Bcast_init(OUT, count, type, root, comm, info,
                                                          request));
}

int MPI_Reduce_local(const void *inbuf, void *inoutbuf, int count, MPI_Datatype type, MPI_Op op_)
{
    struct operation *op = operation_make(inbuf, count, type, inoutbuf, count, type);

    operation_start(op);
    return operation_end(op, PMPI_Reduce_local(IN, OUT, count, type, op_));
}
