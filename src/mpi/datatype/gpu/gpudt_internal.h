/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the files of the launch side share: engines, pools, sides and operations. For this folder
 * only, and only for files that are built with CUDA. Must not know requests or messages. */

#ifndef GPUDT_INTERNAL_H_INCLUDED
#define GPUDT_INTERNAL_H_INCLUDED

#include "mpiimpl.h"
#include "gpudt.h"
#include "gpudt_driver.h"
#include "gpudt_type.h"
#include "gpudt_plan.h"

/* ---- engine: what the library keeps in one context of one device (gpudt_engine.c) ---- */

/* Work areas that operations pass data through. */
enum MPII_Gpudt_area_e {
    MPII_GPUDT_AREA__DEVICE,    /* memory of the engine's device */
    MPII_GPUDT_AREA__PINNED,    /* host memory, at the same address for every device */
    MPII_GPUDT_AREA__HEAP,      /* pageable; not pooled */
    MPII_GPUDT_NAREAS
};

struct MPII_Gpudt_area {
    struct MPII_Gpudt_area *next;       /* in the engine's list of free ones */
    enum MPII_Gpudt_area_e kind;
    char *mem;                  /* device address for MPII_GPUDT_AREA__DEVICE */
    size_t sz;
};

/* Device memory for a datatype's image (gpudt_upload.c). Owned by the datatype's state while in
 * use, else by the engine's list of spare ones. */
struct MPII_Gpudt_block {
    struct MPII_Gpudt_block *next;      /* spare ones of the engine, or those of one datatype */
    struct MPII_Gpudt_block *engine_next;       /* all of the engine's */
    struct MPII_Gpudt_engine *engine;   /* NULL: the engine is gone, and mem with it */
    CUdeviceptr mem;
    size_t sz;
    struct MPII_Gpudt_image_at at;
    bool is_spare;
};

enum MPII_Gpudt_module_e {
    MPII_GPUDT_MODULE__NEW,     /* not tried yet */
    MPII_GPUDT_MODULE__LOADED,
    MPII_GPUDT_MODULE__NONE     /* no kernel image suits this device: final */
};

/* Streams of an engine: what is in one of them does not queue behind what is in another. */
enum MPII_Gpudt_lane_e {
    MPII_GPUDT_LANE__PACK,      /* also for copies from datatype to datatype */
    MPII_GPUDT_LANE__UNPACK,
    MPII_GPUDT_LANE__TO_HOST,   /* copies of what was packed in the first, while that packs on */
    MPII_GPUDT_LANE__FROM_HOST, /* copies of what is unpacked in the second */
    MPII_GPUDT_NLANES
};

#define MPII_GPUDT_NFLAGS 256           /* a multiple of 64 */

typedef struct MPII_Gpudt_engine {
    struct MPII_Gpudt_engine *next;
    const MPII_Gpudt_driver_t *drv;
    int device;
    CUcontext ctx;
    uint64_t serial;            /* no two engines ever have the same */

    /* A small allocation in the context, and the number that the driver gave it. A context has
     * no name that is safe to ask about once it is destroyed, but an address does: while the
     * driver still knows this allocation by this number, the context and all in it are alive. */
    CUdeviceptr mark;
    unsigned long long mark_id;

    CUstream streams[MPII_GPUDT_NLANES];
    int nsms;
    int shared;                 /* for MPII_Gpudt_is_shared */
    MPL_atomic_int_t memops_refused;    /* true: allocations cannot be marked; see gpudt_memops.c */
    MPL_atomic_int_t memops_busy;       /* true: the last wait there was in vain */

    struct MPII_Gpudt_queue *queues;    /* NULL: none yet; see gpudt_batch.c */

    /* All below are guarded by MPII_Gpudt_pool_lock. */
    enum MPII_Gpudt_module_e module_state;
    CUmodule module;
    CUfunction kernels[MPII_GPUDT_NKERNELS];    /* NULL: not looked up yet */
    struct MPII_Gpudt_area *areas[MPII_GPUDT_NAREAS];   /* free ones */
    int nareas[MPII_GPUDT_NAREAS];      /* free and in use */
    CUevent *events;            /* free ones, a stack */
    int nevents;
    int max_events;             /* room in events */
    char *flags;                /* pinned memory of the flags; NULL: none yet */
    CUdeviceptr flags_addr;     /* the same for kernels */
    bool no_flags;              /* it could not be had, or is not wanted */
    uint64_t flags_in_use[MPII_GPUDT_NFLAGS / 64];      /* bit i % 64 of i / 64: flag i */
    int flag_values[MPII_GPUDT_NFLAGS]; /* what each was last set to, or will be */
    CUdeviceptr counters;       /* one for each lane and flag, all 0 but in use; 0: none yet */
    bool no_counters;           /* they could not be had */

    /* Guarded by a lock of gpudt_upload.c. */
    struct MPII_Gpudt_block *blocks;
    struct MPII_Gpudt_block *spare_blocks;
    size_t spare_sz;            /* bytes in spare_blocks */
} MPII_Gpudt_engine_t;

