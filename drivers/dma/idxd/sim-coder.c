// SPDX-License-Identifier: GPL-2.0
/*
 * Simulated IAA device: its compressor and decompressor. See sim-coder.h
 *
 * This file is compiled in user space, too, where zlib reads what it writes, and the other way
 * round.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

#include "sim-coder.h"

#define END		256
#define FIRST_LENGTH	257
#define MIN_MATCH	3
#define MAX_MATCH	258
/* Places that are looked at for a match */
#define TRIES		16

/* RFC 1951, 3.2.5: the first length, or distance, of a symbol, and how many bits follow it */
static const u16 length_base[] = {
	3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115,
	131, 163, 195, 227, 258
};

static const u8 length_bits[] = {
	0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0
};

static const u16 dist_base[] = {
	1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537,
	2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577
};

static const u8 dist_bits[] = {
	0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12,
	13, 13
};

/* RFC 1951, 3.2.7: the order in which the lengths of codes for lengths of codes come */
static const u8 cl_order[] = {
	16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15
};

/* --- writing -------------------------------------------------------------- */

/* Bits that are written, the first one the least significant */
struct out {
	struct sim_buf *buf;
	u64 acc;
	unsigned int nr;
	int err;
};

static void put(struct out *out, u32 value, unsigned int bits)
{
	out->acc |= (u64)value << out->nr;
	out->nr += bits;
	for (; out->nr >= 8; out->nr -= 8, out->acc >>= 8) {
		if (out->buf->len == out->buf->room)
			out->err = -ENOSPC;
		else
			out->buf->dst[out->buf->len++] = out->acc;
	}
}

/* A code comes with its most significant bit first. */
static void put_code(struct out *out, u32 entry)
{
	unsigned int bits = entry >> SIM_BITS;
	u32 back = 0;

	if (!bits)
		out->err = -EINVAL;
	for (unsigned int i = 0; i < bits; i++)
		back |= ((entry >> i) & 1) << (bits - 1 - i);
	put(out, back, bits);
}

/* The symbol of a length, or distance: the last whose base is not above it */
static unsigned int symbol_of(const u16 *base, unsigned int nr, unsigned int value)
{
	unsigned int i = 0;

	while (i + 1 < nr && base[i + 1] <= value)
		i++;
	return i;
}

static unsigned int length_symbol(unsigned int len)
{
	return symbol_of(length_base, ARRAY_SIZE(length_base), len);
}

static unsigned int dist_symbol(unsigned int dist)
{
	return symbol_of(dist_base, ARRAY_SIZE(dist_base), dist);
}

static u32 hash(const u8 *at)
{
	u32 three = at[0] | at[1] << 8 | at[2] << 16;

	return (three * 0x9e3779b1u) >> 22;
}

/* Remember where three bytes are. */
static void see(struct sim_work *work, const u8 *src, u32 at)
{
	u32 *head = &work->head[hash(src + at)];

	work->prev[at % SIM_WINDOW] = *head;
	*head = at + 1;
}

/* The longest match of what is at @at. Return its length, 0 if there is none. */
static unsigned int match(const struct sim_work *work, const struct sim_buf *buf, u32 at, u32 *dist)
{
	unsigned int most = min_t(u32, SIM_MATCH, buf->slen - at), best = 0, len;
	const u8 *src = buf->src;
	u32 place;

	if (most < MIN_MATCH)
		return 0;
	place = work->head[hash(src + at)];
	for (int i = 0; i < TRIES && place && at - (place - 1) <= SIM_WINDOW; i++) {
		for (len = 0; len < most && src[place - 1 + len] == src[at + len]; len++)
			;
		if (len > best) {
			best = len;
			*dist = at - (place - 1);
		}
		place = work->prev[(place - 1) % SIM_WINDOW];
	}
	return best < MIN_MATCH ? 0 : best;
}

/* Write all of the input with these codes, or count symbols if there are none. */
static void parse(struct out *out, const struct sim_codes *codes, struct sim_work *work)
{
	const struct sim_buf *buf = out->buf;
	u32 at = 0, dist = 0;

	memset(work->head, 0, sizeof(work->head));
	while (at < buf->slen) {
		unsigned int len = match(work, buf, at, &dist), l, d;

		if (!len) {
			if (codes)
				put_code(out, codes->ll[buf->src[at]]);
			else
				work->count[buf->src[at]]++;
			len = 1;
		} else {
			l = length_symbol(len);
			d = dist_symbol(dist);
			if (codes) {
				put_code(out, codes->ll[FIRST_LENGTH + l]);
				put(out, len - length_base[l], length_bits[l]);
				put_code(out, codes->dist[d]);
				put(out, dist - dist_base[d], dist_bits[d]);
			} else {
				work->count[FIRST_LENGTH + l]++;
				work->count[SIM_LL + d]++;
			}
		}
		for (; len; len--, at++) {
			if (at + MIN_MATCH <= buf->slen)
				see(work, buf->src, at);
		}
	}
}

