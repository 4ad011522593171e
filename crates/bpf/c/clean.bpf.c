// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CLEAN on a Linux machine in the path: three programs for network devices (tc, clsact). `clean_edge` makes packets
 * ECN-capable where they enter the network. At the last hop, `clean_data` counts and clears the marks of packets to
 * receivers, and `clean_acks` reduces the window in packets from receivers. clean_flow_math.h has the arithmetic.
 * Packets of a flow whose SYNs were not both seen, packets with numbers outside of the window, and packets that are not
 * complete TCP packets, pass unchanged and are counted.
 *
 * Two processors may handle data and acknowledgements of one flow at the same time, without a lock. Every field of a
 * flow is a word. Whatever the fields hold, no window is enlarged or set to zero. A lost update means that a packet is
 * not counted.
 */
#include "packet.h"

#define CLEAN_FLOW_SEGMENT on_segment
struct clean_flow;
struct clean_settings;
struct clean_data;
int on_segment(struct clean_flow *f, struct clean_settings *s, struct clean_data *d);

#include "clean_settings.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Lets the next program decide about the packet. */
enum { CONTINUE = -1 };

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct settings);
} settings SEC(".maps");

/* The flow cache; the least recently used flow is evicted for a new one. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 65536);
    __type(key, struct flow_key);
    __type(value, struct flow);
} flows SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, COUNTERS);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

/* Data segments of known flows that have passed the device, and how many carried CE; modulo 2^32. */
struct port {
    __u32 packets, marked;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct port);
} ports SEC(".maps");

/* The model of the shaper: the time at which it will have sent all packets that it holds. */
struct shaper {
    struct bpf_spin_lock lock;
    __u64 busy_until;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct shaper);
} shapers SEC(".maps");

static __always_inline void count(enum counter which, __u64 more)
{
    __u32 key = which;
    __u64 *counter = bpf_map_lookup_elem(&counters, &key);
    if (counter)
        *counter += more;
}

/* Records a SYN. A SYN without ACK begins a handshake; one with ACK has to acknowledge the other end's. Returns 1 for a
 * new SYN, 0 for a repeated one, and -1 for one that does not match. */
static __always_inline int record(struct handshake *h, const struct packet *p, __u64 now, __u32 scale, __u32 which)
{
    __u32 is_sender = which == SYN_OF_SENDER, isn = is_sender ? h->sender_isn : h->receiver_isn;
    if ((h->syns & which) && isn == p->sequence)
        return 0;
    if (!(p->flags & TCP_ACK))
        *h = (struct handshake){ .time = now };
    else if (h->syns != (which ^ SYN_OF_BOTH) || p->ack != (is_sender ? h->receiver_isn : h->sender_isn) + 1)
        return -1;
    if (is_sender) {
        h->sender_isn = p->sequence;
        h->sender_scale = scale;
    } else {
        h->receiver_isn = p->sequence;
        h->receiver_scale = scale;
    }
    h->syns |= which;
    return 1;
}

/* Processes the SYN of one end. Returns whether it is of the flow's connection. */
static __always_inline int on_syn(struct flow *f, const struct clean_settings *s, const struct packet *p, __u64 now,
                                  __u32 scale, __u32 which)
{
    __u32 is_sender = which == SYN_OF_SENDER, isn = is_sender ? f->open.sender_isn : f->open.receiver_isn;
    int is_other = f->open.syns == SYN_OF_BOTH && p->sequence != isn;
    int is_new = record(is_other ? &f->next : &f->open, p, now, scale, which);
    if (is_other || is_new < 0)
        return 0;
    if (is_new && (is_sender || !(p->flags & TCP_ACK))) {
        /* The answer to the receiver's SYN ends the measurement that the SYN began. */
        __u64 syn_at = f->clean.rtt;
        __u32 rtt_state = p->flags & TCP_ACK ? f->clean.rtt_state : CLEAN_RTT_UNKNOWN;
        clean_flow_begin(&f->clean, s, now, p->sequence + 1);
        f->clean.rtt = syn_at;
        f->clean.rtt_state = rtt_state;
    }
    if (is_sender)
        clean_flow_sender_syn(&f->clean, now);
    else if (!f->clean.mss)
        clean_flow_syn(&f->clean, now);
    return 1;
}

/* Whether a packet after the SYNs is of the flow's connection. The next connection replaces it when its handshake is
 * complete, with matching numbers, and no packet of the old connection has passed for a time. */
