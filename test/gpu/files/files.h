/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the parts of the program `files` have in common: see main.c. */

#ifndef FILES_H_INCLUDED
#define FILES_H_INCLUDED

#include "report.h"
#include "side.h"

#include <stdbool.h>
#include <stdint.h>

extern int rank, nranks;
extern MPI_File file;

/* ---- calls: call.c ---- */

/* The nonblocking ones are last. */
enum form {
    AT, INDIVIDUAL, SHARED, ORDERED, AT_ALL, ALL, SPLIT_AT_ALL, SPLIT_ALL, SPLIT_ORDERED,
    I_AT, I_INDIVIDUAL, I_SHARED, I_AT_ALL, I_ALL, NFORMS
};

extern const char *const forms[];

/* Whether a form uses a file pointer of all processes, or that of its own. */
bool is_shared(enum form form);
bool is_individual(enum form form);

/* One form of write or read. Shared pointers are moved by one process after the other.
 *   off  (IN)   in etypes, for forms with an explicit offset
 *   got  (OUT)  bytes by the status */
int call(enum form form, bool is_read, MPI_Offset off, void *buf, int n, MPI_Datatype type,
         MPI_Count * got);

/* Set pointers, so that the operation begins at etype off. */
void seek(enum form form, MPI_Offset off);

/* Open the file of the system for MPI.
 *   driver  (IN)  of the file system, as a prefix of the name; "" for the one it has */
void file_open(int amode, MPI_Info info);
void file_open_with(const char *driver, int amode, MPI_Info info);

/* ---- the file as the operating system shows it: system.c ---- */

/* A byte of the file that no process writes. */
#define GAP 0xA5

/* The view of a process: blocks of etypes, in a file contiguous if the stride is the block. */
struct view {
    MPI_Datatype etype, filetype;
    MPI_Offset disp;
    MPI_Aint esize, block, stride;      /* bytes of an etype; etypes of a block, and from one to the
                                         * next */
    bool is_external;
};

/* A view that is the whole file, from a displacement on. */
#define WHOLE_FILE(disp_) {.disp = (disp_),.esize = 1,.block = 1 << 30,.stride = 1 << 30 }

/* Make a file in a new folder in TMPDIR; remove both. */
void folder_make(void);
void folder_remove(void);

/* Its name. */
const char *file_path(void);

/* Where byte i of a process's stream is in the file. */
MPI_Offset place(const struct view *v, MPI_Offset i);

/* Fill the file with gaps. Collective. */
void file_fill(MPI_Offset sz);
/* Cut the file, or make it longer. Collective. */
void file_cut(MPI_Offset sz);
/* Write n bytes of a message at position begin of the stream. */
void file_put(const struct view *v, MPI_Offset begin, unsigned seed, MPI_Aint n);
/* Compare n bytes of the stream of a process, from position begin on; not what is between. */
void file_check(const struct view *v, MPI_Offset begin, unsigned seed, MPI_Aint n,
                const char *what);
/* Compare bytes of the file, from one place up to another, that nobody has written. */
void gap_check(MPI_Offset from, MPI_Offset to);
/* Compare bytes that no process's view has.
 *   period  (IN)  etypes of a block that are in any view; 0 if the view is contiguous */
void gaps_check(MPI_Offset sz, const struct view *v, MPI_Aint period);

/* ---- tests ---- */

/* Random operations: random.c. */
void random_cases(uint64_t seed, long cases, long first);
/* Calls that must fail, or do nothing; driver calls that fail: faults.c. */
void errors(void);
void faults(void);
/* Memory that collective operations take: bounded.c. */
void bounded(void);
/* Nonblocking collective operations, several at a time: pending.c. */
void pending(uint64_t seed);
/* What a program does beside them: beside.c. */
void beside(void);
/* Overlapping operations in atomic mode: atomic.c. */
void atomic_mode(void);
/* Writes for which there is no space: full.c. */
void full(void);
/* Bytes that a file may have; 0: any number. */
void limit_set(MPI_Offset sz);
/* Reads and messages within collective operations that fail: broken.c. */
void broken(void);

/* A shared file pointer that fails: pointer.c. */
void pointer(void);
/* Requests of operations that the system does beside the program: requests.c. */
void requests_of_system(void);
/* Views, datatypes, counts and calls that are not common: rules.c. */
void rules(void);

/* GPUDirect Storage: storage.c.
 *   what  (IN)  "storage", and "half-", "no-" before it */
void storage(const char *what);

#endif /* FILES_H_INCLUDED */
