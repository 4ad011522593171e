/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CLEAN in integers: the window that a proxy enforces on a flow, computed from the marks of passing data. A mark
 * reduces the window, at most once in a window of data; the window then returns along CUBIC's function of time. Alpha
 * is DCTCP's. Tests compare every number with crates/control/src/clean.rs. Units: windows in 2^-10 segments, times in
 * 2^-10 s, the cubic's C in 2^-10 segments per cubic second, alpha in 2^-10. Sequence numbers wrap at 2^32. Uses no
 * kernel types or functions; loops are bounded, and no divisor is zero. Source: CLEAN, Algorithm 1, (1) to (3).
 */
#ifndef SHALLOP_CLEAN_MATH_H
#define SHALLOP_CLEAN_MATH_H

#include "dctcp_math.h"

typedef unsigned int clean_u32;
typedef unsigned long long clean_u64;

#define CLEAN_WINDOW_BITS 10
#define CLEAN_SEGMENT (1ull << CLEAN_WINDOW_BITS)
#define CLEAN_MAX_WINDOW (1ull << (20 + CLEAN_WINDOW_BITS))
#define CLEAN_MAX_C (1u << 12)
#define CLEAN_MAX_DISTANCE ((1u << 31) - 1)
#define CLEAN_MAX_TICKS (1ull << 21)

/* The settings of an operator. */
struct clean_config {
    clean_u32 scale;          /* C */
    clean_u32 alpha_shift;    /* the gain of alpha is 2^-this, at most 10 */
    clean_u32 alpha_initial;
    clean_u32 min_window, initial_window; /* segments */
    clean_u32 halves;         /* a mark reduces the window by half, not by alpha / 2 */
    clean_u32 root;           /* windows grow in their square root, not along the cubic */
};

/* The state of a flow. */
struct clean {
    clean_u64 epoch_start, window, w_max, k;
    clean_u32 cwr_until, observed_until, packets, marked, alpha, slow_start;
};

/* A passing data packet. */
struct clean_data {
    clean_u64 now_ns, growth_limit;
    clean_u32 sequence, edge, segment_bytes, marked;
    /* Counts of the port, this packet included: data packets of all flows, and those with CE; modulo 2^32. */
    clean_u32 port_packets, port_marked;
};

static inline clean_u64 clean_least(clean_u64 a, clean_u64 b)
{
    return a < b ? a : b;
}

static inline clean_u64 clean_most(clean_u64 a, clean_u64 b)
{
    return a < b ? b : a;
}

/* Whether one sequence number is after another. */
static inline int clean_after(clean_u32 a, clean_u32 b)
{
    return b - a > CLEAN_MAX_DISTANCE;
}

/* The sequence number that is one window (rounded down to segments) after another. */
static inline clean_u32 clean_advance(clean_u32 sequence, clean_u64 window, clean_u32 segment_bytes)
{
    clean_u64 bytes = (window >> CLEAN_WINDOW_BITS) * segment_bytes;
    return sequence + (clean_u32)clean_least(bytes, CLEAN_MAX_DISTANCE);
}

/* Converts nanoseconds to 2^-10 s, rounded down. */
static inline clean_u64 clean_ticks(clean_u64 ns)
{
    return (clean_least(ns, 1ull << 41) << 10) / 1000000000;
}

/* The square root of a number below 2^42, or the cube root of one below 2^63, rounded down. */
static inline clean_u64 clean_root_of(clean_u64 value, int is_cube)
{
    clean_u64 root = 0;
    int bit;
    for (bit = 20; bit >= 0; bit--) {
        clean_u64 candidate = root | 1ull << bit;
        if (candidate * candidate * (is_cube ? candidate : 1) <= value)
            root = candidate;
    }
    return root;
}

/* K: the time until the window is W_max again. */
static inline clean_u64 clean_k(clean_u32 scale, clean_u64 reduction)
{
    clean_u32 c = (clean_u32)clean_most(1, clean_least(scale, CLEAN_MAX_C));
    return clean_root_of((clean_least(reduction, CLEAN_MAX_WINDOW) << 30) / c, 1);
}

/* C (t - K)^3 + W_max. */
static inline clean_u64 clean_cubic(clean_u32 scale, clean_u64 w_max, clean_u64 k, clean_u64 t)
{
    clean_u64 distance = clean_least(t < k ? k - t : t - k, CLEAN_MAX_TICKS);
    clean_u64 c = clean_most(1, clean_least(scale, CLEAN_MAX_C)), cube = distance * distance * distance;
    /* A larger product would exceed the bounds of the window in any case. */
    clean_u64 difference = cube > (1ull << 60) / c ? 1ull << 30 : (cube * c) >> 30;
    if (t >= k)
        return clean_least(w_max + difference, CLEAN_MAX_WINDOW);
    return w_max < difference ? 0 : clean_least(w_max - difference, CLEAN_MAX_WINDOW);
}

/* The window after a mark. */
static inline clean_u64 clean_reduced(clean_u64 window, clean_u32 halves, clean_u32 alpha)
{
    if (halves)
        return window >> 1;
    return window - ((window * clean_least(alpha, DCTCP_MAX_ALPHA)) >> (DCTCP_ALPHA_BITS + 1));
}

