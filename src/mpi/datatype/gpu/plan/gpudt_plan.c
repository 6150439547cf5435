/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Chooses among the strategies, which are in gpudt_plan_*.c. See gpudt_plan.h for what this file
 * must not know.
 */

#include "gpudt_plan.h"
#include "gpudt_strategy.h"

static const struct MPII_Gpudt_strategy *const strategies[MPII_GPUDT_NSTRATEGIES] = {
    [MPII_GPUDT_STRATEGY__COPY1D] = &MPII_Gpudt_strategy_copy1d,
    [MPII_GPUDT_STRATEGY__COPY2D] = &MPII_Gpudt_strategy_copy2d,
    [MPII_GPUDT_STRATEGY__TRANSPOSE] = &MPII_Gpudt_strategy_transpose,
    [MPII_GPUDT_STRATEGY__BOX] = &MPII_Gpudt_strategy_box,
    [MPII_GPUDT_STRATEGY__TABLE] = &MPII_Gpudt_strategy_table,
    [MPII_GPUDT_STRATEGY__BITMAP] = &MPII_Gpudt_strategy_bitmap,
    [MPII_GPUDT_STRATEGY__LIST] = &MPII_Gpudt_strategy_list,
    [MPII_GPUDT_STRATEGY__MAP] = &MPII_Gpudt_strategy_map,
    [MPII_GPUDT_STRATEGY__TREE] = &MPII_Gpudt_strategy_tree,
    [MPII_GPUDT_STRATEGY__PAIR] = &MPII_Gpudt_strategy_pair
};

void MPII_Gpudt_plan_make(const struct MPII_Gpudt_plan_in *in, struct MPII_Gpudt_plan *plan)
{
    const struct MPII_Gpudt_record *top = in->top != NULL ? in->top : in->serial->records;
    int best = MPII_GPUDT_STRATEGY__TREE;
    double best_cost = -1;
    struct MPII_Gpudt_shape s;

    MPII_Gpudt_shape_make(&s, in, top);
    for (int i = 0; i < MPII_GPUDT_NSTRATEGIES; i++) {
        if (!(in->allowed & 1u << i) || !strategies[i]->applies(&s))
            continue;
        double cost = strategies[i]->cost(&s);
        if (i != MPII_GPUDT_STRATEGY__COPY1D && i != MPII_GPUDT_STRATEGY__COPY2D)
            cost += in->switch_ns;
        if (best_cost < 0 || cost < best_cost) {
            best = i;
            best_cost = cost;
        }
    }
    plan->strategy = (enum MPII_Gpudt_strategy_e) best;
    plan->cost = best_cost;
    plan->unit = s.unit;
    strategies[best]->fill(&s, plan);
}

const char *MPII_Gpudt_plan_strategy_name(enum MPII_Gpudt_strategy_e strategy)
{
    return strategies[strategy]->name;
}

#define KERNEL_NAMES(family_, word_, locator_, args_)   \
    "gpudt_" #family_ "_" #word_ "_pack",               \
    "gpudt_" #family_ "_" #word_ "_unpack",
#define PAIR_NAME(name_, body_, args_, id_)     "gpudt_" #name_,
#define REDUCE_NAME(name_)      "gpudt_reduce_" #name_,
#define COMBINE_NAME(name_)     "gpudt_combine_" #name_,
#define UPDATE_NAME(name_)      "gpudt_update_" #name_,

const char *MPII_Gpudt_plan_kernel_name(int kernel)
{
    static const char *const names[MPII_GPUDT_NKERNELS] = {
        MPII_GPUDT_KERNEL_ALL(KERNEL_NAMES)
        MPII_GPUDT_KERNEL_PAIRS(PAIR_NAME)
        MPII_GPUDT_KERNEL_REDUCES(REDUCE_NAME)
        MPII_GPUDT_KERNEL_REDUCES(COMBINE_NAME)
        MPII_GPUDT_KERNEL_REDUCES(UPDATE_NAME)
        "gpudt_copies_few",
        "gpudt_copies",
        "gpudt_batch"
    };
    return names[kernel];
}
