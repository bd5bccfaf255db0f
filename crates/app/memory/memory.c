/*
 * Copying, filling and comparing memory, for the static binary on x86-64.
 *
 * musl does all of it by string instructions and byte by byte. A decision copies and compares thousands of short names,
 * and a third of its time went into starting those instructions. Here short pieces are moved by a few loads and stores
 * that overlap in the middle, so that no length needs a loop or a jump table; long ones are left to the processor.
 *
 * Everything is read before anything is written wherever pieces may overlap. Nothing is read outside of what was given.
 */

#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>

/* The test gives them other names, to compare them with those of its C library. */
#ifndef NAME
#define NAME(name) name
#endif

typedef uint16_t two __attribute__((aligned(1), may_alias));
typedef uint32_t four __attribute__((aligned(1), may_alias));
typedef uint64_t eight __attribute__((aligned(1), may_alias));

/* From here on the processor's own copying is quicker than a loop. */
enum { LONG = 2048 };

static inline __m128i load(const unsigned char *from) { return _mm_loadu_si128((const __m128i *)from); }

static inline void store(unsigned char *to, __m128i bytes) { _mm_storeu_si128((__m128i *)to, bytes); }

/* Up to 16 bytes: the first and the last of them in one piece each. */
static inline void copy_few(unsigned char *to, const unsigned char *from, size_t count)
{
    if (count >= 8) {
        eight first = *(const eight *)from, last = *(const eight *)(from + count - 8);
        *(eight *)to = first;
        *(eight *)(to + count - 8) = last;
    } else if (count >= 4) {
        four first = *(const four *)from, last = *(const four *)(from + count - 4);
        *(four *)to = first;
        *(four *)(to + count - 4) = last;
    } else if (count >= 2) {
        two first = *(const two *)from, last = *(const two *)(from + count - 2);
        *(two *)to = first;
        *(two *)(to + count - 2) = last;
    } else if (count == 1) {
        *to = *from;
    }
}

/* Up to 128 bytes, whether or not the two places overlap. */
static inline void copy_some(unsigned char *to, const unsigned char *from, size_t count)
{
    if (count <= 16) {
        copy_few(to, from, count);
        return;
    }
    __m128i a = load(from), z = load(from + count - 16);
    if (count > 32) {
        __m128i b = load(from + 16), y = load(from + count - 32);
        if (count > 64) {
            __m128i c = load(from + 32), d = load(from + 48);
            __m128i w = load(from + count - 64), x = load(from + count - 48);
            store(to + 32, c);
            store(to + 48, d);
            store(to + count - 64, w);
            store(to + count - 48, x);
        }
        store(to + 16, b);
        store(to + count - 32, y);
    }
    store(to, a);
    store(to + count - 16, z);
}

/* More than 64 bytes, from the first on. The last 64 are read beforehand: the loop may write over them. */
static inline void copy_forward(unsigned char *to, const unsigned char *from, size_t count)
{
    const unsigned char *end = from + count - 64;
    unsigned char *last = to + count - 64;
    __m128i w = load(end), x = load(end + 16), y = load(end + 32), z = load(end + 48);
    for (; from < end; from += 64, to += 64) {
        __m128i a = load(from), b = load(from + 16), c = load(from + 32), d = load(from + 48);
        store(to, a);
        store(to + 16, b);
        store(to + 32, c);
        store(to + 48, d);
    }
    store(last, w);
    store(last + 16, x);
    store(last + 32, y);
    store(last + 48, z);
}

/* More than 64 bytes, from the last on. */
static inline void copy_backward(unsigned char *to, const unsigned char *from, size_t count)
{
    __m128i a = load(from), b = load(from + 16), c = load(from + 32), d = load(from + 48);
    for (size_t left = count; left > 64; left -= 64) {
        const unsigned char *source = from + left - 64;
        unsigned char *target = to + left - 64;
        __m128i w = load(source), x = load(source + 16), y = load(source + 32), z = load(source + 48);
        store(target, w);
        store(target + 16, x);
        store(target + 32, y);
        store(target + 48, z);
    }
    store(to, a);
    store(to + 16, b);
    store(to + 32, c);
    store(to + 48, d);
}

void *NAME(memcpy)(void *restrict target, const void *restrict source, size_t count)
{
    if (count <= 128) {
        copy_some(target, source, count);
    } else if (count < LONG) {
        copy_forward(target, source, count);
    } else {
        void *to = target;
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(source), "+c"(count) : : "memory");
    }
    return target;
}

void *NAME(memmove)(void *target, const void *source, size_t count)
{
    if (count <= 128) {
        copy_some(target, source, count);
    } else if ((uintptr_t)target - (uintptr_t)source >= count) {
        /* Nothing that is still to be read lies where it writes. */
        copy_forward(target, source, count);
    } else {
        copy_backward(target, source, count);
    }
    return target;
}

void *NAME(memset)(void *target, int byte, size_t count)
{
    unsigned char *to = target;
    eight pattern = 0x0101010101010101u * (unsigned char)byte;
    if (count >= LONG) {
        __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(byte) : "memory");
    } else if (count >= 16) {
        __m128i bytes = _mm_set1_epi8((char)byte);
        for (size_t done = 0; done + 16 < count; done += 16) store(to + done, bytes);
        store(to + count - 16, bytes);
    } else if (count >= 8) {
        *(eight *)to = pattern;
        *(eight *)(to + count - 8) = pattern;
    } else if (count >= 4) {
        *(four *)to = (four)pattern;
        *(four *)(to + count - 4) = (four)pattern;
    } else if (count >= 2) {
        *(two *)to = (two)pattern;
        *(two *)(to + count - 2) = (two)pattern;
    } else if (count == 1) {
        *to = (unsigned char)byte;
    }
    return target;
}

/* The order of two words, by their first byte that differs. */
static inline int order(eight left, eight right)
{
    left = __builtin_bswap64(left);
    right = __builtin_bswap64(right);
    return (left > right) - (left < right);
}

/* The order of two pieces of 16 bytes, or 0. */
static inline int order_of_16(const unsigned char *left, const unsigned char *right)
{
    unsigned same = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(load(left), load(right)));
    if (same == 0xffff) return 0;
    unsigned at = (unsigned)__builtin_ctz(~same);
    return left[at] - right[at];
}

int NAME(memcmp)(const void *one, const void *other, size_t count)
{
    const unsigned char *left = one, *right = other;
    if (count >= 16) {
        for (size_t done = 0; done + 16 < count; done += 16) {
            int found = order_of_16(left + done, right + done);
            if (found != 0) return found;
        }
        return order_of_16(left + count - 16, right + count - 16);
    }
    if (count >= 8) {
        int found = order(*(const eight *)left, *(const eight *)right);
        return found != 0 ? found : order(*(const eight *)(left + count - 8), *(const eight *)(right + count - 8));
    }
    if (count >= 4) {
        int found = order(*(const four *)left, *(const four *)right);
        return found != 0 ? found : order(*(const four *)(left + count - 4), *(const four *)(right + count - 4));
    }
    for (size_t at = 0; at < count; at++) {
        if (left[at] != right[at]) return left[at] - right[at];
    }
    return 0;
}

int NAME(bcmp)(const void *one, const void *other, size_t count) { return NAME(memcmp)(one, other, count); }
