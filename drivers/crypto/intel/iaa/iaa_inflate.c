// SPDX-License-Identifier: GPL-2.0
/*
 * IAA driver with requests of several units: decompression in software
 *
 * Whatever a device does not decompress, as there is none, it has failed, or it has lost a
 * descriptor, has to be read all the same: it is a page of a program.
 */
#include <linux/highmem.h>
#include <linux/mutex.h>
#include <linux/vmalloc.h>
#include <linux/zlib.h>

#include "iaa_batch.h"

#define IAA_STREAMS	8

/**
 * struct iaa_stream - memory of a decompression
 * @lock: who has it
 * @zlib: the decompressor
 */
struct iaa_stream {
	struct mutex lock;	/* of @zlib */
	struct z_stream_s zlib;
};

static struct iaa_stream iaa_stream[IAA_STREAMS];
static unsigned int iaa_nr_streams;

/**
 * iaa_inflate_init - get memory for decompression in software
 *
 * As much as can be used at a time: what needs it may be what frees memory.
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM.
 */
int iaa_inflate_init(void)
{
	unsigned int nr = min_t(unsigned int, num_possible_cpus(), IAA_STREAMS);

	for (unsigned int i = 0; i < nr; i++) {
		iaa_stream[i].zlib.workspace = vzalloc(zlib_inflate_workspacesize());
		if (!iaa_stream[i].zlib.workspace) {
			iaa_inflate_exit();
			return -ENOMEM;
		}
		mutex_init(&iaa_stream[i].lock);
		iaa_nr_streams = i + 1;
	}
	return 0;
}

/**
 * iaa_inflate_exit - free that memory
 *
 * Context: may sleep. Nobody decompresses.
 */
void iaa_inflate_exit(void)
{
	for (unsigned int i = 0; i < iaa_nr_streams; i++)
		vfree(iaa_stream[i].zlib.workspace);
	iaa_nr_streams = 0;
}

/* Decompress with a stream. Return the length, or -EINVAL. */
static int iaa_inflate_with(struct z_stream_s *zlib, struct scatterlist *src,
			    struct scatterlist *dst, bool canned)
{
	u8 *in = kmap_local_page(sg_page(src)) + src->offset;
	u8 *out = kmap_local_page(sg_page(dst)) + dst->offset;
	int err;

	err = zlib_inflateInit2(zlib, -MAX_WBITS);
	zlib->next_out = out;
	zlib->avail_out = dst->length;
	if (err == Z_OK && canned) {
		zlib->next_in = iaa_header;
		zlib->avail_in = iaa_header_size;
		err = zlib_inflate(zlib, Z_NO_FLUSH);
	}
	if (err == Z_OK) {
		zlib->next_in = in;
		zlib->avail_in = src->length;
		err = zlib_inflate(zlib, Z_FINISH);
	}
	kunmap_local(out);
	kunmap_local(in);
	return err == Z_STREAM_END ? zlib->total_out : -EINVAL;
}

/**
 * iaa_inflate - decompress in software
 * @src: input
 * @dst: output, and the room for it
 * @canned: whether the input has no header
 *
 * Context: task, does not sleep.
 * Return: the length, -EINVAL if it is not valid or has no room, or -EAGAIN: all memory is in use.
 */
int iaa_inflate(struct scatterlist *src, struct scatterlist *dst, bool canned)
{
	int ret;

	for (unsigned int i = 0; i < iaa_nr_streams; i++) {
		struct iaa_stream *stream =
			&iaa_stream[(raw_smp_processor_id() + i) % iaa_nr_streams];

		if (!mutex_trylock(&stream->lock))
			continue;
		ret = iaa_inflate_with(&stream->zlib, src, dst, canned);
		mutex_unlock(&stream->lock);
		return ret;
	}
	return -EAGAIN;
}
