/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Calls that must fail, and driver calls that fail within one: all processes return, and what they
 * return says why. */

#include "files.h"

#include <string.h>

#define MAX_CALLS 100           /* driver calls of an operation that fail */
#define CODE 999                /* CUDA_ERROR_UNKNOWN */

static void expect(int err, int class, const char *what)
{
    int seen = MPI_SUCCESS;

    MPI_Error_class(err, &seen);
    if (seen != class)
        report_fail("%s: error class %d, expected %d: %s", what, seen, class, report_mpi_text(err));
}

void errors(void)
{
    struct side s;
    MPI_Count got;

    side_make(&s, MEM__DEVICE, MPI_INT, 1000, 0);
    for (int form = 0; form < NFORMS; form++) {
        file_open(MPI_MODE_RDONLY, MPI_INFO_NULL);
        file_fill(100);
        side_clear(&s, 1);
        expect(call(form, false, 0, s.buf, 1000, MPI_INT, &got), MPI_ERR_READ_ONLY, forms[form]);
        CHECK_MPI(call(form, true, 0, s.buf, 0, MPI_INT, &got));
        CHECK(got == 0);
        CHECK(call(form, true, 0, s.buf, -1, MPI_INT, &got) != MPI_SUCCESS);
        side_check(&s, "a buffer that nothing was read to", 1, 0);
        CHECK_MPI(MPI_File_close(&file));
        file_open(MPI_MODE_WRONLY, MPI_INFO_NULL);
        expect(call(form, true, 0, s.buf, 1000, MPI_INT, &got), MPI_ERR_ACCESS, forms[form]);
        side_check(&s, "a buffer that nothing was read to", 1, 0);
        CHECK_MPI(MPI_File_close(&file));
    }
    side_free(&s);
}

/* Calls of a form while one driver call fails in the last process. Returns whether there are that
 * many. Each write has other data than the one before, and a read must get what was written last.
 *   is_alone  (IN)  whether only that process may report an error: others get data from it or give it
 *                   theirs if ROMIO has messages */
static bool fault(enum form form, bool is_read, struct side *s, long at, bool is_alone)
{
    static unsigned mark = 7;
    MPI_Count got;
    int err, fired = 0, victim = nranks - 1;
    const bool is_sure = at == 0 || is_alone || rank == victim;
    const MPI_Offset off = is_shared(form) ? 0 : rank * s->size;

    MPI_Barrier(MPI_COMM_WORLD);
    if (is_read)
        side_clear(s, mark);
    else
        side_fill(s, ++mark);
    seek(form, off);
    if (rank == victim && at)
        gpu.emu_fail_set(NULL, at, CODE, 1);
    err = call(form, is_read, off, s->buf, (int) s->count, s->type, &got);
    if (rank == victim && at) {
        fired = gpu.emu_failed_count() > 0;
        gpu.emu_fail_set(NULL, 0, 0, 1);
    }
    if (err && rank == victim && strstr(report_mpi_text(err), "CUDA") == NULL)
        report_fail("%s, call %ld: the error does not name the driver's: %s", forms[form], at,
                    report_mpi_text(err));
    if (err == MPI_SUCCESS && !is_read && !is_shared(form) && is_sure) {
        const struct view v = WHOLE_FILE(0);
        file_check(&v, off, mark, s->size, forms[form]);
    }
    if (err == MPI_SUCCESS && is_read && !is_shared(form) && is_sure)
        side_check(s, forms[form], mark, s->size);
    MPI_Bcast(&fired, 1, MPI_INT, victim, MPI_COMM_WORLD);
    if (err && (!fired || (rank != victim && is_alone)))
        report_fail("%s, call %ld: an error without a fault: %s", forms[form], at,
                    report_mpi_text(err));
    return fired;
}

/* All forms.
 *   buffering  (IN)  the hint of that name */
static void forms_fault(struct side *s, const char *buffering)
{
    const bool is_alone = strcmp(buffering, "enable") != 0;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", buffering);
    MPI_Info_set(info, "romio_cb_read", buffering);
    file_open(MPI_MODE_RDWR, info);
    MPI_Info_free(&info);
    for (int form = 0; form < NFORMS; form++) {
        for (int is_read = 0; is_read < 2; is_read++) {
            long at = 1;

            file_fill(2 * nranks * s->size);
            fault(form, false, s, 0, is_alone);
            while (at <= MAX_CALLS && fault(form, is_read, s, at, is_alone))
                at++;
            CHECK(at > 1 && at <= MAX_CALLS);
            fault(form, false, s, 0, is_alone);
            fault(form, true, s, 0, is_alone);
        }
    }
    CHECK_MPI(MPI_File_close(&file));
}

void faults(void)
{
    struct side s;
    MPI_Datatype vector;

    CHECK(gpu.is_emulated);
    MPI_Type_vector(500, 1, 3, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    side_make(&s, MEM__DEVICE, vector, 3, 0);
    forms_fault(&s, "automatic");
    forms_fault(&s, "enable");
    side_free(&s);
    side_make(&s, MEM__DEVICE, MPI_BYTE, 3 * 4096 + 5, 0);
    forms_fault(&s, "automatic");
    side_free(&s);
    MPI_Type_free(&vector);
}
