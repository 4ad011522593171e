/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Code that the BPF congestion controllers share: access to sockets, and the echo of marks (RFC 8257, 3.2). */
#ifndef SHALLOP_TCP_H
#define SHALLOP_TCP_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* include/net/tcp.h, include/net/inet_connection_sock.h, include/net/sock.h */
enum { TCP_ECN_OK = 1, TCP_ECN_DEMAND_CWR = 4 };
enum { TCP_CONG_NON_RESTRICTED = 1, TCP_CONG_NEEDS_ECN = 2 };
enum { TCP_CA_OPEN = 0, TCP_CA_CWR = 2, TCP_CA_RECOVERY = 3, TCP_CA_LOSS = 4 };
enum { CA_EVENT_TX_START = 0, CA_EVENT_CWND_RESTART = 1, CA_EVENT_LOSS = 3, CA_EVENT_ECN_NO_CE = 4, CA_EVENT_ECN_IS_CE = 5 };
enum { ICSK_ACK_TIMER = 2, ICSK_ACK_NOW = 16 };
enum { SK_PACING_NONE = 0, SK_PACING_NEEDED = 1 };
enum { INFINITE_SSTHRESH = 0x7fffffff };

static __always_inline struct inet_connection_sock *icsk_of(const struct sock *sk)
{
    return (struct inet_connection_sock *)sk;
}

/* The kernel calls these programs only with TCP sockets. */
static __always_inline struct tcp_sock *tcp_of(const struct sock *sk)
{
    return (struct tcp_sock *)sk;
}

/* The controller's private bytes of a socket. */
static __always_inline void *private_of(const struct sock *sk)
{
    return (void *)icsk_of(sk)->icsk_ca_priv;
}

/* Equals tcp_is_cwnd_limited of Linux. */
static __always_inline bool is_cwnd_limited(struct tcp_sock *tp)
{
    if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
        return true;
    return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* The window after an unnecessary reduction, whose window before the reduction is `prior_cwnd`. */
static __always_inline __u32 undo_reduction(const struct sock *sk, __u32 prior_cwnd)
{
    __u32 cwnd = tcp_of(sk)->snd_cwnd;
    return cwnd > prior_cwnd ? cwnd : prior_cwnd;
}

/* The state of congestion avoidance (TCP_CA_*), and the number of reductions for marks and for losses. */
struct cuts {
    __u16 state, marks, loss;
};

static __always_inline void count_cut(struct cuts *cuts, __u8 state)
{
    if (state != cuts->state && state == TCP_CA_CWR)
        cuts->marks++;
    else if (state != cuts->state && (state == TCP_CA_RECOVERY || state == TCP_CA_LOSS))
        cuts->loss++;
    cuts->state = state;
}

/* The state of a receiver's echo: whether the last packet was marked, and RCV.NXT before it. */
struct echo {
    __u32 prior_next;
    __u32 was_marked;
};

static __always_inline void set_echo(struct tcp_sock *tp, __u32 marked)
{
    if (marked)
        tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
    else
        tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* Handles an arriving packet: marked and unmarked packets are acknowledged separately. */
static __always_inline void answer_mark(struct sock *sk, struct echo *echo, __u32 marked)
{
    struct tcp_sock *tp = tcp_of(sk);
    if (echo->was_marked != marked) {
        if (icsk_of(sk)->icsk_ack.pending & ICSK_ACK_TIMER) {
            set_echo(tp, echo->was_marked);
            bpf_tcp_send_ack(tp, echo->prior_next);
        }
        icsk_of(sk)->icsk_ack.pending |= ICSK_ACK_NOW;
    }
    echo->was_marked = marked;
    echo->prior_next = tp->rcv_nxt;
    set_echo(tp, marked);
}

#endif
