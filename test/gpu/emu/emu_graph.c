/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated graphs of one kernel. What is set in an instantiated graph counts for later launches. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu.h"
#include "emu_graph.h"

struct node {
    CUfunction function;
    struct emu_launch form;
    int priority;
    void **params;              /* point into data */
    char *data;
};

struct CUgraphNode_st {
    struct CUgraph_st *graph;
    struct node node;
};

struct CUgraph_st {
    struct CUctx_st *ctx;
    struct CUgraphNode_st *node;        /* NULL: none yet */
    bool quiet;
    const char *caller;
    struct CUgraph_st *next;
};

struct CUgraphExec_st {
    struct CUctx_st *ctx;
    const struct CUgraph_st *graph;     /* that it is made from, which may have been destroyed */
    struct node node;
    bool quiet;
    const char *caller;
    struct CUgraphExec_st *next;
};

static struct CUgraph_st *graphs;
static struct CUgraphExec_st *execs;

/* Whether a handle is one of a live object. The lists are short, and a handle may be stale. */
#define IS_LIVE(list_, handle_)                                                 \
    ({                                                                          \
        __typeof__(list_) o_;                                                   \
        emu_lock_take();                                                        \
        for (o_ = (list_); o_ && o_ != (handle_); o_ = o_->next);               \
        emu_lock_give();                                                        \
        o_ != NULL;                                                             \
    })

#define ADD(list_, object_)                                                     \
    do {                                                                        \
        (object_)->ctx = emu_current();                                         \
        (object_)->quiet = emu_is_quiet();                                      \
        (object_)->caller = emu_caller();                                       \
        emu_lock_take();                                                        \
        (object_)->next = (list_);                                              \
        (list_) = (object_);                                                    \
        emu_lock_give();                                                        \
    } while (0)

static void node_clear(struct node *node)
{
    free(node->params);
    free(node->data);
    memset(node, 0, sizeof(*node));
}

/* Copies the parameters of a kernel's node; the old ones are freed. */
static CUresult node_set(struct node *node, CUfunction function, const struct emu_launch *form,
                         void **params, int priority)
{
    struct node made = {.function = function,.form = *form,.priority = priority };

    if (function == NULL || !emu_module_valid(function->module) ||
        function->module->ctx != emu_current())
        return CUDA_ERROR_INVALID_HANDLE;
    if (!emu_launch_valid(function, form))
        return CUDA_ERROR_INVALID_VALUE;
    if (!emu_params_copy(function->kernel, params, &made.params, &made.data))
        return CUDA_ERROR_OUT_OF_MEMORY;
    node_clear(node);
    *node = made;
    return CUDA_SUCCESS;
}

/* Caller holds emu_lock. */
static void exec_end(struct CUgraphExec_st *exec)
{
    struct CUgraphExec_st **at = &execs;

    while (*at != exec)
        at = &(*at)->next;
    *at = exec->next;
    node_clear(&exec->node);
    free(exec);
}

/* The same. */
static void graph_end(struct CUgraph_st *graph)
{
    struct CUgraph_st **at = &graphs;

    while (*at != graph)
        at = &(*at)->next;
    *at = graph->next;
    if (graph->node)
        node_clear(&graph->node->node);
    free(graph->node);
    free(graph);
}

void emu_graphs_close(CUcontext ctx)
{
    struct CUgraph_st *next_graph;
    struct CUgraphExec_st *next_exec;

    for (struct CUgraph_st * g = graphs; g; g = next_graph) {
        next_graph = g->next;
        if (g->ctx == ctx)
            graph_end(g);
    }
    for (struct CUgraphExec_st * e = execs; e; e = next_exec) {
        next_exec = e->next;
        if (e->ctx == ctx)
            exec_end(e);
    }
}

static struct emu_launch form_of(const CUDA_KERNEL_NODE_PARAMS_v1 * p)
{
    return (struct emu_launch) {
        .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
        .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
        .shared_sz = p->sharedMemBytes
    };
}

