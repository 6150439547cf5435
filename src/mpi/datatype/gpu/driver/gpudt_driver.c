/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Finds and loads the CUDA driver at run time, and interprets its errors. Knows nothing of
 * datatypes or messages.
 *
 * The library links no CUDA library. A device address can only exist after the process has loaded
 * libcuda. The loader waits for that (MPII_Gpudt_driver_in_process) and fills its table from the
 * library that is loaded: a host program makes no CUDA call and no dlopen, whether or not the
 * machine has a GPU. Only these load libcuda themselves (MPII_Gpudt_driver_init): a report, the answer
 * whether GPU memory can be used, also as to kinds of memory if one of CUDA's is asked for, an allocation,
 * and the mapping of a shared window's memory. The state only moves forward:
 *
 *     UNSEEN --> HOPELESS --> LOADED --> ABSENT
 *          \__________________^           ^
 *           \____________________________/
 *
 * (from HOPELESS only for these). A thread that reads LOADED may continue to use the table while
 * another thread finds that the driver has no device: the functions stay callable until the process
 * exits.
 *
 * The environment (CUDA_VISIBLE_DEVICES and others) is left to the driver. */

#include "mpiimpl.h"
#include "gpudt_driver.h"
#include "gpudt.h"
#include "gpudt_presence.h"

#include <dlfcn.h>

static MPL_initlock_t driver_lock = MPL_INITLOCK_INITIALIZER;
MPL_atomic_int_t MPIR_Gpudt_driver_state = MPL_ATOMIC_INT_T_INITIALIZER(MPIR_GPUDT_DRIVER__UNSEEN);

/* All below are written under driver_lock, before the state that publishes them is stored. */
static MPII_Gpudt_driver_t driver_table;
static char no_gpu_reason[MPIR_GPUDT_REASON_SZ];
static bool driver_initialized;

struct driver_symbol {
    const char *base;           /* name without version suffix, for cuGetProcAddress */
    const char *symbol;         /* name of that version in the library's symbol table */
    int version;
    bool required;
    size_t member_off;          /* of the function pointer in MPII_Gpudt_driver_t */
};

#define SYMBOL_ROW(name_, version_, symbol_, required_)                         \
    { "cu" #name_, symbol_, version_, required_, offsetof(MPII_Gpudt_driver_t, cu##name_) },
#define REQUIRED_ROW(name_, version_, symbol_) SYMBOL_ROW(name_, version_, symbol_, true)
#define OPTIONAL_ROW(name_, version_, symbol_) SYMBOL_ROW(name_, version_, symbol_, false)
static const struct driver_symbol driver_symbols[] = {
    MPII_GPUDT_DRIVER_REQUIRED(REQUIRED_ROW)
    MPII_GPUDT_DRIVER_OPTIONAL(OPTIONAL_ROW)
    {NULL, NULL, 0, false, 0}
};

static int driver_look(void);
static bool devices_are_there(bool * is_known);
static void driver_load(void);
static const char *table_fill(void *library);
static void *symbol_find(void *library, PFN_cuGetProcAddress_v12000 get_proc,
                         const struct driver_symbol *s);
static void driver_start(void);
static void error_words(const MPII_Gpudt_driver_t * drv, CUresult res, const char **name,
                        const char **text, char *number, size_t number_sz);

const MPII_Gpudt_driver_t *MPII_Gpudt_driver_get(void)
{
    int state;

    if (!MPIR_Gpudt_is_possible())
        return NULL;

    state = MPL_atomic_acquire_load_int(&MPIR_Gpudt_driver_state);
    if (state == MPIR_GPUDT_DRIVER__UNSEEN)
        state = driver_look();
    return state == MPIR_GPUDT_DRIVER__LOADED ? &driver_table : NULL;
}

bool MPII_Gpudt_driver_may_be_found(void)
{
    int state = MPL_atomic_acquire_load_int(&MPIR_Gpudt_driver_state);

    if (state == MPIR_GPUDT_DRIVER__UNSEEN)
        state = driver_look();
    return state == MPIR_GPUDT_DRIVER__UNSEEN || state == MPIR_GPUDT_DRIVER__LOADED;
}

const MPII_Gpudt_driver_t *MPII_Gpudt_driver_init(const char **reason)
{
    const MPII_Gpudt_driver_t *drv = NULL;

    MPL_initlock_lock(&driver_lock);
    driver_load();
    driver_start();
    if (MPL_atomic_relaxed_load_int(&MPIR_Gpudt_driver_state) == MPIR_GPUDT_DRIVER__LOADED)
        drv = &driver_table;
    MPL_initlock_unlock(&driver_lock);

    if (reason)
        *reason = drv ? "" : no_gpu_reason;
    return drv;
}

/* Check whether libcuda has been loaded; the first time also whether the node can have a GPU.
 * Returns the new state. */
static int driver_look(void)
{
    static MPL_atomic_int_t asked = MPL_ATOMIC_INT_T_INITIALIZER(0);

    if (MPII_Gpudt_driver_in_process()) {
        MPL_initlock_lock(&driver_lock);
        driver_load();
        MPL_initlock_unlock(&driver_lock);
    } else if (!MPL_atomic_relaxed_load_int(&asked)) {
        if (!MPII_Gpudt_node_may_have_gpu())
            MPL_atomic_cas_int(&MPIR_Gpudt_driver_state, MPIR_GPUDT_DRIVER__UNSEEN,
                               MPIR_GPUDT_DRIVER__HOPELESS);
        MPL_atomic_relaxed_store_int(&asked, 1);
    }
    return MPL_atomic_acquire_load_int(&MPIR_Gpudt_driver_state);
}

int MPII_Gpudt_driver_error(const MPII_Gpudt_driver_t * drv, CUresult res, const char *call,
                            const char *fcname, int line)
{
    char number[32], function[64];
    const char *name, *text;
    int errclass = res == CUDA_ERROR_OUT_OF_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;

    /* Messages are truncated after some 100 characters: omit the arguments of the call */
    MPL_snprintf(function, sizeof(function), "%.*s", (int) strcspn(call, "("), call);
    error_words(drv, res, &name, &text, number, sizeof(number));
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, fcname, line, errclass,
                                "**gpudt_driver", "**gpudt_driver %s %s %s", function, name, text);
}

