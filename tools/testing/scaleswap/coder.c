// SPDX-License-Identifier: GPL-2.0
/*
 * The coder of the simulated IAA device, against zlib: each reads what the other one writes, and
 * what is damaged is refused, or comes out as something, but nothing else is read or written.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "sim-coder.h"
#include "iaa_canned_tables.h"

#define PAGE	4096
#define ROOM	(2 * PAGE)

static unsigned long checks, failed;
static uint64_t seed = 88172645463325252u;

#define CHECK(cond, ...) do {							\
	checks++;								\
	if (!(cond) && failed++ < 20) {						\
		fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #cond);	\
		fprintf(stderr, __VA_ARGS__);					\
		fputc('\n', stderr);						\
	}									\
} while (0)

static uint32_t rnd(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

/* The fixed codes of RFC 1951, as the driver has them */
static void fixed(struct sim_codes *codes)
{
	for (int i = 0; i < SIM_LL; i++)
		codes->ll[i] = i < 144 ? 8 << 15 | (0x30 + i) :
			       i < 256 ? 9 << 15 | (0x190 + i - 144) :
			       i < 280 ? 7 << 15 | (i - 256) : 8 << 15 | (0xc0 + i - 280);
	for (int i = 0; i < SIM_DIST; i++)
		codes->dist[i] = 5 << 15 | i;
}

/* Have zlib decompress. Return how many bytes that gives, or a negative error. */
static long unzip(const uint8_t *src, uint32_t slen, uint8_t *dst, uint32_t room)
{
	z_stream z = {
		.next_in = (uint8_t *)src, .avail_in = slen, .next_out = dst, .avail_out = room,
	};
	int err;

	if (inflateInit2(&z, -12))
		abort();
	err = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	return err == Z_STREAM_END && !z.avail_in ? (long)z.total_out : -1;
}

static long zip(const uint8_t *src, uint32_t slen, uint8_t *dst, uint32_t room, int level, int how)
{
	z_stream z = {
		.next_in = (uint8_t *)src, .avail_in = slen, .next_out = dst, .avail_out = room,
	};
	int err;

	if (deflateInit2(&z, level, Z_DEFLATED, -12, 9, how))
		abort();
	err = deflate(&z, Z_FINISH);
	deflateEnd(&z);
	return err == Z_STREAM_END ? (long)z.total_out : -1;
}

/* A page, or less, of one kind or another */
static uint32_t fill(uint8_t *page, int kind, FILE *from)
{
	uint32_t len = rnd(4) ? PAGE : 1 + rnd(PAGE);

	switch (kind) {
	case 0:
		memset(page, rnd(256), len);
		break;
	case 1:
		for (uint32_t i = 0; i < len; i++)
			page[i] = rnd(256);
		break;
	case 2:
		for (uint32_t i = 0; i < len; i++)
			page[i] = "etaoin shrdlu"[rnd(13)];
		break;
	case 3:
		/* Matches of every length, near and far */
		for (uint32_t i = 0; i < len; ) {
			uint32_t run = 1 + rnd(300), back = i ? 1 + rnd(i) : 0;

			for (; run && i < len; run--, i++)
				page[i] = back && rnd(40) ? page[i - back] : rnd(256);
		}
		break;
	default:
		if (fseek(from, rnd(64) * PAGE, SEEK_SET) || fread(page, 1, len, from) != len)
			memset(page, 1, len);
	}
	return len;
}

/* What was compressed is read by zlib and by the decompressor. */
static void read_back(const struct sim_buf *b, const uint8_t *page, uint32_t len, const char *what)
{
	struct sim_inflate state = { 0 };
	uint8_t *back = malloc(len);
	struct sim_buf r = { .src = b->dst, .slen = b->len, .dst = back, .room = len };
	int err;

	CHECK(unzip(b->dst, b->len, back, len) == len, "%s: %u bytes", what, len);
	CHECK(!memcmp(back, page, len), "%s: %u bytes", what, len);
	memset(back, 0, len);
	err = sim_inflate(&r, &state, false);
	CHECK(!err && r.len == len && !memcmp(back, page, len), "%s: error %d", what, err);
	/* One byte of room less, one of input less */
	memset(&state, 0, sizeof(state));
	r.room = len - 1;
	CHECK(sim_inflate(&r, &state, false) == -ENOSPC, "%s: %u bytes", what, len);
	memset(&state, 0, sizeof(state));
	r.room = len;
	r.slen = b->len - 1;
	CHECK(sim_inflate(&r, &state, false) == -ENODATA, "%s: %u bytes", what, len);
	free(back);
}