extern MPL_initlock_t MPII_Gpudt_pool_lock;

/* Goes up whenever an engine is found whose context has ended; starts at 1. */
extern MPL_atomic_int_t MPII_Gpudt_epoch;

/* Look for engines whose contexts have ended. */
void MPII_Gpudt_engines_check(void);

/* Enter the context that owns some memory and find or make its engine.
 *   device, ctx      (IN)   as MPIR_Gpudt_query_ptr gives them
 *   engine, entered  (OUT)  engine lives until MPI_Finalize; entered is for MPII_Gpudt_ctx_leave.
 *                           On failure nothing is entered */
int MPII_Gpudt_engine_enter(const MPII_Gpudt_driver_t * drv, int device, void *ctx,
                            MPII_Gpudt_engine_t ** engine, MPII_Gpudt_ctx_t * entered);

/* The same without entering the context, but to make the engine. */
int MPII_Gpudt_engine_get(const MPII_Gpudt_driver_t * drv, int device, void *ctx,
                          MPII_Gpudt_engine_t ** engine);

/* Whether an engine's context still exists. Safe to ask at any time. */
bool MPII_Gpudt_engine_is_alive(const MPII_Gpudt_engine_t * engine);

/* Enter the context of an engine that was used before; an error if the program has ended it.
 *   entered  (OUT)  for MPII_Gpudt_ctx_leave; on failure nothing is entered */
int MPII_Gpudt_engine_reenter(const MPII_Gpudt_engine_t * engine, MPII_Gpudt_ctx_t * entered);

/* Whether kernels of engine may access plain allocations of peer, because the program has switched that
 * on. The engine's context is current. */
bool MPII_Gpudt_engine_peer(MPII_Gpudt_engine_t * engine, const MPII_Gpudt_engine_t * peer);

/* Whether memory of a device has access rights of its own, as pools and mapped ranges have, unlike
 * allocations: it may be that no other device can access it, not even for a copy by the driver. */
static inline bool MPII_Gpudt_is_private(const MPIR_Gpudt_ptr_t * ptr)
{
    return ptr->mem == MPIR_GPUDT_MEM__DEVICE && ptr->ctx == NULL;
}

/* Have what the program will do to some GPU memory with cudaMemcpy, cudaMemset and their like end before
 * what the engine does with it, and what it has done so far unless kernels are in its way
 * (gpudt_memops.c). May wait for some microseconds, the first time that it sees an allocation; never
 * for kernels.
 *   addr  (IN)  in GPU memory
 *   ptr   (IN)  what MPIR_Gpudt_query_ptr says of it */
int MPII_Gpudt_memops_order(const void *addr, const MPIR_Gpudt_ptr_t * ptr);

/* ---- GPUs that other processes use as well (gpudt_shared.c) ---- */

/* Tell other processes of the node that this one uses a GPU. The caller holds the lock of the
 * engines.
 * Returns what MPII_Gpudt_is_shared wants to know. */
