// SPDX-License-Identifier: Apache-2.0
/*
 * The console of a run: a shell in one of the hosts, controlled from outside by datagrams through a network card of its
 * own. A datagram to the console is an input line. A datagram from the console begins with 'o' and has output, or
 * begins with 'd' and has the exit status of a line; the shell then waits for the next line.
 */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DATAGRAM = 1400, PORT = 7 };

/* Written by the shell after each line, before its status. */
#define END_OF_LINE '\036'

static int to_shell[2] = { -1, -1 }, from_shell[2];
static const char *card;
static uint64_t start;

static void read_console(const struct order *order, void *unused)
{
    static char name[16];
    (void)unused;
    if (!is(order, "console", 3))
        return;
    snprintf(name, sizeof name, "eth%s", order->word[1]);
    card = name;
    start = strtoull(order->word[2], NULL, 10);
}

void open_console(void)
{
    each_order(read_console, NULL);
    if (card && (pipe2(to_shell, O_CLOEXEC) || pipe2(from_shell, O_CLOEXEC)))
        fail("console: %s", strerror(errno));
}

int attach_console(void)
{
    if (!card)
        return 0;
    dup2(to_shell[0], 0), dup2(from_shell[1], 1), dup2(from_shell[1], 2);
    return 1;
}

static int connect_console(void)
{
    struct sockaddr_in us = { .sin_family = AF_INET, .sin_port = htons(PORT) }, them = us;
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    set_address(card, "192.168.255.1");
    inet_pton(AF_INET, "192.168.255.1", &us.sin_addr);
    inet_pton(AF_INET, "192.168.255.2", &them.sin_addr);
    if (bind(s, (void *)&us, sizeof us) || connect(s, (void *)&them, sizeof them))
        fail("console: %s", strerror(errno));
    return s;
}

static void say(int s, char kind, const char *text, size_t length)
{
    char datagram[1 + DATAGRAM];
    datagram[0] = kind;
    memcpy(datagram + 1, text, length);
    if (send(s, datagram, length + 1, 0) < 0)
        fail("console: %s", strerror(errno));
}

/* Writes a line to the shell, and a command that prints its exit status. */
static void put_line(const char *line, size_t length)
{
    static const char ask[] = "\nprintf '\\036%d\\n' \"$?\"\n";
    if (write(to_shell[1], line, length) < 0 || write(to_shell[1], ask, sizeof ask - 1) < 0)
        fail("console: %s", strerror(errno));
}

/* Forwards output. The bytes between END_OF_LINE and the next newline are the exit status of a line. */
static void pass_output(int s, const char *text, size_t length)
{
    static char status[16];
    static int in_status, used;
    size_t from = 0, i;
    for (i = 0; i < length; i++) {
        if (!in_status && text[i] == END_OF_LINE) {
            if (i > from)
                say(s, 'o', text + from, i - from);
            in_status = 1, used = 0;
        } else if (in_status && text[i] == '\n') {
            say(s, 'd', status, used);
            in_status = 0, from = i + 1;
        } else if (in_status && used < (int)sizeof status) {
            status[used++] = text[i];
        }
    }
    if (!in_status && length > from)
        say(s, 'o', text + from, length - from);
}

void serve_console(void)
{
    struct timespec at = { start / 1000000000ull, start % 1000000000ull };
    char text[DATAGRAM];
    int s;
    if (!card)
        return;
    s = connect_console();
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
    say(s, 'd', "0", 1);
    for (;;) {
        struct pollfd ready[] = { { s, POLLIN, 0 }, { from_shell[0], POLLIN, 0 } };
        ssize_t got;
        if (poll(ready, 2, -1) < 0)
            continue;
        if (ready[1].revents && (got = read(from_shell[0], text, sizeof text)) > 0)
            pass_output(s, text, got);
        else if (ready[0].revents && (got = recv(s, text, sizeof text, 0)) > 0)
            put_line(text, got);
    }
}
