// SPDX-License-Identifier: Apache-2.0
/*
 * The agent: the first process of a kernel. It makes a network namespace with a network card for each host, and opens
 * the connections that its orders name (src/orders.rs). It sends zeroes, and discards received data. It reports
 * counters and errors on the console, one on each line.
 */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/reboot.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef IFLA_GSO_MAX_SEGS
#define IFLA_GSO_MAX_SEGS 40
#endif

enum { CHUNK = 1 << 18, EVENTS = 64 };

/* A flow that a host sends. Times in nanoseconds. */
struct flow {
    uint64_t start, left;
    int endless, socket;
    uint32_t number;
    struct sockaddr_in to;
    uint16_t local;
    const char *controller;
};

static char *orders;
static const char zeroes[CHUNK];

void fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("error: ", stdout);
    vprintf(format, list);
    putchar('\n');
    fflush(stdout);
    va_end(list);
}

uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

char *read_file(const char *path, size_t *length)
{
    size_t room = 1 << 16, got, all = 0;
    char *text = malloc(room + 1);
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    while ((got = fread(text + all, 1, room - all, file)) > 0)
        if ((all += got) == room)
            text = realloc(text, (room *= 2) + 1);
    text[all] = 0;
    fclose(file);
    if (length)
        *length = all;
    return text;
}

void each_order(void (*visit)(const struct order *, void *), void *context)
{
    const char *line = orders, *end;
    for (; *line; line = *end ? end + 1 : end) {
        struct order order = { 0 };
        char copy[LINE], rest[LINE], *words, *word, *second;
        size_t length;
        end = strchrnul(line, '\n');
        length = end - line;
        if (length >= LINE) {
            fail("an order of %zu bytes", length);
            continue;
        }
        memcpy(copy, line, length);
        copy[length] = 0;
        second = strchr(copy, ' ');
        second = second ? strchr(second + 1, ' ') : NULL;
        order.rest = strcpy(rest, second ? second + 1 : "");
        for (word = strtok_r(copy, " ", &words); word && order.words < WORDS; word = strtok_r(NULL, " ", &words))
            order.word[order.words++] = word;
        if (order.words)
            visit(&order, context);
    }
}

int is(const struct order *order, const char *name, int words)
{
    return !strcmp(order->word[0], name) && order->words >= words;
}

static void set_sysctl(const char *name, const char *value)
{
    char path[256];
    int fd;
    snprintf(path, sizeof path, "/proc/sys/%s", name);
    fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, value, strlen(value)) < 0)
        fail("sysctl %s = %s: %s", name, value, strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void set_global(const struct order *order, void *unused)
{
    (void)unused;
    if (is(order, "global", 3))
        set_sysctl(order->word[1], order->rest);
}

static void set_congestion(const struct order *order, void *card)
{
    if (is(order, "congestion", 3) && !strcmp(order->word[1], card))
        set_sysctl("net/ipv4/tcp_congestion_control", order->word[2]);
}

static void set_each(const struct order *order, void *unused)
{
    (void)unused;
    if (is(order, "each", 3))
        set_sysctl(order->word[1], order->rest);
}

/* Loads a congestion controller module from the initial file system. */
static void load_module(const struct order *order, void *unused)
{
    char path[64];
    int fd;
    (void)unused;
    if (!is(order, "module", 2))
        return;
    snprintf(path, sizeof path, "/%s.ko", order->word[1]);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || syscall(SYS_finit_module, fd, order->rest, 0))
        fail("module %s: %s", order->word[1], strerror(errno));
    if (fd >= 0)
        close(fd);
}

