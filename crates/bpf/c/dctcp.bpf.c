// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * DCTCP as a BPF congestion controller, for kernels without DCTCP. dctcp_math.h has the arithmetic. Growth and
 * reactions to loss are Reno's. Source: RFC 8257.
 */
#include "tcp.h"

#include "dctcp_math.h"

/* The state of a connection, at most 104 bytes (icsk_ca_priv). */
struct dctcp_sock {
    struct echo echo;
    __u32 alpha;
    /* SND.NXT, and the counts of delivered and marked segments, when the current window of data began. */
    __u32 window_end, delivered, delivered_ce;
    __u32 prior_cwnd;
    __u16 state, cuts_marks, cuts_loss;
};

_Static_assert(sizeof(struct dctcp_sock) <= 104, "more than a socket has for its controller");

static __always_inline void begin_window(struct dctcp_sock *d, const struct tcp_sock *tp)
{
    d->window_end = tp->snd_nxt;
    d->delivered = tp->delivered;
    d->delivered_ce = tp->delivered_ce;
}

SEC("struct_ops")
void BPF_PROG(dctcp_init_sock, struct sock *sk)
{
    struct dctcp_sock *d = private_of(sk);
    struct tcp_sock *tp = tcp_of(sk);
    d->alpha = DCTCP_MAX_ALPHA;
    d->prior_cwnd = 0;
    d->state = d->cuts_marks = d->cuts_loss = 0;
    d->echo.was_marked = 0;
    d->echo.prior_next = tp->rcv_nxt;
    begin_window(d, tp);
}

SEC("struct_ops")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, __u32 flags)
{
    struct dctcp_sock *d = private_of(sk);
    const struct tcp_sock *tp = tcp_of(sk);
    if ((int)(tp->snd_una - d->window_end) < 0)
        return;
    d->alpha = dctcp_alpha(d->alpha, DCTCP_SHIFT, tp->delivered - d->delivered, tp->delivered_ce - d->delivered_ce);
    begin_window(d, tp);
}

/* Called for an echoed mark. A loss calls it as well, and then sets another threshold (answer_loss). */
SEC("struct_ops")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
    struct dctcp_sock *d = private_of(sk);
    __u32 cwnd = tcp_of(sk)->snd_cwnd;
    d->prior_cwnd = cwnd;
    return dctcp_reduced(cwnd, d->alpha);
}

SEC("struct_ops")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    tcp_reno_cong_avoid(sk, ack, acked);
}

static __always_inline void answer_loss(struct sock *sk, struct dctcp_sock *d)
{
    struct tcp_sock *tp = tcp_of(sk);
    __u32 half = tp->snd_cwnd / 2;
    d->prior_cwnd = tp->snd_cwnd;
    d->cuts_loss++;
    tp->snd_ssthresh = half < DCTCP_MIN_CWND ? DCTCP_MIN_CWND : half;
}

SEC("struct_ops")
void BPF_PROG(dctcp_set_state, struct sock *sk, __u8 state)
{
    struct dctcp_sock *d = private_of(sk);
    if (state == TCP_CA_RECOVERY && d->state != TCP_CA_RECOVERY)
        answer_loss(sk, d);
    else if (state == TCP_CA_CWR && d->state != TCP_CA_CWR)
        d->cuts_marks++;
    d->state = state;
}

SEC("struct_ops")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, int event)
{
    struct dctcp_sock *d = private_of(sk);
    if (event == CA_EVENT_LOSS)
        answer_loss(sk, d);
    else if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
        answer_mark(sk, &d->echo, event == CA_EVENT_ECN_IS_CE);
}

SEC("struct_ops")
__u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
    const struct dctcp_sock *d = private_of(sk);
    return undo_reduction(sk, d->prior_cwnd);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops dctcp = {
    .init = (void *)dctcp_init_sock,
    .in_ack_event = (void *)dctcp_in_ack_event,
    .ssthresh = (void *)dctcp_ssthresh,
    .cong_avoid = (void *)dctcp_cong_avoid,
    .set_state = (void *)dctcp_set_state,
    .cwnd_event = (void *)dctcp_cwnd_event,
    .undo_cwnd = (void *)dctcp_undo_cwnd,
    .flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NON_RESTRICTED,
    .name = "dctcp",
};

static __always_inline void report_state(struct connection *report, const struct dctcp_sock *d)
{
    report->alpha = d->alpha;
    report->cuts_marks = d->cuts_marks;
    report->cuts_loss = d->cuts_loss;
}

REPORT_CONNECTIONS(struct dctcp_sock, report_state)
