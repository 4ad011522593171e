// SPDX-License-Identifier: Apache-2.0
/*
 * Reads steps and writes what the arithmetic of the programs makes of each: 13 numbers of 64 bits in, of which the
 * first says what to do, and 6 out. tests/twins.rs compares them with the laws of the simulator.
 */
#include <stdio.h>

#include "clean_flow_math.h"
#include "dctcp_math.h"
#include "gemini.h"

typedef unsigned long long u64;
typedef unsigned int u32;

enum { IN = 13, OUT = 6 };
/* Sequence numbers of Gemini begin here, so that they wrap early. */
#define FIRST 0xffff0000u

static struct gemini_config gemini_set;
static struct gemini_window window;
static struct gemini gemini;
static struct clean_config clean_set;
static struct clean flow;
static struct clean_settings settings;
static struct clean_flow passing;

static void tell_window(u64 *out)
{
    out[0] = window.segments;
    out[1] = window.ssthresh;
    out[2] = gemini.alpha;
    out[3] = gemini.factor;
    out[4] = gemini.step;
}

static void ack(const u64 *v, u64 *out)
{
    u32 una = FIRST + (u32)v[0], next = FIRST + (u32)v[1], marked = (u32)v[3];
    gemini_sample(&gemini, &gemini_set, v[4]);
    gemini_count(&gemini, &gemini_set, una, next, (u32)v[2], marked);
    if ((marked && gemini_set.uses_marks) || gemini.congested_wan) {
        if (gemini_may_reduce(&gemini, una))
            gemini_answer(&gemini, &gemini_set, &window, marked != 0, next);
    } else {
        gemini_increase(&gemini, &window, (u32)v[2]);
    }
    tell_window(out);
}

static void lose(const u64 *v, u64 *out)
{
    window.ssthresh = gemini_loss(&gemini, window.segments, FIRST + (u32)v[0]);
    window.segments = window.ssthresh;
    window.progress = 0;
    tell_window(out);
}

static void begin(const u64 *v, u64 *out)
{
    gemini_set = (struct gemini_config){ v[0], v[1], v[2], (u32)v[3], (u32)v[4], (u32)v[5], (u32)v[6], (u32)v[7],
        (u32)v[8] };
    window = (struct gemini_window){ 0, (u32)v[9], ~0u };
    gemini_begin(&gemini, FIRST);
    tell_window(out);
}

static void tell_flow(u64 *out)
{
    out[0] = flow.window;
    out[1] = flow.alpha;
    out[2] = flow.cwr_until;
    out[3] = flow.slow_start;
}

static void tell_passing(u64 *out, u64 window)
{
    out[0] = passing.law.window;
    out[1] = passing.law.alpha;
    out[2] = passing.law.cwr_until;
    out[3] = passing.law.slow_start;
    out[4] = passing.right_edge;
    out[5] = window;
}

static void pass(const u64 *in, u64 *out)
{
    const u64 *v = in + 1;
    u64 window = 0;
    u32 is_syn = in[0] == 34 || in[0] == 35, end = (u32)v[1] + (in[0] == 32 ? (u32)v[2] : 0);
    if (in[0] == 30) {
        struct clean_config law = { (u32)v[0], (u32)v[1], (u32)v[2], (u32)v[3], (u32)v[4], (u32)v[5],
            (u32)v[6] };
        settings = (struct clean_settings){ law, v[7], (u32)v[9], (u32)v[8] };
        clean_flow_begin(&passing, &settings, v[10], (u32)v[11]);
    } else if ((is_syn && passing.mss) || (in[0] != 35 && !clean_flow_accepts(&passing, end))) {
        /* A SYN after data, or a packet outside of the window: changes nothing. */
        window = in[0] == 33 || in[0] == 34 ? v[2] : 0;
    } else if (in[0] == 32) {
        struct clean_burst burst = { v[0], (u32)v[1], (u32)v[2], (u32)v[3], (u32)v[4], (u32)v[5],
            (u32)v[6], (u32)v[7] };
        clean_flow_touch(&passing, &settings, v[0], (u32)v[1]);
        clean_flow_answered(&passing, v[0]);
        clean_flow_data(&passing, &settings, &burst);
    } else {
        clean_flow_touch(&passing, &settings, v[0], (u32)v[1]);
        if (in[0] == 35)
            clean_flow_sender_syn(&passing, v[0]);
        if (in[0] == 34)
            clean_flow_syn(&passing, v[0]);
        if (in[0] != 35)
            window = clean_flow_window(&passing, &settings, (u32)v[1], (u32)v[2], (u32)v[3]);
    }
    tell_passing(out, window);
}

static void formula(const u64 *in, u64 *out)
{
    const u64 *v = in + 1;
    struct gemini_window w = { v[1], (u32)v[0], 0 };
    switch (in[0]) {
    case 0: out[0] = gemini_bdp(v[0], v[1]); break;
    case 1: out[0] = gemini_factor(v[0], v[1]); break;
    case 2: out[0] = gemini_step((u32)v[0], v[1]); break;
    case 3: out[0] = gemini_f_dcn((u32)v[0], (u32)v[1]); break;
    case 4: out[0] = gemini_alpha((u32)v[0], (u32)v[1], (u32)v[2], (u32)v[3]); break;
    case 5: gemini_reduce(&w, (u32)v[2]); break;
    case 6: gemini_grow(&w, (u32)v[2], (u32)v[3]); break;
    case 10: out[0] = dctcp_alpha((u32)v[0], (u32)v[1], (u32)v[2], (u32)v[3]); break;
    case 11: out[0] = dctcp_reduced((u32)v[0], (u32)v[1]); break;
    case 12: out[0] = clean_k((u32)v[0], v[1]); break;
    case 13: out[0] = clean_cubic((u32)v[0], v[1], v[2], clean_ticks(v[3])); break;
    }
    if (in[0] == 5 || in[0] == 6) {
        out[0] = w.segments;
        out[1] = w.progress;
    }
}

int main(void)
{
    u64 in[IN];
    while (fread(in, sizeof in, 1, stdin) == 1) {
        const u64 *v = in + 1;
        u64 out[OUT] = { 0 };
        switch (in[0]) {
        case 7: begin(v, out); break;
        case 8: ack(v, out); break;
        case 9: lose(v, out); break;
        case 20:
            clean_set = (struct clean_config){ (u32)v[0], (u32)v[1], (u32)v[2], (u32)v[3], (u32)v[4], (u32)v[5],
                (u32)v[6] };
            clean_begin(&flow, &clean_set, (u32)v[7]);
            tell_flow(out);
            break;
        case 21: {
            struct clean_data data = { v[0], v[1], (u32)v[2], (u32)v[3], (u32)v[4], (u32)v[5], (u32)v[6], (u32)v[7] };
            clean_on_data(&flow, &clean_set, &data);
            tell_flow(out);
            out[4] = clean_bytes(&flow, (u32)v[4]);
            break;
        }
        case 22:
            clean_on_idle(&flow, v[0]);
            tell_flow(out);
            break;
        case 30: case 32: case 33: case 34: case 35: pass(in, out); break;
        default: formula(in, out);
        }
        if (fwrite(out, sizeof out, 1, stdout) != 1)
            return 1;
    }
    return 0;
}
