/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A target that has no memory for the buffer through which it answers MPI_Get gets an error from the
 * call that makes progress. The origin will not get its answer, so both processes end there without
 * MPI_Finalize. Two processes; with MPIR_CVAR_NOLOCAL=1, since it is over TCP that answers pass such a
 * buffer. */

#include "report.h"
#include "side.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define SRBUF_SZ (256 * 1024)
#define SZ (4 << 20)

void *__libc_malloc(size_t sz);

static bool is_failing = false;
static int nfailed = 0;

/* Instead of the C library's, also for the library under test. */
void *malloc(size_t sz)
{
    if (is_failing && sz >= SRBUF_SZ) {
        nfailed++;
        return NULL;
    }
    return __libc_malloc(sz);
}

/* Words that both processes see without MPI. */
struct shared {
    atomic_int is_failing, has_ended;
};

static struct shared *shared_make(int rank)
{
    int pid = (int) getpid(), fd;
    char name[64];
    void *word = MAP_FAILED;

    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof(name), "/gpudt_rma_memory_%d", pid);
    fd = shm_open(name, O_RDWR | O_CREAT, 0600);
    if (fd >= 0 && ftruncate(fd, sizeof(struct shared)) == 0)
        word = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        shm_unlink(name);
    if (fd >= 0)
        close(fd);
    return word == MAP_FAILED ? NULL : word;
}

int main(void)
{
    struct mem window, origin;
    struct shared *shared;
    MPI_Win win;
    int rank, flag, err = MPI_SUCCESS, class = MPI_SUCCESS;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0 || (shared = shared_make(rank)) == NULL)
        return 1;
    gpu_set_current(0);
    mem_alloc(&window, MEM__DEVICE, SZ);
    mem_alloc(&origin, MEM__PAGEABLE, SZ);
    CHECK_MPI(MPI_Win_create(window.addr, SZ, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CHECK_MPI(MPI_Win_fence(0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    is_failing = rank == 1;
    /* Not by a barrier, in which the request might arrive */
    atomic_fetch_add(&shared->is_failing, rank);
    while (!atomic_load(&shared->is_failing))
        usleep(1000);
    if (rank == 0)
        CHECK_MPI(MPI_Get(origin.addr, SZ, MPI_BYTE, 1, 0, SZ, MPI_BYTE, win));
    while (!atomic_load(&shared->has_ended) && err == MPI_SUCCESS)
        err = MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (rank == 1) {
        CHECK(nfailed > 0);
        CHECK(err != MPI_SUCCESS);
        if (err)
            MPI_Error_class(err, &class);
        CHECK(class == MPI_ERR_OTHER || class == MPI_ERR_NO_MEM);
    }
    /* The process manager may end a process as soon as the other one has. The origin may see that the
     * connection has failed. */
    report_done();
    fflush(NULL);
    atomic_fetch_add(&shared->has_ended, 1);
    while (atomic_load(&shared->has_ended) < 2)
        usleep(1000);
    _exit(report_failures != 0);
}
