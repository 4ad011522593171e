/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structs that controllers share with the command that loads them (src/prefix.rs, connection.rs, controller.rs). */
#ifndef SHALLOP_SETTINGS_H
#define SHALLOP_SETTINGS_H

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
