/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Vegas in integers: the window after a round trip, chosen so that 2 to 4 packets of the connection are queued. Tests
 * compare every number with crates/control/src/vegas.rs. Units: packets, microseconds. Uses no kernel types or
 * functions. Source: Brakmo and Peterson, TCP Vegas (1995), with the parameters of Linux.
 */
#ifndef SHALLOP_VEGAS_MATH_H
#define SHALLOP_VEGAS_MATH_H

enum { VEGAS_ALPHA = 2, VEGAS_BETA = 4, VEGAS_GAMMA = 1, VEGAS_MIN_CWND = 2 };
/* With at most this number of samples in a round trip, all may include the delay of a delayed acknowledgement. */
enum { VEGAS_DELAYED_SAMPLES = 2 };

struct vegas_window {
    unsigned int cwnd, ssthresh;
};

/* The number of queued packets of a window, from the round-trip time and the (non-zero) one without queues. */
static inline unsigned long long vegas_diff(unsigned int cwnd, unsigned int base, unsigned int rtt)
{
    return rtt > base ? (unsigned long long)cwnd * (rtt - base) / base : 0;
}

/* Updates the window after a round trip. Returns 1 without a change if slow start should go on growing it. */
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
