/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The values of the info key mpi_memory_alloc_kinds: what a program asks for, and what MPI supports.
 * Built with and without CUDA. Must not know how memory is allocated.
 *
 * A value is a list of kinds, separated by commas, each followed by any number of restrictors, which
 * begin with a colon. MPI answers with all kinds that it supports: without restrictors, and for CUDA
 * with each one, since programs look for the string that they asked for. */

#include "mpiimpl.h"
#include "gpudt_alloc.h"
#include "gpudt_info.h"

#include <ctype.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_MEMORY_ALLOC_KINDS
      category    : GPUDT
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Kinds of memory that the program is going to use, as in a value of the info key
        mpi_memory_alloc_kinds; set by mpiexec -memory-alloc-kinds. All that MPI supports can be used
        without it: those of the list are only mentioned in MPI's answers.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define KEY "mpi_memory_alloc_kinds"

static const struct kind {
    const char *name;
    const char *restrictors[4];
} kinds[] = {
    {"mpi", {"alloc_mem", "win_allocate", "win_allocate_shared"}},
    {"system", {NULL}},
    {"cuda", {"host", "device", "managed"}}
};

#define NKINDS ((int) (sizeof(kinds) / sizeof(kinds[0])))
#define CUDA (NKINDS - 1)

static const char *const names[MPIR_GPUDT_NKINDS] = {
    "mpi", "cuda:device", "cuda:managed", "cuda:host"
};

const char *MPIR_Gpudt_kind_name(enum MPIR_Gpudt_kind_e kind)
{
    return names[kind];
}

/* The value of an info object without white space, in small letters; "" if there is none.
 *   value  (OUT)  MPI_MAX_INFO_VAL + 1 characters */
static void value_get(MPIR_Info * info, char *value)
{
    int is_there = 0;
    char *to = value;

    if (info)
        MPIR_Info_get_impl(info, KEY, MPI_MAX_INFO_VAL, value, &is_there);
    for (const char *from = value; is_there && *from; from++) {
        if (!isspace((unsigned char) *from))
            *to++ = (char) tolower((unsigned char) *from);
    }
    *to = '\0';
}

static bool is_equal(const char *name, const char *text, size_t n)
{
    return strlen(name) == n && strncmp(name, text, n) == 0;
}

static bool has_restrictor(const struct kind *kind, const char *text, size_t n)
{
    for (int i = 0; i < 4 && kind->restrictors[i]; i++) {
        if (is_equal(kind->restrictors[i], text, n))
            return true;
    }
    return false;
}

/* The kind that an element of a list names with known restrictors; NULL: none.
 *   text, n  (IN)  the element */
static const struct kind *kind_of(const char *text, size_t n)
{
    const size_t name_n = MPL_MIN(strcspn(text, ":"), n);
    size_t at = name_n;

    for (int i = 0; i < NKINDS; i++) {
        if (!is_equal(kinds[i].name, text, name_n))
            continue;
        while (at < n) {
            const size_t m = MPL_MIN(strcspn(text + at + 1, ":,"), n - at - 1);
            if (!has_restrictor(&kinds[i], text + at + 1, m))
                return NULL;
            at += 1 + m;
        }
        return &kinds[i];
    }
    return NULL;
}

/* The next element of a list; NULL: there is none.
 *   n  (IN/OUT)  length of the element; before the first one 0 */
static const char *element_next(const char *at, size_t * n)
{
    at += *n;
    at += strspn(at, ",");
    *n = strcspn(at, ",");
    return *at ? at : NULL;
}

/* ---- what a program asks for ---- */

static enum MPIR_Gpudt_kind_e kind_in(MPIR_Info * info)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    size_t n = 0;

    value_get(info, value);
    for (const char *at = element_next(value, &n); at; at = element_next(at, &n)) {
        const struct kind *kind = kind_of(at, n);

        if (kind == NULL)
            continue;
        if (kind != &kinds[CUDA])
            break;
        at += strlen(kind->name);
        for (int k = MPIR_GPUDT_KIND__DEVICE; k < MPIR_GPUDT_NKINDS; k++) {
            const char *restrictor = strchr(names[k], ':');
            if (strncmp(at, restrictor, strlen(restrictor)) == 0)
                return k;
        }
        return MPIR_GPUDT_KIND__DEVICE;
    }
    return MPIR_GPUDT_KIND__NONE;
}

enum MPIR_Gpudt_kind_e MPIR_Gpudt_kind_asked(MPIR_Info * info)
{
    return likely(info == NULL) ? MPIR_GPUDT_KIND__NONE : kind_in(info);
}

void MPIR_Gpudt_kinds_request(MPIR_Info * info, char *request)
{
    request[0] = '\0';
    value_get(info, request);
}

/* ---- what MPI supports ---- */

static bool is_listed(const char *list, const char *text, size_t n)
{
    size_t m = 0;

    for (const char *at = element_next(list, &m); at; at = element_next(at, &m)) {
        if (m == n && strncmp(at, text, n) == 0)
            return true;
    }
    return false;
}

/* Add an element to a list, if it is not there yet and there is room.
 *   list  (IN/OUT)  MPI_MAX_INFO_VAL + 1 characters */
static void element_add(char *list, const char *text, size_t n)
{
    const size_t used = strlen(list);

    if (!is_listed(list, text, n) && used + 1 + n <= MPI_MAX_INFO_VAL)
        MPL_snprintf(list + used, MPI_MAX_INFO_VAL + 1 - used, "%s%.*s", used ? "," : "", (int) n,
                     text);
}

/* Whether a list names a kind of CUDA's. */
static bool names_cuda(const char *list)
{
    size_t n = 0;

    for (const char *at = list ? element_next(list, &n) : NULL; at; at = element_next(at, &n)) {
        if (kind_of(at, n) == &kinds[CUDA])
            return true;
    }
    return false;
}

int MPIR_Gpudt_kinds_tell(MPIR_Info * info, const char *request)
{
    const char *from = request && request[0] ? request : MPIR_CVAR_GPUDT_MEMORY_ALLOC_KINDS;
    /* A program that asks for no GPU memory shall not pay for the driver's start */
    const bool has_cuda = MPIR_CVAR_ENABLE_GPU &&
        (names_cuda(from) ? MPIR_Gpudt_is_usable() : MPIR_Gpudt_may_be_usable());
    char value[MPI_MAX_INFO_VAL + 1] = "";
    size_t n = 0;

    for (int i = 0; i < NKINDS - !has_cuda; i++)
        element_add(value, kinds[i].name, strlen(kinds[i].name));
    for (int k = MPIR_GPUDT_KIND__DEVICE; has_cuda && k < MPIR_GPUDT_NKINDS; k++)
        element_add(value, names[k], strlen(names[k]));
    for (const char *at = from ? element_next(from, &n) : NULL; at; at = element_next(at, &n)) {
        const struct kind *kind = kind_of(at, n);
        if (kind && (has_cuda || kind != &kinds[CUDA]))
            element_add(value, at, n);
    }
    return MPIR_Info_set_impl(info, KEY, value);
}
