/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs of CLEAN and the command that attaches them both know: crates/bpf/src/clean/ has the same. */
#ifndef SHALLOP_CLEAN_SETTINGS_H
#define SHALLOP_CLEAN_SETTINGS_H

#include "clean_flow_math.h"

/* What an operator sets. */
struct settings {
    struct clean_settings clean;
    /* The shaper of this machine behind the programs: bits a second, zero for none; it marks above so many bytes. */
    __u64 shaper_bps;
    __u64 shaper_mark_bytes;
};

/* A flow: from its sender to its receiver, ports in the byte order of the network. */
struct flow_key {
    struct end sender, receiver;
    __u16 sender_port, receiver_port;
};

/* A SYN without a window scale. */
enum { NO_SCALE = 255 };

/* SYNs that have been seen. */
enum { SYN_OF_SENDER = 1, SYN_OF_RECEIVER = 2, SYN_OF_BOTH = 3 };

/* What is known of a flow. */
struct flow {
    struct clean_flow clean;
    __u64 bytes;
    __u32 data, marked, reduced, syns;
    __u32 sender_isn, receiver_isn;
    /* The window scales of their SYNs. */
    __u32 sender_scale, receiver_scale;
};

/* Counters of the programs, in the order of their numbers. */
enum counter {
    MADE_ECT,        /* packets made ECN-capable */
    DATA,            /* segments of data of known flows */
    MARKED,          /* of these, with a mark */
    CLEARED,         /* packets whose bits of ECN were cleared */
    ACKS,            /* packets with an acknowledgement of known flows */
    REDUCED,         /* of these, with a window that was reduced */
    UNKNOWN,         /* packets of TCP whose SYNs were not seen */
    OTHER,           /* packets that are no whole packets of TCP */
    NO_ROOM,         /* flows that could not be kept */
    FAILED,          /* packets that could not be changed */
    SHAPED_BYTES,    /* bytes that passed the model of the shaper */
    COUNTERS,
};

#endif
