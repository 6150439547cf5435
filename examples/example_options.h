/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Parsing of command lines, shared by the examples. Must not know of MPI. Each function returns 1,
 * or 0 if the text is malformed. */

#ifndef EXAMPLE_OPTIONS_H_INCLUDED
#define EXAMPLE_OPTIONS_H_INCLUDED

#include "example.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Reads a number of at least `least` at *text and moves *text behind it. */
static inline int number_read(const char **text, int least, int *number)
{
    char *end;
    long value;

    if (**text < '0' || **text > '9')
        return 0;
    errno = 0;
    value = strtol(*text, &end, 10);
    if (errno || value < least || value > INT_MAX)
        return 0;
    *number = (int) value;
    *text = end;
    return 1;
}

/* Reads n numbers separated by commas, up to the end of the text. */
static inline int list_option(const char *text, int least, int n, int *number)
{
    int i;

    for (i = 0; i < n; i++)
        if ((i > 0 && *text++ != ',') || !number_read(&text, least, &number[i]))
            return 0;
    return *text == '\0';
}

/* Reads host or gpu into a MEMORY__ value. */
static inline int memory_option(const char *text, int *memory)
{
    if (strcmp(text, "host") == 0)
        *memory = MEMORY__HOST;
    else if (strcmp(text, "gpu") == 0)
        *memory = MEMORY__GPU;
    else
        return 0;
    return 1;
}

/* Reads messages or put into a HALO__ value. */
static inline int halo_option(const char *text, int *halo)
{
    if (strcmp(text, "messages") == 0)
        *halo = HALO__MESSAGES;
    else if (strcmp(text, "put") == 0)
        *halo = HALO__PUT;
    else
        return 0;
    return 1;
}

#endif /* EXAMPLE_OPTIONS_H_INCLUDED */