/* Sets an attribute of a network device by route netlink. */
static void set_link(const char *device, int attribute, uint32_t value)
{
    struct {
        struct nlmsghdr header;
        struct ifinfomsg link;
        char attributes[64];
    } m = { 0 };
    struct rtattr *a = (struct rtattr *)m.attributes;
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    char reply[4096];
    int s = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), n;
    m.header.nlmsg_type = RTM_NEWLINK;
    m.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    m.link.ifi_index = if_nametoindex(device);
    a->rta_type = attribute;
    a->rta_len = RTA_LENGTH(sizeof value);
    memcpy(RTA_DATA(a), &value, sizeof value);
    m.header.nlmsg_len = NLMSG_LENGTH(sizeof m.link) + RTA_ALIGN(a->rta_len);
    sendto(s, &m, m.header.nlmsg_len, 0, (void *)&kernel, sizeof kernel);
    n = recv(s, reply, sizeof reply, 0);
    if (n <= 0 || ((struct nlmsgerr *)NLMSG_DATA((struct nlmsghdr *)reply))->error)
        fail("attribute %d of %s", attribute, device);
    close(s);
}

void set_address(const char *device, const char *address)
{
    struct ifreq r = { 0 };
    struct sockaddr_in *a = (struct sockaddr_in *)&r.ifr_addr;
    int s = socket(AF_INET, SOCK_DGRAM, 0), wrong = 0;
    strncpy(r.ifr_name, device, IFNAMSIZ - 1);
    wrong |= ioctl(s, SIOCGIFFLAGS, &r);
    r.ifr_flags |= IFF_NOARP;
    wrong |= ioctl(s, SIOCSIFFLAGS, &r);
    a->sin_family = AF_INET;
    a->sin_port = 0;
    inet_pton(AF_INET, address, &a->sin_addr);
    wrong |= ioctl(s, SIOCSIFADDR, &r);
    a->sin_addr.s_addr = htonl(0xff000000);
    wrong |= ioctl(s, SIOCSIFNETMASK, &r);
    wrong |= ioctl(s, SIOCGIFFLAGS, &r);
    r.ifr_flags |= IFF_UP;
    wrong |= ioctl(s, SIOCSIFFLAGS, &r);
    if (wrong)
        fail("address %s of %s: %s", address, device, strerror(errno));
    close(s);
}

/* The state of a host's process. */
struct host {
    const char *card, *address;
    int events;
    struct flow *flows;
    int count, room;
    uint64_t stop;
};

static int new_socket(const char *controller)
{
    int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (s < 0 || setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, controller, strlen(controller)))
        fail("controller %s: %s", controller, strerror(errno));
    return s;
}

static void watch(struct host *host, int fd, uint32_t events, uint64_t data)
{
    struct epoll_event e = { .events = events, .data.u64 = data };
    if (epoll_ctl(host->events, EPOLL_CTL_ADD, fd, &e))
        fail("epoll: %s", strerror(errno));
}

/* Bits of the data of an epoll event: a listening socket, a receiving connection; neither for a flow. */
#define LISTENS (1ull << 62)
#define READS (1ull << 61)

static void read_order(const struct order *order, void *context)
{
    struct host *host = context;
    if (is(order, "stop", 2))
        host->stop = strtoull(order->word[1], NULL, 10);
    if (order->words < 3 || strcmp(order->word[1], host->card))
        return;
    if (is(order, "listen", 4)) {
        struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(atoi(order->word[2])) };
        int s = new_socket(order->word[3]);
        if (bind(s, (void *)&a, sizeof a) || listen(s, 4096))
            fail("listen on %s: %s", order->word[2], strerror(errno));
        watch(host, s, EPOLLIN, LISTENS | s);
    } else if (is(order, "flow", 9)) {
        struct flow *flow;
        if (host->count == host->room) {
            host->room = host->room ? 2 * host->room : 64;
            host->flows = realloc(host->flows, host->room * sizeof *host->flows);
        }
        flow = &host->flows[host->count++];
        memset(flow, 0, sizeof *flow);
        flow->number = strtoul(order->word[2], NULL, 10);
        flow->start = strtoull(order->word[3], NULL, 10);
        flow->left = strtoull(order->word[4], NULL, 10);
        flow->endless = !flow->left;
        flow->to.sin_family = AF_INET;
        inet_pton(AF_INET, order->word[5], &flow->to.sin_addr);
        flow->to.sin_port = htons(atoi(order->word[6]));
        flow->local = atoi(order->word[7]);
        flow->controller = strdup(order->word[8]);
        flow->socket = -1;
    }
}

