/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading and rewriting TCP packets over IPv4 and IPv6 that pass a network device. */
#ifndef SHALLOP_PACKET_H
#define SHALLOP_PACKET_H

#include "kernel.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ETH_P_IP bpf_htons(0x0800)
#define ETH_P_IPV6 bpf_htons(0x86dd)
enum { IPPROTO_TCP = 6 };
enum { IPV4_HEADER = 20, IPV6_HEADER = 40, TCP_HEADER = 20 };
/* Selects the fragment offset and the flag "more fragments": fragments are not complete TCP packets. */
#define IPV4_FRAGMENT bpf_htons(0x3fff)
enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };
enum { OPTION_END = 0, OPTION_NOP = 1, OPTION_SCALE = 3, MAX_OPTIONS = 40 };
enum { ECN_MASK = 3, ECN_NOT_ECT = 0, ECN_ECT0 = 2, ECN_CE = 3 };
/* The position of the ECN bits in the second byte of an IPv6 header. */
enum { IPV6_ECN_SHIFT = 4 };

/* The size of the link header in bytes: 14 for Ethernet, 0 for devices without one. Set before loading. */
const volatile __u32 link_header = 14;

/* The address of one end of a connection. */
struct end {
    __u32 address[4];
};

/* A TCP packet, or a burst of several (segmentation offload). */
struct packet {
    struct end from, to;
    __u16 from_port, to_port;
    __u32 tcp; /* offset of the TCP header */
    __u32 is_v6;
    __u32 traffic; /* the byte with the ECN bits: the second byte of the IP header */
    __u32 ecn;
    __u32 sequence, ack, flags, options;
    __u16 window; /* in network byte order */
    __u16 unused;
    __u32 payload, segments, segment_bytes;
};

struct ipv4_header {
    __u8 version, traffic;
    __be16 length, id, fragment;
    __u8 ttl, protocol;
    __be16 checksum;
    __be32 from, to;
};

struct ipv6_header {
    __u8 version, traffic;
    __be16 label, length;
    __u8 next, hops;
    __u32 from[4], to[4];
};

struct tcp_header {
    __be16 from, to;
    __be32 sequence, ack;
    __u8 offset, flags;
    __be16 window, checksum, urgent;
};

/* Reads the IP header. Returns 0 if TCP follows, and sets the end of the IP packet. */
static __always_inline int read_ip(struct __sk_buff *skb, struct packet *p, __u32 *end)
{
    __u32 at = link_header;
    if (skb->protocol == ETH_P_IP) {
        struct ipv4_header ip;
        __u32 header;
        if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)))
            return -1;
        header = (ip.version & 15) * 4u;
        if (ip.version >> 4 != 4 || header < IPV4_HEADER || ip.protocol != IPPROTO_TCP || (ip.fragment & IPV4_FRAGMENT))
            return -1;
        p->from.address[2] = p->to.address[2] = IPV4_IN_IPV6;
        p->from.address[3] = ip.from;
        p->to.address[3] = ip.to;
        p->traffic = ip.traffic;
        p->ecn = ip.traffic & ECN_MASK;
        p->tcp = at + header;
        /* A burst may be longer than the length field allows, which is then zero. */
        *end = ip.length || !skb->gso_segs ? at + bpf_ntohs(ip.length) : skb->len;
        return 0;
    }
    if (skb->protocol == ETH_P_IPV6) {
        struct ipv6_header ip;
        if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)) || ip.version >> 4 != 6 || ip.next != IPPROTO_TCP)
            return -1;
        __builtin_memcpy(&p->from, ip.from, sizeof(p->from));
        __builtin_memcpy(&p->to, ip.to, sizeof(p->to));
        p->is_v6 = 1;
        p->traffic = ip.traffic;
        p->ecn = ip.traffic >> IPV6_ECN_SHIFT & ECN_MASK;
        p->tcp = at + IPV6_HEADER;
        *end = ip.length || !skb->gso_segs ? p->tcp + bpf_ntohs(ip.length) : skb->len;
        return 0;
    }
    return -1;
}

/* Reads a packet. Returns 0 for a complete TCP packet that is not a fragment. */
static __always_inline int read_packet(struct __sk_buff *skb, struct packet *p)
{
    struct tcp_header tcp;
    __u32 end, header;
    if (read_ip(skb, p, &end) || bpf_skb_load_bytes(skb, p->tcp, &tcp, sizeof(tcp)))
        return -1;
    header = (tcp.offset >> 4) * 4u;
    if (header < TCP_HEADER || end > skb->len || p->tcp + header > end)
        return -1;
    p->from_port = tcp.from;
    p->to_port = tcp.to;
    p->sequence = bpf_ntohl(tcp.sequence);
    p->ack = bpf_ntohl(tcp.ack);
    p->flags = tcp.flags;
    p->window = tcp.window;
    p->options = header - TCP_HEADER;
    p->payload = end - p->tcp - header;
    p->segments = skb->gso_segs ? skb->gso_segs : 1;
    p->segment_bytes = skb->gso_size ? skb->gso_size : p->payload;
    return 0;
}

/* Sets the ECN bits. */
static __always_inline int set_ecn(struct __sk_buff *skb, const struct packet *p, __u32 ecn)
{
    __u32 at = link_header;
    __u8 traffic;
    if (p->is_v6) {
        traffic = (p->traffic & ~(ECN_MASK << IPV6_ECN_SHIFT)) | ecn << IPV6_ECN_SHIFT;
        return bpf_skb_store_bytes(skb, at + 1, &traffic, 1, BPF_F_RECOMPUTE_CSUM);
    }
    traffic = (p->traffic & ~ECN_MASK) | ecn;
    /* Only this byte of its 16-bit word changes, so the other byte does not affect the checksum update. */
    if (bpf_l3_csum_replace(skb, at + 10, bpf_htons(p->traffic), bpf_htons(traffic), 2))
        return -1;
    return bpf_skb_store_bytes(skb, at + 1, &traffic, 1, 0);
}

/* Sets the receive window, in network byte order. */
static __always_inline int set_window(struct __sk_buff *skb, const struct packet *p, __u16 window)
{
    if (bpf_l4_csum_replace(skb, p->tcp + 16, p->window, window, 2))
        return -1;
    return bpf_skb_store_bytes(skb, p->tcp + 14, &window, 2, 0);
}

#endif
