/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structs that the programs of CLEAN share with the command that attaches them (crates/bpf/src/clean.rs). */
#ifndef SHALLOP_CLEAN_SETTINGS_H
#define SHALLOP_CLEAN_SETTINGS_H

#include "clean_flow_math.h"

/* The settings of an operator. */
struct settings {
    struct clean_settings clean;
    /* This machine's own shaper behind the programs: its rate in bit/s, zero for none, and its marking threshold. */
    __u64 shaper_bps;
    __u64 shaper_mark_bytes;
};

/* The key of a flow: sender and receiver, ports in network byte order. */
struct flow_key {
    struct end sender, receiver;
    __u16 sender_port, receiver_port;
};

/* The scale of a SYN without the window scale option. */
enum { NO_SCALE = 255 };

/* Bits for the SYNs that were seen. */
enum { SYN_OF_SENDER = 1, SYN_OF_RECEIVER = 2, SYN_OF_BOTH = 3 };

/* The SYNs of a connection, with their initial sequence numbers and window scales. */
struct handshake {
    /* The time of the first SYN; the duration once the handshake is complete. */
    __u64 time;
    __u32 syns, sender_isn, receiver_isn, sender_scale, receiver_scale, is_complete;
};

/* An entry of the flow cache. */
struct flow {
    struct clean_flow clean;
    __u64 bytes;
    __u32 data, marked, reduced, unused;
    /* The connection, and the handshake of a next one between its ports. */
    struct handshake open, next;
};

/* A connection with a packet in this time is not replaced by a new one. */
#define RECENT_NS 1000000000ull

/* Counters of the programs, in the order of their numbers. */
enum counter {
    MADE_ECT,        /* packets made ECN-capable */
    DATA,            /* segments of data of known flows */
    MARKED,          /* marked data segments of known flows */
    CLEARED,         /* packets whose ECN bits were cleared */
    ACKS,            /* acknowledgements of known flows */
    REDUCED,         /* acknowledgements whose window was reduced */
    UNKNOWN,         /* TCP packets whose SYNs were not seen, or with numbers outside of the window */
    OTHER,           /* packets that are not complete TCP packets */
    NO_ROOM,         /* flows for which the cache had no room */
    FAILED,          /* packets that could not be rewritten */
    SHAPED_BYTES,    /* bytes that passed the model of the shaper */
    COUNTERS,
};

#endif
