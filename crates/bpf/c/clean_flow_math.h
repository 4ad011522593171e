/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A flow at a CLEAN proxy: its window law (clean_math.h), the right edge of the window that its sender was offered, and
 * the packets of its last two round trips. The right edge never moves back: a smaller window takes effect as
 * acknowledgements catch up (RFC 9293, 3.8.6; RFC 7323, 2.4). Data and acknowledgements count within a window of the
 * right edge (RFC 5961). Tests compare every number with crates/proto/src/clean/flow.rs. Units: bytes of the stream
 * modulo 2^32, nanoseconds. Uses no kernel types or functions.
 */
#ifndef SHALLOP_CLEAN_FLOW_MATH_H
#define SHALLOP_CLEAN_FLOW_MATH_H

#include "clean_math.h"

/* The largest window scale (RFC 7323, 2.3). */
#define CLEAN_MAX_SCALE 14
/* The number of segments of a burst that are processed one by one; further ones are counted together. */
#define CLEAN_BURST 64
/* A flow is idle when no data has passed for this many round trips. */
#define CLEAN_IDLE_ROUND_TRIPS 2
#define CLEAN_NO_LIMIT CLEAN_MAX_WINDOW
/* The largest window of a SYN, which has no scale: numbers at most this far from the right edge are acceptable. */
#define CLEAN_UNSCALED_WINDOW 65535

/* The state of measuring the round-trip time in the handshake: from the sender's SYN, or from the receiver's if that is
 * the first one seen, to the first data. */
enum { CLEAN_RTT_UNKNOWN, CLEAN_RTT_WAITS, CLEAN_RTT_KNOWN, CLEAN_RTT_BEGUN };

/* The settings of an operator. */
struct clean_settings {
    struct clean_config law;
    clean_u64 idle_ns;       /* a flow without packets for this long restarts */
    clean_u32 segment_bytes; /* the size of segments before the first data */
    clean_u32 validate;      /* bounds the growth of a window by its use */
};

/* The state of a flow. */
struct clean_flow {
    struct clean law;
    clean_u64 last_packet, last_data, round_start;
    /* The round-trip time; in the states CLEAN_RTT_WAITS and CLEAN_RTT_BEGUN, the time of the first SYN. */
    clean_u64 rtt;
    clean_u32 rtt_state;
    /* The first byte that the sender may not send, and whether it is known. */
    clean_u32 right_edge, has_edge;
    /* The largest payload of a segment so far; zero before the first data. */
    clean_u32 mss;
    /* Data packets of this round trip, and of the one before. */
    clean_u32 packets, packets_before;
    /* The largest window that the receiver has offered, in bytes. */
    clean_u32 max_window;
};

/* Passing data: one segment, or a burst of segmentation offload. */
struct clean_burst {
    clean_u64 now;
    clean_u32 sequence, payload, segments, segment_bytes, marked;
    clean_u32 port_packets, port_marked; /* of the port before this burst */
};

/* A passing acknowledgement, with its window in units of 2^scale bytes. */
struct clean_ack {
    clean_u64 now;
    clean_u32 ack, window, scale;
};

/* Starts a flow whose next byte has this sequence number. */
static inline void clean_flow_begin(struct clean_flow *f, const struct clean_settings *s, clean_u64 now, clean_u32 next)
{
    clean_begin(&f->law, &s->law, next);
    f->last_packet = f->last_data = f->round_start = now;
    f->rtt = 0;
    f->rtt_state = CLEAN_RTT_UNKNOWN;
    f->right_edge = f->has_edge = f->mss = 0;
    f->packets = f->packets_before = f->max_window = 0;
}

/* Whether data that ends at this sequence number, or an acknowledgement of it, is within a window of the right edge. */
static inline int clean_flow_accepts(const struct clean_flow *f, clean_u32 end)
{
    clean_u32 most = (clean_u32)clean_most(f->max_window, CLEAN_UNSCALED_WINDOW);
    return !f->has_edge || !f->max_window || end - f->right_edge + most <= 2 * most;
}

/* Notes an accepted packet. After an idle time the flow restarts; its sender keeps the offered right edge. */
static inline void clean_flow_touch(struct clean_flow *f, const struct clean_settings *s, clean_u64 now, clean_u32 next)
{
    if (now > f->last_packet && now - f->last_packet > s->idle_ns) {
        clean_u32 edge = f->right_edge, has_edge = f->has_edge, mss = f->mss, max_window = f->max_window;
        clean_flow_begin(f, s, now, next);
        f->max_window = max_window;
        f->right_edge = edge;
        f->has_edge = has_edge;
        f->mss = mss;
    }
    f->last_packet = now;
}

/* Notes the sender's SYN. A repeated one does not count. */
static inline void clean_flow_sender_syn(struct clean_flow *f, clean_u64 now)
{
    if (f->mss || f->has_edge || f->rtt_state != CLEAN_RTT_UNKNOWN)
        return;
    f->rtt_state = CLEAN_RTT_BEGUN;
    f->rtt = now;
}

