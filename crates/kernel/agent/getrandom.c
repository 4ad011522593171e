// SPDX-License-Identifier: Apache-2.0
/* A library preloaded into a kernel's process: its random numbers depend only on SHALLOP_SEED (splitmix64). */
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
    static uint64_t state;
    static int seeded;
    unsigned char *out = to;
    size_t i;
    (void)flags;
    if (!seeded) {
        const char *seed = getenv("SHALLOP_SEED");
        state = seed ? strtoull(seed, NULL, 10) : 0;
        seeded = 1;
    }
    for (i = 0; i < bytes; i++) {
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        out[i] = (unsigned char)((z ^ (z >> 31)) >> 56);
    }
    return (ssize_t)bytes;
}
