// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A switch of a test: marks every 16th packet that is ECN-capable. */
struct __sk_buff;
static long (*const skb_ecn_set_ce)(struct __sk_buff *skb) = (void *)97;

unsigned int seen __attribute__((section(".bss")));
char LICENSE[] __attribute__((section("license"))) = "GPL";

__attribute__((section("classifier"))) int mark(struct __sk_buff *skb)
{
    if (++seen % 16 == 0)
        skb_ecn_set_ce(skb);
    return 0;
}
