/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a datatype may be freed while the GPU works with it, and that new ones may take its
 * place, also in GPU memory. Needs delayed emulated operations: see check-gpu. */

#include "mpiimpl.h"
#include "gpudt.h"

#include "gpu.h"
#include "report.h"
#include "strided.h"

#define BLOCKS 500
#define MARGIN 256              /* as in strided.c */
#define OPS 6

/* Have the engine upload lists of other datatypes. */
static void others_use(void)
{
    for (int i = 0; i < 3; i++) {
        struct strided s;

        strided_make(&s, MEM__DEVICE, MEM__DEVICE, BLOCKS - i, 1);
        strided_fill_user(&s);
        CHECK_MPI(strided_pack(&s));
        strided_free(&s);
    }
}

static void run(enum mem_kind user, enum mem_kind packed)
{
    struct strided s[OPS];
    MPIR_Gpudt_op *op[OPS];
    MPI_Aint actual;
    int nflying = 0;
    bool handled;

    for (int i = 0; i < OPS; i++) {
        strided_make(&s[i], user, packed, BLOCKS, 1);
        strided_fill_user(&s[i]);
        CHECK_MPI(MPIR_Gpudt_ipack(s[i].user.addr + MARGIN, 1, s[i].type, 0,
                                   s[i].packed.addr + MARGIN, BLOCKS * 4, &actual, &op[i],
                                   &handled));
        CHECK(handled && actual == BLOCKS * 4);
        nflying += op[i] != NULL;
        MPI_Type_free(&s[i].type);
    }
    /* On a busy machine some end in the call that starts them */
    CHECK(!gpu.is_emulated || nflying > 0);
    others_use();
    for (int i = 0; i < OPS; i++) {
        CHECK_MPI(MPIR_Gpudt_wait(op[i]));
        strided_check_packed(&s[i]);
        mem_free(&s[i].user);
        mem_free(&s[i].packed);
    }
}

/* Operations that are freed before they are complete. */
static void run_and_give_up(void)
{
    struct strided s;
    MPIR_Gpudt_op *op;
    MPI_Aint actual;
    bool handled;

    strided_make(&s, MEM__DEVICE, MEM__PAGEABLE, BLOCKS, 1);
    strided_fill_user(&s);
    CHECK_MPI(MPIR_Gpudt_ipack(s.user.addr + MARGIN, 1, s.type, 0, s.packed.addr + MARGIN,
                               BLOCKS * 4, &actual, &op, &handled));
    MPI_Type_free(&s.type);
    MPIR_Gpudt_free(op);
    mem_free(&s.user);
    mem_free(&s.packed);
}

int main(void)
{
    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    run(MEM__DEVICE, MEM__DEVICE);
    run(MEM__DEVICE, MEM__PAGEABLE);
    run(MEM__MANAGED, MEM__PINNED);
    if (mem_exists(MEM__OTHER_DEVICE))
        run(MEM__DEVICE, MEM__OTHER_DEVICE);
    run_and_give_up();
    MPI_Finalize();
    return report_done();
}
