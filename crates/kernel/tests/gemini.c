// SPDX-License-Identifier: Apache-2.0
/* Reads lines of vectors (tests/gemini.rs says what they are) and writes them with the results of gemini.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemini.h"

enum { WORDS = 16 };
/* Sequence numbers begin here, so that they wrap early. */
#define FIRST 0xffff0000u

static struct gemini_config config;
static struct gemini_window window;
static struct gemini connection;

static void print_state(void)
{
    printf(" %u %u %u %u %u\n", window.segments, window.ssthresh, connection.alpha, connection.factor, connection.step);
}

static void on_ack(const gemini_u64 *v)
{
    gemini_u32 una = FIRST + (gemini_u32)v[0], next = FIRST + (gemini_u32)v[1], marked = (gemini_u32)v[3];
    gemini_sample(&connection, &config, v[4]);
    gemini_count(&connection, &config, una, next, (gemini_u32)v[2], marked);
    if ((marked && config.uses_marks) || connection.congested_wan) {
        if (gemini_may_reduce(&connection, una))
            gemini_answer(&connection, &config, &window, marked != 0, next);
    } else {
        gemini_increase(&connection, &window, (gemini_u32)v[2]);
    }
}

static void on_loss(const gemini_u64 *v)
{
    window.ssthresh = gemini_loss(&connection, window.segments, FIRST + (gemini_u32)v[0]);
    window.segments = window.ssthresh;
    window.progress = 0;
}

static void begin(const gemini_u64 *v)
{
    config = (struct gemini_config){ v[0], v[1], v[2], (gemini_u32)v[3], (gemini_u32)v[4], (gemini_u32)v[5],
        (gemini_u32)v[6], (gemini_u32)v[7], (gemini_u32)v[8] };
    window = (struct gemini_window){ 0, (gemini_u32)v[9], ~0u };
    gemini_begin(&connection, FIRST);
}

/* The numbers of a line, of which the first `inputs` are written as they are. */
static int is(const char *name, const char *wanted, const gemini_u64 *v, int inputs)
{
    int i;
    if (strcmp(name, wanted))
        return 0;
    printf("%s", name);
    for (i = 0; i < inputs; i++)
        printf(" %llu", v[i]);
    return 1;
}

static void answer(const char *name, const gemini_u64 *v)
{
    struct gemini_window w = { v[1], (gemini_u32)v[0], 0 };
    if (is(name, "bdp", v, 2)) {
        printf(" %llu\n", gemini_bdp(v[0], v[1]));
    } else if (is(name, "factor", v, 2)) {
        printf(" %u\n", gemini_factor(v[0], v[1]));
    } else if (is(name, "step", v, 2)) {
        printf(" %u\n", gemini_step((gemini_u32)v[0], v[1]));
    } else if (is(name, "f_dcn", v, 2)) {
        printf(" %u\n", gemini_f_dcn((gemini_u32)v[0], (gemini_u32)v[1]));
    } else if (is(name, "alpha", v, 4)) {
        printf(" %u\n", gemini_alpha((gemini_u32)v[0], (gemini_u32)v[1], (gemini_u32)v[2], (gemini_u32)v[3]));
    } else if (is(name, "reduce", v, 3)) {
        gemini_reduce(&w, (gemini_u32)v[2]);
        printf(" %u %llu\n", w.segments, w.progress);
    } else if (is(name, "grow", v, 4)) {
        gemini_grow(&w, (gemini_u32)v[2], (gemini_u32)v[3]);
        printf(" %u %llu\n", w.segments, w.progress);
    } else if (is(name, "connection", v, 10)) {
        begin(v);
        putchar('\n');
    } else if (is(name, "ack", v, 5)) {
        on_ack(v);
        print_state();
    } else if (is(name, "loss", v, 1)) {
        on_loss(v);
        print_state();
    }
}

int main(void)
{
    static char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        gemini_u64 v[WORDS] = { 0 };
        char *name = strtok(line, " \n"), *word;
        int count = 0;
        while (count < WORDS && (word = strtok(NULL, " \n")))
            v[count++] = strtoull(word, NULL, 10);
        if (name)
            answer(name, v);
    }
    return 0;
}
