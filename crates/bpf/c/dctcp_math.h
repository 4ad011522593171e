/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DCTCP in integers: alpha, the moving average of the fraction of marked segments over windows of data, and the window
 * after a mark. Units, as in Linux: alpha in 2^-10, windows in segments. Uses no kernel types or functions. Source:
 * RFC 8257, 3.3 and 3.4.
 */
#ifndef SHALLOP_DCTCP_MATH_H
#define SHALLOP_DCTCP_MATH_H

#define DCTCP_ALPHA_BITS 10
#define DCTCP_MAX_ALPHA (1u << DCTCP_ALPHA_BITS)
#define DCTCP_MIN_CWND 2u
/* The gain of alpha is 2^-this. */
#define DCTCP_SHIFT 4

/* Alpha after a window of data with this number of marked segments. */
static inline unsigned int dctcp_alpha(unsigned int alpha, unsigned int shift, unsigned int delivered,
                                       unsigned int marked)
{
    unsigned int decay = alpha >> shift;
    unsigned long long gain = ((unsigned long long)marked << (DCTCP_ALPHA_BITS - shift)) / (delivered ? delivered : 1);
    gain += alpha - (decay ? decay : alpha);
    return gain < DCTCP_MAX_ALPHA ? (unsigned int)gain : DCTCP_MAX_ALPHA;
}

/* The window after a mark: reduced by the fraction alpha / 2. */
static inline unsigned int dctcp_reduced(unsigned int cwnd, unsigned int alpha)
{
    unsigned int left = cwnd - (unsigned int)(((unsigned long long)cwnd * alpha) >> (DCTCP_ALPHA_BITS + 1));
    return left < DCTCP_MIN_CWND ? DCTCP_MIN_CWND : left;
}

#endif