/* What zlib has compressed is read. */
static void read_zlib(const uint8_t *page, uint32_t len)
{
	static const int how[] = { Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE };
	uint8_t zipped[ROOM], *src, *back = malloc(len);

	for (int level = 0; level <= 9; level += 3) {
		int at = rnd(4);
		long n = zip(page, len, zipped, ROOM, level, how[at]);
		struct sim_inflate state = { 0 };
		struct sim_buf r = { .slen = n, .dst = back, .room = len };
		int err;

		CHECK(n > 0, "level %d", level);
		src = malloc(n);
		memcpy(src, zipped, n);
		r.src = src;
		err = sim_inflate(&r, &state, false);
		CHECK(!err && r.len == len && !memcmp(back, page, len), "level %d, %d: error %d",
		      level, how[at], err);
		memset(&state, 0, sizeof(state));
		r.room = len - 1;
		CHECK(sim_inflate(&r, &state, false) == -ENOSPC, "level %d", level);
		r.room = len;
		/* Damaged: anything may come of it, and the sanitizer looks. */
		for (int i = 0; i < 8; i++) {
			src[rnd(n)] ^= 1 << rnd(8);
			memset(&state, 0, sizeof(state));
			err = sim_inflate(&r, &state, false);
			CHECK(r.len <= r.room, "%u", r.len);
			CHECK(!err || err == -EINVAL || err == -ENODATA || err == -ENOSPC,
			      "error %d", err);
		}
		free(src);
	}
	free(back);
}

