// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Gemini as a BPF congestion controller. gemini.h has the arithmetic; this file has the hooks of tcp_congestion_ops. A
 * mark puts Linux into state CWR, in which it calls ssthresh once and approaches the result over a round trip. The hook
 * cong_avoid reacts to delay. The settings are in maps, by the prefix of the destination, and may change at any time.
 */
#include "tcp.h"

#include "gemini.h"

/* The settings by class; class 0 is for destinations outside of all prefixes. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MAX_CLASSES);
    __type(key, __u32);
    __type(value, struct gemini_config);
} classes SEC(".maps");

/* The class of each prefix of destinations. */
struct {
    __uint(type, BPF_MAP_TYPE_LPM_TRIE);
    __uint(max_entries, MAX_PREFIXES);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct prefix);
    __type(value, __u32);
} prefixes SEC(".maps");

/* The state of a connection, at most 104 bytes (icsk_ca_priv). */
struct gemini_sock {
    struct gemini gemini;
    __u64 progress;
    struct echo echo;
    __u32 delivered, delivered_ce;
    __u32 prior_cwnd;
    __u16 class, state;
    __u16 cuts_marks, cuts_delay, cuts_loss;
    /* Whether the last call of ssthresh returned a reduced window. */
    __u16 reduced;
};

_Static_assert(sizeof(struct gemini_sock) <= 104, "more than a socket has for its controller");

static __always_inline struct gemini_config *config_of(const struct gemini_sock *g)
{
    __u32 class = g->class;
    return bpf_map_lookup_elem(&classes, &class);
}

static __always_inline struct gemini_window window_of(const struct sock *sk, const struct gemini_sock *g)
{
    const struct tcp_sock *tp = tcp_of(sk);
    return (struct gemini_window){ g->progress, tp->snd_cwnd, tp->snd_ssthresh };
}

static __always_inline __u16 class_of(const struct sock *sk)
{
    const struct sock_common *common = &sk->__sk_common;
    struct prefix to = { .bits = 128 };
    __u32 *class;
    if (common->skc_family == AF_INET6) {
        to.address[0] = common->skc_v6_daddr.in6_u.u6_addr32[0];
        to.address[1] = common->skc_v6_daddr.in6_u.u6_addr32[1];
        to.address[2] = common->skc_v6_daddr.in6_u.u6_addr32[2];
        to.address[3] = common->skc_v6_daddr.in6_u.u6_addr32[3];
    } else {
        to.address[2] = IPV4_IN_IPV6;
        to.address[3] = common->skc_daddr;
    }
    class = bpf_map_lookup_elem(&prefixes, &to);
    return class && *class < MAX_CLASSES ? *class : 0;
}