static int finish(struct out *out, const struct sim_codes *codes)
{
	put_code(out, codes->ll[END]);
	if (out->nr)
		put(out, 0, 8 - out->nr);
	return out->err;
}

/**
 * sim_deflate - compress with codes that are given
 * @buf: input, and where output goes
 * @codes: the codes
 * @first: what to write first: a block's header, or nothing
 * @bits: how many bits of that
 * @work: memory
 *
 * Context: any; takes time.
 * Return: 0, -ENOSPC if there is not enough room, -EINVAL if a symbol has no code.
 */
int sim_deflate(struct sim_buf *buf, const struct sim_codes *codes, const u8 *first,
		unsigned int bits, struct sim_work *work)
{
	struct out out = { .buf = buf };

	buf->len = 0;
	for (; bits >= 8; bits -= 8)
		put(&out, *first++, 8);
	if (bits)
		put(&out, *first & ((1 << bits) - 1), bits);
	parse(&out, codes, work);
	return finish(&out, codes);
}

/* --- codes made for the input --------------------------------------------- */

/* Give codes, from their lengths: RFC 1951, 3.2.2. */
static void assign(u32 *codes, const u8 *len, unsigned int nr)
{
	u32 next[SIM_BITS + 2] = { 0 }, code = 0;
	unsigned int of[SIM_BITS + 1] = { 0 };

	for (unsigned int i = 0; i < nr; i++)
		of[len[i]]++;
	of[0] = 0;
	for (int i = 1; i <= SIM_BITS; i++) {
		code = (code + of[i - 1]) << 1;
		next[i] = code;
	}
	for (unsigned int i = 0; i < nr; i++)
		codes[i] = len[i] ? (u32)len[i] << SIM_BITS | next[len[i]]++ : 0;
}

/*
 * Lengths of codes for symbols that were seen so often, of @most bits. With counts made coarser
 * the longest code gets shorter, so that is done until it is short enough.
 */
static void lengths(u8 *len, const u32 *count, unsigned int nr, unsigned int most,
		    struct sim_work *work)
{
	u32 *weight = work->weight;
	u16 *parent = work->parent;

	for (unsigned int shift = 0; ; shift++) {
		unsigned int nodes = nr, longest = 0;

		for (unsigned int i = 0; i < nr; i++)
			weight[i] = count[i] ? (count[i] >> shift) + 1 : 0;
		for (;;) {
			int a = -1, b = -1;

			for (unsigned int i = 0; i < nodes; i++) {
				if (!weight[i])
					continue;
				if (a < 0 || weight[i] < weight[a]) {
					b = a;
					a = i;
				} else if (b < 0 || weight[i] < weight[b]) {
					b = i;
				}
			}
			if (b < 0)
				break;
			weight[nodes] = weight[a] + weight[b];
			weight[a] = 0;
			weight[b] = 0;
			parent[a] = nodes;
			parent[b] = nodes++;
		}
		for (unsigned int i = 0; i < nr; i++) {
			unsigned int up = i, n = 0;

			while (count[i] && up != nodes - 1) {
				up = parent[up];
				n++;
			}
			len[i] = n;
			longest = max(longest, n);
		}
		if (longest <= most)
			return;
	}
}

/* One run of equal lengths of codes, as RFC 1951, 3.2.7 writes it. Return how many it takes. */
static unsigned int run_of(const u8 *len, unsigned int nr, unsigned int *symbol,
			   unsigned int *extra)
{
	unsigned int n = 1;

	while (n < nr && len[n] == len[0] && n < 138)
		n++;
	*extra = 0;
	if (!len[0] && n >= 11) {
		*symbol = 18;
		*extra = n - 11;
		return n;
	}
	if (!len[0] && n >= 3) {
		*symbol = 17;
		*extra = n - 3;
		return n;
	}
	/* The first of a run of others is written, and can be repeated then. */
	*symbol = len[0];
	return 1;
}