/* Codes whose header is left out: it is read once, and each page goes on from there. */
static void without_header(const uint8_t *page, uint32_t len, struct sim_work *work, int nr_cl)
{
	static uint8_t header[512], out[ROOM], back[PAGE];
	struct sim_codes codes;
	struct sim_inflate ready = { 0 }, state;
	struct sim_buf h = { .src = header };
	struct sim_buf b = { .src = page, .slen = len, .dst = out, .room = ROOM }, r;
	uint8_t lens[SIM_LL + SIM_DIST];
	uint32_t bits = 3 + 5 + 5 + 4;
	uint64_t acc = 1 | 2 << 1 | (SIM_LL - 257) << 3 | (SIM_DIST - 1) << 8;
	int n = 0;

	/* Each symbol has a code of 4, 5, 8 or 9 bits. */
	for (int i = 0; i < SIM_LL; i++)
		lens[i] = i < 226 ? 8 : 9;
	for (int i = 0; i < SIM_DIST; i++)
		lens[SIM_LL + i] = i < 2 ? 4 : 5;
	/* 16 17 18 0 8 7 9 6 10 5 11 4 12: of these lengths of codes 8, 9, 5 and 4 have 2 bits. */
	acc |= (uint64_t)(nr_cl - 4) << 13;
	{
		static const uint8_t cl[] = { 0, 0, 0, 0, 2, 0, 2, 0, 0, 2, 0, 2, 0 };
		static const uint8_t code[] = { [4] = 0, [5] = 2, [8] = 1, [9] = 3 };
		struct { uint8_t v, n; } put[13 + SIM_LL + SIM_DIST];
		int nr = 0;

		for (int i = 0; i < nr_cl; i++, nr++) {
			put[nr].v = cl[i];
			put[nr].n = 3;
		}
		for (int i = 0; i < SIM_LL + SIM_DIST; i++, nr++) {
			put[nr].v = code[lens[i]];
			put[nr].n = 2;
		}
		for (int i = 0; i < nr; i++) {
			acc |= (uint64_t)put[i].v << bits;
			for (bits += put[i].n; bits >= 8; bits -= 8, acc >>= 8)
				header[n++] = acc;
		}
	}
	if (bits)
		header[n] = acc;
	h.slen = n + !!bits;
	/* With one length more it is of whole bytes. */
	CHECK(!bits == (nr_cl == 13), "%u bits are left", bits);
	CHECK(sim_inflate(&h, &ready, true) == (bits ? -EINVAL : 0), "%u bits are left", bits);
	if (bits)
		return;
	codes.ll[0] = 0;
	for (uint32_t i = 0, c = 0; i < SIM_LL; i++) {
		if (i == 226)
			c <<= 1;
		codes.ll[i] = lens[i] << 15 | c++;
	}
	for (uint32_t i = 0, c = 0; i < SIM_DIST; i++) {
		if (i == 2)
			c <<= 1;
		codes.dist[i] = lens[SIM_LL + i] << 15 | c++;
	}
	CHECK(!sim_deflate(&b, &codes, NULL, 0, work), "%u bytes", len);
	for (int i = 0; i < 2; i++) {
		uint8_t ll[SIM_LL_MOST] = { 0 }, dist[SIM_DIST_MOST] = { 0 };

		state = ready;
		if (i) {
			/* Taken down, and begun with again */
			sim_inflate_save(&ready, ll, dist);
			memset(&state, 0, sizeof(state));
			CHECK(!sim_inflate_load(&state, ll, dist), "no codes");
			state.last = ready.last;
			CHECK(!memcmp(&state, &ready, sizeof(state)), "another state");
		}
		r = (struct sim_buf){ .src = out, .slen = b.len, .dst = back, .room = PAGE };
		CHECK(!sim_inflate(&r, &state, false), "%u bytes", b.len);
		CHECK(!memcmp(back, page, len), "%u bytes", len);
		ll[rnd(SIM_LL)] ^= 1 + rnd(255);
		CHECK(!i || sim_inflate_load(&state, ll, dist), "codes of no tree");
	}
	memmove(out + n, out, b.len);
	memcpy(out, header, n);
	CHECK(unzip(out, n + b.len, back, PAGE) == len, "%u bytes", len);
	CHECK(!memcmp(back, page, len), "%u bytes", len);
}

/* The codes of deflate-iaa-canned are what its header says, are complete, and are enough. */
static void canned(struct sim_inflate *ready)
{
	struct sim_buf h = { .src = iaa_canned_header, .slen = sizeof(iaa_canned_header) };
	uint8_t ll[SIM_LL_MOST] = { 0 }, dist[SIM_DIST_MOST] = { 0 };
	uint32_t all = 0;

	CHECK(!sim_inflate(&h, ready, true), "not of whole bytes");
	CHECK(ready->last, "not the last block");
	sim_inflate_save(ready, ll, dist);
	for (int i = 0; i < SIM_LL; i++) {
		CHECK(ll[i] && ll[i] == iaa_canned_ll[i] >> SIM_BITS, "%d: %u bits", i, ll[i]);
		all += 1u << (SIM_BITS - ll[i]);
	}
	CHECK(all == 1u << SIM_BITS, "codes are not complete");
	all = 0;
	for (int i = 0; i < SIM_DIST; i++) {
		/* 24 symbols are distances up to 4096. */
		CHECK(!dist[i] == (i >= 24), "%d: %u bits", i, dist[i]);
		CHECK(dist[i] == iaa_canned_dist[i] >> SIM_BITS, "%d: %u bits", i, dist[i]);
		if (dist[i])
			all += 1u << (SIM_BITS - dist[i]);
	}
	CHECK(all == 1u << SIM_BITS, "distances are not complete");
}

/* Write with these codes, and read that. Return how long it is. */
static uint32_t with_canned(const struct sim_inflate *ready, const uint8_t *page, uint32_t len,
			    struct sim_work *work)
{
	static uint8_t out[ROOM], back[PAGE];
	struct sim_buf b = { .src = page, .slen = len, .dst = out, .room = ROOM }, r;
	const uint32_t n = sizeof(iaa_canned_header);
	struct sim_inflate state = *ready;
	struct sim_codes codes;