void emu_graph_report(void)
{
    for (struct CUgraph_st * g = graphs; g; g = g->next) {
        if (!g->quiet && emu_broken(g->ctx) == CUDA_SUCCESS)
            emu_leak("graph", g->caller, g->node ? "with a node" : "empty");
    }
    for (struct CUgraphExec_st * e = execs; e; e = e->next) {
        if (!e->quiet && emu_broken(e->ctx) == CUDA_SUCCESS)
            emu_leak("graph", e->caller, "instantiated");
    }
}

EMU_EXPORT CUresult CUDAAPI cuGraphCreate(CUgraph * graph, unsigned int flags)
{
    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(graph && flags == 0, CUDA_ERROR_INVALID_VALUE);
    *graph = calloc(1, sizeof(**graph));
    EMU_CHECK(*graph, CUDA_ERROR_OUT_OF_MEMORY);
    ADD(graphs, *graph);
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode * node, CUgraph graph,
                                                 const CUgraphNode * before, size_t nbefore,
                                                 const CUDA_KERNEL_NODE_PARAMS_v1 * params)
{
    struct CUgraphNode_st *made;
    struct emu_launch form;
    CUresult res;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(node && params && IS_LIVE(graphs, graph), CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(before == NULL && nbefore == 0 && graph->node == NULL && params->extra == NULL,
              CUDA_ERROR_NOT_SUPPORTED);
    made = calloc(1, sizeof(*made));
    EMU_CHECK(made, CUDA_ERROR_OUT_OF_MEMORY);
    made->graph = graph;
    form = form_of(params);
    res = node_set(&made->node, params->func, &form, params->kernelParams, 0);
    if (res == CUDA_SUCCESS)
        *node = graph->node = made;
    else
        free(made);
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuGraphKernelNodeSetAttribute(CUgraphNode node,
                                                          CUkernelNodeAttrID attribute,
                                                          const CUkernelNodeAttrValue * value)
{
    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(node && value, CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(attribute == CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, CUDA_ERROR_NOT_SUPPORTED);
    node->node.priority = value->priority;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec * exec, CUgraph graph,
                                                        unsigned long long flags)
{
    struct CUgraphExec_st *made;
    CUresult res;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(exec && flags == 0 && IS_LIVE(graphs, graph) && graph->node,
              CUDA_ERROR_INVALID_VALUE);
    made = calloc(1, sizeof(*made));
    EMU_CHECK(made, CUDA_ERROR_OUT_OF_MEMORY);
    res = node_set(&made->node, graph->node->node.function, &graph->node->node.form,
                   graph->node->node.params, graph->node->node.priority);
    if (res == CUDA_SUCCESS) {
        made->graph = graph;
        ADD(execs, made);
        *exec = made;
    } else {
        free(made);
    }
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                           const CUDA_KERNEL_NODE_PARAMS_v1 *
                                                           params)
{
    struct emu_launch form;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(params && params->extra == NULL && IS_LIVE(execs, exec), CUDA_ERROR_INVALID_VALUE);
    /* The graph must still have the node */
    EMU_CHECK(IS_LIVE(graphs, exec->graph) && exec->graph->node == node, CUDA_ERROR_INVALID_VALUE);
    form = form_of(params);
    return emu_leave(node_set(&exec->node, params->func, &form, params->kernelParams,
                              exec->node.priority));
}

/* A driver takes any priority. But the kernel would wait for others that a launch in the stream would not
 * wait for, so that a node must have the priority of the stream. */
EMU_EXPORT CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream handle)
{
    CUstream stream;

    EMU_ENTER(EMU_NEED__CTX);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream && IS_LIVE(execs, exec) && stream->ctx == exec->ctx &&
              emu_module_valid(exec->node.function->module), CUDA_ERROR_INVALID_HANDLE);
    if (exec->node.priority != stream->priority) {
        fprintf(stderr, "emulated GPU: a kernel of priority %d is launched in a stream of %d\n",
                exec->node.priority, stream->priority);
        abort();
    }
    return emu_leave(emu_launch_make(exec->node.function->kernel, stream, &exec->node.form,
                                     exec->node.params));
}

EMU_EXPORT CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT);
    EMU_CHECK(IS_LIVE(execs, exec), CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    exec_end(exec);
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT);
    EMU_CHECK(IS_LIVE(graphs, graph), CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    graph_end(graph);
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}
