/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Internal header of the emulated CUDA driver, a test tool that is never installed. Uses the driver
 * API from cuda.h. Must not know MPI. See README.md in this folder. */

#ifndef EMU_H_INCLUDED
#define EMU_H_INCLUDED

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cuda.h>

#include "emu_kernel.h"

#define EMU_EXPORT __attribute__((visibility("default")))
#define EMU_MAX_DEVICES 8
#define EMU_PAGE_SZ ((size_t) 4096)

/* ---- one call of the interface (emu_core.c) ---- */

/* Preconditions of a function, and how an injected failure affects it. */
enum emu_need {
    EMU_NEED__NOTHING = 0,
    EMU_NEED__INIT = 1,         /* cuInit has succeeded */
    EMU_NEED__CTX = 2 | EMU_NEED__INIT, /* a context is current and not broken */
    EMU_NEED__SAFE = 4,         /* illegal while a stream is being captured */
    EMU_NEED__QUIET = 8,        /* counted and made to fail only when asked for by name */
    EMU_NEED__DO_IT = 16        /* an injected failure is returned after the work: frees, waits,
                                 * pops */
};

/* First line of every exported function; it ends with `return emu_leave(result)`. */
#define EMU_ENTER(need_)                                                        \
    do {                                                                        \
        CUresult res_ = emu_enter(__func__, need_, __builtin_return_address(0)); \
        if (res_ != CUDA_SUCCESS)                                               \
            return res_;                                                        \
    } while (0)

/* Return the error that a real driver would return if a condition on the arguments does not
 * hold. */
#define EMU_CHECK(cond_, res_)                                                  \
    do {                                                                        \
        if (!(cond_))                                                           \
            return emu_leave(res_);                                             \
    } while (0)

CUresult emu_enter(const char *function, int need, void *caller);
CUresult emu_leave(CUresult res);
const char *emu_caller(void);   /* name of the object the current call came from */
bool emu_is_quiet(void);        /* calls of this thread are the test's own: see emu_control.h */
bool emu_same_name(const char *a, const char *b);       /* without version suffix */

/* ---- settings, read from the environment at load (emu_config.c) ---- */

struct emu_config {
    int ndevices;               /* EMU_DEVICES */
    int visible[EMU_MAX_DEVICES];       /* physical number of each visible device */
    int nvisible;
    size_t memory_sz;           /* EMU_MEMORY_MB, of one device */
    int sm_count;               /* EMU_SMS */
    unsigned delay_us;          /* EMU_DELAY_US: maximum delay of each operation */
    unsigned delay_min_us;      /* EMU_DELAY_MIN_US: minimum delay */
    uint64_t seed;              /* EMU_SEED */
    int version;                /* EMU_VERSION: result of cuDriverGetVersion */
    int init_error;             /* EMU_INIT_ERROR: result of cuInit */
    bool peer;                  /* EMU_PEER */
    bool adjoin;                /* EMU_ADJOIN */
    bool ipc;                   /* EMU_IPC */
    bool ipc_reopen;            /* EMU_IPC_REOPEN: a second open is counted */
    bool ipc_stale;             /* EMU_IPC_STALE: a use of a stale mapping is only counted */
    unsigned ipc_open_us;       /* EMU_IPC_OPEN_US: duration of an open */
    unsigned pause_every;       /* EMU_PAUSE_EVERY: accesses of a kernel's thread between pauses */
    bool concurrent_managed;    /* EMU_CONCURRENT_MANAGED */
    const char *hide;           /* EMU_HIDE: names that cuGetProcAddress does not find */
    const char *kernels;        /* EMU_KERNELS */
    const char *fail_fn;        /* EMU_FAIL_FN */
    const char *fail_from;      /* EMU_FAIL_FROM */
    long fail_at;               /* EMU_FAIL_AT; 0: never */
    long fail_times;            /* EMU_FAIL_TIMES; 0: for ever */
    int fail_code;              /* EMU_FAIL_CODE */
    bool fail_sticky;           /* EMU_FAIL_STICKY */
    const char *count_file;     /* EMU_COUNT */
    const char *leaks_file;     /* EMU_LEAKS */
    const char *leaks_from;     /* EMU_LEAKS_FROM */
    bool leaks_fatal;           /* EMU_LEAKS_FATAL */
};
extern struct emu_config emu_config;

