/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that the staging memory of messages is on the NUMA node next to the GPU. Two processes.
 *
 *     near_gpu [node]
 *
 * The expected node is that of the system. If the system reports none, as for an emulated GPU or in
 * a virtual machine, it is the argument, or any node. */

#include "report.h"
#include "side.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The node that the system reports for a GPU, -1 if none. */
static int system_node(int device)
{
    char path[96] = "/sys/bus/pci/devices/", *id = path + strlen(path);
    int node = -1;
    CUdevice dev;
    FILE *file;

    CU(DeviceGet(&dev, device));
    CU(DeviceGetPCIBusId(id, 16, dev));
    for (char *at = id; *at; at++)
        *at = (char) tolower((unsigned char) *at);
    strcat(path, "/numa_node");
    file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%d", &node) != 1)
            node = -1;
        fclose(file);
    }
    return node;
}

/* The node that the used part of the staging pool is bound to; -1 if it is not bound, -2 if there
 * is no pool. */
static int pool_node(void)
{
    char line[1024], *policy, *name;
    int node = -2;
    FILE *file = fopen("/proc/self/numa_maps", "r");

    if (file == NULL) {
        report_fail("the kernel does not say where memory is");
        return -2;
    }
    while (node < 0 && fgets(line, sizeof(line), file)) {
        name = strstr(line, "memfd:mpich-gpudt");
        if (name == NULL)
            continue;
        node = -1;
        policy = strstr(line, " prefer");
        if (policy && policy < name && strchr(policy, ':') < name)
            node = atoi(strchr(policy, ':') + 1);
    }
    fclose(file);
    return node;
}

int main(int argc, char **argv)
{
    int rank, node, seen, is_open;
    struct side s;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);

    side_make(&s, MEM__DEVICE, MPI_INT, 100000, 0);
    if (rank == 0) {
        side_fill(&s, 1);
        CHECK_MPI(MPI_Send(s.buf, 100000, MPI_INT, 1, 1, MPI_COMM_WORLD));
    } else {
        side_clear(&s, 1);
        CHECK_MPI(MPI_Recv(s.buf, 100000, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        side_check(&s, "a buffer", 1, s.size);
    }
    node = system_node(0);
    is_open = node < 0 && argc == 1;
    if (node < 0 && argc > 1)
        node = atoi(argv[1]);
    /* The receiver's pool is the one that is used */
    seen = pool_node();
    if (rank == 1 && seen != node && !(is_open && seen >= -1))
        report_fail("chunks are wanted on node %d (-1: anywhere, -2: none), the GPU is next to %d",
                    seen, node);
    side_free(&s);
    MPI_Finalize();
    return report_done();
}