int MPII_Gpudt_shared_add(const MPII_Gpudt_driver_t * drv, int device);

/* Whether kernels may have to wait until the GPU changes to this process's context. */
bool MPII_Gpudt_is_shared(int index);

/* ---- kernels (gpudt_module.c) ---- */

/* The function of a kernel, loading the image at first use. The engine's context is current.
 *   kernel    (IN)   enum MPII_Gpudt_kernel_e
 *   function  (OUT)  NULL: no image suits the device, which is no error */
int MPII_Gpudt_module_kernel(MPII_Gpudt_engine_t * engine, int kernel, CUfunction * function);

/* Whether kernels can be had, loading the image if that has not been tried. */
int MPII_Gpudt_module_usable(MPII_Gpudt_engine_t * engine, bool * usable);

/* ---- pools (gpudt_mem.c); the engine's context is current in all of these ---- */

/* Get a work area. What kind it is may differ from what was asked for; see area->kind.
 *   kind  (IN)   kind wanted
 *   area  (OUT)  NULL: no more of that kind now: the pool is at its limit or the driver refused */
void MPII_Gpudt_area_get(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_area_e kind,
                         struct MPII_Gpudt_area **area);
/* Give one back, when nothing uses it any more. */
void MPII_Gpudt_area_put(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_area *area);
/* Bytes of a work area of a kind. */
size_t MPII_Gpudt_area_sz(enum MPII_Gpudt_area_e kind);

int MPII_Gpudt_event_get(MPII_Gpudt_engine_t * engine, CUevent * event);
void MPII_Gpudt_event_put(MPII_Gpudt_engine_t * engine, CUevent event);

/* Pin fresh host memory; NULL if that cannot be done. It is not the context's: what was written there can
 * be read when the program has ended the context.
 *   addr  (OUT)  for kernels */
char *MPII_Gpudt_pinned_map(MPII_Gpudt_engine_t * engine, size_t sz, CUdeviceptr * addr);
/* Give it back; mem may be NULL. */
void MPII_Gpudt_pinned_unmap(MPII_Gpudt_engine_t * engine, char *mem, size_t sz, bool is_alive);

/* A word of pinned memory that a kernel sets when all that it has moved can be seen. */
struct MPII_Gpudt_flag {
    MPL_atomic_int_t *word;     /* NULL: no flag */
    uint64_t addr;              /* of the word, for kernels */
    uint64_t counter;           /* address of the word by which several blocks know the last one */
    int value;                  /* of the word when it is set */
};

/* Get a flag that is not set; flag->word is NULL if there is none.
 *   lane     (IN)  of the launch that will set it
 *   nblocks  (IN)  blocks of threads that are to set it together */
void MPII_Gpudt_flag_get(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                         unsigned nblocks, struct MPII_Gpudt_flag *flag);
/* Give one back, if there is one, when it is set or never will be. */
void MPII_Gpudt_flag_put(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_flag *flag);

/* Have the end of some blocks set a flag. */
static inline void MPII_Gpudt_flag_ask(struct MPII_Gpudt_end *end,
                                       const struct MPII_Gpudt_flag *flag)
{
    end->flag = flag->addr;
    end->counter = flag->counter;
    end->flag_value = flag->value;
}

static inline bool MPII_Gpudt_flag_is_set(const struct MPII_Gpudt_flag *flag)
{
    return MPL_atomic_acquire_load_int(flag->word) == flag->value;
}

/* Free all that the pools hold, for an engine that nothing uses.
 *   is_alive  (IN)  false: the context is gone, and what was in it */
void MPII_Gpudt_pools_free(MPII_Gpudt_engine_t * engine, bool is_alive);

/* ---- sides and operations ---- */