	memcpy(codes.ll, iaa_canned_ll, sizeof(codes.ll));
	memcpy(codes.dist, iaa_canned_dist, sizeof(codes.dist));
	CHECK(!sim_deflate(&b, &codes, NULL, 0, work), "%u bytes", len);
	r = (struct sim_buf){ .src = out, .slen = b.len, .dst = back, .room = PAGE };
	CHECK(!sim_inflate(&r, &state, false), "%u bytes", b.len);
	CHECK(r.len == len && !memcmp(back, page, len), "%u bytes", len);
	memmove(out + n, out, b.len);
	memcpy(out, iaa_canned_header, n);
	CHECK(unzip(out, n + b.len, back, PAGE) == len, "%u bytes", len);
	CHECK(!memcmp(back, page, len), "%u bytes", len);
	return b.len;
}

/* What zlib takes, the decompressor takes, and it is the same; what it refuses, that refuses. */
static void agree(const uint8_t *src, uint32_t len)
{
	static uint8_t theirs[PAGE], ours[PAGE];
	z_stream z = {
		.next_in = (uint8_t *)src, .avail_in = len, .next_out = theirs, .avail_out = PAGE,
	};
	struct sim_inflate state = { 0 };
	struct sim_buf b = { .src = src, .slen = len, .dst = ours, .room = PAGE };
	int err = sim_inflate(&b, &state, false), zerr;

	if (inflateInit2(&z, -12))
		abort();
	zerr = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	if (zerr == Z_STREAM_END)
		CHECK(!err && b.len == z.total_out && !memcmp(ours, theirs, b.len),
		      "error %d", err);
	else
		CHECK(err == (zerr == Z_DATA_ERROR ? -EINVAL : z.avail_out ? -ENODATA : -ENOSPC),
		      "error %d, of zlib %d, %s", err, zerr, z.msg ?: "no message");
}

/* Short pieces, so that damage is often in what comes before the data */
static void damaged(struct sim_work *work)
{
	static uint8_t page[PAGE], zipped[ROOM];
	uint32_t len = 1 + rnd(200);
	struct sim_codes codes;
	struct sim_buf b = { .src = page, .slen = len, .dst = zipped, .room = ROOM };
	uint8_t *src;

	for (uint32_t i = 0; i < len; i++)
		page[i] = rnd(2) ? rnd(256) : "etaoin"[rnd(6)];
	if (rnd(2)) {
		CHECK(!sim_deflate_dynamic(&b, &codes, work), "%u bytes", len);
	} else {
		static const int how[] = { Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY };

		b.len = zip(page, len, zipped, ROOM, rnd(10), how[rnd(3)]);
	}
	for (int i = 0; i < 20; i++) {
		uint32_t n = rnd(3) ? b.len : 1 + rnd(b.len);

		src = malloc(n);
		memcpy(src, zipped, n);
		for (uint32_t bits = rnd(3); bits; bits--)
			src[rnd(n < 24 || rnd(3) ? n : 24)] ^= 1 << rnd(8);
		agree(src, n);
		free(src);
	}
}