/* Notes the receiver's SYN. After a repeated SYN, the sender's answer does not measure the round trip (Karn). */
static inline void clean_flow_syn(struct clean_flow *f, clean_u64 now)
{
    clean_u32 begun = f->rtt_state == CLEAN_RTT_BEGUN;
    clean_u32 first = !f->mss && !f->has_edge && (begun || f->rtt_state == CLEAN_RTT_UNKNOWN);
    f->rtt_state = first ? CLEAN_RTT_WAITS : CLEAN_RTT_UNKNOWN;
    f->rtt = begun ? f->rtt : now;
}

/* Notes the sender's answer to the receiver's SYN, which measures the round trip. */
static inline void clean_flow_answered(struct clean_flow *f, clean_u64 now)
{
    if (f->rtt_state != CLEAN_RTT_WAITS)
        return;
    f->rtt = now > f->rtt ? now - f->rtt : 0;
    f->rtt_state = CLEAN_RTT_KNOWN;
    f->round_start = now;
}

/* Moves the right edge forward. */
static inline void clean_flow_extend(struct clean_flow *f, clean_u32 edge)
{
    if (!f->has_edge || clean_after(edge, f->right_edge))
        f->right_edge = edge;
    f->has_edge = 1;
}

/* Counts a data packet in this round trip. Returns the bound of the window's growth. */
static inline clean_u64 clean_flow_limit(struct clean_flow *f, const struct clean_settings *s)
{
    if (!s->validate || f->rtt_state != CLEAN_RTT_KNOWN)
        return CLEAN_NO_LIMIT;
    f->packets += f->packets != ~0u;
    return (2 * ((clean_u64)f->packets + f->packets_before) + s->law.initial_window) * CLEAN_SEGMENT;
}

/* Begins another round trip if the last one is over. */
static inline void clean_flow_round(struct clean_flow *f, const struct clean_settings *s, clean_u64 now)
{
    clean_u64 idle = now > f->last_data ? now - f->last_data : 0;
    clean_u64 elapsed = now > f->round_start ? now - f->round_start : 0;
    if (!s->validate || f->rtt_state != CLEAN_RTT_KNOWN)
        return;
    if (idle > f->rtt * CLEAN_IDLE_ROUND_TRIPS)
        clean_on_idle(&f->law, idle);
    if (elapsed < f->rtt)
        return;
    f->packets_before = elapsed >= f->rtt * 2 ? 0 : f->packets;
    f->packets = 0;
    f->round_start = now;
}

/* Updates the flow for one data segment. */
static inline void clean_flow_segment(struct clean_flow *f, const struct clean_settings *s, struct clean_data *d)
{
    d->growth_limit = clean_flow_limit(f, s);
    clean_on_data(&f->law, &s->law, d);
}

/* The verifier checks the body of a loop once for each iteration, unless the body is a function of its own. */
#ifndef CLEAN_FLOW_SEGMENT
#define CLEAN_FLOW_SEGMENT clean_flow_segment
#endif

/* Updates the flow for passing data, after clean_flow_touch. */
static inline void clean_flow_data(struct clean_flow *f, struct clean_settings *s, const struct clean_burst *b)
{
    struct clean_data d = { b->now, 0, b->sequence, 0, 0, b->marked, b->port_packets, b->port_marked };
    clean_u32 at;
    f->mss = (clean_u32)clean_most(f->mss, b->segment_bytes);
    /* The sender was allowed to send these bytes, perhaps by a window from before the proxy saw the flow. */
    clean_flow_extend(f, b->sequence + b->payload);
    clean_flow_answered(f, b->now);
    clean_flow_round(f, s, b->now);
    f->last_data = b->now;
    d.edge = f->right_edge;
    d.segment_bytes = f->mss;
    for (at = 0; at < CLEAN_BURST; at++) {
        if (at >= b->segments)
            return;
        d.port_packets++;
        d.port_marked += b->marked;
        CLEAN_FLOW_SEGMENT(f, s, &d);
        d.sequence += b->segment_bytes;
    }
    f->packets += b->segments - CLEAN_BURST;
    if (s->law.root)
        return;
    f->law.packets += b->segments - CLEAN_BURST;
    f->law.marked += b->marked ? b->segments - CLEAN_BURST : 0;
}

/* The window of a passing acknowledgement in units of 2^scale bytes, reduced to the window that the law allows. */
static inline clean_u32 clean_flow_window(struct clean_flow *f, const struct clean_settings *s, clean_u32 ack,
                                          clean_u32 window, clean_u32 scale)
{
    clean_u32 shift = (clean_u32)clean_least(scale, CLEAN_MAX_SCALE), unit = 1u << shift, edge, units;
    clean_u64 bytes = clean_bytes(&f->law, f->mss ? f->mss : s->segment_bytes);
    /* Rounded up to whole units, because a window below one unit would become zero. */
    bytes = clean_least((bytes + unit - 1) >> shift << shift, 1u << 30);
    f->max_window = (clean_u32)clean_most(f->max_window, window << shift);
    edge = ack + (clean_u32)bytes;
    if (f->has_edge && clean_after(f->right_edge, edge))
        edge = f->right_edge;
    units = (clean_u32)clean_least((edge - ack) >> shift, 0xffff);
    if (window < units)
        units = window;
    clean_flow_extend(f, ack + (units << shift));
    return units;
}

#endif
