/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Vegas in integers: the window at the end of a round trip, so that 2 to 4 packets of the connection are queued. There
 * are no types and no functions of a kernel here. The twin is crates/control/src/vegas.rs, with which tests/vegas.rs
 * compares it. Units: packets, microseconds. Source: Brakmo and Peterson, TCP Vegas (1995), with the numbers of Linux.
 */
#ifndef SHALLOP_VEGAS_MATH_H
#define SHALLOP_VEGAS_MATH_H

enum { VEGAS_ALPHA = 2, VEGAS_BETA = 4, VEGAS_GAMMA = 1, VEGAS_MIN_CWND = 2 };
/* With so many samples or fewer in a round trip, all may include the delay of a delayed acknowledgement. */
enum { VEGAS_DELAYED_SAMPLES = 2 };

struct vegas_window {
    unsigned int cwnd, ssthresh;
};

/* Packets of a window that are queued, if the round trip is `rtt`, and `base` without queues, which is above zero. */
static inline unsigned long long vegas_diff(unsigned int cwnd, unsigned int base, unsigned int rtt)
{
    return rtt > base ? (unsigned long long)cwnd * (rtt - base) / base : 0;
}

/* The window after a round trip. Returns whether it is for slow start to grow it, which leaves it as it is here. */
static inline int vegas_round(struct vegas_window *w, unsigned int base, unsigned int rtt, int is_limited)
{
    unsigned long long diff = vegas_diff(w->cwnd, base, rtt);
    unsigned int least;
    if (w->cwnd < w->ssthresh) {
        unsigned long long target = (unsigned long long)w->cwnd * base / (rtt ? rtt : 1) + 1;
        if (diff <= VEGAS_GAMMA)
            return 1;
        if (target < w->cwnd)
            w->cwnd = (unsigned int)target;
    } else if (diff > VEGAS_BETA) {
        w->cwnd--;
    } else if (diff < VEGAS_ALPHA && is_limited) {
        w->cwnd++;
    }
    if (w->cwnd < VEGAS_MIN_CWND)
        w->cwnd = VEGAS_MIN_CWND;
    if (w->ssthresh > w->cwnd)
        w->ssthresh = w->cwnd;
    least = (w->cwnd >> 1) + (w->cwnd >> 2);
    if (w->ssthresh < least)
        w->ssthresh = least;
    return 0;
}

#endif