int MPIR_Gpudt_query(MPIR_Gpudt_info_t * info)
{
    const char *reason, *name, *text;
    char number[32];
    CUresult res;
    const MPII_Gpudt_driver_t *drv = MPII_Gpudt_driver_init(&reason);

    memset(info, 0, sizeof(*info));
    info->built = 1;
    info->cuda_version = CUDA_VERSION;
    MPL_snprintf(info->reason, sizeof(info->reason), "%s", reason);

    /* A driver without a usable device still has a version. */
    if (driver_table.cuDriverGetVersion) {
        info->driver_found = 1;
        if (driver_table.cuDriverGetVersion(&info->driver_version) != CUDA_SUCCESS)
            info->driver_version = 0;
    }
    if (drv) {
        /* Initialised before, but fails in a forked child */
        res = drv->cuDeviceGetCount(&info->ndevices);
        if (res != CUDA_SUCCESS) {
            info->ndevices = 0;
            error_words(drv, res, &name, &text, number, sizeof(number));
            MPL_snprintf(info->reason, sizeof(info->reason), "cuDeviceGetCount: %s (%s)", name,
                         text);
        }
    }

    return MPI_SUCCESS;
}

/* Whether the program has initialized the driver and sees a device. *is_known is false if it may still
 * do so. Caller holds driver_lock; libcuda is loaded. */
static bool devices_are_there(bool * is_known)
{
    int ndevices = 0;
    CUresult res;

    *is_known = true;
    driver_load();
    if (MPL_atomic_relaxed_load_int(&MPIR_Gpudt_driver_state) != MPIR_GPUDT_DRIVER__LOADED)
        return false;
    res = driver_table.cuDeviceGetCount(&ndevices);
    *is_known = res != CUDA_ERROR_NOT_INITIALIZED || driver_initialized;
    return res == CUDA_SUCCESS && ndevices > 0;
}

int MPIR_Gpudt_may_be_usable(void)
{
    bool may_be = false, is_known = false;

    switch (driver_look()) {
        case MPIR_GPUDT_DRIVER__LOADED:
            MPL_initlock_lock(&driver_lock);
            may_be = devices_are_there(&is_known);
            MPL_initlock_unlock(&driver_lock);
            break;
        case MPIR_GPUDT_DRIVER__UNSEEN:
            break;
        default:
            is_known = true;
            break;
    }
    return is_known ? may_be : MPII_Gpudt_node_may_have_gpu();
}

/* UNSEEN or HOPELESS -> LOADED or ABSENT. Caller holds driver_lock. The handle is kept: the table
 * must stay valid when the application unloads its own. */
