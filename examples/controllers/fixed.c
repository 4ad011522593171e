// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A congestion controller with a constant window: the minimal Linux module for a controller. */
#include <linux/module.h>
#include <net/tcp.h>

static uint window = 20;
module_param(window, uint, 0444);
MODULE_PARM_DESC(window, "the window, in segments");

static void fixed_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *sample)
{
    tcp_snd_cwnd_set(tcp_sk(sk), window);
}

static u32 fixed_window(struct sock *sk)
{
    return window;
}

static struct tcp_congestion_ops fixed = {
    .cong_control = fixed_control,
    .ssthresh = fixed_window,
    .undo_cwnd = fixed_window,
    .owner = THIS_MODULE,
    .name = "fixed",
};

static int __init fixed_start(void)
{
    return tcp_register_congestion_control(&fixed);
}

static void __exit fixed_end(void)
{
    tcp_unregister_congestion_control(&fixed);
}

module_init(fixed_start);
module_exit(fixed_end);

MODULE_LICENSE("Dual BSD/GPL");
