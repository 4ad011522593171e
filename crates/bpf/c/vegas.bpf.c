// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Vegas as a BPF congestion controller, for kernels without Vegas. vegas_math.h has the arithmetic. Reactions to losses
 * and marks are Reno's, and so is growth until the connection is back in state Open.
 */
#include "tcp.h"

#include "vegas_math.h"

enum { NO_SAMPLE = 0x7fffffff };

extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;

/* The state of a connection. */
struct vegas_sock {
    /* SND.NXT when the current round trip began, and the number of samples since. */
    __u32 round_end, samples;
    /* The shortest round-trip times of the current round trip and of the connection, in microseconds plus one. */
    __u32 rtt_min, rtt_base;
    __u16 is_on;
    struct cuts cuts;
};

static __always_inline void begin_round(struct vegas_sock *v, const struct tcp_sock *tp)
{
    v->round_end = tp->snd_nxt;
    v->samples = 0;
    v->rtt_min = NO_SAMPLE;
}

SEC("struct_ops")
void BPF_PROG(vegas_init_sock, struct sock *sk)
{
    struct vegas_sock *v = private_of(sk);
    v->rtt_base = NO_SAMPLE;
    v->is_on = 1;
    v->cuts = (struct cuts){};
    begin_round(v, tcp_of(sk));
}

SEC("struct_ops")
void BPF_PROG(vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
    struct vegas_sock *v = private_of(sk);
    __s32 rtt_us = sample->rtt_us;
    __u32 rtt;
    if (rtt_us < 0)
        return;
    rtt = (__u32)rtt_us + 1;
    if (rtt < v->rtt_base)
        v->rtt_base = rtt;
    if (rtt < v->rtt_min)
        v->rtt_min = rtt;
    v->samples++;
}

SEC("struct_ops")
void BPF_PROG(vegas_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct vegas_sock *v = private_of(sk);
    struct tcp_sock *tp = tcp_of(sk);
    struct vegas_window w = { tp->snd_cwnd, tp->snd_ssthresh };
    if (!v->is_on) {
        tcp_reno_cong_avoid(sk, ack, acked);
        return;
    }
    if ((__s32)(ack - v->round_end) <= 0) {
        if (w.cwnd < w.ssthresh)
            tcp_slow_start(tp, acked);
        return;
    }
    if (v->samples <= VEGAS_DELAYED_SAMPLES) {
        tcp_reno_cong_avoid(sk, ack, acked);
    } else if (vegas_round(&w, v->rtt_base, v->rtt_min, is_cwnd_limited(tp))) {
        tcp_slow_start(tp, acked);
    } else {
        tp->snd_cwnd = w.cwnd < tp->snd_cwnd_clamp ? w.cwnd : tp->snd_cwnd_clamp;
        tp->snd_ssthresh = w.ssthresh;
    }
    begin_round(v, tp);
}

SEC("struct_ops")
__u32 BPF_PROG(vegas_ssthresh, struct sock *sk)
{
    return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(vegas_set_state, struct sock *sk, __u8 state)
{
    struct vegas_sock *v = private_of(sk);
    count_cut(&v->cuts, state);
    v->is_on = state == TCP_CA_OPEN;
    if (v->is_on)
        begin_round(v, tcp_of(sk));
}

/* Forgets the base round-trip time after an idle time, because the path may have changed. */
SEC("struct_ops")
void BPF_PROG(vegas_cwnd_event, struct sock *sk, int event)
{
    struct vegas_sock *v = private_of(sk);
    if (event != CA_EVENT_CWND_RESTART && event != CA_EVENT_TX_START)
        return;
    v->rtt_base = NO_SAMPLE;
    v->is_on = 1;
    begin_round(v, tcp_of(sk));
}

SEC("struct_ops")
__u32 BPF_PROG(vegas_undo_cwnd, struct sock *sk)
{
    return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops vegas = {
    .init = (void *)vegas_init_sock,
    .pkts_acked = (void *)vegas_pkts_acked,
    .cong_avoid = (void *)vegas_cong_avoid,
    .ssthresh = (void *)vegas_ssthresh,
    .set_state = (void *)vegas_set_state,
    .cwnd_event = (void *)vegas_cwnd_event,
    .undo_cwnd = (void *)vegas_undo_cwnd,
    .flags = TCP_CONG_NON_RESTRICTED,
    .name = "vegas",
};

static __always_inline void report_state(struct connection *report, const struct vegas_sock *v)
{
    report->rtt_base_us = v->rtt_base == NO_SAMPLE ? 0 : v->rtt_base - 1;
    report->cuts_marks = v->cuts.marks;
    report->cuts_loss = v->cuts.loss;
}

REPORT_CONNECTIONS(struct vegas_sock, report_state)
