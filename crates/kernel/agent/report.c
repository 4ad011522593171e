// SPDX-License-Identifier: Apache-2.0
/*
 * The report of a host at the end of a run: counters of its network namespace, in one line on the console, which
 * src/run.rs parses.
 */
#include "agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of a counter in /proc/net/netstat, which has a line of names and a line of values. */
static long long netstat(const char *counter)
{
    static char names[16384], values[16384];
    FILE *file = fopen("/proc/self/net/netstat", "r");
    while (file && fgets(names, sizeof names, file) && fgets(values, sizeof values, file)) {
        char *a, *b, *name = strtok_r(names, " \n", &a), *value = strtok_r(values, " \n", &b);
        for (; name && value; name = strtok_r(NULL, " \n", &a), value = strtok_r(NULL, " \n", &b))
            if (!strcmp(name, counter)) {
                fclose(file);
                return atoll(value);
            }
    }
    if (file)
        fclose(file);
    return -1;
}

void report(const char *address)
{
    static const char *const counters[] = { "TCPMemoryPressures", "TCPAbortOnMemory", "TCPTimeouts", "TCPLostRetransmit",
        "TCPDSACKRecv", "TCPSpuriousRTOs" };
    unsigned i;
    printf("report host=%s", address);
    for (i = 0; i < sizeof counters / sizeof *counters; i++)
        printf(" %s=%lld", counters[i], netstat(counters[i]));
    putchar('\n');
    fflush(stdout);
}
