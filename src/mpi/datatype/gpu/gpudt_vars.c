/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The engine's performance variables. Must not know what is counted. */

#include "mpiimpl.h"
#include "gpudt_vars.h"
#include "gpudt.h"
#include "gpudt_host.h"

MPL_atomic_uint64_t MPII_Gpudt_vars[MPII_GPUDT_NVARS];

static void var_read(void *addr, void *obj_handle ATTRIBUTE((unused)),
                     int count ATTRIBUTE((unused)), void *buf)
{
    *(unsigned long long *) buf = MPL_atomic_relaxed_load_uint64(addr);
}

/* Registered directly and not by the MPIR_T_PVAR macros. Those do nothing unless MPICH is
 * configured for performance variables, but these are few and cheap enough to be always there. */
static void var_register(MPIR_T_pvar_class_t varclass, enum MPII_Gpudt_var_e var, const char *name,
                         const char *text)
{
    MPIR_T_PVAR_REGISTER_impl(varclass, MPI_UNSIGNED_LONG_LONG, name, &MPII_Gpudt_vars[var], 1,
                              MPI_T_ENUM_NULL, MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT,
                              MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, var_read,
                              NULL, "GPUDT", text);
}

void MPIR_Gpudt_pvar_init(void)
{
#define COUNTER_REGISTER(name_, text_)                                                  \
    var_register(MPI_T_PVAR_CLASS_COUNTER, MPII_GPUDT_VAR__ ## name_, "gpudt_" #name_, text_);
#define LEVEL_REGISTER(name_, text_)                                                    \
    var_register(MPI_T_PVAR_CLASS_LEVEL, MPII_GPUDT_VAR__ ## name_, "gpudt_" #name_, text_);

    MPII_GPUDT_COUNTERS(COUNTER_REGISTER)
    MPII_GPUDT_LEVELS(LEVEL_REGISTER)
}

void MPIR_Gpudt_count_pool(enum MPIR_Gpudt_pool_e what)
{
    switch (what) {
        case MPIR_GPUDT_POOL__HEAP_CHUNK:
            MPII_GPUDT_COUNT(heap_chunks, 1);
            break;
        case MPIR_GPUDT_POOL__REFUSED:
            MPII_GPUDT_COUNT(fallbacks_share, 1);
            break;
        case MPIR_GPUDT_POOL__RENEWED:
            MPII_GPUDT_COUNT(renewed_pieces, 1);
            break;
    }
}
