/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gemini in integers: marks reduce the window by f_dcn = alpha F with F = 4K / (C RTT_base + K), delay by f_wan = beta,
 * both signals by the larger one, and an acknowledgement without either adds h / cwnd segments, h = H C RTT_base.
 * Formats are those of crates/control/src/gemini/law.rs, with which crates/kernel/tests/it/gemini.rs compares every
 * number. There are no types and no functions of a kernel here, no loop without a bound and no allocation, so that a
 * BPF program can include it as well as a module.
 *
 * Units: segments, nanoseconds, kilobits per second, bits. Times are above zero. Sequence numbers wrap at 2^32.
 * Sources: Zeng et al., Congestion Control for Cross-Datacenter Networks (ICNP 2019); Zeng's doctoral thesis, chapter
 * 3, Algorithm 1 and Table 3.4; RFC 8257, 3.3, for alpha.
 */
#ifndef SHALLOP_GEMINI_H
#define SHALLOP_GEMINI_H

typedef unsigned int gemini_u32;
typedef unsigned long long gemini_u64;

/* Alpha is in 2^-10, F and reductions in 2^-20, h in 2^-16 segments, H in 2^-40 segments per bit. */
#define GEMINI_ALPHA_BITS 10
#define GEMINI_REDUCTION_BITS 20
#define GEMINI_STEP_BITS 16
#define GEMINI_H_BITS 40
#define GEMINI_MAX_ALPHA (1u << GEMINI_ALPHA_BITS)
/* Half of the window, as for a loss. */
#define GEMINI_MAX_REDUCTION (1u << (GEMINI_REDUCTION_BITS - 1))
/* 0.1 and 5 segments per round trip. */
#define GEMINI_MIN_STEP 6554u
#define GEMINI_MAX_STEP (5u << GEMINI_STEP_BITS)
#define GEMINI_MIN_CWND 2u
#define GEMINI_MAX_CWND (1u << 27)
#define GEMINI_NEVER (~0ull)

/* What an operator sets. */
struct gemini_config {
    gemini_u64 capacity_kbps;  /* C */
    gemini_u64 mark_bytes;     /* K */
    gemini_u64 threshold_ns;   /* T */
    gemini_u32 decrease;       /* beta, in 2^-20 */
    gemini_u32 increase;       /* H, in 2^-40 */
    gemini_u32 alpha_shift;    /* the gain of alpha is 2^-this, at most 10 */
    gemini_u32 uses_marks, uses_delay, recount;
};

/* The window: whole segments, and the progress to the next one, in 2^-16 segments times cwnd. */
struct gemini_window {
    gemini_u64 progress;
    gemini_u32 segments, ssthresh;
};

/* What a connection remembers. */
struct gemini {
    gemini_u64 rtt_base, rtt_min;
    gemini_u32 alpha, acked, marked;
    /* SND.UNA and SND.NXT when the current window of data began. */
    gemini_u32 window_start, window_end;
    /* SND.NXT at the last reduction, and at the last one that answered delay. */
    gemini_u32 reduced_until, delay_until;
    gemini_u32 factor, step;
    gemini_u32 congested_wan;
};

static inline gemini_u64 gemini_least(gemini_u64 a, gemini_u64 b)
{
    return a < b ? a : b;
}

/* Whether one sequence number is after another. */
static inline int gemini_after(gemini_u32 a, gemini_u32 b)
{
    return (int)(a - b) > 0;
}

/* C RTT_base, in bits: at most 1 Tb/s and 10 s. */
static inline gemini_u64 gemini_bdp(gemini_u64 kbps, gemini_u64 ns)
{
    kbps = gemini_least(kbps ? kbps : 1, 1000000000ull);
    return kbps * gemini_least(ns, 10000000000ull) / 1000000;
}

/* F. */
static inline gemini_u32 gemini_factor(gemini_u64 mark_bytes, gemini_u64 bdp)
{
    gemini_u64 k = gemini_least(gemini_least(mark_bytes, 1ull << 40) * 8, 1ull << 41), sum = bdp + k;
    return (gemini_u32)((k << (GEMINI_REDUCTION_BITS + 2)) / (sum ? sum : 1));
}

/* h. */
static inline gemini_u32 gemini_step(gemini_u32 increase, gemini_u64 bdp)
{
    /* From this product on the step is the largest one. */
    gemini_u64 most = (gemini_u64)GEMINI_MAX_STEP << (GEMINI_H_BITS - GEMINI_STEP_BITS), step;
    if (increase && bdp > most / increase)
        return GEMINI_MAX_STEP;
    step = (bdp * increase) >> (GEMINI_H_BITS - GEMINI_STEP_BITS);
    return step < GEMINI_MIN_STEP ? GEMINI_MIN_STEP : (gemini_u32)step;
}

/* f_dcn. */
static inline gemini_u32 gemini_f_dcn(gemini_u32 alpha, gemini_u32 factor)
{
    return (gemini_u32)gemini_least(((gemini_u64)alpha * factor) >> GEMINI_ALPHA_BITS, GEMINI_MAX_REDUCTION);
}

/* Alpha after a window of data, of which some segments were marked. */
static inline gemini_u32 gemini_alpha(gemini_u32 alpha, gemini_u32 shift, gemini_u32 acked, gemini_u32 marked)
{
    gemini_u32 decay = alpha >> shift;
    gemini_u64 gain = ((gemini_u64)marked << (GEMINI_ALPHA_BITS - shift)) / (acked ? acked : 1);
    return (gemini_u32)gemini_least(alpha - (decay ? decay : alpha) + gain, GEMINI_MAX_ALPHA);
}