static __always_inline int is_of(struct flow *f, const struct clean_settings *s, const struct packet *p, __u64 now,
                                 __u32 which)
{
    struct handshake *h = &f->next;
    __u32 is_sender = which == SYN_OF_SENDER;
    int is_accepted = clean_flow_accepts(&f->clean, is_sender ? p->sequence + p->payload : p->ack);
    if (f->open.syns != SYN_OF_BOTH)
        return 0;
    if (h->syns == SYN_OF_BOTH && !h->is_complete && (p->flags & (TCP_ACK | TCP_RST)) == TCP_ACK &&
        p->sequence == (is_sender ? h->sender_isn : h->receiver_isn) + 1 &&
        p->ack == (is_sender ? h->receiver_isn : h->sender_isn) + 1) {
        h->is_complete = 1;
        h->time = now - h->time;
        /* Another scale within the window of the old connection: the unit of windows is not known. */
        if (is_accepted && h->receiver_scale != f->open.receiver_scale)
            f->open.syns = 0;
    }
    if (h->is_complete && now > f->clean.last_packet + RECENT_NS) {
        f->open = *h;
        h->syns = h->is_complete = 0;
        f->bytes = f->data = f->marked = f->reduced = 0;
        clean_flow_begin(&f->clean, s, now, f->open.sender_isn + 1);
        f->clean.rtt = f->open.time;
        f->clean.rtt_state = CLEAN_RTT_KNOWN;
        return 1;
    }
    return is_accepted && f->open.syns == SYN_OF_BOTH;
}

/* The flow of a SYN, which is created if it is new. With a stack of its own, as a new flow is large. */
static __attribute__((noinline)) struct flow *flow_of_syn(const struct flow_key *key)
{
    struct flow *flow = bpf_map_lookup_elem(&flows, key);
    if (!flow) {
        struct flow new = {};
        bpf_map_update_elem(&flows, key, &new, BPF_NOEXIST);
        flow = bpf_map_lookup_elem(&flows, key);
        if (!flow)
            count(NO_ROOM, 1);
    }
    return flow;
}

/* Whether the model of the shaper holds more than its threshold, with this packet. */
static __always_inline __u32 is_queued(const struct settings *s, __u32 bytes, __u64 now)
{
    __u32 key = 0;
    struct shaper *shaper = bpf_map_lookup_elem(&shapers, &key);
    __u64 time, waits, most;
    if (!s->shaper_bps || !shaper)
        return 0;
    count(SHAPED_BYTES, bytes);
    time = (__u64)bytes * 8 * 1000000000 / s->shaper_bps;
    most = clean_least(s->shaper_mark_bytes, 1ull << 30) * 8 * 1000000000 / s->shaper_bps;
    bpf_spin_lock(&shaper->lock);
    shaper->busy_until = clean_most(shaper->busy_until, now) + time;
    waits = shaper->busy_until - now;
    bpf_spin_unlock(&shaper->lock);
    return waits > most;
}

/* At the edge: makes TCP packets ECN-capable. */
SEC("tc")
int clean_edge(struct __sk_buff *skb)
{
    struct packet p = {};
    if (read_packet(skb, &p)) {
        count(OTHER, 1);
    } else if (p.ecn == ECN_NOT_ECT) {
        if (set_ecn(skb, &p, ECN_ECT0))
            count(FAILED, 1);
        else
            count(MADE_ECT, 1);
    }
    return CONTINUE;
}

/* The verifier checks a function that is not static only once, instead of in every state of its callers. */

/* The window scale in the options of a SYN, 0 to 14; NO_SCALE if there is none. */
__attribute__((noinline)) int scale_of(struct __sk_buff *skb, __u32 at, __u32 end)
{
    __u32 step;
    for (step = 0; step < MAX_OPTIONS && at < end; step++) {
        __u8 option[3] = {};
        if (bpf_skb_load_bytes(skb, at, option, 1) || option[0] == OPTION_END)
            break;
        if (option[0] == OPTION_NOP) {
            at++;
            continue;
        }
        if (at + 2 > end || bpf_skb_load_bytes(skb, at, option, 2) || option[1] < 2)
            break;
        if (option[0] == OPTION_SCALE && option[1] == 3 && at + 3 <= end && !bpf_skb_load_bytes(skb, at, option, 3))
            return option[2] < CLEAN_MAX_SCALE ? option[2] : CLEAN_MAX_SCALE;
        at += option[1];
    }
    return NO_SCALE;
}

/* Updates a flow for one data segment. */
__attribute__((noinline)) int on_segment(struct clean_flow *f, struct clean_settings *s, struct clean_data *d)
{
    if (f && s && d)
        clean_flow_segment(f, s, d);
    return 0;
}

/* Updates a flow for a data packet or a burst. */
__attribute__((noinline)) int on_data(struct flow *f, struct settings *s, struct clean_burst *b)
{
    if (!f || !s || !b)
        return 0;
    clean_flow_touch(&f->clean, &s->clean, b->now, b->sequence);
    if (b->payload) {
        clean_flow_data(&f->clean, &s->clean, b);
        f->bytes += b->payload;
        f->data += b->segments;
        f->marked += b->marked ? b->segments : 0;
    }
    return 0;
}

