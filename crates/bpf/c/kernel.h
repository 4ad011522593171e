/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Linux types that these programs use, with only the members in use. libbpf finds the offset of each member in the
 * running kernel's type information when it loads a program (CO-RE), so one object file fits all kernels.
 */
#ifndef SHALLOP_KERNEL_H
#define SHALLOP_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u16 __sum16;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef _Bool bool;
enum { false, true };

/* The third word of an IPv4-mapped IPv6 address (::ffff:a.b.c.d), in network byte order. */
#define IPV4_IN_IPV6 bpf_htonl(0xffff)

enum {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_ARRAY = 2,
    BPF_MAP_TYPE_PERCPU_ARRAY = 6,
    BPF_MAP_TYPE_LRU_HASH = 9,
    BPF_MAP_TYPE_LPM_TRIE = 11,
    BPF_MAP_TYPE_STRUCT_OPS = 26,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_F_NO_PREALLOC = 1, BPF_F_RECOMPUTE_CSUM = 1 };

struct bpf_spin_lock {
    __u32 val;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
    union {
        __u32 u6_addr32[4];
    } in6_u;
};

struct sock_common {
    __be32 skc_daddr, skc_rcv_saddr;
    __be16 skc_dport;
    __u16 skc_num;
    unsigned short skc_family;
    volatile unsigned char skc_state;
    struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct sock {
    struct sock_common __sk_common;
    __u32 sk_pacing_status;
};

struct inet_sock {
    struct sock sk;
    __u8 tos;
};

struct ack_sample {
    __u32 pkts_acked;
    __s32 rtt_us;
    __u32 in_flight;
};

struct tcp_congestion_ops {
    __u32 (*ssthresh)(struct sock *sk);
    void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
    void (*set_state)(struct sock *sk, __u8 new_state);
    void (*cwnd_event)(struct sock *sk, int event);
    void (*in_ack_event)(struct sock *sk, __u32 flags);
    void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
    __u32 (*undo_cwnd)(struct sock *sk);
    void (*init)(struct sock *sk);
    __u32 flags;
    char name[16];
};

struct inet_connection_sock {
    struct inet_sock icsk_inet;
    const struct tcp_congestion_ops *icsk_ca_ops;
    struct {
        __u8 pending;
    } icsk_ack;
    __u64 icsk_ca_priv[13];
};

struct tcp_sock {
    struct inet_connection_sock inet_conn;
    __u32 rcv_nxt, snd_nxt, snd_una;
    __u32 srtt_us;
    __u32 snd_ssthresh, snd_cwnd, snd_cwnd_cnt, snd_cwnd_clamp;
    __u32 max_packets_out;
    __u32 delivered, delivered_ce;
    __u32 total_retrans;
    __u8 ecn_flags;
    __u8 is_cwnd_limited : 1;
};

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
};

struct bpf_iter__tcp {
    struct bpf_iter_meta *meta;
    struct sock_common *sk_common;
};

#pragma clang attribute pop

/* Part of the kernel's stable interface: equal in all kernels. */
struct __sk_buff {
    __u32 len, pkt_type, mark, queue_mapping, protocol;
    __u32 vlan_present, vlan_tci, vlan_proto, priority;
    __u32 ingress_ifindex, ifindex, tc_index;
    __u32 cb[5];
    __u32 hash, tc_classid, data, data_end, napi_id;
    __u32 family, remote_ip4, local_ip4;
    __u32 remote_ip6[4], local_ip6[4];
    __u32 remote_port, local_port;
    __u32 data_meta;
    __u64 flow_keys;
    __u64 tstamp;
    __u32 wire_len, gso_segs;
    __u64 sk;
    __u32 gso_size;
};

enum { AF_INET = 2, AF_INET6 = 10 };
enum { TCP_CLOSE = 7, TCP_LISTEN = 10 };

#endif