void emu_config_read(void);
uint32_t emu_random(void);      /* seeded; any thread */

extern pthread_mutex_t emu_lock;        /* guards every object below */
extern pthread_cond_t emu_changed;      /* an operation completed, or an object changed */
extern bool emu_initialized;

/* Start a detached thread with all signals blocked. */
bool emu_thread_start(void *(*body) (void *), void *arg);

void emu_lock_take(void);
void emu_lock_give(void);

/* ---- contexts (emu_ctx.c) ---- */

struct CUctx_st {
    unsigned magic;
    int device;
    bool is_primary;
    bool is_alive;
    int retain_count;           /* of a primary context */
    unsigned flags;
    unsigned long long id;
    CUresult broken;            /* sticky error, if any; use emu_broken and emu_break */
    unsigned peers;             /* bit d: kernels of this context may access device d */
    const char *caller;
    struct CUstream_st *legacy; /* the default stream */
    struct CUstream_st *streams;        /* all streams, including the default stream */
    struct CUctx_st *next;
};
#define EMU_CTX_MAGIC 0xc0de0001u

bool emu_ctx_valid(CUcontext ctx);
CUcontext emu_current(void);
struct CUctx_st *emu_ctx_first(void);   /* list of all contexts ever created, linked by next */
CUcontext emu_primary(int device);      /* creates it if necessary; caller holds emu_lock */
void emu_break(CUcontext ctx, CUresult why);   /* unless it is broken already */
CUresult emu_broken(CUcontext ctx);     /* CUDA_SUCCESS: not broken */
void emu_ctx_report(void);

/* ---- memory (emu_range.c, emu_file.c, emu_mem.c, emu_host.c, emu_vmm.c) ---- */

enum emu_kind {
    EMU_KIND__DEVICE,
    EMU_KIND__POOL,             /* device memory from cuMemAllocAsync */
    EMU_KIND__VMM,              /* mapped virtual range */
    EMU_KIND__IPC,              /* another process's memory, from cuIpcOpenMemHandle */
    EMU_KIND__IMPORTED,         /* another process's memory of a pool, from cuMemPoolImportPointer */
    EMU_KIND__HOST,             /* cuMemHostAlloc */
    EMU_KIND__REGISTERED,       /* cuMemHostRegister */
    EMU_KIND__MANAGED
};

struct emu_range {
    uintptr_t base;
    size_t size;                /* as requested */
    size_t mapped_sz;           /* whole pages */
    enum emu_kind kind;
    int device;
    CUcontext ctx;              /* owner; NULL: none (pools, mapped ranges) */
    bool quiet;                 /* made by the test itself */
    bool sync_memops;           /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
    const char *caller;
    unsigned flags;
    unsigned long long id;
    unsigned access;            /* EMU_KIND__VMM and _IMPORTED: bit d: device d may access it */
    off_t offset;               /* of device memory: place of its bytes in the memory file */
    bool is_exported;           /* interprocess handles of it were made */
    struct emu_import *import;  /* EMU_KIND__IPC and _IMPORTED: the file it is in */
    CUmemoryPool pool;          /* EMU_KIND__POOL and _IMPORTED */
    const uint64_t *live;       /* of another process: *live is live_id until that frees it */
    uint64_t live_id;
    int opens;                  /* EMU_KIND__IPC: opens that are not closed */
};

/* Device addresses are in one window of address space per device, which the CPU cannot access. The
 * emulated hardware accesses the same bytes at the same offset of the window's alias. */
bool emu_window_init(void);
int emu_window_device(uintptr_t addr);  /* device whose window holds addr, or -1 */
uintptr_t emu_window_base(int device);
size_t emu_window_size(void);
void *emu_alias(uintptr_t addr);

/* Give the emulated hardware access to a part of a memory file under a window's address; take it
 * away. */
bool emu_alias_map(uintptr_t addr, size_t mapped_sz, int fd, off_t offset);
void emu_alias_unmap(uintptr_t addr, size_t mapped_sz);

