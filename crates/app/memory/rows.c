/* Compares memory.c with the C library: every short length at every alignment and distance, long ones around each border. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *our_memcpy(void *, const void *, size_t);
void *our_memmove(void *, const void *, size_t);
void *our_memset(void *, int, size_t);
int our_memcmp(const void *, const void *, size_t);
int our_bcmp(const void *, const void *, size_t);

enum { ROOM = 9000, EDGE = 64 };

static unsigned char source[ROOM], expected[ROOM], found[ROOM];
static unsigned long checked;

static void check(int holds, const char *what, size_t count, size_t at, long more)
{
    checked++;
    if (holds) return;
    printf("%s of %zu bytes at %zu, %ld: wrong\n", what, count, at, more);
    exit(1);
}

static int sign(int order) { return (order > 0) - (order < 0); }

/* The whole room is compared, so that a byte written beside the target is seen. */
static void one_place(size_t count, size_t at)
{
    memset(expected, 0xee, ROOM);
    memset(found, 0xee, ROOM);
    memcpy(expected + EDGE + at, source + at / 2, count);
    check(our_memcpy(found + EDGE + at, source + at / 2, count) == found + EDGE + at, "result of memcpy", count, at, 0);
    check(memcmp(expected, found, ROOM) == 0, "memcpy", count, at, 0);
    memset(expected + EDGE + at, (int)(count * 7), count);
    check(our_memset(found + EDGE + at, (int)(count * 7), count) == found + EDGE + at, "result of memset", count, at, 0);
    check(memcmp(expected, found, ROOM) == 0, "memset", count, at, 0);
}

static void overlapping(size_t count, long distance)
{
    size_t from = ROOM / 2 - count / 2, to = (size_t)((long)from + distance);
    memcpy(expected, source, ROOM);
    memcpy(found, source, ROOM);
    memmove(expected + to, expected + from, count);
    check(our_memmove(found + to, found + from, count) == found + to, "result of memmove", count, from, distance);
    check(memcmp(expected, found, ROOM) == 0, "memmove", count, from, distance);
}

/* One byte differs, above or below, also by the sign a char may have. */
static void compared(size_t count, size_t at)
{
    memcpy(found, source, ROOM);
    check(our_memcmp(found + at, source + at, count) == 0, "memcmp of the same", count, at, 0);
    for (size_t place = 0; place < count; place += 1 + place / 40) {
        for (int change = 1; change < 256; change += 127) {
            found[at + place] = (unsigned char)(source[at + place] + change);
            if (place + 1 < count) found[at + place + 1] ^= 0xff;
            int wanted = sign(memcmp(found + at, source + at, count));
            check(sign(our_memcmp(found + at, source + at, count)) == wanted, "memcmp", count, at, (long)place);
            check(sign(our_memcmp(source + at, found + at, count)) == -wanted, "memcmp reversed", count, at, (long)place);
            check(our_bcmp(found + at, source + at, count) != 0, "bcmp", count, at, (long)place);
            memcpy(found + at, source + at, count);
        }
    }
}

int main(void)
{
    static const size_t borders[] = {512, 1023, 1024, 2047, 2048, 2049, 4095, 4096, 4097};
    unsigned seed = 1;
    for (size_t at = 0; at < ROOM; at++) source[at] = (unsigned char)((seed = seed * 1103515245u + 12345u) >> 16);
    for (size_t count = 0; count <= 300; count++) {
        for (size_t at = 0; at < 20; at++) {
            one_place(count, at);
            if (at < 3) compared(count, at);
        }
        for (long distance = -140; distance <= 140; distance += count > 130 ? 7 : 3) overlapping(count, distance);
    }
    for (size_t row = 0; row < sizeof borders / sizeof *borders; row++) {
        for (size_t at = 0; at < 17; at++) one_place(borders[row], at);
        compared(borders[row], 1);
        for (long distance = -2000; distance <= 2000; distance += 37) overlapping(borders[row], distance);
    }
    printf("%lu\n", checked);
    return 0;
}
