/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Launches of kernels by CUDA graphs. The driver takes less time to launch a graph of one kernel, that
 * has been instantiated before, with other parameters than to launch the kernel: on H100s of several
 * hosts (driver 580) from the call until the kernel has set a flag 2 us less with up to 256 bytes of
 * parameters, 1.7 with 1 KiB, 0.6 to 1.5 with 2 KiB, 1 us less or more with 4,000 bytes, which no kernel
 * has (doc/data/graph-launch-h100.txt). If the number of blocks changes it takes 2 us more. So an engine
 * keeps graphs for the kernels and numbers of blocks that it launches again and again. None of the calls
 * waits for kernels that run. Must not know datatypes or transfers. */

#include "mpiimpl.h"
#include "gpudt_graph.h"
#include "gpudt_lock.h"
#include "gpudt_vars.h"
#include "kernel/gpudt_args.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_GRAPH_AFTER
      category    : GPUDT
      type        : int
      default     : 4
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        The first of the launches of a kernel with the same number of blocks, counted from 1, that is
        made by a CUDA graph, as all later ones are unless the kernel has to wait for others. 0: none;
        more than 16 is taken as 16.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define NGRAPHS 64              /* of a lane: a power of two */
#define MAX_WEIGHT 16
#define MAX_REFUSALS 16         /* failures after which a lane has no graphs any more */

/* A place for the graph of one kind of launches. */
struct graph {
    int kernel;
    unsigned grid;
    bool is_modest;             /* as the kernel was when the graph was made */
    int weight;                 /* launches of this kind less those of others that would take this
                                 * place, 0 to MAX_WEIGHT */
    CUgraph graph;              /* NULL: none yet */
    CUgraphNode node;
    CUgraphExec exec;
};

/* The graphs of one lane of an engine. A graph must not be used by two threads at once, but a thread
 * that waits in the driver must not keep others from launching in other lanes. */
struct MPII_Gpudt_graphs {
    MPL_initlock_t lock;
    int nrefusals;              /* graphs that the driver did not make, change or launch */
    struct graph place[NGRAPHS];
};

static bool are_possible(const MPII_Gpudt_driver_t * drv)
{
    return MPIR_CVAR_GPUDT_GRAPH_AFTER > 0 && drv->cuGraphCreate && drv->cuGraphAddKernelNode &&
        drv->cuGraphKernelNodeSetAttribute && drv->cuGraphInstantiateWithFlags &&
        drv->cuGraphExecKernelNodeSetParams && drv->cuGraphLaunch && drv->cuGraphExecDestroy &&
        drv->cuGraphDestroy;
}

/* Make a place empty. Launches that are under way are not affected. */
static void graph_drop(const MPII_Gpudt_driver_t * drv, struct graph *g)
{
    if (g->exec)
        drv->cuGraphExecDestroy(g->exec);
    if (g->graph)
        drv->cuGraphDestroy(g->graph);
    memset(g, 0, sizeof(*g));
}

void MPII_Gpudt_graphs_make(MPII_Gpudt_engine_t * engine)
{
    engine->graphs = MPL_malloc(MPII_GPUDT_NLANES * sizeof(*engine->graphs), MPL_MEM_BUFFER);
    for (int i = 0; engine->graphs && i < MPII_GPUDT_NLANES; i++)
        engine->graphs[i] = (struct MPII_Gpudt_graphs) {.lock = MPL_INITLOCK_INITIALIZER };
}

/* The place for a kind of launches; NULL: it is taken by others, which are more frequent. */
static struct graph *place_find(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                                int kernel, unsigned grid)
{
    const bool is_modest = MPL_atomic_acquire_load_int(&engine->is_modest[kernel]);
    /* 2^64 by the golden ratio: Knuth, TAOCP 3, section 6.4 */
    const uint64_t hash = ((uint64_t) kernel << 33 | (uint64_t) grid << 1 | is_modest) *
        UINT64_C(0x9e3779b97f4a7c15);
    struct graph *g = &engine->graphs[lane].place[hash >> 58 & (NGRAPHS - 1)];

    if (likely(g->kernel == kernel && g->grid == grid && g->is_modest == is_modest)) {
        g->weight = MPL_MIN(g->weight + 1, MAX_WEIGHT);
        return g;
    }
    if (g->weight > 1) {
        g->weight--;
        return NULL;
    }
    graph_drop(engine->drv, g);
    g->kernel = kernel;
    g->grid = grid;
    g->is_modest = is_modest;
    g->weight = 1;
    return g;
}

/* Make the graph of a place. A node does not have the priority of the stream that it is launched in. */
static bool graph_make(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                       const CUDA_KERNEL_NODE_PARAMS_v1 * params, struct graph *g)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    const CUkernelNodeAttrValue_v1 priority = {.priority = engine->priorities[lane] };

    return drv->cuGraphCreate(&g->graph, 0) == CUDA_SUCCESS &&
        drv->cuGraphAddKernelNode(&g->node, g->graph, NULL, 0, params) == CUDA_SUCCESS &&
        drv->cuGraphKernelNodeSetAttribute(g->node, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY,
                                           &priority) == CUDA_SUCCESS &&
        drv->cuGraphInstantiateWithFlags(&g->exec, g->graph, 0) == CUDA_SUCCESS;
}

bool MPII_Gpudt_graph_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, int kernel,
                             CUfunction function, unsigned grid, const void *args)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    void *params[] = { (void *) args };
    const CUDA_KERNEL_NODE_PARAMS_v1 node = {
        .func = function,.gridDimX = grid,.gridDimY = 1,.gridDimZ = 1,
        .blockDimX = MPII_GPUDT_THREADS,.blockDimY = 1,.blockDimZ = 1,.kernelParams = params
    };
    struct MPII_Gpudt_graphs *graphs = engine->graphs + lane;
    struct graph *g;
    bool is_launched = false;

    if (engine->graphs == NULL || !are_possible(drv))
        return false;
    MPII_Gpudt_lock(&graphs->lock);
    if (unlikely(graphs->nrefusals >= MAX_REFUSALS))
        goto fn_exit;
    g = place_find(engine, lane, kernel, grid);
    if (g == NULL || g->weight < MPL_MIN(MPIR_CVAR_GPUDT_GRAPH_AFTER, MAX_WEIGHT))
        goto fn_exit;
    is_launched = (likely(g->exec != NULL) ?
                   drv->cuGraphExecKernelNodeSetParams(g->exec, g->node, &node) == CUDA_SUCCESS :
                   graph_make(engine, lane, &node, g)) &&
        drv->cuGraphLaunch(g->exec, engine->streams[lane]) == CUDA_SUCCESS;
    /* What is wrong shows again in the launch without a graph, if it is not the graph's own */
    if (likely(is_launched)) {
        MPII_GPUDT_COUNT(graph_launches, 1);
    } else {
        graph_drop(drv, g);
        graphs->nrefusals++;
    }

  fn_exit:
    MPII_Gpudt_unlock(&graphs->lock);
    return is_launched;
}

void MPII_Gpudt_graphs_free(MPII_Gpudt_engine_t * engine, bool is_alive)
{
    for (int i = 0; engine->graphs && is_alive && i < MPII_GPUDT_NLANES; i++) {
        for (int k = 0; k < NGRAPHS; k++)
            graph_drop(engine->drv, &engine->graphs[i].place[k]);
    }
    MPL_free(engine->graphs);
    engine->graphs = NULL;
}
