// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of TLB flushes that nobody waits for: after them, nobody writes to the page.
 */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include <asm/hardirq.h>
#include <asm/tlb_async.h>

/* For what has to come. A busy host may take its time. */
#define SSW_TEST_PATIENCE	(120 * HZ)
/* How long a CPU takes no interrupts, should the sender wait for it */
#define SSW_TEST_DEAF		(30 * HZ)
#define SSW_TEST_WRITERS	8
/* Writes of each writer, before and after a flush */
#define SSW_TEST_WRITES		100

/* Writes to a word of its own in the page, by the mm's page tables. */
struct ssw_test_writer {
	struct task_struct *task;
	struct mm_struct *mm;
	u64 __user *word;
	u64 wrote, refused;
	/* Instead: stop with interrupts off until @go */
	bool deaf, go;
	u64 is_deaf;
};

struct ssw_test_tlb {
	struct ssw_test_writer writer[SSW_TEST_WRITERS];
	struct arch_tlbflush_unmap_batch batch;
	struct arch_tlbbatch_req req;
	struct page *page;
	unsigned long addr;
	pte_t pte;
};

static bool ssw_test_write(u64 __user *word, u64 value)
{
	return !copy_to_user_nofault(word, &value, sizeof(value));
}

static int ssw_test_writer_fn(void *data)
{
	struct ssw_test_writer *w = data;
	unsigned long end;

	kthread_use_mm(w->mm);
	while (!kthread_should_stop()) {
		if (ssw_test_write(w->word, w->wrote + 1))
			WRITE_ONCE(w->wrote, w->wrote + 1);
		else
			WRITE_ONCE(w->refused, w->refused + 1);
		if (READ_ONCE(w->deaf)) {
			local_irq_disable();
			WRITE_ONCE(w->is_deaf, w->is_deaf + 1);
			end = jiffies + SSW_TEST_DEAF;
			while (!READ_ONCE(w->go) && time_before(jiffies, end))
				cpu_relax();
			WRITE_ONCE(w->deaf, false);
			local_irq_enable();
		}
		if (kthread_should_park())
			kthread_parkme();
		cond_resched();
	}
	kthread_unuse_mm(w->mm);
	return 0;
}

static bool ssw_test_flushed(struct ssw_test_tlb *t)
{
	unsigned long end = jiffies + SSW_TEST_PATIENCE;

	while (!arch_tlbbatch_flushed(&t->req) && time_before(jiffies, end))
		usleep_range(100, 1000);
	return arch_tlbbatch_flushed(&t->req);
}

/* Wait until a counter of a writer has come to a value. */
static bool ssw_test_reaches(const u64 *count, u64 value)
{
	unsigned long end = jiffies + SSW_TEST_PATIENCE;

	while (READ_ONCE(*count) < value && time_before(jiffies, end))
		usleep_range(100, 1000);
	return READ_ONCE(*count) >= value;
}

/* Map a page that @nr others write to, each bound to a CPU. Returns how many there are. */
static unsigned int ssw_test_tlb_start(struct kunit *test, struct ssw_test_tlb *t, unsigned int nr)
{
	struct ssw_test_writer *w;
	unsigned int i = 0, cpu;

	t->addr = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
				MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, t->addr, 0);
	KUNIT_ASSERT_EQ(test, 1, get_user_pages_fast(t->addr, 1, FOLL_WRITE, &t->page));
	for_each_online_cpu(cpu) {
		if (i == nr || cpu == cpumask_first(cpu_online_mask))
			continue;
		w = &t->writer[i];
		w->mm = current->mm;
		w->word = (u64 __user *)t->addr + 1 + i;
		w->task = kthread_create_on_cpu(ssw_test_writer_fn, w, cpu, "ssw_writer/%u");
		if (IS_ERR(w->task))
			break;
		wake_up_process(w->task);
		i++;
	}
	/* This one is on the first CPU. */
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	return i;
}

