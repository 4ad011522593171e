// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Gemini as a controller of Linux: gemini.h has its arithmetic, this what Linux asks of a controller. A mark puts Linux
 * into its state CWR, in which it asks for the threshold once and approaches it over a round trip; delay is answered
 * here. Sources: gemini.h; RFC 8257, 3.2, for the echo of marks.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "gemini.h"

#define PARAMETER(type, name, initial, description) \
    static type name = initial; \
    module_param(name, type, 0444); \
    MODULE_PARM_DESC(name, description)

PARAMETER(ulong, capacity_kbps, 10000000, "C, the bandwidth of the network, in kb/s");
PARAMETER(ulong, mark_bytes, 769000, "K, the queue length at which switches mark, in bytes");
PARAMETER(ulong, threshold_us, 5000, "T, the queueing delay that counts as congestion, in us");
PARAMETER(uint, decrease, 209715, "beta, the part of the window given up for delay, in 2^-20");
PARAMETER(uint, increase, 131941, "H, segments a round trip for each bit of bandwidth times delay, in 2^-40");
PARAMETER(uint, alpha_shift, 4, "the gain of alpha is 2^-alpha_shift");
PARAMETER(bool, uses_marks, true, "whether marks reduce the window");
PARAMETER(bool, uses_delay, true, "whether delay reduces the window");
PARAMETER(bool, recount, true, "whether data sent before a reduction for delay counts again");

static struct gemini_config config;

/* What a connection remembers. */
struct gemini_sock {
    struct gemini gemini;
    u64 progress;
    u32 delivered, delivered_ce;
    u32 prior_cwnd;
    /* The receiver: whether the last packet was marked, and what was expected before it. */
    u32 was_marked, prior_next;
};

static struct gemini_window window_of(const struct sock *sk)
{
    const struct gemini_sock *g = inet_csk_ca(sk);
    const struct tcp_sock *tp = tcp_sk(sk);
    return (struct gemini_window){ g->progress, tcp_snd_cwnd(tp), tp->snd_ssthresh };
}

static void gemini_init_sock(struct sock *sk)
{
    struct gemini_sock *g = inet_csk_ca(sk);
    struct tcp_sock *tp = tcp_sk(sk);
    memset(g, 0, sizeof(*g));
    gemini_begin(&g->gemini, tp->snd_nxt);
    g->delivered = tp->delivered;
    g->delivered_ce = tp->delivered_ce;
    g->prior_next = tp->rcv_nxt;
    if (tp->srtt_us)
        gemini_base(&g->gemini, &config, (u64)(tp->srtt_us >> 3) * NSEC_PER_USEC);
    cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
    /* The peer marks nothing: delay is what remains. */
    if (!(tp->ecn_flags & TCP_ECN_OK) && sk->sk_state != TCP_LISTEN && sk->sk_state != TCP_CLOSE)
        INET_ECN_dontxmit(sk);
}

static void gemini_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
    struct gemini_sock *g = inet_csk_ca(sk);
    const struct tcp_sock *tp = tcp_sk(sk);
    if (sample->rtt_us > 0)
        gemini_sample(&g->gemini, &config, (u64)sample->rtt_us * NSEC_PER_USEC);
    gemini_count(&g->gemini, &config, tp->snd_una, tp->snd_nxt, tp->delivered - g->delivered,
                 tp->delivered_ce - g->delivered_ce);
    g->delivered = tp->delivered;
    g->delivered_ce = tp->delivered_ce;
}

/* Asked when a mark is echoed. A loss asks as well, and then replaces the answer. */
static u32 gemini_ssthresh(struct sock *sk)
{
    struct gemini_sock *g = inet_csk_ca(sk);
    const struct tcp_sock *tp = tcp_sk(sk);
    struct gemini_window w = window_of(sk);
    g->prior_cwnd = w.segments;
    if (gemini_may_reduce(&g->gemini, tp->snd_una)) {
        gemini_answer(&g->gemini, &config, &w, 1, tp->snd_nxt);
        g->progress = w.progress;
    }
    return w.segments;
}

