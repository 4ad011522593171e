// SPDX-License-Identifier: Apache-2.0
/* Reads window, threshold, base and smallest round trip, and whether the window limits; writes what vegas_round does. */
#include <stdio.h>

#include "vegas_math.h"

int main(void)
{
    unsigned int v[5];
    while (fread(v, sizeof v, 1, stdin) == 1) {
        struct vegas_window w = { v[0], v[1] };
        vegas_round(&w, v[2], v[3], (int)v[4]);
        if (fwrite(&w, sizeof w, 1, stdout) != 1)
            return 1;
    }
    return 0;
}