/* The window less an extent of it. */
static inline void gemini_reduce(struct gemini_window *w, gemini_u32 extent)
{
    gemini_u32 segments = (gemini_u32)gemini_least(w->segments ? w->segments : 1, GEMINI_MAX_CWND);
    gemini_u64 exact = ((gemini_u64)segments << GEMINI_STEP_BITS) + w->progress / segments;
    exact -= (exact * gemini_least(extent, GEMINI_MAX_REDUCTION)) >> GEMINI_REDUCTION_BITS;
    w->segments = (gemini_u32)(exact >> GEMINI_STEP_BITS);
    w->progress = (exact & ((1u << GEMINI_STEP_BITS) - 1)) * w->segments;
    if (w->segments < GEMINI_MIN_CWND) {
        w->segments = GEMINI_MIN_CWND;
        w->progress = 0;
    }
}

/* The window after segments were acknowledged: at most a window of them counts, h in all, so that it grows by 6. */
static inline void gemini_grow(struct gemini_window *w, gemini_u32 acked, gemini_u32 step)
{
    int more;
    w->progress += gemini_least(acked, w->segments) * step;
    for (more = 0; more < 6; more++) {
        gemini_u64 whole = (gemini_u64)w->segments << GEMINI_STEP_BITS;
        if (w->progress < whole || w->segments >= GEMINI_MAX_CWND)
            break;
        w->progress -= whole;
        w->segments++;
    }
    w->progress = gemini_least(w->progress, (gemini_u64)w->segments << GEMINI_STEP_BITS);
}

/* A connection that has sent nothing beyond this sequence number. */
static inline void gemini_begin(struct gemini *g, gemini_u32 next)
{
    g->rtt_base = g->rtt_min = GEMINI_NEVER;
    g->alpha = GEMINI_MAX_ALPHA;
    g->acked = g->marked = g->congested_wan = 0;
    g->window_start = g->window_end = g->reduced_until = g->delay_until = next;
    g->factor = 1u << (GEMINI_REDUCTION_BITS - 1);
    g->step = 1u << GEMINI_STEP_BITS;
}

/* A sample of the round trip without data of ours. */
static inline void gemini_base(struct gemini *g, const struct gemini_config *c, gemini_u64 ns)
{
    gemini_u64 bdp = gemini_bdp(c->capacity_kbps, ns);
    if (ns >= g->rtt_base)
        return;
    g->rtt_base = ns;
    g->factor = gemini_factor(c->mark_bytes, bdp);
    g->step = gemini_step(c->increase, bdp);
}

/* A sample of the round trip. */
static inline void gemini_sample(struct gemini *g, const struct gemini_config *c, gemini_u64 ns)
{
    g->rtt_min = gemini_least(g->rtt_min, ns);
    gemini_base(g, c, ns);
}

/* Algorithm 1, lines 1 to 3: counts what was acknowledged, and judges a window of data when all of it is. */
static inline void gemini_count(struct gemini *g, const struct gemini_config *c, gemini_u32 una, gemini_u32 next,
                                gemini_u32 acked, gemini_u32 marked)
{
    g->acked += acked;
    g->marked += marked;
    if (gemini_after(g->window_end, una))
        return;
    g->alpha = gemini_alpha(g->alpha, c->alpha_shift, g->acked, g->marked);
    g->congested_wan = c->uses_delay && g->rtt_min != GEMINI_NEVER &&
        (c->recount || !gemini_after(g->delay_until, g->window_start)) && g->rtt_min > g->rtt_base + c->threshold_ns;
    g->acked = g->marked = 0;
    g->rtt_min = GEMINI_NEVER;
    g->window_start = una;
    g->window_end = next;
}

/* Whether the window may be reduced: a round trip has passed since the last time. */
static inline int gemini_may_reduce(const struct gemini *g, gemini_u32 una)
{
    return gemini_after(una, g->reduced_until);
}

/* Algorithm 1, lines 5 to 9: reduces the window for marks, delay, or both. */
static inline void gemini_answer(struct gemini *g, const struct gemini_config *c, struct gemini_window *w, int marked,
                                 gemini_u32 next)
{
    gemini_u32 f_dcn = marked && c->uses_marks ? gemini_f_dcn(g->alpha, g->factor) : 0;
    gemini_u32 f_wan = g->congested_wan ? c->decrease : 0;
    gemini_reduce(w, f_dcn > f_wan ? f_dcn : f_wan);
    w->ssthresh = w->segments;
    g->reduced_until = next;
    if (g->congested_wan)
        g->delay_until = next;
}

/* Algorithm 1, lines 11 and 12, and slow start before the first reduction. */
static inline void gemini_increase(const struct gemini *g, struct gemini_window *w, gemini_u32 acked)
{
    if (w->segments < w->ssthresh) {
        gemini_u64 grown = (gemini_u64)w->segments + acked;
        w->segments = (gemini_u32)gemini_least(gemini_least(grown, w->ssthresh), GEMINI_MAX_CWND);
        if (w->segments < w->ssthresh)
            return;
        acked = (gemini_u32)(grown - w->ssthresh);
    }
    gemini_grow(w, acked, g->step);
}

/* A loss, which halves the window and also answers the delay before it: the slow-start threshold. */
static inline gemini_u32 gemini_loss(struct gemini *g, gemini_u32 segments, gemini_u32 next)
{
    g->congested_wan = 0;
    g->reduced_until = g->delay_until = next;
    return segments / 2 < GEMINI_MIN_CWND ? GEMINI_MIN_CWND : segments / 2;
}

#endif