static unsigned int repeat_of(const u8 *len, unsigned int nr, u8 before)
{
	unsigned int n = 0;

	while (before && n < nr && len[n] == before && n < 6)
		n++;
	return n >= 3 ? n : 0;
}

/* Write the lengths of codes with a code of their own, or count its symbols if @cl is NULL. */
static void put_lengths(struct out *out, const u8 *len, unsigned int nr, const u32 *cl, u32 *count)
{
	static const u8 extra_bits[] = { 2, 3, 7 };
	unsigned int at = 0, n, symbol, extra;

	while (at < nr) {
		n = at ? repeat_of(len + at, nr - at, len[at - 1]) : 0;
		if (n) {
			symbol = 16;
			extra = n - 3;
		} else {
			n = run_of(len + at, nr - at, &symbol, &extra);
		}
		if (cl) {
			put_code(out, cl[symbol]);
			if (symbol >= 16)
				put(out, extra, extra_bits[symbol - 16]);
		} else {
			count[symbol]++;
		}
		at += n;
	}
}

/**
 * sim_deflate_dynamic - compress with codes made for the input
 * @buf: input, and where output goes
 * @codes: set to the codes
 * @work: memory
 *
 * Context: any; takes time.
 * Return: 0, or -ENOSPC if there is not enough room.
 */
int sim_deflate_dynamic(struct sim_buf *buf, struct sim_codes *codes, struct sim_work *work)
{
	u8 len[SIM_LL + SIM_DIST], cl_len[SIM_CL];
	u32 cl_count[SIM_CL] = { 0 }, cl[SIM_CL];
	struct out out = { .buf = buf };
	unsigned int nr_ll = SIM_LL, nr_dist = SIM_DIST, nr_cl = SIM_CL;

	buf->len = 0;
	memset(work->count, 0, sizeof(work->count));
	parse(&out, NULL, work);
	work->count[END]++;
	/* A code has two symbols at least, so that no code is incomplete. */
	for (unsigned int i = 0; i < 2; i++) {
		work->count[i] += !work->count[i];
		work->count[SIM_LL + i] += !work->count[SIM_LL + i];
	}
	lengths(len, work->count, SIM_LL, SIM_BITS, work);
	lengths(len + SIM_LL, work->count + SIM_LL, SIM_DIST, SIM_BITS, work);
	assign(codes->ll, len, SIM_LL);
	assign(codes->dist, len + SIM_LL, SIM_DIST);

	while (!len[nr_ll - 1])
		nr_ll--;
	while (!len[SIM_LL + nr_dist - 1])
		nr_dist--;
	memmove(len + nr_ll, len + SIM_LL, nr_dist);
	put_lengths(&out, len, nr_ll + nr_dist, NULL, cl_count);
	for (unsigned int i = 0; i < 2; i++)
		cl_count[17 + i] += !cl_count[17 + i];
	lengths(cl_len, cl_count, SIM_CL, 7, work);
	assign(cl, cl_len, SIM_CL);
	while (nr_cl > 4 && !cl_len[cl_order[nr_cl - 1]])
		nr_cl--;

	put(&out, 1, 1);
	put(&out, 2, 2);
	put(&out, nr_ll - 257, 5);
	put(&out, nr_dist - 1, 5);
	put(&out, nr_cl - 4, 4);
	for (unsigned int i = 0; i < nr_cl; i++)
		put(&out, cl_len[cl_order[i]], 3);
	put_lengths(&out, len, nr_ll + nr_dist, cl, NULL);
	parse(&out, codes, work);
	return finish(&out, codes);
}

/* --- reading -------------------------------------------------------------- */

struct in {
	struct sim_buf *buf;
	u32 at;
	u32 acc;
	unsigned int nr;
};

/* So many bits, up to 16, or -ENODATA */
static int get(struct in *in, unsigned int bits)
{
	u32 value;

	while (in->nr < bits) {
		if (in->at == in->buf->slen)
			return -ENODATA;
		in->acc |= (u32)in->buf->src[in->at++] << in->nr;
		in->nr += 8;
	}
	value = in->acc & ((1u << bits) - 1);
	in->acc >>= bits;
	in->nr -= bits;
	return value;
}

/*
 * Make a code of the lengths of its codes. If it is not complete it has one, of one bit, or none.
 * That of lengths of codes has to be complete.
 */
