/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a process maps the file named as another process's pool only if it is a pool: not a
 * file on disk, a device, or memory of another use, whatever their contents. Refused files are
 * counted. */

#include "mpidimpl.h"
#include "mpidu_gpudt_mapping.h"
#include "mpidu_gpudt_staging.h"

#include "report.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define POOL_SZ (1 << 20)

static uint64_t last_token = 4711;

/* A pool in a file: one region of one piece. */
static uint64_t pool_write(int fd, size_t sz)
{
    static struct MPIDU_gpudt_pool_head head;

    head.token = ++last_token;
    for (int k = 0; k < MPIDU_GPUDT_NREGIONS; k++) {
        head.region[k].start = MPIDU_GPUDT_PIECE_ALIGN;
        head.region[k].piece_sz = sz - MPIDU_GPUDT_PIECE_ALIGN;
        head.region[k].npieces = k == 0;
    }
    CHECK(ftruncate(fd, POOL_SZ) == 0);
    CHECK(pwrite(fd, &head, sizeof(head), 0) == sizeof(head));
    return head.token;
}

/* Whether it is mapped; if it is not, whether that was counted. */
static void expect(const char *what, int fd, uint64_t token, bool is_pool)
{
    const MPIDU_gpudt_pool_name_t name = {.token = token,.pid = (int) getpid(),.fd = fd };
    unsigned long long refused = report_variable("gpudt_fallbacks_share");
    int grain = MPIDU_GPUDT_PIECE_ALIGN / MPIDU_GPUDT_POOL_GRAIN;
    char *mem = MPIDU_gpudt_pool_import(&name, grain, MPIDU_GPUDT_POOL_GRAIN, NULL);

    if ((mem != NULL) != is_pool)
        report_fail("%s is %staken for a pool", what, is_pool ? "not " : "");
    if (report_variable("gpudt_fallbacks_share") != refused + !is_pool)
        report_fail("%s: %llu pools were refused, then %llu", what, refused,
                    report_variable("gpudt_fallbacks_share"));
    /* Past its end */
    CHECK(MPIDU_gpudt_pool_import(&name, grain, 2 * POOL_SZ, NULL) == NULL);
    CHECK(MPIDU_gpudt_pool_import(&name, 32767, 1, NULL) == NULL);
    CHECK(MPIDU_gpudt_pool_import(&name, 0, 1, NULL) == NULL);
}

int main(void)
{
    char path[] = "/tmp/gpudt-pool-XXXXXX";
    int provided, fd, ends[2];
    uint64_t token;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);

    fd = memfd_create("mpich-gpudt", MFD_CLOEXEC);
    expect("a pool", fd, pool_write(fd, POOL_SZ), true);
    token = pool_write(fd, POOL_SZ);
    expect("a pool with another token", fd, token + 1000, false);
    expect("one whose pieces are not in it", fd, pool_write(fd, 2 * POOL_SZ), false);
    CHECK(ftruncate(fd, 4096) == 0);
    expect("one that is cut off", fd, token, false);
    close(fd);
    expect("a descriptor that is closed", fd, ++last_token, false);

    fd = memfd_create("something-else", MFD_CLOEXEC);
    expect("memory of another use", fd, pool_write(fd, POOL_SZ), false);
    close(fd);
    fd = mkstemp(path);
    expect("a file on disk", fd, pool_write(fd, POOL_SZ), false);
    close(fd);
    unlink(path);
    fd = open("/dev/zero", O_RDWR);
    expect("a device", fd, ++last_token, false);
    close(fd);
    CHECK(pipe(ends) == 0);
    expect("a pipe", ends[0], ++last_token, false);

    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
