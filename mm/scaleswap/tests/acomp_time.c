// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: how long requests to a compressor take, for benches.
 *
 * Write "compress NAME PAGES ROUNDS", or "decompress ...", to acomp_time in debugfs, and read:
 * cycles that so many requests of so many pages took, and pages that were wrong. One request comes
 * before them, as what is first finds the kernel's caches empty. What is decompressed is compressed
 * once before. Requests have units if the compressor takes that; others
 * are one page each. The CPU that writes does nothing else meanwhile.
 */
#include <crypto/acompress-batch.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/timex.h>
#include <linux/uaccess.h>

#define MOST_PAGES	64
#define MOST_ROUNDS	1000000

static DEFINE_MUTEX(acomp_time_lock);	/* of the result */
static u64 acomp_time_cycles;
static unsigned long acomp_time_wrong;
static struct dentry *acomp_time_file;

/* What is measured: pages, their compressed form, and what that is decompressed to */
struct acomp_time {
	struct crypto_acomp *tfm;
	struct acomp_req *req;
	struct crypto_wait wait;
	unsigned int nr;
	u8 *page[MOST_PAGES];
	u8 *short_page[MOST_PAGES];
	int len[MOST_PAGES];
	u8 *back[MOST_PAGES];
	struct scatterlist in[MOST_PAGES];
	struct scatterlist out[MOST_PAGES];
};

/* One request: of some pages, with units, or of one without. */
static int acomp_time_request(struct acomp_time *t, bool compress, unsigned int first,
			      unsigned int nr, bool units)
{
	unsigned int slen = 0;
	int err;

	sg_init_table(t->in, nr);
	sg_init_table(t->out, nr);
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int at = first + i, len = compress ? PAGE_SIZE : t->len[at];

		sg_set_buf(&t->in[i], compress ? t->page[at] : t->short_page[at], len);
		sg_set_buf(&t->out[i], compress ? t->short_page[at] : t->back[at], PAGE_SIZE);
		slen += len;
	}
	acomp_request_set_params(t->req, t->in, t->out, slen, nr * PAGE_SIZE);
	if (units)
		acomp_request_set_unit_size(t->req, PAGE_SIZE);
	err = compress ? crypto_acomp_compress(t->req) : crypto_acomp_decompress(t->req);
	if (!units) {
		err = crypto_wait_req(err, &t->wait);
		if (compress)
			t->len[first] = t->req->dlen;
		return err;
	}
	if (err != -EINPROGRESS)
		return err;
	while (crypto_acomp_poll(t->req) == -EAGAIN)
		cpu_relax();
	err = crypto_wait_req(-EINPROGRESS, &t->wait);
	for (unsigned int i = 0; i < nr && compress; i++)
		t->len[first + i] = acomp_unit_result(&t->out[i]);
	return err;
}

/* All pages, so many times. Return 0, or an error. */
static int acomp_time_rounds(struct acomp_time *t, bool compress, unsigned int rounds, u64 *cycles)
{
	bool units = crypto_acomp_batch_size(t->tfm) > 1;
	u64 start = get_cycles();
	int err = 0;

	while (!err && rounds--) {
		if (units)
			err = acomp_time_request(t, compress, 0, t->nr, true);
		for (unsigned int i = 0; !units && !err && i < t->nr; i++)
			err = acomp_time_request(t, compress, i, 1, false);
		cond_resched();
		if (fatal_signal_pending(current))
			err = -EINTR;
	}
	*cycles = get_cycles() - start;
	for (unsigned int i = 0; !err && i < t->nr; i++)
		err = t->len[i] <= 0 || t->len[i] > PAGE_SIZE ? -EIO : 0;
	return err;
}

static void acomp_time_exit(struct acomp_time *t)
{
	for (unsigned int i = 0; i < MOST_PAGES; i++) {
		free_page((unsigned long)t->page[i]);
		free_page((unsigned long)t->short_page[i]);
		free_page((unsigned long)t->back[i]);
	}
	if (t->req)
		acomp_request_free(t->req);
	if (!IS_ERR_OR_NULL(t->tfm))
		crypto_free_acomp(t->tfm);
	kfree(t);
}