/* What a caller says of one side. */
struct MPII_Gpudt_data {
    const void *addr;
    MPI_Aint count;
    MPI_Datatype datatype;
    MPI_Aint first;             /* stream position of the first byte to move */
    /* found out by MPII_Gpudt_data_measure */
    bool is_contig;
    bool is_absolute;           /* blocks may be anywhere */
    int64_t size;               /* packed bytes of one datatype */
    char *low, *high;           /* all memory of the buffer */
};

/* One side of a transfer. */
struct MPII_Gpudt_side {
    char *addr;                 /* contiguous: of the first byte to move; else the user's buffer */
    struct MPII_Gpudt_type *type;       /* NULL: contiguous. The operation holds a reference */
    struct MPII_Gpudt_record top;       /* not contiguous: root for the call's count */
    int64_t first;              /* not contiguous: stream position of the first byte to move */
    bool is_exact;              /* all of this is known from the datatype's state */
    char *low;                  /* lowest byte that may be touched, and one past the highest */
    char *high;
    MPIR_Gpudt_ptr_t ptr;       /* memory of the first block; if mixed, of the first on a GPU */
    MPII_Gpudt_engine_t *engine;        /* of the memory; NULL: not looked for yet */
    bool is_mixed;              /* blocks are in memory that no one kernel or CPU can access */
    const MPII_Gpudt_engine_t *reached_by;      /* the engine that shift and place are known for */
    uint64_t shift;             /* what to add to an address for use on the engine's device */
    enum MPII_Gpudt_place_e place;      /* as seen from there */
};

/* How one step of a transfer moves its bytes. */
enum MPII_Gpudt_method_e {
    MPII_GPUDT_METHOD__KERNEL,  /* datatype <-> contiguous, by the plan's choice */
    MPII_GPUDT_METHOD__COPY,    /* contiguous -> contiguous, by the driver */
    MPII_GPUDT_METHOD__ROWS,    /* datatype <-> contiguous, a driver's copy for each block or row */
    MPII_GPUDT_METHOD__CPU      /* by the CPU, to or from a work area */
};

struct MPII_Gpudt_step {
    enum MPII_Gpudt_method_e method;
    MPII_Gpudt_engine_t *engine;        /* NULL: METHOD__CPU */
    enum MPII_Gpudt_lane_e lane;        /* of the engine */
};

#define MPII_GPUDT_MAX_CHUNKS 8

/* A part of the transfer that is under way. */
struct MPII_Gpudt_chunk {
    struct MPII_Gpudt_area *area;       /* NULL: the transfer is direct */
    int64_t pos;                /* bytes of the transfer before it */
    int64_t len;
    int nsteps;                 /* steps started */
    CUevent event[2];           /* end of step i, from the pool of its engine; NULL: none yet */
    struct MPII_Gpudt_flag flag[2];     /* the same by a flag, which then is what counts */
};

/* A transfer of n bytes. Direct: one step from source to destination. Else each chunk takes two,
 * by way of a work area:
 *
 *     src ---- step[0] ----> area ---- step[1] ----> dst
 *
 * Chunks are in a ring and take turns: they start and end in order. */
struct MPIR_Gpudt_op {
    const MPII_Gpudt_driver_t *drv;
    struct MPII_Gpudt_side src, dst;
    int64_t n;
    bool is_blocking;
    enum MPII_Gpudt_lane_e lane;
    MPII_Gpudt_engine_t *engine;        /* of the lead; work areas are from its pools */
    bool is_direct;
    struct MPII_Gpudt_step step[2];     /* step[1] of a direct transfer is not used */
    int64_t chunk_sz;
    int nchunks;                /* in the ring */
    int oldest;                 /* index of the one that started first */
    int nbusy;                  /* under way */
    int64_t started;            /* bytes in chunks that were started */
    unsigned nlooks;            /* at flags that were not set */
    MPL_atomic_int_t is_queued; /* its move waits in a queue */
    int batch_errno;            /* why it could not be started from there; set before is_queued is not */
    int64_t noted;              /* bytes of a copy that the queue of its lane counts as in flight */
    struct MPII_Gpudt_chunk chunk[MPII_GPUDT_MAX_CHUNKS];
};

