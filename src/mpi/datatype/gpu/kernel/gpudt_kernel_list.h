/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The list of all kernels, expanded by the kernels' source, the module loader and the plan. Knows
 * only names.
 */

#ifndef GPUDT_KERNEL_LIST_H_INCLUDED
#define GPUDT_KERNEL_LIST_H_INCLUDED

/* K_(family, unit, locator, args): the kernels gpudt_<family>_<unit>_pack and _unpack for units of
 * `unit` bytes, the C++ template of their locator, and their parameter block
 * MPII_Gpudt_args_<args>. The units of a family are in this order, 1 to 16. */
#define MPII_GPUDT_KERNEL_UNITS(K_, family_, locator_, args_)   \
    K_(family_, 1, locator_, args_)                             \
    K_(family_, 2, locator_, args_)                             \
    K_(family_, 4, locator_, args_)                             \
    K_(family_, 8, locator_, args_)                             \
    K_(family_, 16, locator_, args_)

#define MPII_GPUDT_KERNEL_FAMILIES(K_)                          \
    MPII_GPUDT_KERNEL_UNITS(K_, box32, gpudt_box32, box)        \
    MPII_GPUDT_KERNEL_UNITS(K_, box64, gpudt_box64, box)        \
    MPII_GPUDT_KERNEL_UNITS(K_, bitmap, gpudt_bitmap, list)     \
    MPII_GPUDT_KERNEL_UNITS(K_, list, gpudt_list, list)         \
    MPII_GPUDT_KERNEL_UNITS(K_, map, gpudt_map, tree)           \
    MPII_GPUDT_KERNEL_UNITS(K_, tree32, gpudt_tree32, tree)     \
    MPII_GPUDT_KERNEL_UNITS(K_, tree64, gpudt_tree64, tree)

/* The same for the transpose kernels, which have no locator. */
#define MPII_GPUDT_KERNEL_TRANSPOSES(K_)                        \
    MPII_GPUDT_KERNEL_UNITS(K_, transpose, none, transpose)

/* Kernels whose work the batch kernel can do, besides pairbox and copies: those for regular types, and
 * those for any type. */
#define MPII_GPUDT_KERNEL_BATCHED(K_)                           \
    MPII_GPUDT_KERNEL_UNITS(K_, box32, gpudt_box32, box)        \
    MPII_GPUDT_KERNEL_UNITS(K_, tree32, gpudt_tree32, tree)

/* K_(name, function, args, id): the kernels gpudt_<name>, from datatype to datatype, and the
 * function that is their body. */
#define MPII_GPUDT_KERNEL_PAIRS(K_)                             \
    K_(pair32, gpudt_pair<uint32_t>, pair, PAIR32)              \
    K_(pair64, gpudt_pair<uint64_t>, pair, PAIR64)              \
    K_(pairbox, gpudt_boxes, pairbox, PAIRBOX)                  \
    K_(pairlist, gpudt_lists, pairlist, PAIRLIST)               \
    K_(pairruns, gpudt_runs, pairlist, PAIRRUNS)

/* K_(name): the kernels gpudt_reduce_<name> and gpudt_combine_<name>, for two operands and for
 * several, and gpudt_update_<name>, for windows, of elements of the type gpudt_<name>: unsigned and
 * signed integers, real and complex numbers of that many bits, and values with their locations. */
#define MPII_GPUDT_KERNEL_REDUCES(K_)                   \
    K_(u8) K_(u16) K_(u32) K_(u64)                      \
    K_(i8) K_(i16) K_(i32) K_(i64)                      \
    K_(f16) K_(f32) K_(f64) K_(c32) K_(c64)             \
    K_(i16_i32) K_(i32_i32) K_(i64_i32)                 \
    K_(f32_i32) K_(f64_i32) K_(f32_f32) K_(f64_f64)

#define MPII_GPUDT_KERNEL_ALL(K_)               \
    MPII_GPUDT_KERNEL_FAMILIES(K_)              \
    MPII_GPUDT_KERNEL_TRANSPOSES(K_)

#define MPII_GPUDT_KERNEL_IDS(family_, unit_, locator_, args_)  \
    MPII_GPUDT_KERNEL__ ## family_ ## _ ## unit_ ## _PACK,      \
    MPII_GPUDT_KERNEL__ ## family_ ## _ ## unit_ ## _UNPACK,

#define MPII_GPUDT_KERNEL_PAIR_ID(name_, body_, args_, id_)     MPII_GPUDT_KERNEL__ ## id_,
#define MPII_GPUDT_KERNEL_REDUCE_ID(name_)      MPII_GPUDT_KERNEL__REDUCE_ ## name_,
#define MPII_GPUDT_KERNEL_COMBINE_ID(name_)     MPII_GPUDT_KERNEL__COMBINE_ ## name_,
#define MPII_GPUDT_KERNEL_UPDATE_ID(name_)      MPII_GPUDT_KERNEL__UPDATE_ ## name_,

/* Kernel ids: an unpack kernel follows its pack kernel. */
enum MPII_Gpudt_kernel_e {
    MPII_GPUDT_KERNEL_ALL(MPII_GPUDT_KERNEL_IDS)
    MPII_GPUDT_KERNEL_PAIRS(MPII_GPUDT_KERNEL_PAIR_ID)
    MPII_GPUDT_KERNEL_REDUCES(MPII_GPUDT_KERNEL_REDUCE_ID)
    MPII_GPUDT_KERNEL_REDUCES(MPII_GPUDT_KERNEL_COMBINE_ID)
    MPII_GPUDT_KERNEL_REDUCES(MPII_GPUDT_KERNEL_UPDATE_ID)
    MPII_GPUDT_KERNEL__COPIES_FEW,      /* gpudt_copies_few */
    MPII_GPUDT_KERNEL__COPIES,  /* gpudt_copies */
    MPII_GPUDT_KERNEL__BATCH,   /* gpudt_batch */
    MPII_GPUDT_NKERNELS
};

#undef MPII_GPUDT_KERNEL_IDS
#undef MPII_GPUDT_KERNEL_PAIR_ID
#undef MPII_GPUDT_KERNEL_REDUCE_ID
#undef MPII_GPUDT_KERNEL_COMBINE_ID
#undef MPII_GPUDT_KERNEL_UPDATE_ID

/* The kernel for several operands that belongs to one for two. */
#define MPII_GPUDT_KERNEL_COMBINE_OF(reduce_)   \
    ((reduce_) + MPII_GPUDT_KERNEL__COMBINE_u8 - MPII_GPUDT_KERNEL__REDUCE_u8)

/* The kernel for windows that belongs to one for two operands. */
#define MPII_GPUDT_KERNEL_UPDATE_OF(reduce_)    \
    ((reduce_) + MPII_GPUDT_KERNEL__UPDATE_u8 - MPII_GPUDT_KERNEL__REDUCE_u8)

#endif /* GPUDT_KERNEL_LIST_H_INCLUDED */