/* Get pages of four words that are unlike in all, and zeroes, as those of the benches' load. */
static int acomp_time_init(struct acomp_time *t, const char *name)
{
	t->tfm = crypto_alloc_acomp(name, 0, 0);
	if (IS_ERR(t->tfm))
		return PTR_ERR(t->tfm);
	t->req = acomp_request_alloc(t->tfm);
	if (!t->req)
		return -ENOMEM;
	crypto_init_wait(&t->wait);
	acomp_request_set_callback(t->req, CRYPTO_TFM_REQ_MAY_BACKLOG, crypto_req_done, &t->wait);
	for (unsigned int i = 0; i < t->nr; i++) {
		t->page[i] = (u8 *)get_zeroed_page(GFP_KERNEL);
		t->short_page[i] = (u8 *)get_zeroed_page(GFP_KERNEL);
		t->back[i] = (u8 *)get_zeroed_page(GFP_KERNEL);
		if (!t->page[i] || !t->short_page[i] || !t->back[i])
			return -ENOMEM;
		for (unsigned int word = 0; word < 4; word++)
			*(u64 *)(t->page[i] + word * PAGE_SIZE / 4) =
				i * 0x9e3779b97f4a7c15ull + word;
	}
	return 0;
}

static ssize_t acomp_time_write(struct file *file, const char __user *from, size_t count,
				loff_t *pos)
{
	struct acomp_time *t = kzalloc(sizeof(*t), GFP_KERNEL);
	char line[CRYPTO_MAX_ALG_NAME + 48] = "", name[CRYPTO_MAX_ALG_NAME], what[12];
	unsigned int rounds;
	bool compress;
	int err = -EINVAL;

	if (!t)
		return -ENOMEM;
	if (count >= sizeof(line))
		goto free;
	err = -EFAULT;
	if (copy_from_user(line, from, count))
		goto free;
	err = -EINVAL;
	BUILD_BUG_ON(CRYPTO_MAX_ALG_NAME != 128);
	if (sscanf(line, "%11s %127s %u %u", what, name, &t->nr, &rounds) != 4 || !t->nr ||
	    t->nr > MOST_PAGES || !rounds || rounds > MOST_ROUNDS)
		goto free;
	compress = !strcmp(what, "compress");
	if (!compress && strcmp(what, "decompress"))
		goto free;
	err = acomp_time_init(t, name);
	if (err)
		goto free;
	err = mutex_lock_killable(&acomp_time_lock);
	if (err)
		goto free;
	err = acomp_time_rounds(t, true, 1, &acomp_time_cycles);
	if (!compress && !err)
		err = acomp_time_rounds(t, false, 1, &acomp_time_cycles);
	if (!err)
		err = acomp_time_rounds(t, compress, rounds, &acomp_time_cycles);
	acomp_time_wrong = 0;
	if (!compress && !err) {
		for (unsigned int i = 0; i < t->nr; i++)
			acomp_time_wrong += !!memcmp(t->page[i], t->back[i], PAGE_SIZE);
	}
	mutex_unlock(&acomp_time_lock);
free:
	acomp_time_exit(t);
	return err ?: count;
}

static int acomp_time_show(struct seq_file *m, void *unused)
{
	mutex_lock(&acomp_time_lock);
	seq_printf(m, "%llu %lu\n", acomp_time_cycles, acomp_time_wrong);
	mutex_unlock(&acomp_time_lock);
	return 0;
}

static int acomp_time_open(struct inode *inode, struct file *file)
{
	return single_open(file, acomp_time_show, NULL);
}

static const struct file_operations acomp_time_fops = {
	.owner = THIS_MODULE,
	.open = acomp_time_open,
	.read = seq_read,
	.write = acomp_time_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init acomp_time_start(void)
{
	acomp_time_file = debugfs_create_file("acomp_time", 0600, NULL, NULL, &acomp_time_fops);
	return 0;
}

static void __exit acomp_time_stop(void)
{
	debugfs_remove(acomp_time_file);
}

module_init(acomp_time_start);
module_exit(acomp_time_stop);
MODULE_DESCRIPTION("How long requests to a compressor take, for benches");
MODULE_LICENSE("GPL");