static void driver_load(void)
{
    void *library;
    const char *missing;

    if (MPL_atomic_relaxed_load_int(&MPIR_Gpudt_driver_state) > MPIR_GPUDT_DRIVER__HOPELESS)
        return;

    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        MPL_snprintf(no_gpu_reason, sizeof(no_gpu_reason), "%s",
                     why ? why : "libcuda.so.1 cannot be loaded");
        MPL_atomic_release_store_int(&MPIR_Gpudt_driver_state, MPIR_GPUDT_DRIVER__ABSENT);
        return;
    }

    missing = table_fill(library);
    if (missing) {
        memset(&driver_table, 0, sizeof(driver_table));
        MPL_snprintf(no_gpu_reason, sizeof(no_gpu_reason),
                     "the installed CUDA driver is too old: it has no %s", missing);
        dlclose(library);
        MPL_atomic_release_store_int(&MPIR_Gpudt_driver_state, MPIR_GPUDT_DRIVER__ABSENT);
        return;
    }
    MPL_atomic_release_store_int(&MPIR_Gpudt_driver_state, MPIR_GPUDT_DRIVER__LOADED);
}

/* Fill driver_table; returns NULL, or the first required function that the library lacks. */
static const char *table_fill(void *library)
{
    PFN_cuGetProcAddress_v12000 get_proc;
    void *found = dlsym(library, "cuGetProcAddress_v2");

    /* POSIX allows converting void * to a function pointer, ISO C does not: copy the bytes. */
    memcpy(&get_proc, &found, sizeof(found));

    for (const struct driver_symbol * s = driver_symbols; s->base; s++) {
        found = symbol_find(library, get_proc, s);
        if (!found && s->required)
            return s->symbol;
        memcpy((char *) &driver_table + s->member_off, &found, sizeof(found));
    }
    return NULL;
}

/* The function in the version of the table's prototype, or NULL. */
static void *symbol_find(void *library, PFN_cuGetProcAddress_v12000 get_proc,
                         const struct driver_symbol *s)
{
    void *found = NULL;
    CUdriverProcAddressQueryResult query;

    /* The plain names mean the legacy default stream. */
    if (get_proc && get_proc(s->base, &found, s->version, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                             &query) == CUDA_SUCCESS && found)
        return found;
    return dlsym(library, s->symbol);
}

/* Initialise the driver if that has not happened, and check that it has a device; on failure LOADED
 * -> ABSENT. Caller holds driver_lock. */
static void driver_start(void)
{
    const char *name, *text, *call = "cuInit";
    char number[32];
    int ndevices = 0;
    CUresult res;

    if (driver_initialized ||
        MPL_atomic_relaxed_load_int(&MPIR_Gpudt_driver_state) != MPIR_GPUDT_DRIVER__LOADED)
        return;

    res = driver_table.cuInit(0);
    if (res == CUDA_SUCCESS) {
        call = "cuDeviceGetCount";
        res = driver_table.cuDeviceGetCount(&ndevices);
    }
    if (res == CUDA_SUCCESS && ndevices == 0)
        res = CUDA_ERROR_NO_DEVICE;

    if (res == CUDA_SUCCESS) {
        driver_initialized = true;
        return;
    }
    error_words(&driver_table, res, &name, &text, number, sizeof(number));
    MPL_snprintf(no_gpu_reason, sizeof(no_gpu_reason), "%s: %s (%s)", call, name, text);
    MPL_atomic_release_store_int(&MPIR_Gpudt_driver_state, MPIR_GPUDT_DRIVER__ABSENT);
}

/* The driver's name and text for an error, with substitutes where it has none: a stub library
 * returns an error from every function, these two included.
 *   number  (OUT)  space that *name may point into */
static void error_words(const MPII_Gpudt_driver_t * drv, CUresult res, const char **name,
                        const char **text, char *number, size_t number_sz)
{
    *name = NULL;
    *text = NULL;
    if (!drv || drv->cuGetErrorName(res, name) != CUDA_SUCCESS || !*name) {
        MPL_snprintf(number, number_sz, "error %d", (int) res);
        *name = number;
    }
    if (!drv || drv->cuGetErrorString(res, text) != CUDA_SUCCESS || !*text)
        *text = res == CUDA_ERROR_STUB_LIBRARY ?
            "this libcuda.so.1 is a stub to link with, not a driver" : "no description";
}