static void ssw_test_tlb_stop(struct ssw_test_tlb *t, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		kthread_stop(t->writer[i].task);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	put_page(t->page);
}

/* As reclaim does, under the lock of the page table: clear the entry, and note who may have it. */
static int ssw_test_clear(pte_t *pte, unsigned long addr, void *data)
{
	struct ssw_test_tlb *t = data;

	t->pte = ptep_get_and_clear(current->mm, addr, pte);
	arch_tlbbatch_add_pending(&t->batch, current->mm, addr);
	return 0;
}

static int ssw_test_set(pte_t *pte, unsigned long addr, void *data)
{
	struct ssw_test_tlb *t = data;

	set_pte_at(current->mm, addr, pte, t->pte);
	return 0;
}

static void ssw_test_unmap(struct ssw_test_tlb *t)
{
	apply_to_existing_page_range(current->mm, t->addr, PAGE_SIZE, ssw_test_clear, t);
}

static void ssw_test_remap(struct ssw_test_tlb *t)
{
	apply_to_page_range(current->mm, t->addr, PAGE_SIZE, ssw_test_set, t);
}

static bool ssw_test_all_go_on(struct ssw_test_tlb *t, unsigned int nr, bool writing)
{
	u64 from[SSW_TEST_WRITERS], *count;
	unsigned int i;

	for (i = 0; i < nr; i++)
		from[i] = writing ? READ_ONCE(t->writer[i].wrote) : READ_ONCE(t->writer[i].refused);
	for (i = 0; i < nr; i++) {
		count = writing ? &t->writer[i].wrote : &t->writer[i].refused;
		if (!ssw_test_reaches(count, from[i] + SSW_TEST_WRITES))
			return false;
	}
	return true;
}

/* Once all have flushed, no CPU writes to the page by an old entry. The own one has, at once. */
static void ssw_test_tlb_no_stale_write(struct kunit *test)
{
	struct ssw_test_tlb *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	u64 seen[1 + SSW_TEST_WRITERS], *now;
	unsigned int nr, round;

	KUNIT_ASSERT_NOT_NULL(test, t);
	nr = ssw_test_tlb_start(test, t, SSW_TEST_WRITERS);
	now = page_address(t->page);
	for (round = 0; round < 5; round++) {
		if (!ssw_test_all_go_on(t, nr, true)) {
			KUNIT_FAIL(test, "a writer does not go on");
			goto stop;
		}
		KUNIT_EXPECT_TRUE(test, ssw_test_write((u64 __user *)t->addr, round));
		ssw_test_unmap(t);
		arch_tlbbatch_flush_async(&t->batch, &t->req);
		KUNIT_EXPECT_TRUE(test, cpumask_empty(&t->batch.cpumask));
		KUNIT_EXPECT_FALSE(test, ssw_test_write((u64 __user *)t->addr, -1));
		if (!ssw_test_flushed(t)) {
			KUNIT_FAIL(test, "%d CPUs have not flushed", atomic_read(&t->req.pending));
			break;
		}
		memcpy(seen, now, sizeof(seen));
		KUNIT_EXPECT_TRUE(test, ssw_test_all_go_on(t, nr, false));
		KUNIT_EXPECT_MEMEQ(test, seen, now, sizeof(seen));
		ssw_test_remap(t);
	}
	if (round < 5)
		ssw_test_remap(t);
stop:
	ssw_test_tlb_stop(t, nr);
}