static int tree_of(struct sim_tree *tree, const u8 *len, unsigned int nr, bool complete)
{
	unsigned int from[SIM_BITS + 2] = { 0 }, codes = 0;
	int left = 1;

	memset(tree, 0, sizeof(*tree));
	for (unsigned int i = 0; i < nr; i++)
		tree->nr[len[i]]++;
	tree->nr[0] = 0;
	for (int i = 1; i <= SIM_BITS; i++) {
		left = 2 * left - tree->nr[i];
		from[i + 1] = from[i] + tree->nr[i];
		codes += tree->nr[i];
	}
	/* Below 0 there are more codes than bits can tell apart. */
	if (left && codes && (complete || codes > 1 || !tree->nr[1]))
		return -EINVAL;
	for (unsigned int i = 0; i < nr; i++) {
		if (len[i])
			tree->symbol[from[len[i]]++] = i;
	}
	return 0;
}

/* The next symbol, or an error */
static int symbol(struct in *in, const struct sim_tree *tree)
{
	unsigned int code = 0, first = 0, index = 0;

	for (int bits = 1; bits <= SIM_BITS; bits++) {
		int bit = get(in, 1);

		if (bit < 0)
			return bit;
		code = code << 1 | bit;
		first <<= 1;
		if (code - first < tree->nr[bits])
			return tree->symbol[index + code - first];
		index += tree->nr[bits];
		first += tree->nr[bits];
	}
	return -EINVAL;
}

