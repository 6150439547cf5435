/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests host buffers of which the program has registered only some pages with the driver: the
 * first, the last, the middle, or all but the middle. The other side is GPU memory. */

#include "gpu.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096
#define NPAGES 9
#define BUF_SZ (NPAGES * PAGE)
#define MARGIN 64
#define N ((BUF_SZ - 2 * MARGIN) / 12)  /* ints, 12 bytes apart */

static unsigned char image[BUF_SZ], seen[BUF_SZ];
static struct mem host, device;

/* Which pages are registered; consecutive ones by one call. */
static void registration_change(const char *pages, int add)
{
    for (int first = 0, last; first < NPAGES; first = last + 1) {
        for (last = first; last < NPAGES && pages[last] == 'R'; last++);
        if (last == first)
            continue;
        if (add)
            CU(MemHostRegister(host.addr + first * PAGE, (size_t) (last - first) * PAGE,
                               CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
        else
            CU(MemHostUnregister(host.addr + first * PAGE));
    }
}

static void random_fill(const struct mem *mem)
{
    for (int i = 0; i < BUF_SZ; i++)
        image[i] = (unsigned char) rand();
    mem_write(mem, 0, image, BUF_SZ);
}

static void memory_check(const char *pages, const struct mem *mem)
{
    char what[100];

    snprintf(what, sizeof(what), "%s memory, registered %s", mem_name(mem->kind), pages);
    mem_read(mem, 0, seen, BUF_SZ);
    report_compare(what, seen, image, BUF_SZ);
}

/* The host's side is a vector, or packed data. */
static void transfers_run(const char *pages, MPI_Datatype type)
{
    int data[N], position;

    /* host vector to device */
    random_fill(&device);
    random_fill(&host);
    for (int i = 0; i < N; i++)
        memcpy(&data[i], image + MARGIN + 12 * i, 4);
    position = 0;
    CHECK_MPI(MPI_Pack(host.addr + MARGIN, 1, type, device.addr, 4 * N, &position, MPI_COMM_SELF));
    memory_check(pages, &host);
    mem_read(&device, 0, seen, 4 * N);
    report_compare("packed from host memory", seen, data, 4 * N);

    /* and back */
    position = 0;
    random_fill(&host);
    for (int i = 0; i < N; i++)
        memcpy(image + MARGIN + 12 * i, &data[i], 4);
    CHECK_MPI(MPI_Unpack(device.addr, 4 * N, &position, host.addr + MARGIN, 1, type,
                         MPI_COMM_SELF));
    memory_check(pages, &host);

    /* device vector to the host, three times as long, packed */
    position = 0;
    random_fill(&host);
    random_fill(&device);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N; i++)
            memcpy(&data[i], image + MARGIN + 12 * i, 4);
        CHECK_MPI(MPI_Pack(device.addr + MARGIN, 1, type, host.addr, BUF_SZ, &position,
                           MPI_COMM_SELF));
        mem_read(&host, k * 4 * N, seen, 4 * N);
        report_compare("packed to host memory", seen, data, 4 * N);
    }
}

int main(void)
{
    static const char *const patterns[] = {
        "---------", "RRRRRRRRR", "R--------", "--------R", "---RRR---", "RRR---RRR", "R-R-R-R-R",
        "-R-R-R-R-", "RRRR-RRRR"
    };
    MPI_Datatype type;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    mem_alloc(&host, MEM__PAGEABLE, BUF_SZ);
    mem_alloc(&device, MEM__DEVICE, BUF_SZ);
    MPI_Type_create_hvector(N, 1, 12, MPI_INT, &type);
    MPI_Type_commit(&type);

    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        int before = report_failures;

        registration_change(patterns[i], 1);
        transfers_run(patterns[i], type);
        registration_change(patterns[i], 0);
        if (report_failures != before)
            fprintf(stderr, "... with pages %s registered\n", patterns[i]);
    }

    MPI_Type_free(&type);
    mem_free(&host);
    mem_free(&device);
    MPI_Finalize();
    return report_done();
}
