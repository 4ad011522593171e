// SPDX-License-Identifier: Apache-2.0
/*
 * Runs programs of this machine in a host. They see the machine's file system read-only, with a writable layer in
 * memory, and only the processes and the network of their host. Each program works in its own folder /kept/NAME, which
 * is copied out of the kernel when the program has ended. /scenario is the scenario's folder. Programs that still run
 * at the end of the run are killed. Programs have the capabilities of `allowed` only: whoever mounts hostfs, loads a
 * module or controls this process writes to the machine as the user of the run.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROGRAMS = 64, ARGUMENTS = 1024 };

struct program {
    unsigned number;
    uint64_t start;
    int is_shell;
    char folder[256];
    char *arguments[ARGUMENTS + 1];
    int kept; /* file descriptor of the folder outside of the kernel that receives its files */
    pid_t process;
};

/* The programs of a host. */
struct programs {
    const char *card;
    struct program of[PROGRAMS];
    int count;
    char *names; /* the contents of /etc/hosts */
    char host[65];
    unsigned shell; /* the number of the program that has the console */
};

/* The environment of programs, equal on all machines, and without any clock but the kernel's. */
static char *const environment[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/kept",
    "LANG=C.UTF-8",
    "TERM=dumb",
    /* Hides the processor's time stamp counter and random numbers from OpenSSL, which would use them as entropy. */
    "OPENSSL_ia32cap=~0x4000000000000010:~0x40000",
    NULL,
};

static const char allowed[] = {
    CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SETPCAP, CAP_SETFCAP,
    CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_NET_RAW, CAP_IPC_LOCK, CAP_SYS_CHROOT, CAP_SYS_NICE, CAP_SYS_RESOURCE,
};

static void read_arguments(struct program *program)
{
    char path[64], *text, *word;
    size_t length;
    int count = 0;
    snprintf(path, sizeof path, "/program.%u", program->number);
    text = read_file(path, &length);
    for (word = text; text && word < text + length && count < ARGUMENTS; word += strlen(word) + 1)
        program->arguments[count++] = word;
    if (!count)
        fail("program %u has no command", program->number);
}

static void read_program(const struct order *order, void *context)
{
    struct programs *all = context;
    if (is(order, "name", 3) && !strcmp(order->word[1], all->card))
        snprintf(all->host, sizeof all->host, "%s", order->word[2]);
    if (is(order, "shell", 3) && !strcmp(order->word[1], all->card))
        all->shell = strtoul(order->word[2], NULL, 10);
    if (!is(order, "program", 5) || strcmp(order->word[1], all->card))
        return;
    if (all->count == PROGRAMS) {
        fail("more than %d programs in a host", PROGRAMS);
        return;
    }
    struct program *program = &all->of[all->count++];
    program->number = strtoul(order->word[2], NULL, 10);
    program->start = strtoull(order->word[3], NULL, 10);
    snprintf(program->folder, sizeof program->folder, "/kept/%s", order->word[4]);
    program->is_shell = program->number == all->shell;
    read_arguments(program);
}

static void mount_at(const char *what, const char *where, unsigned long flags, const char *data)
{
    mkdir(where, 0755);
    if (mount("none", where, what, flags, data))
        fail("%s at %s: %s", what, where, strerror(errno));
}

static void write_names(const char *names)
{
    int fd;
    unlink("etc/hosts");
    fd = open("etc/hosts", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, names, strlen(names)) < 0)
        fail("/etc/hosts: %s", strerror(errno));
    close(fd);
}