SEC("struct_ops")
void BPF_PROG(gemini_init_sock, struct sock *sk)
{
    struct gemini_sock *g = private_of(sk);
    struct tcp_sock *tp = tcp_of(sk);
    const struct gemini_config *c;
    g->progress = 0;
    g->prior_cwnd = 0;
    g->state = TCP_CA_OPEN;
    g->cuts_marks = g->cuts_delay = g->cuts_loss = g->reduced = 0;
    g->class = class_of(sk);
    g->delivered = tp->delivered;
    g->delivered_ce = tp->delivered_ce;
    g->echo.was_marked = 0;
    g->echo.prior_next = tp->rcv_nxt;
    gemini_begin(&g->gemini, tp->snd_nxt);
    c = config_of(g);
    if (c && tp->srtt_us)
        gemini_base(&g->gemini, c, (__u64)(tp->srtt_us >> 3) * 1000);
    if (sk->sk_pacing_status == SK_PACING_NONE)
        sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Computes F and h from the current settings, which may have changed since the base round trip was measured. */
static __always_inline void refresh(struct gemini *g, const struct gemini_config *c)
{
    __u64 bdp;
    if (g->rtt_base == GEMINI_NEVER)
        return;
    bdp = gemini_bdp(c->capacity_kbps, g->rtt_base);
    g->factor = gemini_factor(c->mark_bytes, bdp);
    g->step = gemini_step(c->increase, bdp);
}

SEC("struct_ops")
void BPF_PROG(gemini_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
    struct gemini_sock *g = private_of(sk);
    const struct tcp_sock *tp = tcp_of(sk);
    const struct gemini_config *c = config_of(g);
    __s32 rtt_us = sample->rtt_us;
    __u32 window_start = g->gemini.window_start;
    if (!c)
        return;
    if (rtt_us > 0)
        gemini_sample(&g->gemini, c, (__u64)rtt_us * 1000);
    gemini_count(&g->gemini, c, tp->snd_una, tp->snd_nxt, tp->delivered - g->delivered,
                 tp->delivered_ce - g->delivered_ce);
    /* Once for each window of data: two divisions. */
    if (g->gemini.window_start != window_start)
        refresh(&g->gemini, c);
    g->delivered = tp->delivered;
    g->delivered_ce = tp->delivered_ce;
}

/* Called for an echoed mark. A loss calls it as well, and then sets another threshold (answer_loss). */
SEC("struct_ops")
__u32 BPF_PROG(gemini_ssthresh, struct sock *sk)
{
    struct gemini_sock *g = private_of(sk);
    const struct tcp_sock *tp = tcp_of(sk);
    const struct gemini_config *c = config_of(g);
    struct gemini_window w = window_of(sk, g);
    g->prior_cwnd = w.segments;
    g->reduced = 0;
    if (c && gemini_may_reduce(&g->gemini, tp->snd_una)) {
        gemini_answer(&g->gemini, c, &w, 1, tp->snd_nxt);
        g->progress = w.progress;
        g->reduced = w.segments < g->prior_cwnd;
    }
    return w.segments;
}

SEC("struct_ops")
void BPF_PROG(gemini_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct gemini_sock *g = private_of(sk);
    struct tcp_sock *tp = tcp_of(sk);
    const struct gemini_config *c = config_of(g);
    struct gemini_window w = window_of(sk, g);
    if (!c)
        return;
    if (g->gemini.congested_wan) {
        if (!gemini_may_reduce(&g->gemini, ack))
            return;
        gemini_answer(&g->gemini, c, &w, 0, tp->snd_nxt);
        tp->snd_ssthresh = w.ssthresh;
        g->cuts_delay++;
    } else if (is_cwnd_limited(tp)) {
        gemini_increase(&g->gemini, &w, acked);
    }
    g->progress = w.progress;
    tp->snd_cwnd = gemini_least(w.segments, tp->snd_cwnd_clamp);
}

static __always_inline void answer_loss(struct sock *sk, struct gemini_sock *g)
{
    struct tcp_sock *tp = tcp_of(sk);
    g->prior_cwnd = tp->snd_cwnd;
    g->progress = 0;
    g->cuts_loss++;
    tp->snd_ssthresh = gemini_loss(&g->gemini, tp->snd_cwnd, tp->snd_nxt);
}

SEC("struct_ops")
void BPF_PROG(gemini_set_state, struct sock *sk, __u8 state)
{
    struct gemini_sock *g = private_of(sk);
    if (state == TCP_CA_RECOVERY && g->state != TCP_CA_RECOVERY)
        answer_loss(sk, g);
    else if (state == TCP_CA_CWR && g->state != TCP_CA_CWR)
        g->cuts_marks += g->reduced;
    g->state = state;
}

SEC("struct_ops")
void BPF_PROG(gemini_cwnd_event, struct sock *sk, int event)
{
    struct gemini_sock *g = private_of(sk);
    if (event == CA_EVENT_LOSS)
        answer_loss(sk, g);
    else if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
        answer_mark(sk, &g->echo, event == CA_EVENT_ECN_IS_CE);
}

SEC("struct_ops")
__u32 BPF_PROG(gemini_undo_cwnd, struct sock *sk)
{
    const struct gemini_sock *g = private_of(sk);
    return undo_reduction(sk, g->prior_cwnd);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops gemini = {
    .init = (void *)gemini_init_sock,
    .pkts_acked = (void *)gemini_pkts_acked,
    .ssthresh = (void *)gemini_ssthresh,
    .cong_avoid = (void *)gemini_cong_avoid,
    .set_state = (void *)gemini_set_state,
    .cwnd_event = (void *)gemini_cwnd_event,
    .undo_cwnd = (void *)gemini_undo_cwnd,
    .flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NON_RESTRICTED,
    .name = "gemini",
};

static __always_inline void report_state(struct connection *report, const struct gemini_sock *g)
{
    report->alpha = g->gemini.alpha;
    report->factor = g->gemini.factor;
    report->step = g->gemini.step;
    report->rtt_base_us = g->gemini.rtt_base == GEMINI_NEVER ? 0 : (__u32)(g->gemini.rtt_base / 1000);
    report->class = g->class;
    report->cuts_marks = g->cuts_marks;
    report->cuts_delay = g->cuts_delay;
    report->cuts_loss = g->cuts_loss;
}

REPORT_CONNECTIONS(struct gemini_sock, report_state)