static void start_flow(struct host *host, int index)
{
    struct flow *flow = &host->flows[index];
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(flow->local) };
    inet_pton(AF_INET, host->address, &a.sin_addr);
    flow->socket = new_socket(flow->controller);
    if (bind(flow->socket, (void *)&a, sizeof a))
        fail("flow %u: bind: %s", flow->number, strerror(errno));
    if (connect(flow->socket, (void *)&flow->to, sizeof flow->to) && errno != EINPROGRESS)
        fail("flow %u: connect: %s", flow->number, strerror(errno));
    watch(host, flow->socket, EPOLLOUT | EPOLLIN | EPOLLET, index);
}

/* Sends as much as the socket accepts, and shuts down the sending side after the last byte. */
static void send_flow(struct flow *flow)
{
    if (flow->socket < 0)
        return;
    while (flow->endless || flow->left) {
        size_t bytes = flow->endless || flow->left > CHUNK ? CHUNK : flow->left;
        ssize_t sent = send(flow->socket, zeroes, bytes, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno != EAGAIN && errno != EINPROGRESS && errno != ENOTCONN) {
                fail("flow %u: send: %s", flow->number, strerror(errno));
                close(flow->socket);
                flow->socket = -1;
            }
            return;
        }
        if (!flow->endless && !(flow->left -= sent))
            shutdown(flow->socket, SHUT_WR);
    }
}

/* Reads and discards data; true when the connection has ended. Receiving sockets are level-triggered, and a sending
 * socket reads nothing but the end, so a short read needs no second call. */
static int drain(int s)
{
    ssize_t got;
    while ((got = recv(s, NULL, 1 << 20, MSG_TRUNC | MSG_DONTWAIT)) == 1 << 20)
        ;
    if (got > 0)
        return 0;
    return got == 0 || (errno != EAGAIN && errno != ENOTCONN);
}

