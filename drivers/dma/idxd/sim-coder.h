/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Simulated IAA device: its compressor and decompressor
 *
 * Both know RFC 1951, and work on one piece of data at a time, as the device does: history is
 * 4 KiB, the compressor is told its codes, and the decompressor may be told them before the data.
 * Nothing in here is the device's own algorithm, which is not published: which matches it finds,
 * and so how short its output is, is not known.
 */
#ifndef _IDXD_SIM_CODER_H
#define _IDXD_SIM_CODER_H

#include <linux/types.h>

/* Symbols of RFC 1951: literals, end of block and lengths; distances; lengths of codes */
#define SIM_LL		286
#define SIM_DIST	30
#define SIM_CL		19

/* Symbols that a code may have, though two of each stand for nothing */
#define SIM_LL_MOST	(SIM_LL + 2)
#define SIM_DIST_MOST	(SIM_DIST + 2)

/* History, in bytes, and the longest match. Longer ones are read, but never written. */
#define SIM_WINDOW	4096
#define SIM_MATCH	32

/* Bits of the longest code */
#define SIM_BITS	15

/**
 * struct sim_codes - codes of a block, as the device's state has them
 * @ll: for each literal or length the code's length << 15, and the code, most significant bit
 *	first; 0 if there is none
 * @dist: the same for distances
 */
struct sim_codes {
	u32 ll[SIM_LL];
	u32 dist[SIM_DIST];
};

/**
 * struct sim_work - memory that the compressor needs
 * @head: last place where three bytes with a hash were seen, and 1; 0 if nowhere
 * @prev: the place before each place, the same way
 * @count: how often each symbol was seen, first of literals and lengths
 * @weight: of the nodes of a tree, while a code is made
 * @parent: of these
 */
struct sim_work {
	u32 head[1024];
	u32 prev[SIM_WINDOW];
	u32 count[SIM_LL + SIM_DIST];
	u32 weight[2 * SIM_LL];
	u16 parent[2 * SIM_LL];
};

/**
 * struct sim_tree - a prefix code, to read it
 * @nr: how many codes there are of each length
 * @symbol: what they stand for, in the order of the codes
 */
struct sim_tree {
	u16 nr[SIM_BITS + 1];
	u16 symbol[SIM_LL_MOST];
};

/**
 * struct sim_inflate - the decompressor's state between two pieces of work
 * @ll: code of literals and lengths
 * @dist: code of distances
 * @in_block: whether a block has begun, which these are the codes of
 * @last: whether it is the last one
 */
struct sim_inflate {
	struct sim_tree ll;
	struct sim_tree dist;
	bool in_block;
	bool last;
};

/**
 * struct sim_buf - what is read, and written
 * @src: input
 * @slen: its length in bytes
 * @dst: output
 * @room: for how many bytes
 * @len: how many bytes of output there are
 */
struct sim_buf {
	const u8 *src;
	u32 slen;
	u8 *dst;
	u32 room;
	u32 len;
};

int sim_deflate(struct sim_buf *buf, const struct sim_codes *codes, const u8 *first,
		unsigned int bits, struct sim_work *work);
int sim_deflate_dynamic(struct sim_buf *buf, struct sim_codes *codes, struct sim_work *work);
int sim_inflate(struct sim_buf *buf, struct sim_inflate *state, bool header_only);
void sim_inflate_save(const struct sim_inflate *state, u8 *ll, u8 *dist);
int sim_inflate_load(struct sim_inflate *state, const u8 *ll, const u8 *dist);

#endif /* _IDXD_SIM_CODER_H */