/* The window whose square root is larger by C / 2: W + C sqrt(W) + C^2 / 4. */
static inline clean_u64 clean_root(clean_u32 scale, clean_u64 window)
{
    clean_u64 c = clean_most(1, clean_least(scale, CLEAN_MAX_C));
    clean_u64 root = clean_root_of(clean_least(window, CLEAN_MAX_WINDOW) << CLEAN_WINDOW_BITS, 0);
    return window + ((c * root) >> CLEAN_WINDOW_BITS) + ((c * c) >> (CLEAN_WINDOW_BITS + 2));
}

/* Starts a flow whose next byte has this sequence number. */
static inline void clean_begin(struct clean *f, const struct clean_config *c, clean_u32 next)
{
    clean_u64 window = clean_most(clean_most(c->initial_window, c->min_window), 1) << CLEAN_WINDOW_BITS;
    f->epoch_start = f->w_max = f->k = 0;
    f->window = clean_least(window, CLEAN_MAX_WINDOW);
    f->cwr_until = next - 1;
    f->observed_until = next;
    f->packets = f->marked = 0;
    f->alpha = (clean_u32)clean_least(c->alpha_initial, DCTCP_MAX_ALPHA);
    f->slow_start = 1;
}

/* Sets the window; it grows at most to the limit. */
static inline void clean_grow(struct clean *f, clean_u64 window, clean_u64 limit)
{
    clean_u64 most = clean_least(clean_most(limit, f->window), CLEAN_MAX_WINDOW);
    f->window = clean_least(window, most);
}

/* Reduces the window, at most once in a window of data: Algorithm 1, lines 3 to 8. */
static inline void clean_reduce(struct clean *f, const struct clean_config *c, const struct clean_data *d)
{
    clean_u64 least = clean_most(c->min_window, 1) << CLEAN_WINDOW_BITS;
    if (!clean_after(d->sequence, f->cwr_until))
        return;
    f->w_max = f->window;
    f->cwr_until = clean_advance(d->sequence, f->window - CLEAN_SEGMENT, d->segment_bytes);
    if (clean_after(d->edge - 1, f->cwr_until))
        f->cwr_until = d->edge - 1;
    f->window = clean_least(clean_most(clean_reduced(f->window, c->halves, f->alpha), least), f->w_max);
    f->k = clean_k(c->scale, f->w_max - f->window);
    f->slow_start = 0;
}

/* Takes a share of a whole reduction from the window: the share of packets that were marked. Marks that ended slow start
 * have been answered. */
static inline void clean_reduce_in_part(struct clean *f, const struct clean_config *c, clean_u32 sequence,
                                        clean_u32 marked, clean_u32 all)
{
    clean_u64 before = f->window, least = clean_most(c->min_window, 1) << CLEAN_WINDOW_BITS;
    if (!all || !clean_after(sequence, f->cwr_until))
        return;
    f->window -= (before - clean_reduced(before, c->halves, f->alpha)) * marked / all;
    f->window = clean_least(clean_most(f->window, least), before);
    f->cwr_until = sequence;
}

/* Counts a packet. The first packet after a window of data updates alpha for that window, and in a law with roots the
 * window too, by the marks of all flows of the port. */
static inline void clean_count(struct clean *f, const struct clean_config *c, const struct clean_data *d)
{
    if (!clean_after(f->observed_until, d->sequence)) {
        clean_u32 all = c->root ? d->port_packets - f->packets : f->packets;
        clean_u32 marked = c->root ? d->port_marked - f->marked : f->marked;
        marked = (clean_u32)clean_least(marked, all);
        if (all && !(c->root && f->slow_start)) {
            f->alpha = dctcp_alpha(f->alpha, (clean_u32)clean_least(c->alpha_shift, 10), all, marked);
            if (c->root) {
                clean_grow(f, clean_root(c->scale, f->window), d->growth_limit);
                clean_reduce_in_part(f, c, d->sequence, marked, all);
            }
        }
        f->packets = c->root ? d->port_packets : 0;
        f->marked = c->root ? d->port_marked : 0;
        f->observed_until = clean_advance(d->sequence, f->window, d->segment_bytes);
    }
    if (!c->root) {
        f->packets += f->packets != ~0u;
        f->marked += d->marked && f->marked != ~0u;
    }
}

/* Updates the window for a passing data packet: Algorithm 1. */
static inline void clean_on_data(struct clean *f, const struct clean_config *c, const struct clean_data *d)
{
    clean_count(f, c, d);
    if (d->marked) {
        f->epoch_start = d->now_ns;
        if (!c->root || f->slow_start)
            clean_reduce(f, c, d);
    } else if (f->slow_start) {
        clean_grow(f, f->window + CLEAN_SEGMENT, d->growth_limit);
    } else if (!c->root) {
        clean_u64 since = d->now_ns > f->epoch_start ? d->now_ns - f->epoch_start : 0;
        clean_grow(f, clean_cubic(c->scale, f->w_max, f->k, clean_ticks(since)), d->growth_limit);
    }
}

/* Excludes idle time from the time since the last mark. */
static inline void clean_on_idle(struct clean *f, clean_u64 idle_ns)
{
    f->epoch_start = f->epoch_start + idle_ns < f->epoch_start ? ~0ull : f->epoch_start + idle_ns;
}

/* The window in bytes, rounded up. */
static inline clean_u64 clean_bytes(const struct clean *f, clean_u32 segment_bytes)
{
    return (f->window * segment_bytes + CLEAN_SEGMENT - 1) >> CLEAN_WINDOW_BITS;
}

#endif
