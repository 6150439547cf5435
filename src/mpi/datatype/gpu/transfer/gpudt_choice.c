/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The control variables that choose strategies. Must not know what strategies do. */

#include "mpiimpl.h"
#include "plan/gpudt_plan.h"
#include "plan/gpudt_plan_pair.h"
#include "gpudt_choice.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_STRATEGY
      category    : GPUDT
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : |-
        The way to move data that is to be taken wherever it applies. Every one gives the same
        bytes; where it does not apply, tree is taken.
        auto   - Choose by estimated time
        copy1d - The driver's copy, for contiguous data
        copy2d - The driver's 2-D copy, for rows at one pitch; between GPUs its 3-D copy, too, for
                 planes of such rows, and for rows at both ends; where these differ, pair
        transpose - A kernel that transposes squares in shared memory
        box    - A kernel for nested strides
        table  - The same for small datatypes of any kind, with a list of all their parts
        bitmap - A kernel for lists of short runs, with a bitmap of where they begin
        list   - A kernel for lists of runs
        map    - A kernel for many small datatypes, with a map of one of them in shared memory
        tree   - A kernel that walks the whole datatype
        pair   - For copies from one noncontiguous datatype to another: one kernel for both. It is
                 also taken, with the given way for each datatype, for box, table, bitmap, list and
                 tree
        rows   - No kernels: a copy by the driver for each block or row

    - name        : MPIR_CVAR_GPUDT_FORBID
      category    : GPUDT
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Names of strategies that are not to be taken, separated by commas; see
        MPIR_CVAR_GPUDT_STRATEGY. Where tree is the only one that applies, it is taken nevertheless.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Mask of the strategies forbidden by MPIR_CVAR_GPUDT_FORBID; FORBID_UNREAD: not read yet. */
#define FORBID_UNREAD (-1)
static MPL_atomic_int_t forbidden = MPL_ATOMIC_INT_T_INITIALIZER(FORBID_UNREAD);

/* The mask of a list of names; unknown names are ignored. */
static int names_read(const char *list)
{
    int mask = 0;

    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ", ");
        for (int i = 0; i < MPII_GPUDT_NSTRATEGIES; i++) {
            const char *name = MPII_Gpudt_plan_strategy_name((enum MPII_Gpudt_strategy_e) i);
            if (strlen(name) == n && strncmp(name, at, n) == 0)
                mask |= 1 << i;
        }
        at += n + strspn(at + n, ", ");
    }
    return mask;
}

unsigned MPII_Gpudt_allowed_strategies(void)
{
    static const int chosen_by[MPII_GPUDT_NSTRATEGIES] = {
        [MPII_GPUDT_STRATEGY__COPY1D] = MPIR_CVAR_GPUDT_STRATEGY_copy1d,
        [MPII_GPUDT_STRATEGY__COPY2D] = MPIR_CVAR_GPUDT_STRATEGY_copy2d,
        [MPII_GPUDT_STRATEGY__TRANSPOSE] = MPIR_CVAR_GPUDT_STRATEGY_transpose,
        [MPII_GPUDT_STRATEGY__BOX] = MPIR_CVAR_GPUDT_STRATEGY_box,
        [MPII_GPUDT_STRATEGY__TABLE] = MPIR_CVAR_GPUDT_STRATEGY_table,
        [MPII_GPUDT_STRATEGY__BITMAP] = MPIR_CVAR_GPUDT_STRATEGY_bitmap,
        [MPII_GPUDT_STRATEGY__LIST] = MPIR_CVAR_GPUDT_STRATEGY_list,
        [MPII_GPUDT_STRATEGY__MAP] = MPIR_CVAR_GPUDT_STRATEGY_map,
        [MPII_GPUDT_STRATEGY__TREE] = MPIR_CVAR_GPUDT_STRATEGY_tree,
        [MPII_GPUDT_STRATEGY__PAIR] = MPIR_CVAR_GPUDT_STRATEGY_pair
    };
    unsigned allowed;
    int mask = MPL_atomic_relaxed_load_int(&forbidden);

    if (unlikely(mask == FORBID_UNREAD)) {
        mask = names_read(MPIR_CVAR_GPUDT_FORBID);
        MPL_atomic_relaxed_store_int(&forbidden, mask);
    }
    allowed = MPII_GPUDT_ALLOW_ALL & ~(unsigned) mask;
    if (allowed == 0)
        allowed = 1u << MPII_GPUDT_STRATEGY__TREE;
    if (likely(MPIR_CVAR_GPUDT_STRATEGY == MPIR_CVAR_GPUDT_STRATEGY_auto))
        return allowed;
    if (MPIR_CVAR_GPUDT_STRATEGY == MPIR_CVAR_GPUDT_STRATEGY_rows)
        return 0;
    for (int i = 0; i < MPII_GPUDT_NSTRATEGIES; i++) {
        if (MPIR_CVAR_GPUDT_STRATEGY == chosen_by[i])
            return 1u << i |
                (1u << i & MPII_GPUDT_PAIR_STRATEGIES ? 1u << MPII_GPUDT_STRATEGY__PAIR : 0);
    }
    return allowed;
}
