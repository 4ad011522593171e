/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the agent have in common. */
#ifndef AGENT_H
#define AGENT_H

#define _GNU_SOURCE
#include <stdint.h>
#include <sys/types.h>

enum { WORDS = 10, LINE = 1024 };

/* A line of the orders, in words. */
struct order {
    int words;
    char *word[WORDS];
    char *rest; /* everything after the second word */
};

/* Reports an error on the console; the owner ends the run then. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Virtual time in nanoseconds. */
uint64_t now(void);

/* Calls visit with each line of the orders; its words are gone after that. */
void each_order(void (*visit)(const struct order *, void *), void *context);

/* Whether this is an order of that name with at least so many words. */
int is(const struct order *order, const char *name, int words);

/* A whole file with a zero after it, and its length; NULL if there is none. */
char *read_file(const char *path, size_t *length);

/* Gives a device its address, without neighbour requests: the network knows every host. */
void set_address(const char *device, const char *address);

/* Writes the counters of this process's network namespace to the console, as those of the host with this address. */
void report(const char *address);

/* Reads whether there is a console, before any host starts. */
void open_console(void);

/* Makes the console this process's input and output, if there is one. */
int attach_console(void);

/* Serves the console, if there is one, and does not return then. */
void serve_console(void);

/* Starts the process that runs the programs of the host with this card, if it has any; else returns 0. */
pid_t start_programs(const char *card, uint64_t stop);

#endif
