/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The emulated driver's settings: reads all environment variables once, at load time. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu.h"

struct emu_config emu_config;

static long env_long(const char *name, long otherwise)
{
    const char *text = getenv(name);
    char *end;
    long value;

    if (text == NULL || *text == '\0')
        return otherwise;
    value = strtol(text, &end, 0);
    if (*end != '\0') {
        fprintf(stderr, "emulated GPU: %s=%s is not a number\n", name, text);
        _Exit(2);
    }
    return value;
}

static const char *env_text(const char *name)
{
    const char *text = getenv(name);

    return text && *text ? text : NULL;
}

/* Physical device that one entry of CUDA_VISIBLE_DEVICES names, or -1. */
static int device_named(const char *entry)
{
    char *end;
    long number;
    char uuid[64];

    if (strncmp(entry, "GPU-", 4) == 0 || strncmp(entry, "MIG-", 4) == 0) {
        int match = -1;
        for (int d = 0; d < emu_config.ndevices; d++) {
            snprintf(uuid, sizeof(uuid), "%.4se0e0e0e0-0000-0000-0000-00000000000%d", entry, d);
            if (strncmp(uuid, entry, strlen(entry)) == 0) {
                if (match >= 0)
                    return -1;  /* ambiguous abbreviation */
                match = d;
            }
        }
        return match;
    }
    number = strtol(entry, &end, 10);
    if (end == entry || *end != '\0' || number < 0 || number >= emu_config.ndevices)
        return -1;
    return (int) number;
}

/* As in the real driver: the list ends at the first entry that names no device; a device named
 * twice makes the whole list invalid; an empty list hides every device. */
static void visible_read(void)
{
    char text[512];
    char *entry, *rest = text;
    const char *list = getenv("CUDA_VISIBLE_DEVICES");

    emu_config.nvisible = 0;
    if (list == NULL) {
        for (int d = 0; d < emu_config.ndevices; d++)
            emu_config.visible[emu_config.nvisible++] = d;
        return;
    }

    snprintf(text, sizeof(text), "%s", list);
    while ((entry = strsep(&rest, ",")) != NULL) {
        int device = device_named(entry);
        if (device < 0)
            return;
        for (int i = 0; i < emu_config.nvisible; i++) {
            if (emu_config.visible[i] == device) {
                emu_config.nvisible = 0;
                return;
            }
        }
        emu_config.visible[emu_config.nvisible++] = device;
    }
}

void emu_config_read(void)
{
    struct emu_config *c = &emu_config;

    c->ndevices = (int) env_long("EMU_DEVICES", 1);
    if (c->ndevices < 0 || c->ndevices > EMU_MAX_DEVICES) {
        fprintf(stderr, "emulated GPU: EMU_DEVICES must be 0 to %d\n", EMU_MAX_DEVICES);
        _Exit(2);
    }
    c->memory_sz = (size_t) env_long("EMU_MEMORY_MB", 2048) << 20;
    c->sm_count = (int) env_long("EMU_SMS", 4);
    c->delay_us = (unsigned) env_long("EMU_DELAY_US", 100);
    c->delay_min_us = (unsigned) env_long("EMU_DELAY_MIN_US", 0);
    c->seed = (uint64_t) env_long("EMU_SEED", 1);
    c->version = (int) env_long("EMU_VERSION", CUDA_VERSION);
    c->init_error = (int) env_long("EMU_INIT_ERROR", 0);
    c->peer = env_long("EMU_PEER", 1) != 0;
    c->adjoin = env_long("EMU_ADJOIN", 0) != 0;
    c->ipc = env_long("EMU_IPC", 1) != 0;
    c->ipc_reopen = env_long("EMU_IPC_REOPEN", 1) != 0;
    c->ipc_stale = env_long("EMU_IPC_STALE", 0) != 0;
    c->ipc_open_us = (unsigned) env_long("EMU_IPC_OPEN_US", 0);
    c->pause_every = (unsigned) env_long("EMU_PAUSE_EVERY", 0);
    c->concurrent_managed = env_long("EMU_CONCURRENT_MANAGED", 1) != 0;
    c->hide = env_text("EMU_HIDE");
    c->kernels = env_text("EMU_KERNELS");
    c->fail_fn = env_text("EMU_FAIL_FN");
    c->fail_from = env_text("EMU_FAIL_FROM");
    c->fail_at = env_long("EMU_FAIL_AT", 0);
    c->fail_times = env_long("EMU_FAIL_TIMES", 1);
    c->fail_code = (int) env_long("EMU_FAIL_CODE", CUDA_ERROR_UNKNOWN);
    c->fail_sticky = env_long("EMU_FAIL_STICKY", 0) != 0;
    c->count_file = env_text("EMU_COUNT");
    c->leaks_file = env_text("EMU_LEAKS");
    c->leaks_from = env_text("EMU_LEAKS_FROM");
    c->leaks_fatal = env_long("EMU_LEAKS_FATAL", 0) != 0;
    visible_read();
}

uint32_t emu_random(void)
{
    static uint64_t counter;
    uint64_t x = __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED) + (emu_config.seed << 32);

    /* A mixing function of a counter: needs no lock, and values do not repeat. */
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return (uint32_t) (x ^ (x >> 33));
}