/* The sender goes on while a CPU takes no interrupts, and is woken when it has flushed. */
static void ssw_test_tlb_goes_on(struct kunit *test)
{
	struct ssw_test_tlb *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct ssw_test_writer *w;
	unsigned int nr, round;

	KUNIT_ASSERT_NOT_NULL(test, t);
	nr = ssw_test_tlb_start(test, t, 1);
	if (!nr) {
		ssw_test_tlb_stop(t, nr);
		kunit_skip(test, "needs two CPUs");
	}
	w = &t->writer[0];
	for (round = 0; round < 3; round++) {
		KUNIT_EXPECT_TRUE(test, ssw_test_all_go_on(t, nr, true));
		WRITE_ONCE(w->go, false);
		WRITE_ONCE(w->deaf, true);
		KUNIT_EXPECT_TRUE(test, ssw_test_reaches(&w->is_deaf, round + 1));
		ssw_test_unmap(t);
		/* A hypervisor would have flushed, or waited for the writer to lose patience. */
		if (!arch_tlbbatch_flush_async(&t->batch, &t->req))
			KUNIT_EXPECT_TRUE(test, arch_tlbbatch_flushed(&t->req));
		else
			KUNIT_EXPECT_FALSE(test, arch_tlbbatch_flushed(&t->req));
		KUNIT_EXPECT_TRUE(test, READ_ONCE(w->deaf));
		WRITE_ONCE(w->go, true);
		arch_tlbbatch_wait(&t->req);
		KUNIT_EXPECT_TRUE(test, arch_tlbbatch_flushed(&t->req));
		ssw_test_remap(t);
	}
	ssw_test_tlb_stop(t, nr);
}

/* A CPU whose user space sleeps is not interrupted. It flushes before it runs there again. */
static void ssw_test_tlb_lazy(struct kunit *test)
{
	struct ssw_test_tlb *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	unsigned int cpu, nr, before, received;
	unsigned long end = jiffies + SSW_TEST_PATIENCE;

	KUNIT_ASSERT_NOT_NULL(test, t);
	nr = ssw_test_tlb_start(test, t, 1);
	if (!nr) {
		ssw_test_tlb_stop(t, nr);
		kunit_skip(test, "needs two CPUs");
	}
	cpu = task_cpu(t->writer[0].task);
	KUNIT_EXPECT_TRUE(test, ssw_test_all_go_on(t, nr, true));
	kthread_park(t->writer[0].task);
	do {
		/* Whatever else runs there may be in user space, or be done with it. */
		cpumask_set_cpu(cpu, &t->batch.cpumask);
		before = per_cpu(irq_stat, cpu).irq_tlb_count;
		arch_tlbbatch_flush_async(&t->batch, &t->req);
		arch_tlbbatch_wait(&t->req);
		received = per_cpu(irq_stat, cpu).irq_tlb_count - before;
	} while (received && time_before(jiffies, end));
	KUNIT_EXPECT_EQ(test, received, 0);
	kthread_unpark(t->writer[0].task);
	ssw_test_tlb_stop(t, nr);
}

/* A CPU that is offline is not waited for. */
static void ssw_test_tlb_offline(struct kunit *test)
{
	struct ssw_test_tlb *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	unsigned int cpu = cpumask_last(cpu_online_mask);

	KUNIT_ASSERT_NOT_NULL(test, t);
	if (remove_cpu(cpu))
		kunit_skip(test, "CPU %u cannot be taken offline", cpu);
	cpumask_copy(&t->batch.cpumask, cpu_possible_mask);
	arch_tlbbatch_flush_async(&t->batch, &t->req);
	KUNIT_EXPECT_TRUE(test, ssw_test_flushed(t));
	KUNIT_EXPECT_EQ(test, add_cpu(cpu), 0);
}

static struct kunit_case ssw_tlb_cases[] = {
	KUNIT_CASE(ssw_test_tlb_no_stale_write),
	KUNIT_CASE(ssw_test_tlb_goes_on),
	KUNIT_CASE(ssw_test_tlb_lazy),
	KUNIT_CASE(ssw_test_tlb_offline),
	{}
};

static struct kunit_suite ssw_tlb_suite = {
	.name = "scaleswap_tlb",
	.test_cases = ssw_tlb_cases,
};

kunit_test_suite(ssw_tlb_suite);