/* No distance is longer than history, neither written nor read. */
static void history(struct sim_work *work)
{
	static uint8_t data[4 * PAGE], zipped[8 * PAGE], back[4 * PAGE];
	struct sim_buf b = {
		.src = data, .slen = sizeof(data), .dst = zipped, .room = sizeof(zipped),
	};
	struct sim_inflate state = { 0 };
	struct sim_codes codes;
	z_stream z = { .next_in = data, .avail_in = sizeof(data), .next_out = zipped,
		       .avail_out = sizeof(zipped) };
	int err;

	/* What is PAGE, less or more, before */
	for (int i = 0; i < PAGE + 8; i++)
		data[i] = rnd(256);
	for (uint32_t i = PAGE + 8; i < sizeof(data); ) {
		uint32_t run = 1 + rnd(40), dist = PAGE - 4 + rnd(9);

		for (; run && i < sizeof(data); run--, i++)
			data[i] = data[i - dist];
	}
	CHECK(!sim_deflate_dynamic(&b, &codes, work), "no room");
	b = (struct sim_buf){ .src = zipped, .slen = b.len, .dst = back, .room = sizeof(back) };
	err = sim_inflate(&b, &state, false);
	CHECK(!err && !memcmp(back, data, sizeof(data)), "error %d", err);
	CHECK(b.slen < sizeof(data) - PAGE, "%u bytes", b.slen);
	if (deflateInit2(&z, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY))
		abort();
	deflate(&z, Z_FINISH);
	b.slen = z.total_out;
	deflateEnd(&z);
	memset(&state, 0, sizeof(state));
	CHECK(sim_inflate(&b, &state, false) == -EINVAL, "history is longer");
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 400;
	struct sim_work *work = malloc(sizeof(*work));
	FILE *self = fopen("/proc/self/exe", "rb");
	unsigned long fix_bytes = 0, can_bytes = 0, dyn_bytes = 0, in_bytes = 0;
	struct sim_inflate ready = { 0 };
	static uint8_t page[PAGE];
	struct sim_codes codes;

	canned(&ready);
	for (long i = 0; i < rounds; i++) {
		uint32_t len = fill(page, i % 5, self);
		uint8_t *src = malloc(len), *dst = malloc(ROOM);
		struct sim_buf b = { .src = src, .slen = len, .dst = dst, .room = ROOM };
		static const uint8_t head[] = { 3 };

		memcpy(src, page, len);
		fixed(&codes);
		CHECK(!sim_deflate(&b, &codes, head, 3, work), "%u bytes", len);
		read_back(&b, page, len, "fixed");
		if (i % 5 == 4) {
			in_bytes += len;
			fix_bytes += b.len;
		}
		/* Not enough room: nothing is written behind it. */
		b.room = b.len - 1;
		dst[b.room] = 0xa5;
		CHECK(sim_deflate(&b, &codes, head, 3, work) == -ENOSPC, "%u bytes", len);
		CHECK(dst[b.room] == 0xa5, "%u bytes", len);
		b.room = ROOM;
		/* A symbol without a code */
		codes.ll[src[0]] = 0;
		CHECK(sim_deflate(&b, &codes, head, 3, work) == -EINVAL, "%u bytes", len);
		CHECK(!sim_deflate_dynamic(&b, &codes, work), "%u bytes", len);
		read_back(&b, page, len, "dynamic");
		if (i % 5 == 4)
			dyn_bytes += b.len;
		can_bytes += with_canned(&ready, page, len, work) * (i % 5 == 4);
		read_zlib(page, len);
		without_header(page, len, work, 12);
		without_header(page, len, work, 13);
		free(src);
		free(dst);
	}
	for (long i = 0; i < 20 * rounds; i++)
		damaged(work);
	/* A block whose lengths of codes have one code: 18, of one bit */
	agree((const uint8_t []){ 5, 0, 0x80, 0, 0, 0, 0, 0 }, 8);
	for (long i = 0; i < 20; i++)
		history(work);
	/* Anything at all */
	for (long i = 0; i < 50 * rounds; i++) {
		uint32_t len = 1 + rnd(64);
		struct sim_inflate state = { 0 };
		uint8_t *src = malloc(len), *dst = malloc(PAGE);
		struct sim_buf b = { .src = src, .slen = len, .dst = dst, .room = PAGE };

		for (uint32_t j = 0; j < len; j++)
			src[j] = rnd(256);
		sim_inflate(&b, &state, rnd(2));
		CHECK(b.len <= b.room, "%u bytes", b.len);
		free(src);
		free(dst);
	}
	free(work);
	fclose(self);
	printf("coder: %lu checks, %lu failed; this program's pages: fixed %.2f, canned %.2f, dynamic %.2f\n",
	       checks, failed, (double)fix_bytes / in_bytes, (double)can_bytes / in_bytes,
	       (double)dyn_bytes / in_bytes);
	return failed ? 1 : 0;
}
