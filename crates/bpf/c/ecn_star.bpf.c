// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ECN* as a BPF congestion controller: Reno with ECN-capable packets. A mark halves the window, at most once in a round
 * trip: Linux calls ssthresh on the first echo, and again only when all data in flight at that time is acknowledged
 * (state CWR). Receivers echo marks as in RFC 3168. Source: Wu et al., Tuning ECN for Data Center Networks (CoNEXT
 * 2012).
 */
#include "tcp.h"

/* The state of a connection: counts of reductions, for `shallop host watch`. */
struct ecn_star_sock {
    struct cuts cuts;
};

SEC("struct_ops")
void BPF_PROG(ecn_star_init_sock, struct sock *sk)
{
    struct ecn_star_sock *e = private_of(sk);
    e->cuts = (struct cuts){};
}

SEC("struct_ops")
__u32 BPF_PROG(ecn_star_ssthresh, struct sock *sk)
{
    return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(ecn_star_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
void BPF_PROG(ecn_star_set_state, struct sock *sk, __u8 state)
{
    struct ecn_star_sock *e = private_of(sk);
    count_cut(&e->cuts, state);
}

SEC("struct_ops")
__u32 BPF_PROG(ecn_star_undo_cwnd, struct sock *sk)
{
    return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ecn_star = {
    .init = (void *)ecn_star_init_sock,
    .ssthresh = (void *)ecn_star_ssthresh,
    .cong_avoid = (void *)ecn_star_cong_avoid,
    .set_state = (void *)ecn_star_set_state,
    .undo_cwnd = (void *)ecn_star_undo_cwnd,
    .flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NON_RESTRICTED,
    .name = "ecn_star",
};

static __always_inline void report_state(struct connection *report, const struct ecn_star_sock *e)
{
    report->cuts_marks = e->cuts.marks;
    report->cuts_loss = e->cuts.loss;
}

REPORT_CONNECTIONS(struct ecn_star_sock, report_state)