/* The side whose GPU does the work of a transfer (gpudt_route.c). */
const struct MPII_Gpudt_side *MPII_Gpudt_lead(const MPIR_Gpudt_op * op);

/* Measure what a caller says (gpudt_data.c).
 *   data  (IN/OUT)  buffer, datatype and position are set */
void MPII_Gpudt_data_measure(struct MPII_Gpudt_data *data);
/* Packed bytes of the whole buffer; what does not fit in 64 bits is found by MPII_Gpudt_side_set. */
int64_t MPII_Gpudt_data_size(const struct MPII_Gpudt_data *data);

/* Fill in a side but for its memory. The type's state is got later, if it is needed.
 *   n  (IN)  bytes to move */
void MPII_Gpudt_side_place(const struct MPII_Gpudt_data *data, int64_t n,
                           struct MPII_Gpudt_side *side);
/* Find out exactly where a side's data is, from the state of its datatype: the datatype object's own
 * true_lb is wrong for some nests of resized types and distributed arrays. What turns out to be
 * contiguous needs no datatype any more. */
int MPII_Gpudt_side_set(const struct MPII_Gpudt_data *data, int64_t n,
                        struct MPII_Gpudt_side *side);

/* Whether a side is in host memory that MPIR_Gpudt_host_register registered in the context of an
 * engine; if so, fill in all about its memory without a call of the driver (gpudt_host.c).
 *   engine  (IN)      known to be alive
 *   side    (IN/OUT)  contiguous */
bool MPII_Gpudt_host_find(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_side *side);
/* Forget what was registered in an engine's context; part of its end. */
void MPII_Gpudt_host_forget(const MPII_Gpudt_engine_t * engine);

/* Start a transfer (gpudt_pack.c).
 *   local  (IN)   both sides, classified; n and lane. Holds no references to datatypes afterwards
 *   op     (OUT)  as for MPIR_Gpudt_ipack */
int MPII_Gpudt_op_start(MPIR_Gpudt_op * local, MPIR_Gpudt_op ** op);

/* Decide how a transfer goes, and get the work areas it needs (gpudt_route.c).
 *   op  (IN/OUT)  all down to engine is set, and engine's context is current; the rest is filled
 *                 in. On failure it holds no work areas */
int MPII_Gpudt_route(MPIR_Gpudt_op * op);

/* Find out what memory a side is in: as far as its lowest byte tells, or that of every block
 * (gpudt_side.c). Fills in ptr and is_mixed. GPU memory is ready for a transfer then.
 *   every_block  (IN)  the buffer is given by absolute addresses: its blocks may be anywhere */
int MPII_Gpudt_side_classify(struct MPII_Gpudt_side *side, bool every_block);

/* Whether kernels of an engine may access a side, and as what: fills in shift and place. The
 * engine's context is current.
 *   other  (IN)  the engine of the side's own memory, if that is another one; else NULL */
bool MPII_Gpudt_side_reach(MPII_Gpudt_engine_t * engine, MPII_Gpudt_engine_t * other,
                           struct MPII_Gpudt_side *side);

/* Whether the GPU should move a side's data, or part of it. */
static inline bool MPII_Gpudt_side_is_gpu(const struct MPII_Gpudt_side *side)
{
    return side->ptr.mem == MPIR_GPUDT_MEM__DEVICE || side->ptr.mem == MPIR_GPUDT_MEM__MANAGED;
}

/* True if an address can only be host memory: on the brk heap or on this thread's stack, where no
 * driver places anything, though it may be pinned. Costs a few loads; false proves nothing
 * (gpudt_near.c). */
bool MPII_Gpudt_is_near(const void *addr);

