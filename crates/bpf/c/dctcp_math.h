/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DCTCP in integers: the part of segments whose marks were echoed, as an average over windows of data, and the window
 * that a mark leaves. There are no types and no functions of a kernel here. Source: RFC 8257, 3.3 and 3.4; the formats
 * are those of Linux, alpha in 2^-10 and windows in segments.
 */
#ifndef SHALLOP_DCTCP_MATH_H
#define SHALLOP_DCTCP_MATH_H

#define DCTCP_ALPHA_BITS 10
#define DCTCP_MAX_ALPHA (1u << DCTCP_ALPHA_BITS)
#define DCTCP_MIN_CWND 2u
/* The gain of alpha is 2^-this. */
#define DCTCP_SHIFT 4

/* Alpha after a window of data, of which some segments were marked. */
static inline unsigned int dctcp_alpha(unsigned int alpha, unsigned int shift, unsigned int delivered,
                                       unsigned int marked)
{
    unsigned int decay = alpha >> shift;
    unsigned long long gain = ((unsigned long long)marked << (DCTCP_ALPHA_BITS - shift)) / (delivered ? delivered : 1);
    gain += alpha - (decay ? decay : alpha);
    return gain < DCTCP_MAX_ALPHA ? (unsigned int)gain : DCTCP_MAX_ALPHA;
}

/* The window that a mark leaves: less by half of alpha. */
static inline unsigned int dctcp_reduced(unsigned int cwnd, unsigned int alpha)
{
    unsigned int left = cwnd - (unsigned int)(((unsigned long long)cwnd * alpha) >> (DCTCP_ALPHA_BITS + 1));
    return left < DCTCP_MIN_CWND ? DCTCP_MIN_CWND : left;
}

#endif
