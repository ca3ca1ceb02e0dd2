// SPDX-License-Identifier: GPL-2.0
/*
 * Codes for pages of which nothing is known: "canned" ones, for deflate-iaa-canned.
 *
 *   canned FILE...		print tables, made of the pages in these files
 *
 * Each file counts as much as another one. A page's symbols are those that the compressor of the
 * simulated device finds, with matches of up to 32 bytes: a device may find others, so each symbol
 * that it could need has a code. Both codes are complete, and the header is of whole bytes, so that
 * what follows it is not shifted.
 */
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim-coder.c"

#define PAGE	4096

/* Distances within 4096 bytes have these symbols. */
#define DISTS	24

/* Headers that there are to choose of: distances without a code, and codes as short as 12 bits */
#define DISTS_CHOICES	(SIM_DIST - DISTS + 1)
#define CHOICES		(4 * DISTS_CHOICES * SIM_CL)

/* How much all symbols of a file count */
#define WEIGHT	(1u << 22)

static struct sim_work work;

/* Whether zswap would store a page as one word */
static bool same(const uint8_t *page)
{
	return !memcmp(page, page + sizeof(long), PAGE - sizeof(long));
}

/* Add up what a file's pages need. */
static void add(const char *name, uint32_t *sum)
{
	uint64_t count[SIM_LL + SIM_DIST] = { 0 }, all = 0;
	FILE *f = fopen(name, "rb");
	uint8_t page[PAGE];
	unsigned long pages = 0;

	if (!f)
		err(1, "%s", name);
	while (fread(page, PAGE, 1, f) == 1) {
		struct sim_buf buf = { .src = page, .slen = PAGE };
		struct out out = { .buf = &buf };

		if (same(page))
			continue;
		memset(work.count, 0, sizeof(work.count));
		parse(&out, NULL, &work);
		work.count[END]++;
		for (int i = 0; i < SIM_LL + SIM_DIST; i++)
			count[i] += work.count[i];
		pages++;
	}
	fclose(f);
	if (!pages)
		errx(1, "%s: no pages", name);
	for (int i = 0; i < SIM_LL + SIM_DIST; i++)
		all += count[i];
	for (int i = 0; i < SIM_LL + SIM_DIST; i++)
		sum[i] += count[i] * WEIGHT / all;
}

/* A header with so many distances, and lengths of codes of codes. Return how many bits it has. */
static unsigned int header(struct sim_buf *buf, const uint8_t *len, unsigned int nr_dist,
			   unsigned int more)
{
	uint8_t both[SIM_LL + SIM_DIST] = { 0 }, cl_len[SIM_CL];
	uint32_t count[SIM_CL] = { 0 }, cl[SIM_CL];
	struct out out = { .buf = buf };
	unsigned int nr_cl = SIM_CL, bits;

	memcpy(both, len, SIM_LL + nr_dist);
	put_lengths(&out, both, SIM_LL + nr_dist, NULL, count);
	for (int i = 0; i < 2; i++)
		count[17 + i] += !count[17 + i];
	lengths(cl_len, count, SIM_CL, 7, &work);
	assign(cl, cl_len, SIM_CL);
	while (!cl_len[cl_order[nr_cl - 1]])
		nr_cl--;
	nr_cl += more;
	if (nr_cl > SIM_CL)
		return 0;
	buf->len = 0;
	put(&out, 1, 1);
	put(&out, 2, 2);
	put(&out, SIM_LL - 257, 5);
	put(&out, nr_dist - 1, 5);
	put(&out, nr_cl - 4, 4);
	for (unsigned int i = 0; i < nr_cl; i++)
		put(&out, cl_len[cl_order[i]], 3);
	put_lengths(&out, both, SIM_LL + nr_dist, cl, NULL);
	bits = 8 * buf->len + out.nr;
	return out.err ? 0 : bits;
}

static void print(const char *type, const char *name, const uint32_t *codes, unsigned int nr,
		  unsigned int digits)
{
	printf("\nstatic const %s %s[%u] = {", type, name, nr);
	for (unsigned int i = 0; i < nr; i++)
		printf("%s0x%0*x,", i % 8 ? " " : "\n\t", digits, codes[i]);
	printf("\n};\n");
}

int main(int argc, char **argv)
{
	static uint32_t sum[SIM_LL + SIM_DIST], wide[512], ll[SIM_LL], dist[SIM_DIST];
	uint8_t len[SIM_LL + SIM_DIST] = { 0 }, bytes[512];
	struct sim_buf buf = { .dst = bytes, .room = sizeof(bytes) };
	unsigned int bits = 1;

	if (argc < 2)
		errx(2, "usage: canned FILE...");
	for (int i = 1; i < argc; i++)
		add(argv[i], sum);
	for (int i = 0; i < SIM_LL + DISTS; i++)
		sum[i] += !sum[i];
	/* Unused distances, lengths of codes of codes, shorter codes: until it is of whole bytes */
	for (unsigned int i = 0; bits % 8 && i < CHOICES; i++) {
		lengths(len, sum, SIM_LL, SIM_BITS - i / DISTS_CHOICES / SIM_CL, &work);
		lengths(len + SIM_LL, sum + SIM_LL, DISTS, SIM_BITS, &work);
		bits = header(&buf, len, DISTS + i / SIM_CL % DISTS_CHOICES, i % SIM_CL) ?: 1;
	}
	assign(ll, len, SIM_LL);
	assign(dist, len + SIM_LL, SIM_DIST);
	if (bits % 8)
		errx(1, "no header of whole bytes");
	print("u32", "iaa_canned_ll", ll, SIM_LL, 5);
	print("u32", "iaa_canned_dist", dist, SIM_DIST, 5);
	for (unsigned int i = 0; i < buf.len; i++)
		wide[i] = bytes[i];
	print("u8", "iaa_canned_header", wide, buf.len, 2);
	return 0;
}
