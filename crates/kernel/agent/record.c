// SPDX-License-Identifier: Apache-2.0
/*
 * Samples of the state of a host's sending connections (TCP_INFO) at equal intervals. The host keeps them until its
 * report, and then writes each as a line on the console, which src/record.rs parses:
 *     tcp FLOW AT CWND SSTHRESH RTT PACING DELIVERED CA_STATE
 * Times are guest times in nanoseconds; the other fields are in the kernel's units.
 */
#include "agent.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The most samples of a host. Beyond them every second time is dropped, and the interval doubles. */
enum { MOST = 1 << 18, FIN_WAIT2 = 5, TIME_WAIT = 6, CLOSED = 7, CHUNK = 2048 };

struct sample {
    uint64_t at, pacing;
    uint32_t flow, cwnd, ssthresh, rtt, delivered;
    uint8_t ca_state;
};

static struct sample *samples;
static size_t count, room;
static uint64_t begin, interval, next = UINT64_MAX;

void read_record(const struct order *order, void *unused)
{
    (void)unused;
    if (!is(order, "record", 3))
        return;
    begin = strtoull(order->word[1], NULL, 10);
    interval = strtoull(order->word[2], NULL, 10);
    next = begin + interval;
}

void acknowledge_record(const struct order *order, void *unused)
{
    (void)unused;
    if (is(order, "record", 3))
        printf("records every=%s\n", order->word[2]);
}

uint64_t record_due(void)
{
    return next;
}

void record(uint64_t at, uint32_t flow, int s)
{
    struct tcp_info info = { 0 };
    socklen_t length = sizeof info;
    struct sample *sample;
    if (getsockopt(s, IPPROTO_TCP, TCP_INFO, &info, &length))
        return;
    /* All data and the end of the stream are acknowledged. */
    if (info.tcpi_state >= FIN_WAIT2 && info.tcpi_state <= CLOSED)
        return;
    if (count == room) {
        room = room ? 2 * room : 1024;
        samples = realloc(samples, room * sizeof *samples);
        if (!samples)
            fail("no memory for %zu samples", room);
    }
    sample = &samples[count++];
    sample->at = at;
    sample->flow = flow;
    sample->cwnd = info.tcpi_snd_cwnd;
    sample->ssthresh = info.tcpi_snd_ssthresh;
    sample->rtt = info.tcpi_rtt;
    sample->pacing = info.tcpi_pacing_rate;
    sample->delivered = info.tcpi_delivered;
    sample->ca_state = info.tcpi_ca_state;
}

void end_record(uint64_t at)
{
    size_t from, to = 0;
    if (count > MOST) {
        for (from = 0; from < count; from++)
            if ((samples[from].at - begin) / interval % 2 == 0)
                samples[to++] = samples[from];
        count = to;
        interval *= 2;
    }
    next = begin + ((at - begin) / interval + 1) * interval;
}

void report_record(void)
{
    char text[CHUNK];
    size_t i, used = 0;
    for (i = 0; i < count; i++) {
        const struct sample *s = &samples[i];
        used += snprintf(text + used, sizeof text - used, "tcp %u %llu %u %u %u %llu %u %u\n", s->flow,
            (unsigned long long)s->at, s->cwnd, s->ssthresh, s->rtt, (unsigned long long)s->pacing, s->delivered,
            s->ca_state);
        /* Several hosts write to the console: only whole lines. */
        if (i + 1 == count || used > sizeof text - 128) {
            if (write(1, text, used) != (ssize_t)used)
                fail("the console takes no samples");
            used = 0;
        }
    }
}