struct emu_range *emu_range_find(uintptr_t addr);       /* caller holds emu_lock */
struct emu_range *emu_range_add(const struct emu_range *range); /* likewise; NULL: no memory */
void emu_range_remove(struct emu_range *range); /* likewise */
uintptr_t emu_window_gap(int device, size_t mapped_sz); /* likewise; 0: full */
extern struct emu_range **emu_ranges;   /* by address */
extern int emu_range_count;
extern uint64_t emu_range_changes;      /* grows with each change of emu_ranges; read atomically */

/* The memory file of a device: a head, then the bytes of its memory. Caller holds emu_lock. */
struct emu_file_head {
    uint64_t nonce;             /* random: no other file has it */
    uint64_t live[];            /* for each page of the window: the identity of the exported
                                 * memory that begins there, or 0 */
};
bool emu_file_init(int device);
int emu_file_fd(int device);
struct emu_file_head *emu_file_head(int device);
size_t emu_file_head_sz(void);
bool emu_file_is_mapped_elsewhere(int device, off_t offset);
off_t emu_file_take(int device, size_t mapped_sz);      /* 0: full */
void emu_file_give(int device, off_t offset, size_t mapped_sz); /* kept while others map it */
size_t emu_file_orphaned(int device);   /* bytes given back that other processes still map */

/* Addresses for mapped ranges (emu_reserve.c). */
#define EMU_GRANULARITY ((size_t) 64 << 10)
bool emu_is_reserved(uintptr_t base, size_t size);      /* caller holds emu_lock */
void emu_reserve_report(void);

size_t emu_device_used(int device);     /* caller holds emu_lock */
CUresult emu_device_alloc(size_t size, enum emu_kind kind, int device, CUcontext ctx,
                          CUdeviceptr * addr);
void emu_device_free(struct emu_range *range);
void emu_ctx_memory_free(CUcontext ctx);        /* frees what belongs to a destroyed context */
void emu_range_report(void);

/* The address by which the emulated hardware accesses [addr, addr + n), or NULL if a kernel in ctx
 * must not access it. */
void *emu_translate(CUcontext ctx, const void *addr, size_t n);

/* ---- memory of other processes (emu_ipc.c, emu_stale.c) ---- */

/* Caller holds emu_lock, except of emu_is_live, emu_stale_use and emu_stale_check. */
/* Memory of a pool for other processes (emu_ipc.c), by 64 bytes of data. Caller holds emu_lock.
 *   number  of the pool in its process
 *   nonce   of the file of the pool's device */
CUresult emu_ipc_pool_export(struct emu_range *range, unsigned number, CUmemPoolPtrExportData * data);
CUresult emu_ipc_pool_import(const CUmemPoolPtrExportData * data, unsigned number, uint64_t nonce,
                             CUmemoryPool pool, unsigned access, CUdeviceptr * addr);

/* Pools (emu_pool.c). Caller holds emu_lock. */
CUmemoryPool emu_pool_default(void);
CUresult emu_pool_alloc(CUmemoryPool pool, size_t size, int device, CUdeviceptr * addr);

void emu_ipc_retract(const struct emu_range *range);    /* exported memory is being freed */
void emu_ipc_unmap(struct emu_range *range);
void emu_ipc_mapped(int change);        /* number of mappings made (1) or closed (-1) */
void emu_stale_watch(void);     /* from now on there are mappings */
void emu_stale_remember(uintptr_t base, size_t size);   /* a mapping was closed */
void emu_stale_forget(uintptr_t base, size_t size);     /* the addresses are in use again */
void emu_stale_missed(uintptr_t addr);  /* a use of addr, where nothing is */
void emu_stale_use(uintptr_t addr);     /* a use of addr, which the exporter has freed */
void emu_stale_check(uintptr_t addr);   /* a use of addr: reports it if it is either of these */
long emu_stale_uses(void);

/* Whether the exporter of a mapping has not freed it. The arguments are the range's. */
static inline bool emu_is_live(const uint64_t * live, uint64_t id)
{
    return live == NULL || __atomic_load_n(live, __ATOMIC_ACQUIRE) == id;
}

/* ---- streams, events (emu_stream.c, emu_event.c, emu_capture.c) ---- */

struct emu_dep {
    struct CUstream_st *stream;
    uint64_t seq;               /* number of the operation in that stream that must be complete */
};