static void gemini_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
    struct gemini_sock *g = inet_csk_ca(sk);
    struct tcp_sock *tp = tcp_sk(sk);
    struct gemini_window w = window_of(sk);
    if (g->gemini.congested_wan) {
        if (!gemini_may_reduce(&g->gemini, ack))
            return;
        gemini_answer(&g->gemini, &config, &w, 0, tp->snd_nxt);
        tp->snd_ssthresh = w.ssthresh;
    } else if (tcp_is_cwnd_limited(sk)) {
        gemini_increase(&g->gemini, &w, acked);
    }
    g->progress = w.progress;
    tcp_snd_cwnd_set(tp, min(w.segments, tp->snd_cwnd_clamp));
}

static void answer_loss(struct sock *sk)
{
    struct gemini_sock *g = inet_csk_ca(sk);
    struct tcp_sock *tp = tcp_sk(sk);
    g->prior_cwnd = tcp_snd_cwnd(tp);
    g->progress = 0;
    tp->snd_ssthresh = gemini_loss(&g->gemini, tcp_snd_cwnd(tp), tp->snd_nxt);
}

static void gemini_set_state(struct sock *sk, u8 state)
{
    if (state == TCP_CA_Recovery && state != inet_csk(sk)->icsk_ca_state)
        answer_loss(sk);
}

/* The kernel's function has got an argument in the course of its releases, and is called as the release has it. */
static void send_ack_up_to(struct sock *sk, u32 next)
{
    void *function = __tcp_send_ack;
    void (*of_two)(struct sock *, u32) = function;
    void (*of_three)(struct sock *, u32, u16) = function;
    if (__builtin_types_compatible_p(typeof(__tcp_send_ack), void(struct sock *, u32)))
        of_two(sk, next);
    else
        of_three(sk, next, 0);
}

static void set_echo(struct sock *sk, u32 marked)
{
    struct tcp_sock *tp = tcp_sk(sk);
    tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
    if (marked)
        tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
}

/* A packet came whose mark is another than that of the packet before: each gets acknowledgements of its own. */
static void answer_mark(struct sock *sk, u32 marked)
{
    struct gemini_sock *g = inet_csk_ca(sk);
    if (g->was_marked != marked) {
        if (inet_csk(sk)->icsk_ack.pending & ICSK_ACK_TIMER) {
            set_echo(sk, g->was_marked);
            send_ack_up_to(sk, g->prior_next);
        }
        inet_csk(sk)->icsk_ack.pending |= ICSK_ACK_NOW;
    }
    g->was_marked = marked;
    g->prior_next = tcp_sk(sk)->rcv_nxt;
    set_echo(sk, marked);
}

static void gemini_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
    if (event == CA_EVENT_LOSS)
        answer_loss(sk);
    else if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
        answer_mark(sk, event == CA_EVENT_ECN_IS_CE);
}

static u32 gemini_undo_cwnd(struct sock *sk)
{
    const struct gemini_sock *g = inet_csk_ca(sk);
    return max(tcp_snd_cwnd(tcp_sk(sk)), g->prior_cwnd);
}

static struct tcp_congestion_ops gemini __read_mostly = {
    .init = gemini_init_sock,
    .pkts_acked = gemini_pkts_acked,
    .ssthresh = gemini_ssthresh,
    .cong_avoid = gemini_cong_avoid,
    .set_state = gemini_set_state,
    .cwnd_event = gemini_cwnd_event,
    .undo_cwnd = gemini_undo_cwnd,
    .flags = TCP_CONG_NEEDS_ECN,
    .owner = THIS_MODULE,
    .name = "gemini",
};

static int __init gemini_start(void)
{
    BUILD_BUG_ON(sizeof(struct gemini_sock) > ICSK_CA_PRIV_SIZE);
    if (!capacity_kbps || decrease > GEMINI_MAX_REDUCTION || alpha_shift > GEMINI_ALPHA_BITS)
        return -EINVAL;
    config = (struct gemini_config){ capacity_kbps, mark_bytes, (u64)threshold_us * NSEC_PER_USEC, decrease, increase,
        alpha_shift, uses_marks, uses_delay, recount };
    return tcp_register_congestion_control(&gemini);
}

static void __exit gemini_end(void)
{
    tcp_unregister_congestion_control(&gemini);
}

module_init(gemini_start);
module_exit(gemini_end);

MODULE_DESCRIPTION("Gemini: congestion control across data centres");
MODULE_LICENSE("Dual BSD/GPL");
