// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loses one packet of a hundred, and puts one of twenty into the slower class of the queue, which others overtake. */
typedef unsigned int u32;
struct __sk_buff {
    u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority;
};

static u32 (*random)(void) = (void *)7; /* bpf_get_prandom_u32 */

__attribute__((section("classifier"), used)) int hostile(struct __sk_buff *skb)
{
    u32 number = random();
    if (number % 100 == 0)
        return 2; /* TC_ACT_SHOT */
    skb->priority = number % 20 == 1 ? 0x10002 : 0x10001;
    return 0;
}

__attribute__((section("license"), used)) char LICENSE[] = "Dual BSD/GPL";