struct emu_op {
    struct emu_op *next;
    void (*run) (struct emu_op * op);   /* runs without emu_lock */
    void (*drop) (struct emu_op * op);  /* frees resources of the operation; may be NULL */
    struct CUstream_st *stream;
    struct emu_dep *deps;
    int ndeps;
    void *args;
};

struct CUstream_st {
    unsigned magic;
    struct CUctx_st *ctx;
    unsigned flags;
    int priority;
    bool is_alive;
    bool has_worker;
    uint64_t queued;            /* operations ever enqueued; also the number of the last one */
    uint64_t done;              /* operations completed */
    struct emu_op *head, *tail;
    bool is_captured;
    bool capture_broken;
    CUstreamCaptureMode capture_mode;
    pthread_t capture_thread;
    bool quiet;
    const char *caller;
    struct CUstream_st *next;   /* in the context */
};
#define EMU_STREAM_MAGIC 0xc0de0002u

struct CUstream_st *emu_stream_new(CUcontext ctx, unsigned flags, int priority);
CUstream emu_stream_get(CUstream handle);       /* NULL and the legacy handle resolved; NULL: bad */
CUresult emu_enqueue(CUstream stream, void (*run) (struct emu_op *),
                     void (*drop) (struct emu_op *), void *args, struct emu_dep *dep);
CUresult emu_stream_wait(CUstream stream);      /* waits for the operations queued at the time of
                                                 * the call */
CUresult emu_ctx_wait(CUcontext ctx);
bool emu_in_host_function(void);        /* this thread runs a host function of the program */
bool emu_event_dep(CUevent event, struct emu_dep *dep); /* false: no such event */
void emu_stream_close(CUstream stream); /* caller holds emu_lock; waits for its operations */
void emu_stream_report(void);
void emu_event_report(void);
void emu_events_close(CUcontext ctx);
bool emu_capture_forbids(void); /* an unsafe call is made: invalidates the captures that forbid
                                 * it */
/* Whether stream is a default stream that would have to wait for a stream being captured. */
bool emu_capture_implied(CUstream stream, bool break_it);

/* ---- copies, modules (emu_copy.c, emu_module.c, emu_launch.c) ---- */

struct CUfunc_st {
    const struct emu_kernel *kernel;
    struct CUmod_st *module;
    size_t shared_max;
    struct CUfunc_st *next;
};

struct CUmod_st {
    unsigned magic;
    struct CUctx_st *ctx;
    bool is_alive;
    bool quiet;
    const char *caller;
    void *object;
    struct CUfunc_st *functions;
    struct CUmod_st *next;
};
#define EMU_MODULE_MAGIC 0xc0de0004u
#define EMU_SHARED_DEFAULT ((size_t) 48 << 10)  /* maximum dynamic shared memory of a launch */

bool emu_module_valid(CUmodule module);
/* Copy the parameters of a kernel: *copy has a pointer into *data for each. Returns false if there is no
 * memory or too many bytes. */
bool emu_params_copy(const struct emu_kernel *kernel, void **params, void ***copy, char **data);
bool emu_launch_valid(CUfunction function, const struct emu_launch *form);
/* Enqueue a launch. form has the shape; the other members are filled in there. */
CUresult emu_launch_make(const struct emu_kernel *kernel, CUstream stream,
                         const struct emu_launch *form, void **params);
void emu_graph_report(void);    /* emu_graph.c */
void emu_graphs_close(CUcontext ctx);   /* caller holds emu_lock */
CUresult emu_copy(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream, bool wait);
void emu_module_report(void);
void emu_modules_close(CUcontext ctx);

/* ---- faults (emu_fault.c) ---- */

void emu_fault_init(void);

/* Run body(arg); a fault in it, or emu_fault_raise, ends it. Returns CUDA_SUCCESS or the error that
 * ended it. */
CUresult emu_fault_guard(void (*body) (void *), void *arg);
void emu_fault_raise(CUresult why) __attribute__((noreturn));

/* ---- reports at exit (emu_report.c) ---- */

void emu_leak(const char *what, const char *caller, const char *detail);
void emu_count_call(const char *function);
void emu_error_text(CUresult res, const char **name, const char **text);

#endif /* EMU_H_INCLUDED */
