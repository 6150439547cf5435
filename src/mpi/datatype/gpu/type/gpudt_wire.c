/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Writes and reads states of datatypes. Records refer to each other by index and to lists by
 * offset, so both arrays are copied as they are.
 *
 * States that were read are kept, with their images on GPUs, since a program sends the same few
 * types again and again. The id of a type is never reused, so a state that is kept is never
 * wrong. It is released when the caller learns that the process has freed the type, or is gone, and else the
 * one that was not used for longest makes room for a new one. */

#include "mpiimpl.h"
#include "gpudt_wire.h"
#include "gpudt_error.h"

#define NKEPT 64

struct wire {
    uint64_t id;                /* MPII_Gpudt_wire_id reads it */
    int64_t nrecords, depth;
    int64_t lookaside_sz, base_displ, size, extent, true_lb, true_extent;
    int64_t displ_gcd, block_gcd, nblocks;
};

static struct kept {
    uint64_t process, id;       /* that has written it, and its id there */
    struct MPII_Gpudt_type *type;       /* NULL: unused */
    uint64_t used;              /* time of the last use, in uses */
} kept[NKEPT];
static uint64_t now;

size_t MPII_Gpudt_wire_sz(const struct MPII_Gpudt_type *type)
{
    return sizeof(struct wire) + type->serial.nrecords * sizeof(struct MPII_Gpudt_record) +
        type->serial.lookaside_sz;
}

void MPII_Gpudt_wire_write(const struct MPII_Gpudt_type *type, void *mem)
{
    const struct MPII_Gpudt_serial *s = &type->serial;
    const size_t records_sz = s->nrecords * sizeof(s->records[0]);
    const struct wire head = {
        .id = type->id,.nrecords = s->nrecords,.depth = s->depth,
        .lookaside_sz = s->lookaside_sz,.base_displ = s->base_displ,.size = s->size,
        .extent = s->extent,.true_lb = s->true_lb,.true_extent = s->true_extent,
        .displ_gcd = s->displ_gcd,.block_gcd = s->block_gcd,.nblocks = s->nblocks
    };
    char *at = mem;

    memcpy(at, &head, sizeof(head));
    memcpy(at + sizeof(head), s->records, records_sz);
    if (s->lookaside_sz)
        memcpy(at + sizeof(head) + records_sz, s->lookaside, s->lookaside_sz);
}

/* A copy of an array; NULL if there is no memory for it. */
static void *array_copy(const void *from, size_t sz)
{
    void *to = MPL_malloc(sz, MPL_MEM_DATATYPE);

    if (to)
        memcpy(to, from, sz);
    return to;
}

/* Make the state, with one reference. */
static int type_make(const struct wire *head, const char *arrays, struct MPII_Gpudt_type **type)
{
    int mpi_errno = MPI_SUCCESS;
    const size_t records_sz = head->nrecords * sizeof(struct MPII_Gpudt_record);
    struct MPII_Gpudt_type *fresh = MPL_calloc(1, sizeof(*fresh), MPL_MEM_DATATYPE);
    struct MPII_Gpudt_serial *s;

    MPII_GPUDT_ERR_NOMEM(fresh == NULL, mpi_errno, "state of a datatype");
    s = &fresh->serial;
    *s = (struct MPII_Gpudt_serial) {
        .nrecords = (int) head->nrecords,.depth = (int) head->depth,
        .lookaside_sz = head->lookaside_sz,.base_displ = head->base_displ,.size = head->size,
        .extent = head->extent,.true_lb = head->true_lb,.true_extent = head->true_extent,
        .displ_gcd = head->displ_gcd,.block_gcd = head->block_gcd,.nblocks = head->nblocks
    };
    s->records = array_copy(arrays, records_sz);
    MPII_GPUDT_ERR_NOMEM(s->records == NULL, mpi_errno, "state of a datatype");
    if (s->lookaside_sz) {
        s->lookaside = array_copy(arrays + records_sz, s->lookaside_sz);
        MPII_GPUDT_ERR_NOMEM(s->lookaside == NULL, mpi_errno, "state of a datatype");
    }
    fresh->id = MPII_Gpudt_type_new_id();
    MPL_atomic_store_int(&fresh->ref_count, 1);
    *type = fresh;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (fresh)
        MPL_free(fresh->serial.records);
    MPL_free(fresh);
    goto fn_exit;
}

/* The place of a state that is kept, or else the place for it. */
static struct kept *kept_find(uint64_t process, uint64_t id)
{
    struct kept *oldest = &kept[0];

    for (int i = 0; i < NKEPT; i++) {
        struct kept *k = &kept[i];
        if (k->type && k->id == id && k->process == process)
            return k;
        if (k->used < oldest->used)
            oldest = k;
    }
    return oldest;
}

int MPII_Gpudt_wire_read(uint64_t process, const void *mem, size_t sz,
                         struct MPII_Gpudt_type **type)
{
    int mpi_errno = MPI_SUCCESS;
    const struct wire *head = mem;
    struct MPII_Gpudt_type *fresh;
    struct kept *k;

    MPIR_ERR_CHKANDJUMP(sz != sizeof(*head) + head->lookaside_sz +
                        head->nrecords * sizeof(struct MPII_Gpudt_record), mpi_errno,
                        MPI_ERR_INTERN, "**gpudt_size");
    k = kept_find(process, head->id);
    if (k->type == NULL || k->id != head->id || k->process != process) {
        mpi_errno = type_make(head, (const char *) (head + 1), &fresh);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (k->type)
            MPII_Gpudt_type_release(k->type);
        k->type = fresh;
        k->process = process;
        k->id = head->id;
    }
    k->used = ++now;
    MPII_Gpudt_type_add_ref(k->type);
    *type = k->type;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPII_Gpudt_wire_drop(uint64_t process, uint64_t id)
{
    bool is_found = false;

    for (int i = 0; i < NKEPT; i++) {
        struct kept *k = &kept[i];
        if (k->type && k->process == process && (id == 0 || k->id == id)) {
            MPII_Gpudt_type_release(k->type);
            memset(k, 0, sizeof(*k));
            is_found = true;
        }
    }
    return is_found;
}

void MPII_Gpudt_wire_end(void)
{
    for (int i = 0; i < NKEPT; i++) {
        if (kept[i].type)
            MPII_Gpudt_type_release(kept[i].type);
    }
    memset(kept, 0, sizeof(kept));
}