static int fixed_codes(struct sim_inflate *state)
{
	u8 len[SIM_LL_MOST];

	for (int i = 0; i < SIM_LL_MOST; i++)
		len[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
	tree_of(&state->ll, len, SIM_LL_MOST, true);
	memset(len, 5, SIM_DIST_MOST);
	return tree_of(&state->dist, len, SIM_DIST_MOST, true);
}

static int dynamic_codes(struct in *in, struct sim_inflate *state)
{
	u8 len[SIM_LL_MOST + SIM_DIST_MOST] = { 0 }, cl[SIM_CL] = { 0 };
	int nr_ll = get(in, 5), nr_dist = get(in, 5), nr_cl = get(in, 4), n = 0;

	if (nr_cl < 0)
		return nr_cl;
	nr_ll += 257;
	nr_dist += 1;
	nr_cl += 4;
	if (nr_ll > SIM_LL || nr_dist > SIM_DIST)
		return -EINVAL;
	for (int i = 0; i < nr_cl; i++) {
		int bits = get(in, 3);

		if (bits < 0)
			return bits;
		cl[cl_order[i]] = bits;
	}
	if (tree_of(&state->ll, cl, SIM_CL, true))
		return -EINVAL;
	while (n < nr_ll + nr_dist) {
		int sym = symbol(in, &state->ll), times, value = 0;

		if (sym < 0)
			return sym;
		if (sym < 16) {
			len[n++] = sym;
			continue;
		}
		if (sym == 16 && !n)
			return -EINVAL;
		if (sym == 16)
			value = len[n - 1];
		times = get(in, sym == 16 ? 2 : sym == 17 ? 3 : 7);
		if (times < 0)
			return times;
		times += sym == 18 ? 11 : 3;
		if (n + times > nr_ll + nr_dist)
			return -EINVAL;
		memset(len + n, value, times);
		n += times;
	}
	if (!len[END])
		return -EINVAL;
	return tree_of(&state->ll, len, nr_ll, false) ?:
	       tree_of(&state->dist, len + nr_ll, nr_dist, false);
}

/* A block that is not compressed: its length comes at the next byte, and once more, inverted. */
static int stored(struct in *in)
{
	struct sim_buf *buf = in->buf;
	u32 len;

	/* No more than was needed was read: these are the rest of a byte. */
	in->acc = 0;
	in->nr = 0;
	if (buf->slen - in->at < 4)
		return -ENODATA;
	len = buf->src[in->at] | buf->src[in->at + 1] << 8;
	if (len != (u32)((u16)~(buf->src[in->at + 2] | buf->src[in->at + 3] << 8)))
		return -EINVAL;
	in->at += 4;
	if (buf->slen - in->at < len)
		return -ENODATA;
	if (buf->room - buf->len < len)
		return -ENOSPC;
	memcpy(buf->dst + buf->len, buf->src + in->at, len);
	buf->len += len;
	in->at += len;
	return 0;
}

/* A match, whose length has this symbol */
static int copy(struct in *in, const struct sim_inflate *state, int sym)
{
	struct sim_buf *buf = in->buf;
	int len, dist, extra;

	sym -= FIRST_LENGTH;
	if (sym >= (int)ARRAY_SIZE(length_base))
		return -EINVAL;
	extra = get(in, length_bits[sym]);
	if (extra < 0)
		return extra;
	len = length_base[sym] + extra;
	sym = symbol(in, &state->dist);
	if (sym < 0)
		return sym;
	if (sym >= SIM_DIST)
		return -EINVAL;
	extra = get(in, dist_bits[sym]);
	if (extra < 0)
		return extra;
	dist = dist_base[sym] + extra;
	if (dist > SIM_WINDOW || dist > (int)buf->len)
		return -EINVAL;
	if (buf->room - buf->len < (u32)len)
		return -ENOSPC;
	for (; len; len--, buf->len++)
		buf->dst[buf->len] = buf->dst[buf->len - dist];
	return 0;
}

/* What is in a block, up to its end */
static int block(struct in *in, const struct sim_inflate *state)
{
	struct sim_buf *buf = in->buf;
	int sym, err;

	for (;;) {
		sym = symbol(in, &state->ll);
		if (sym < 0)
			return sym;
		if (sym == END)
			return 0;
		if (sym > END) {
			err = copy(in, state, sym);
			if (err)
				return err;
			continue;
		}
		if (buf->len == buf->room)
			return -ENOSPC;
		buf->dst[buf->len++] = sym;
	}
}

/**
 * sim_inflate - decompress
 * @buf: input, and where output goes
 * @state: where the last piece of work has ended; all zeroes before the first
 * @header_only: read the header of a block, and no more. It ends with the input.
 *
 * Context: any; takes time.
 * Return: 0 at the end of the last block; with @header_only, after the header. -ENODATA if the
 * input ends before, -ENOSPC if there is not enough room, -EINVAL if it is not valid.
 */
int sim_inflate(struct sim_buf *buf, struct sim_inflate *state, bool header_only)
{
	struct in in = { .buf = buf };
	int type, err;

	buf->len = 0;
	for (;;) {
		if (!state->in_block) {
			err = get(&in, 1);
			if (err < 0)
				return err;
			state->last = err;
			type = get(&in, 2);
			if (type < 0)
				return type;
			if (type == 3)
				return -EINVAL;
			err = type == 1 ? fixed_codes(state) :
			      type == 2 ? dynamic_codes(&in, state) : stored(&in);
			if (err)
				return err;
			state->in_block = type;
			if (header_only)
				return in.at == buf->slen && !in.nr && type ? 0 : -EINVAL;
		}
		if (state->in_block) {
			err = block(&in, state);
			if (err)
				return err;
			state->in_block = false;
		}
		if (state->last)
			return 0;
	}
}

/* Lengths of the codes of which a tree was made */
static void save(const struct sim_tree *tree, u8 *len)
{
	unsigned int at = 0;

	for (int bits = 1; bits <= SIM_BITS; bits++)
		for (unsigned int n = tree->nr[bits]; n; n--)
			len[tree->symbol[at++]] = bits;
}

/**
 * sim_inflate_save - take down the codes of a block
 * @state: which has begun
 * @ll: set to their lengths, of SIM_LL_MOST symbols; zeroes before
 * @dist: the same for SIM_DIST_MOST distances
 *
 * Context: any.
 */
void sim_inflate_save(const struct sim_inflate *state, u8 *ll, u8 *dist)
{
	save(&state->ll, ll);
	save(&state->dist, dist);
}

/**
 * sim_inflate_load - begin a block with codes that were taken down
 * @state: set to it. Whether it is the last one is for the caller to say.
 * @ll: their lengths, up to SIM_BITS, of SIM_LL_MOST symbols
 * @dist: the same for SIM_DIST_MOST distances
 *
 * Context: any.
 * Return: 0, or -EINVAL if these are no codes.
 */
int sim_inflate_load(struct sim_inflate *state, const u8 *ll, const u8 *dist)
{
	for (int i = 0; i < SIM_LL_MOST; i++)
		if (ll[i] > SIM_BITS)
			return -EINVAL;
	for (int i = 0; i < SIM_DIST_MOST; i++)
		if (dist[i] > SIM_BITS)
			return -EINVAL;
	state->in_block = true;
	return tree_of(&state->ll, ll, SIM_LL_MOST, false) ?:
	       tree_of(&state->dist, dist, SIM_DIST_MOST, false);
}