/* Bytes [pos, pos + len) of a transfer, to be moved between a side and contiguous memory. */
struct MPII_Gpudt_move {
    MPII_Gpudt_engine_t *engine;        /* does it; its context is current */
    enum MPII_Gpudt_lane_e lane;
    const struct MPII_Gpudt_side *side;
    int64_t pos, len;
    uint64_t contig;            /* address of the first of these bytes, for the engine's device */
    enum MPII_Gpudt_place_e contig_place;       /* memory it is in */
    bool unpack;                /* to the side */
    struct MPII_Gpudt_flag *flag;       /* set at the end, if that is possible; no flag else. NULL:
                                         * not asked for */
    bool is_waited_for;         /* somebody blocks until the end */
    MPIR_Gpudt_op *may_queue;   /* the operation whose only move this is, if it may wait in a queue */
};

/* Start a move by the plan's choice, or leave it in a queue (gpudt_launch.c). */
int MPII_Gpudt_launch(const struct MPII_Gpudt_move *m);

/* Start a kernel in the current context.
 *   args  (IN)  its parameter block */
int MPII_Gpudt_kernel_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                             CUfunction function, unsigned grid, const void *args);

/* ---- batches (gpudt_batch.c) ---- */

/* Leave a move in the queue of its stream if there is work in flight that it would wait for anyway.
 *   in     (IN)   what the plan is made from
 *   added  (OUT)  false: to be started now; true: m->may_queue->is_queued, and its flag is the
 *                 move's */
int MPII_Gpudt_batch_add(const struct MPII_Gpudt_move *m, const struct MPII_Gpudt_plan_in *in,
                         bool * added);

/* Whether a move of so many bytes would be left in a queue now. */
bool MPII_Gpudt_batch_is_due(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                             int64_t bytes);

/* Note that work of so many bytes, which nobody blocks for, has been started, and will set a flag. */
void MPII_Gpudt_batch_note(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                           const struct MPII_Gpudt_flag *flag, int64_t bytes);

/* Note that a copy of so many bytes, which nobody blocks for and which sets no flag, has been started,
 * or, with their negative, that it has ended.
 * Returns false if there is no memory to note it. */
bool MPII_Gpudt_batch_note_copy(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                                int64_t bytes);

/* Start what is in a queue if it would not wait any more. Costs a few loads else. What is in it when
 * that fails gets the error as its batch_errno.
 *   must  (IN)  start it in any case */
void MPII_Gpudt_batch_poll(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, bool must);

/* Free the queues of an engine that nothing uses. */
void MPII_Gpudt_batches_free(MPII_Gpudt_engine_t * engine, bool is_alive);

/* Start a move by driver copies (gpudt_rowcopy.c). contig may be any address that the driver can copy
 * from or to. */
int MPII_Gpudt_rows_launch(const struct MPII_Gpudt_move *m);

/* Start a copy by the driver (gpudt_launch.c). */
int MPII_Gpudt_copy_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, char *to,
                           const char *from, int64_t n);

/* The same by the CPU, at once (gpudt_rows.c).
 *   contig  (IN)  host memory */
int MPII_Gpudt_rows_cpu(const struct MPII_Gpudt_side *side, int64_t pos, int64_t len, char *contig,
                        bool unpack);

/* Called for n blocks of size bytes each, the first at displ bytes from the user's buffer, the next
 * stride bytes further on. Returns an MPI error code, which ends the visit. */
typedef int (*MPII_Gpudt_row_fn) (void *arg, int64_t displ, int64_t size, int64_t n,
                                  int64_t stride);

/* Visit the blocks of a byte range in stream order (gpudt_rows.c).
 *   serial, top  (IN)  a type, and its root for the call's count
 *   first, last  (IN)  0 <= first < last <= top->size */
int MPII_Gpudt_rows_visit(const struct MPII_Gpudt_serial *serial,
                          const struct MPII_Gpudt_record *top, int64_t first, int64_t last,
                          MPII_Gpudt_row_fn fn, void *arg);

/* The image of a datatype in an engine's device memory (see gpudt_image.h), made at first use
 * (gpudt_upload.c). The engine's context is current.
 *   at  (OUT)  valid for what is started on the engine's streams while the caller holds a reference
 *              to the type */