/* The reduced window of an acknowledgement, in the units of its header. */
__attribute__((noinline)) int window_of(struct flow *f, struct settings *s, struct clean_ack *a)
{
    __u32 window;
    if (!f || !s || !a)
        return -1;
    clean_flow_touch(&f->clean, &s->clean, a->now, a->ack);
    window = clean_flow_window(&f->clean, &s->clean, a->ack, a->window, a->scale);
    f->reduced += window < a->window;
    return window;
}

/* A packet at the last hop, and its flow if it is known. */
struct passing {
    struct packet p;
    struct settings *settings;
    struct flow *flow;
    __u64 now;
};

/* Reads a packet and finds its flow; a SYN creates the flow. `which` names the end that sent the packet. */
static __always_inline int find(struct __sk_buff *skb, struct passing *of, __u32 which)
{
    struct packet *p = &of->p;
    struct flow_key key = {};
    if (read_packet(skb, p)) {
        count(OTHER, 1);
        return -1;
    }
    key = which == SYN_OF_SENDER ? (struct flow_key){ p->from, p->to, p->from_port, p->to_port }
                                 : (struct flow_key){ p->to, p->from, p->to_port, p->from_port };
    if (p->flags & TCP_SYN) {
        __u32 scale = scale_of(skb, p->tcp + TCP_HEADER, p->tcp + TCP_HEADER + p->options);
        of->flow = flow_of_syn(&key);
        if (of->flow && on_syn(of->flow, &of->settings->clean, p, of->now, scale, which))
            return 0;
    } else {
        of->flow = bpf_map_lookup_elem(&flows, &key);
        if (of->flow && is_of(of->flow, &of->settings->clean, p, of->now, which))
            return 0;
    }
    count(UNKNOWN, 1);
    return -1;
}

/* Packets to receivers: counts and clears marks. */
SEC("tc")
int clean_data(struct __sk_buff *skb)
{
    struct passing of = { .now = bpf_ktime_get_ns() };
    struct clean_burst burst = {};
    struct port *port;
    __u32 zero = 0, queued;
    of.settings = bpf_map_lookup_elem(&settings, &zero);
    if (!of.settings)
        return CONTINUE;
    /* wire_len counts the headers of all segments of a burst. */
    queued = is_queued(of.settings, clean_most(skb->wire_len, skb->len), of.now);
    if (find(skb, &of, SYN_OF_SENDER))
        return CONTINUE;
    burst = (struct clean_burst){ of.now, of.p.sequence, of.p.payload, of.p.segments, of.p.segment_bytes, 0, 0, 0 };
    burst.marked = queued || of.p.ecn == ECN_CE;
    port = bpf_map_lookup_elem(&ports, &zero);
    if (port && of.p.payload) {
        burst.port_packets = port->packets;
        burst.port_marked = port->marked;
        /* Several processors may send at once. */
        __sync_fetch_and_add(&port->packets, of.p.segments);
        __sync_fetch_and_add(&port->marked, burst.marked ? of.p.segments : 0);
    }
    if (!(of.p.flags & TCP_SYN))
        on_data(of.flow, of.settings, &burst);
    if (of.p.flags & TCP_ACK)
        clean_flow_answered(&of.flow->clean, of.now);
    if (of.p.payload) {
        count(DATA, of.p.segments);
        count(MARKED, burst.marked ? of.p.segments : 0);
    }
    if (of.p.ecn != ECN_NOT_ECT)
        count(set_ecn(skb, &of.p, ECN_NOT_ECT) ? FAILED : CLEARED, 1);
    return CONTINUE;
}

/* Packets from receivers: reduces windows. */
SEC("tc")
int clean_acks(struct __sk_buff *skb)
{
    struct passing of = { .now = bpf_ktime_get_ns() };
    struct clean_ack ack = {};
    __u32 zero = 0;
    int window;
    of.settings = bpf_map_lookup_elem(&settings, &zero);
    if (!of.settings || find(skb, &of, SYN_OF_RECEIVER))
        return CONTINUE;
    if (of.flow->open.syns != SYN_OF_BOTH || (of.p.flags & (TCP_ACK | TCP_RST)) != TCP_ACK)
        return CONTINUE;
    ack = (struct clean_ack){ of.now, of.p.ack, bpf_ntohs(of.p.window), 0 };
    /* Windows are scaled only if both SYNs have a scale, and never in a SYN (RFC 7323, 2.2). */
    if (!(of.p.flags & TCP_SYN) && of.flow->open.sender_scale != NO_SCALE &&
        of.flow->open.receiver_scale != NO_SCALE)
        ack.scale = of.flow->open.receiver_scale;
    window = window_of(of.flow, of.settings, &ack);
    count(ACKS, 1);
    if (window >= 0 && (__u32)window < ack.window)
        count(set_window(skb, &of.p, bpf_htons((__u16)window)) ? FAILED : REDUCED, 1);
    return CONTINUE;
}
