/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The input and the output of planning. Must not know MPI, the driver or a stream.
 */

#ifndef GPUDT_PLAN_TYPES_H_INCLUDED
#define GPUDT_PLAN_TYPES_H_INCLUDED

#include "type/gpudt_record.h"
#include "kernel/gpudt_args.h"
#include "gpudt_image.h"

/* Ways to move a range. All that apply move the same bytes. */
enum MPII_Gpudt_strategy_e {
    MPII_GPUDT_STRATEGY__COPY1D,        /* contiguous: the driver's copy */
    MPII_GPUDT_STRATEGY__COPY2D,        /* rows of one width at one pitch: the driver's 2-D copy.
                                         * Between GPUs also planes of them: its 3-D copy */
    MPII_GPUDT_STRATEGY__TRANSPOSE,  /* a transposing box, through squares in shared memory */
    MPII_GPUDT_STRATEGY__BOX,   /* nested strides, also with lists of equal blocks */
    MPII_GPUDT_STRATEGY__TABLE, /* a small type of any kind, by the table of its units */
    MPII_GPUDT_STRATEGY__BITMAP,  /* short entries of any length, by the list's bitmap */
    MPII_GPUDT_STRATEGY__LIST,  /* runs of any length */
    MPII_GPUDT_STRATEGY__MAP,   /* many small datatypes, whatever their tree */
    MPII_GPUDT_STRATEGY__TREE,  /* anything */
    MPII_GPUDT_STRATEGY__PAIR,  /* from datatype to datatype: see gpudt_plan_pair.h */
    MPII_GPUDT_NSTRATEGIES
};

/* The *place* of a buffer: its memory as seen from the device that runs the kernel. */
enum MPII_Gpudt_place_e {
    MPII_GPUDT_PLACE__DEVICE,   /* its own memory */
    MPII_GPUDT_PLACE__PEER,     /* another device's */
    MPII_GPUDT_PLACE__HOST      /* mapped host memory */
};

struct MPII_Gpudt_plan_in {
    const struct MPII_Gpudt_serial *serial;     /* the type; its host lookaside is not read */
    const struct MPII_Gpudt_record *top;        /* root for the call's count; see
                                                 * MPII_Gpudt_canon_count. NULL: record 0 */
    int64_t first, last;        /* byte range of the packed stream, 0 <= first < last <= size */
    uint64_t user;              /* the user's buffer, as the device addresses it */
    uint64_t packed;            /* address of byte `first` of the stream */
    enum MPII_Gpudt_place_e user_place, packed_place;
    int unpack;                 /* 0: from user to packed, 1: from packed to user */
    int nsms;                   /* multiprocessors of the device */
    int max_blocks;             /* maximum number of thread blocks; 0: the measured optimum */
    struct MPII_Gpudt_image_at image;   /* the type's image on that device */
    double switch_ns;           /* added to the cost of kernels for switching the GPU's context */
    int max_unit;               /* bytes of a unit, at most, a power of two; 0:
                                 * MPII_GPUDT_UNIT_MAX */
    int wide;                   /* 1: kernels with 64-bit indices even where 32 bits suffice */
    unsigned allowed;           /* bit (1 << strategy): may be used. TREE is used if no other one is
                                 * allowed */
};

#define MPII_GPUDT_ALLOW_ALL ((1u << MPII_GPUDT_NSTRATEGIES) - 1)

/* A copy by the driver. Addresses as in MPII_Gpudt_plan_in. */
struct MPII_Gpudt_copy {
    uint64_t user, packed;
    int64_t width, rows, planes;        /* bytes of a row, rows of a plane, planes */
    int64_t pitch, height;      /* on the user's side: bytes from row to row, and how many of these
                                 * from plane to plane */
};

struct MPII_Gpudt_plan {
    enum MPII_Gpudt_strategy_e strategy;
    double cost;                /* estimated nanoseconds, for comparing strategies */
    struct MPII_Gpudt_copy copy;        /* COPY1D, COPY2D */
    int unit;                   /* else: bytes of the kernel's units */
    int kernel;                 /* enum MPII_Gpudt_kernel_e */
    unsigned grid;              /* blocks of MPII_GPUDT_THREADS threads */
    size_t args_sz;             /* bytes of the member of args in use */
    union {
        struct MPII_Gpudt_span span;    /* first member of all parameter blocks */
        struct MPII_Gpudt_args_box box;
        struct MPII_Gpudt_args_transpose transpose;
        struct MPII_Gpudt_args_list list;
        struct MPII_Gpudt_args_tree tree;
    } args;
};

#endif /* GPUDT_PLAN_TYPES_H_INCLUDED */