/* Makes the programs' file system the root of this process and its children. */
static void enter_root(const struct programs *all)
{
    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    mount_at("hostfs", "/host", MS_RDONLY, "/");
    mount_at("hostfs", "/files", MS_RDONLY, "/proc/self/cwd/scenario");
    mount_at("tmpfs", "/over", 0, "");
    mkdir("/over/up", 0755);
    mkdir("/over/work", 0755);
    mount_at("overlay", "/root", 0, "lowerdir=/host,upperdir=/over/up,workdir=/over/work");
    if (chdir("/root"))
        fail("/root: %s", strerror(errno));
    mount_at("proc", "proc", 0, "");
    /* The kernel would run the programs of core_pattern and modprobe outside of this root. */
    if (mount("proc/sys/kernel", "proc/sys/kernel", NULL, MS_BIND, NULL) ||
        mount(NULL, "proc/sys/kernel", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL))
        fail("/proc/sys/kernel: %s", strerror(errno));
    mount_at("sysfs", "sys", MS_RDONLY, "");
    mount_at("devtmpfs", "dev", 0, "");
    mount_at("devpts", "dev/pts", 0, "");
    mount_at("tmpfs", "dev/shm", 0, "mode=1777");
    mount_at("tmpfs", "run", 0, "");
    mount_at("tmpfs", "tmp", 0, "mode=1777");
    mkdir("scenario", 0755);
    if (mount("/files", "scenario", NULL, MS_BIND, NULL))
        fail("/scenario: %s", strerror(errno));
    mkdir("kept", 0755);
    write_names(all->names);
    /* Moves the mount to /, because a process that only called chroot may not create user namespaces. */
    if (mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
        fail("root: %s", strerror(errno));
}

/* Limits the capabilities that programs can have after execve. */
static void drop_capabilities(void)
{
    int capability;
    for (capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
        if (!memchr(allowed, capability, sizeof allowed) && prctl(PR_CAPBSET_DROP, capability))
            fail("capability %d: %s", capability, strerror(errno));
}

static void run_program(const struct program *program)
{
    sigset_t none;
    int in = open("/dev/null", O_RDONLY);
    int out = open("stdout", O_WRONLY | O_CREAT | O_APPEND, 0644);
    int errors = open("stderr", O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (!program->is_shell || !attach_console())
        dup2(in, 0), dup2(out, 1), dup2(errors, 2);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    drop_capabilities();
    execvpe(program->arguments[0], program->arguments, environment);
    dprintf(2, "%s: %s\n", program->arguments[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static void start_program(struct program *program)
{
    char path[64];
    if (mkdir(program->folder, 0755) && errno != EEXIST)
        fail("%s: %s", program->folder, strerror(errno));
    program->process = fork();
    if (program->process < 0)
        fail("program %u: %s", program->number, strerror(errno));
    if (program->process)
        return;
    if (chdir(program->folder)) {
        snprintf(path, sizeof path, "%.60s", strerror(errno));
        fail("%s: %s", program->folder, path);
    }
    run_program(program);
}

/* Copies the files in a program's folder out of the kernel. */
static void keep(const struct program *program)
{
    char to[64];
    pid_t copy = fork();
    int status = 0;
    if (!copy) {
        snprintf(to, sizeof to, "/proc/self/fd/%d/", program->kept);
        if (!chdir(program->folder))
            execle("/bin/cp", "cp", "-r", ".", to, (char *)NULL, environment);
        _exit(1);
    }
    if (copy < 0 || waitpid(copy, &status, 0) != copy || status)
        fail("the files of program %u could not be kept", program->number);
}

static void on_end(struct program *program, int status, int killed)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    program->process = 0;
    keep(program);
    printf("program number=%u ended=%llu ", program->number, (unsigned long long)now());
    if (killed)
        puts("killed=1");
    else
        printf("status=%d\n", code);
    fflush(stdout);
}

/* Reaps ended processes, and reports the programs among them. */
static void reap(struct programs *all, int flags, int killed)
{
    int status, i;
    pid_t ended;
    while ((ended = waitpid(-1, &status, flags)) > 0)
        for (i = 0; i < all->count; i++)
            if (all->of[i].process == ended)
                on_end(&all->of[i], status, killed);
}

/* The main loop of the first process in the process namespace of the host's programs. */
static void serve_programs(struct programs *all, uint64_t stop)
{
    sigset_t child;
    int i;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    for (;;) {
        uint64_t at = now(), until = stop;
        struct timespec wait;
        for (i = 0; i < all->count; i++) {
            struct program *program = &all->of[i];
            if (program->start && program->start <= at) {
                program->start = 0;
                start_program(program);
            } else if (program->start && program->start < until) {
                until = program->start;
            }
        }
        reap(all, WNOHANG, 0);
        if ((at = now()) >= stop)
            break;
        if (until <= at)
            continue;
        wait.tv_sec = (until - at) / 1000000000ull;
        wait.tv_nsec = (until - at) % 1000000000ull;
        sigtimedwait(&child, NULL, &wait);
    }
    kill(-1, SIGKILL);
    reap(all, 0, 1);
}

pid_t start_programs(const char *card, uint64_t stop)
{
    static struct programs all;
    pid_t first;
    int i;
    all.card = card;
    all.shell = ~0u;
    each_order(read_program, &all);
    if (!all.count)
        return 0;
    all.names = read_file("/names", NULL);
    if (unshare(CLONE_NEWPID))
        fail("process namespace: %s", strerror(errno));
    first = fork();
    if (first)
        return first;
    if (unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC))
        fail("namespaces: %s", strerror(errno));
    sethostname(all.host, strlen(all.host));
    mount_at("hostfs", "/kept", 0, "/proc/self/cwd/kept");
    for (i = 0; i < all.count; i++) {
        char path[64];
        snprintf(path, sizeof path, "/kept/%u", all.of[i].number);
        all.of[i].kept = open(path, O_RDONLY | O_DIRECTORY);
        if (all.of[i].kept < 0)
            fail("%s: %s", path, strerror(errno));
    }
    enter_root(&all);
    serve_programs(&all, stop);
    exit(0);
}
