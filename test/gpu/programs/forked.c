/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests children of a program that uses a GPU: a forked one has no usable driver and works with
 * host memory; one that executes a new program can use GPUs. */

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void child_wait(const char *what, pid_t pid)
{
    int status;

    CHECK(waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        report_fail("%s: exit status %d, signal %d", what, WIFEXITED(status) ?
                    WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void device_works(void)
{
    struct strided s;

    strided_make(&s, MEM__DEVICE, MEM__PAGEABLE, 100, 1);
    strided_both_ways(&s);
    strided_free(&s);
}

static int host_works(void)
{
    int user[30], packed[10], position = 0, ok = 1;
    MPI_Datatype type;

    for (int i = 0; i < 30; i++)
        user[i] = 77 * i;
    MPI_Type_vector(10, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (MPI_Pack(user, 1, type, packed, sizeof(packed), &position, MPI_COMM_SELF) != MPI_SUCCESS)
        return 0;
    for (int i = 0; i < 10; i++)
        ok = ok && packed[i] == 77 * 3 * i;
    MPI_Type_free(&type);
    return ok;
}

/* The program that the child executes. */
static int second_program(void)
{
    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    device_works();
    MPI_Finalize();
    return report_failures != 0;
}

int main(int argc, char **argv)
{
    pid_t pid;

    report_time_limit(60);
    if (argc > 1 && strcmp(argv[1], "second") == 0)
        return second_program();
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);

    /* before MPI is initialised, so that the child can do that */
    pid = fork();
    if (pid == 0) {
        report_time_limit(60);
        MPI_Init(NULL, NULL);
        pid = host_works() ? 0 : 1;
        MPI_Finalize();
        _exit((int) pid);
    }
    child_wait("child made by fork", pid);

    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    device_works();
    pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", argv[0], "second", (char *) NULL);
        _exit(127);
    }
    child_wait("child that executes a program", pid);
    /* a child that only exits must not affect the parent's device */
    pid = fork();
    if (pid == 0)
        _exit(0);
    child_wait("child that does nothing", pid);
    device_works();
    MPI_Finalize();
    return report_done();
}
