/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of the agent share. */
#ifndef AGENT_H
#define AGENT_H

#define _GNU_SOURCE
#include <stdint.h>
#include <sys/types.h>

enum { WORDS = 10, LINE = 1024 };

/* A line of the orders, split into words. */
struct order {
    int words;
    char *word[WORDS];
    char *rest; /* everything after the second word */
};

/* Reports an error on the console; the controller then ends the run. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Virtual time in nanoseconds. */
uint64_t now(void);

/* Calls visit with each line of the orders. The words are valid only during the call. */
void each_order(void (*visit)(const struct order *, void *), void *context);

/* Whether the order has this name and at least this number of words. */
int is(const struct order *order, const char *name, int words);

/* Reads a file into memory with a zero after it, and its length; NULL if it does not exist. */
char *read_file(const char *path, size_t *length);

/* Sets the address of a device, without ARP: the simulated network knows every host. */
void set_address(const char *device, const char *address);

/* Writes the counters of this process's network namespace to the console, as the host with this address. */
void report(const char *address);

/* Reads the order to record the states of connections. */
void read_record(const struct order *order, void *unused);

/* Says on the console that this agent records, for the order to record: agents of earlier versions ignore it. */
void acknowledge_record(const struct order *order, void *unused);

/* When the next sample of connections' states is due; UINT64_MAX without an order to record. */
uint64_t record_due(void);

/* Samples the connection of a flow. */
void record(uint64_t at, uint32_t flow, int s);

/* Ends the sample at this time, after all connections. */
void end_record(uint64_t at);

/* Writes all samples to the console. */
void report_record(void);

/* Reads the console's order, if there is one, before any host starts. */
void open_console(void);

/* Connects this process's input and output to the console; 0 if there is none. */
int attach_console(void);

/* Serves the console and does not return; returns at once if there is none. */
void serve_console(void);

/* Starts the process that runs the programs of the host with this card; 0 if it has none. */
pid_t start_programs(const char *card, uint64_t stop);

#endif
