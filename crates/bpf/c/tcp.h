/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the BPF congestion controllers share: access to sockets, the echo of marks (RFC 8257, 3.2), and structs for the
 * command that loads them (src/prefix.rs, connection.rs, controller.rs).
 */
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

char LICENSE[] SEC("license") = "Dual BSD/GPL";

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

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

enum { MAX_CLASSES = 64, MAX_PREFIXES = 1024 };

/* An IP prefix: its length in bits, and an IPv6 address in network byte order. */
struct prefix {
    __u32 bits;
    __u32 address[4];
};

/* The state of a connection, as the iterator program reports it. */
struct connection {
    __u32 local[4], remote[4];
    __u16 local_port, remote_port;
    __u32 cwnd, ssthresh, srtt_us, retransmitted;
    __u32 delivered, marked;
    __u32 alpha, factor, step, rtt_base_us;
    __u16 class, cuts_marks, cuts_delay, cuts_loss;
};

/* The name of the controller, which the command sets before it loads the program. */
char controller_name[16] SEC(".data.name") = "";

static __always_inline bool is_named(const char *name)
{
    int at;
    for (at = 0; at < 16; at++) {
        if (name[at] != controller_name[at])
            return false;
        if (!name[at])
            break;
    }
    return true;
}

/* The iterator's current connection, if it uses this controller; else a null pointer. */
static __always_inline struct tcp_sock *tcp_of_controller(struct sock_common *common)
{
    struct tcp_sock *tp = common ? bpf_skc_to_tcp_sock(common) : 0;
    char name[16] = {};
    if (!tp || common->skc_state == TCP_LISTEN)
        return 0;
    BPF_CORE_READ_INTO(&name, tp, inet_conn.icsk_ca_ops, name);
    return is_named(name) ? tp : 0;
}

static __always_inline void report_address(__u32 *to, const struct sock_common *common, bool remote)
{
    const struct in6_addr *v6 = remote ? &common->skc_v6_daddr : &common->skc_v6_rcv_saddr;
    if (common->skc_family == AF_INET6) {
        BPF_CORE_READ_INTO(&to[0], v6, in6_u.u6_addr32[0]);
        BPF_CORE_READ_INTO(&to[1], v6, in6_u.u6_addr32[1]);
        BPF_CORE_READ_INTO(&to[2], v6, in6_u.u6_addr32[2]);
        BPF_CORE_READ_INTO(&to[3], v6, in6_u.u6_addr32[3]);
    } else {
        to[2] = IPV4_IN_IPV6;
        to[3] = remote ? common->skc_daddr : common->skc_rcv_saddr;
    }
}

static __always_inline void report_socket(struct connection *report, const struct tcp_sock *tp, const struct sock_common *common)
{
    report_address(report->local, common, false);
    report_address(report->remote, common, true);
    report->local_port = common->skc_num;
    report->remote_port = bpf_ntohs(common->skc_dport);
    report->cwnd = tp->snd_cwnd;
    report->ssthresh = tp->snd_ssthresh;
    report->srtt_us = tp->srtt_us >> 3;
    report->retransmitted = tp->total_retrans;
    report->delivered = tp->delivered;
    report->marked = tp->delivered_ce;
}

/*
 * Declares the iterator program that reports each connection of this controller in the network namespace of the reader.
 * `state` is the type of the controller's state of a connection; `report_state` adds the state to the report.
 */
#define REPORT_CONNECTIONS(state, report_state) \
    SEC("iter/tcp") \
    int connections(struct bpf_iter__tcp *ctx) \
    { \
        struct sock_common *common = ctx->sk_common; \
        struct connection report = {}; \
        state of_connection; \
        struct tcp_sock *tp = tcp_of_controller(common); \
        if (!tp || bpf_core_read(&of_connection, sizeof(of_connection), &tp->inet_conn.icsk_ca_priv)) \
            return 0; \
        report_socket(&report, tp, common); \
        report_state(&report, &of_connection); \
        bpf_seq_write(ctx->meta->seq, &report, sizeof(report)); \
        return 0; \
    }

#endif