int MPII_Gpudt_upload_get(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_type *type,
                          struct MPII_Gpudt_image_at *at);
/* Forget an engine's blocks; part of its end. */
void MPII_Gpudt_uploads_free(MPII_Gpudt_engine_t * engine, bool is_alive);

/* Run a routed transfer (gpudt_complete.c): start what can be started; for a blocking one also wait
 * for all of it. The operation is finished, its resources given back, if *done or on failure. */
int MPII_Gpudt_op_advance(MPIR_Gpudt_op * op, bool * done);
/* Give back the references to datatypes. */
void MPII_Gpudt_op_release_types(MPIR_Gpudt_op * op);

/* ---- variables (gpudt_vars.c) ---- */

#define MPII_GPUDT_COUNTERS(F)                                                                  \
    F(packs, "Packs and contiguous copies in which GPU memory took part")                       \
    F(unpacks, "Unpacks in which GPU memory took part")                                         \
    F(local_copies, "Copies from datatype to datatype in which GPU memory took part")           \
    F(bytes, "Bytes moved by these operations")                                                 \
    F(launches, "Kernels launched")                                                             \
    F(flags, "Kernels that say themselves when they are done")                                  \
    F(batches, "Kernels launched for several operations together")                              \
    F(batched, "Operations that these were for")                                                \
    F(copies, "Copies of blocks, rows or whole messages given to the driver")                   \
    F(staged, "Operations that passed through a work area in chunks")                           \
    F(cpu_bytes, "Bytes that the CPU copied to or from a pinned work area")                     \
    F(fallbacks_image, "Moves without a kernel because no kernel image suits the GPU")          \
    F(fallbacks_memory, "Operations on a slower route because memory for another was refused")  \
    F(fallbacks_mixed, "Operations on datatypes whose blocks are in different kinds of memory") \
    F(fallbacks_pinned, "Parts of pools for messages that could not be pinned")                 \
    F(fallbacks_share, "Pools for messages of other processes that could not be mapped")        \
    F(renewed_pieces, "Parts of pools replaced because a dead process might write to them")     \
    F(heap_chunks, "Pieces of messages that went through pageable memory")                      \
    F(memops_waits, "Waits for the default stream, for memory seen for the first time or unmarked") \
    F(memops_unfinished, "Those of them after which it was busy still")

#define MPII_GPUDT_LEVELS(F)                                                                    \
    F(pinned_bytes, "Bytes of pinned work areas")                                               \
    F(device_bytes, "Bytes of device memory for work areas and datatypes")                      \
    F(cached_types, "Datatypes with lists in device memory, each device counted")               \
    F(engines, "Contexts of devices in use")

#define MPII_GPUDT_VAR_ID(name_, text_) MPII_GPUDT_VAR__ ## name_,
enum MPII_Gpudt_var_e {
    MPII_GPUDT_COUNTERS(MPII_GPUDT_VAR_ID)
    MPII_GPUDT_LEVELS(MPII_GPUDT_VAR_ID)
    MPII_GPUDT_NVARS
};
#undef MPII_GPUDT_VAR_ID

extern MPL_atomic_uint64_t MPII_Gpudt_vars[MPII_GPUDT_NVARS];

#define MPII_GPUDT_COUNT(name_, n_)                                             \
    ((void) MPL_atomic_fetch_add_uint64(&MPII_Gpudt_vars[MPII_GPUDT_VAR__ ## name_],    \
                                        (uint64_t) (n_)))
#define MPII_GPUDT_UNCOUNT(name_, n_)                                           \
    ((void) MPL_atomic_fetch_sub_uint64(&MPII_Gpudt_vars[MPII_GPUDT_VAR__ ## name_],    \
                                        (uint64_t) (n_)))

/* Strategies the plan may use, as a mask for MPII_Gpudt_plan_in.allowed; 0: driver copies only. */
unsigned MPII_Gpudt_allowed_strategies(void);

#endif /* GPUDT_INTERNAL_H_INCLUDED */
