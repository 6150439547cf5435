/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

#include "gpudt_divisor.h"

void MPII_Gpudt_divisor_set(struct MPII_Gpudt_divisor *div, int64_t d)
{
    /* Let shift = ceil(log2(d)) and magic = 2^(63 + shift) / d rounded up. Then magic * d exceeds
     * 2^(63 + shift) by less than d <= 2^shift. For p < 2^63, the quotient of 2p * magic and 2^(64
     * + shift) is therefore too large by less than 1 / d: exact after rounding down. The same holds
     * with 31 in place of 63. */
    unsigned shift = 0;
    while (shift < 63 && ((uint64_t) 1 << shift) < (uint64_t) d)
        shift++;
    div->shift = shift;
    div->magic64 = (uint64_t) ((((unsigned __int128) 1 << (63 + shift)) + (uint64_t) d - 1) /
                               (uint64_t) d);
    /* 32-bit positions are less than any divisor of 2^31 and more */
    div->magic32 = shift > 31 ? 0 :
        (uint32_t) ((((uint64_t) 1 << (31 + shift)) + (uint64_t) d - 1) / (uint64_t) d);
}