static void on_event(struct host *host, const struct epoll_event *event)
{
    uint64_t data = event->data.u64;
    int fd = (int)(data & 0xffffffff);
    if (data & LISTENS) {
        int s;
        while ((s = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
            watch(host, s, EPOLLIN, READS | s);
    } else if (data & READS) {
        if (drain(fd))
            close(fd);
    } else {
        struct flow *flow = &host->flows[data];
        if (event->events & EPOLLOUT)
            send_flow(flow);
        if (flow->socket >= 0 && !flow->endless && !flow->left && event->events & (EPOLLIN | EPOLLHUP) && drain(flow->socket)) {
            close(flow->socket);
            flow->socket = -1;
        }
    }
}

/* Samples the connections of all flows that have started. */
static void sample_flows(struct host *host, int started, uint64_t at)
{
    for (int i = 0; i < started; i++)
        if (host->flows[i].socket >= 0)
            record(at, host->flows[i].number, host->flows[i].socket);
    end_record(at);
}

/* Serves the host's sockets and starts its flows until the time of the report. */
static void serve(struct host *host)
{
    int next = 0;
    for (;;) {
        struct epoll_event events[EVENTS];
        uint64_t at = now(), until = next < host->count ? host->flows[next].start : host->stop;
        struct timespec wait = { 0 };
        int n, i;
        if (until > host->stop)
            until = host->stop;
        if (at >= host->stop)
            return;
        while (next < host->count && host->flows[next].start <= at)
            start_flow(host, next++);
        if (at >= record_due())
            sample_flows(host, next, at);
        if (until > record_due())
            until = record_due();
        if (next < host->count && host->flows[next].start < until)
            until = host->flows[next].start;
        if (until > at) {
            wait.tv_sec = (until - at) / 1000000000ull;
            wait.tv_nsec = (until - at) % 1000000000ull;
        }
        n = epoll_pwait2(host->events, events, EVENTS, &wait, NULL);
        for (i = 0; i < n; i++)
            on_event(host, &events[i]);
    }
}

/* Renames the host's network card to eth0. */
static void rename_to_eth0(char *device)
{
    struct ifreq r = { 0 };
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    strcpy(r.ifr_name, device);
    strcpy(r.ifr_newname, "eth0");
    if (strcmp(device, "eth0") && ioctl(s, SIOCSIFNAME, &r))
        fail("name of %s: %s", device, strerror(errno));
    strcpy(device, "eth0");
    close(s);
}

/* The process of a host. It enters a new network namespace, into which its parent then moves the network card. */
static void run_host(const char *card, const char *address, const char *segments, int ready, int go)
{
    struct host host = { .card = card, .address = address };
    struct rlimit files = { 60000, 60000 };
    char device[16], byte = 0;
    pid_t programs;
    if (unshare(CLONE_NEWNET))
        fail("namespace: %s", strerror(errno));
    if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
        fail("pipe: %s", strerror(errno));
    setrlimit(RLIMIT_NOFILE, &files);
    prctl(PR_SET_TIMERSLACK, 1);
    snprintf(device, sizeof device, "eth%s", card);
    rename_to_eth0(device);
    if (!access("/proc/sys/net/ipv6", F_OK))
        set_sysctl("net/ipv6/conf/all/disable_ipv6", "1");
    each_order(set_each, NULL);
    each_order(set_congestion, (void *)card);
    if (atoi(segments))
        set_link(device, IFLA_GSO_MAX_SEGS, atoi(segments));
    set_address("lo", "127.0.0.1");
    set_address(device, address);
    host.events = epoll_create1(EPOLL_CLOEXEC);
    each_order(read_order, &host);
    programs = start_programs(card, host.stop);
    each_order(read_record, NULL);
    serve(&host);
    report(host.address);
    report_record();
    if (programs)
        waitpid(programs, NULL, 0);
    exit(0);
}

static void add_host(const struct order *order, void *context)
{
    int ready[2], go[2], *hosts = context;
    char byte, device[16];
    pid_t child;
    if (!is(order, "host", 4))
        return;
    if (pipe(ready) || pipe(go))
        fail("pipe: %s", strerror(errno));
    child = fork();
    if (child < 0)
        fail("fork: %s", strerror(errno));
    if (!child)
        run_host(order->word[1], order->word[2], order->word[3], ready[1], go[0]);
    if (read(ready[0], &byte, 1) != 1)
        fail("host %s did not start", order->word[1]);
    snprintf(device, sizeof device, "eth%s", order->word[1]);
    set_link(device, IFLA_NET_NS_PID, child);
    if (write(go[1], &byte, 1) != 1)
        fail("pipe: %s", strerror(errno));
    close(ready[0]), close(ready[1]), close(go[0]), close(go[1]);
    ++*hosts;
}

/* Allows every controller in all hosts: Linux otherwise restricts DCTCP to the first network namespace. */
static void allow_controllers(void)
{
    char *names = read_file("/proc/sys/net/ipv4/tcp_available_congestion_control", NULL);
    if (!names)
        return;
    names[strcspn(names, "\n")] = '\0';
    set_sysctl("net/ipv4/tcp_allowed_congestion_control", names);
    free(names);
}

int main(void)
{
    int hosts = 0;
    mount("none", "/proc", "proc", 0, "");
    mount("none", "/sys", "sysfs", 0, "");
    orders = read_file("/orders", NULL);
    if (!orders)
        fail("there are no orders");
    if (!access("/proc/sys/net/ipv6", F_OK)) {
        set_sysctl("net/ipv6/conf/default/disable_ipv6", "1");
        set_sysctl("net/ipv6/conf/all/disable_ipv6", "1");
    }
    each_order(set_global, NULL);
    each_order(load_module, NULL);
    allow_controllers();
    open_console();
    each_order(add_host, &hosts);
    each_order(acknowledge_record, NULL);
    printf("ready hosts=%d at=%llu\n", hosts, (unsigned long long)now());
    fflush(stdout);
    serve_console();
    while (wait(NULL) > 0)
        ;
    puts("done");
    fflush(stdout);
    /* The owner ends the kernel. */
    for (;;)
        pause();
}
