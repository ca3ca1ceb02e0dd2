// SPDX-License-Identifier: GPL-2.0
/*
 * model - what scripts/test/model.py runs in a guest, to see that its CPUs run in parallel
 * time and that a cache line of another CPU costs what it should.
 *
 *   model WINDOWS N...
 *
 * For each window of the plugin (1 to WINDOWS) and each number N of CPUs, a thread on each
 * of the first N CPUs does one of these, from a time on that all have agreed on:
 *   nothing   a fixed number of instructions, on nothing that is shared
 *   readers   reads a word that the first CPU has written, once
 *   counter   adds to one word, for a fixed time
 *   lock      thinks, takes an MCS lock, holds it; for a fixed time
 *   skew      tells its clock, and reads all others'
 * Section and think times are drawn from exponential distributions, by the same table in
 * each run. All times are the CPU's own, of RDTSC at 1 GHz. What it prints are integers.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_CPUS	256
#define DRAWS		1024
#define WORK_NS		100000
#define COUNTER_NS	200000	/* one CPU may have the word for itself for Q at the start */
#define SKEW_NS		50000
#define SECTION_NS	1000
#define THINK_NS	8000
#define SECTIONS	2000
#define STACK		(64 << 10)	/* locked in memory, so a large one takes long */
#define LEAD_NS		50000	/* from the agreement to the start; longer than all need to read it */

#define ALONE		__attribute__((aligned(128)))

struct node {
	struct node *_Atomic next;
	atomic_int wait;
} ALONE;

struct thread {
	uint64_t count, first, last, held, thought;
	int64_t ahead;
	struct node node;
	_Atomic uint64_t clock ALONE;
	uint32_t section[DRAWS], think[DRAWS];
	pthread_t id;
	unsigned int cpu;
} ALONE;

static struct thread threads[MAX_CPUS];
static ALONE atomic_uint arrived;
static ALONE _Atomic uint64_t start;
static ALONE uint64_t counter;
static ALONE struct node *_Atomic tail;
static ALONE unsigned int n;
static unsigned int window;
static uint64_t lock_ns;
static void (*volatile body)(struct thread *);

static inline uint64_t now(void)
{
	uint32_t lo, hi;

	asm volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
}

static inline void pause_cpu(void)
{
	asm volatile("pause" : : : "memory");
}

/* Execute 2 * loops instructions that touch no memory. */
static inline void work(uint64_t loops)
{
	asm volatile("1: dec %0\n\tjnz 1b" : "+r"(loops) : : "cc");
}

/*
 * The window is a byte of the instruction that opens it, so for a number that is known
 * only now, the instruction is written now.
 */
static void mark(unsigned int w)
{
	static uint8_t *code;

	if (!code) {
		code = mmap(NULL, 256 * 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (code == MAP_FAILED)
			abort();
		for (unsigned int i = 0; i < 256; i++) {
			static const uint8_t marker[] = { 0x4b, 0x52, 0x41, 0x4d, 0x57, 0x53, 0x53, 0xc3 };

			code[i * 16] = 0x48;
			code[i * 16 + 1] = 0xb8;
			code[i * 16 + 2] = i;
			memcpy(&code[i * 16 + 3], marker, sizeof(marker));
		}
	}
	((void (*)(void))(uintptr_t)&code[w * 16])();
}

static void all_here(unsigned int round)
{
	atomic_fetch_add(&arrived, 1);
	while (atomic_load(&arrived) < round * n)
		pause_cpu();
}

/* Fetch the lines of the stack, which a thread of another CPU may have had before. */
static __attribute__((noinline)) void fetch_stack(void)
{
	volatile char below[512];

	for (unsigned int i = 0; i < sizeof(below); i += 8)
		below[i] = 0;
}

static void *thread(void *arg)
{
	/* read now, since it may be in a line that others read at the start */
	void (*what)(struct thread *) = body;
	struct thread *t = arg;
	uint64_t at;

	all_here(1);
	if (!t->cpu) {
		mark(window);
		asm volatile("movq $0, %0" : "=m"(counter));
		atomic_store(&start, now() + LEAD_NS);
	}
	while (!(at = atomic_load(&start)))
		pause_cpu();
	fetch_stack();
	while (now() < at)
		pause_cpu();
	t->first = now();
	what(t);
	t->last = now();
	all_here(2);
	if (!t->cpu)
		mark(0);
	return NULL;
}

/* --- what threads do ------------------------------------------------------------------ */

static void nothing(struct thread *t)
{
	(void)t;
	work(WORK_NS / 2);
}

static void readers(struct thread *t)
{
	(void)t;
	asm volatile("mov %0, %%rax" : : "m"(counter) : "rax");
}

static void count(struct thread *t)
{
	uint64_t end = start + COUNTER_NS, mine = 0;

	while (now() < end) {
		asm volatile("lock incq %0" : "+m"(counter) : : "cc");
		mine++;
	}
	t->count = mine;
}

static void take(struct node *me)
{
	struct node *before;

	atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
	atomic_store_explicit(&me->wait, 1, memory_order_relaxed);
	before = atomic_exchange(&tail, me);
	if (!before)
		return;
	atomic_store_explicit(&before->next, me, memory_order_release);
	while (atomic_load_explicit(&me->wait, memory_order_acquire))
		pause_cpu();
}

static void give(struct node *me)
{
	struct node *next = atomic_load_explicit(&me->next, memory_order_acquire);

	if (!next) {
		struct node *last = me;

		if (atomic_compare_exchange_strong(&tail, &last, NULL))
			return;
		while (!(next = atomic_load_explicit(&me->next, memory_order_acquire)))
			pause_cpu();
	}
	atomic_store_explicit(&next->wait, 0, memory_order_release);
}

static void lock(struct thread *t)
{
	uint64_t end = start + lock_ns;

	/* those that start do not come all at once */
	work(t->think[DRAWS - 1] / 2 + 1);
	for (unsigned int i = 0;; i++) {
		take(&t->node);
		work(t->section[i % DRAWS] / 2 + 1);
		give(&t->node);
		if (now() >= end)
			break;
		t->count++;
		t->held += t->section[i % DRAWS];
		t->thought += t->think[i % DRAWS];
		work(t->think[i % DRAWS] / 2 + 1);
	}
}

static void skew(struct thread *t)
{
	uint64_t end = start + SKEW_NS, mine;

	while ((mine = now()) < end) {
		atomic_store_explicit(&t->clock, mine, memory_order_relaxed);
		for (unsigned int i = 0; i < n; i++) {
			uint64_t theirs = atomic_load_explicit(&threads[i].clock, memory_order_relaxed);
			int64_t by;

			if (i == t->cpu || !theirs)
				continue;
			by = theirs - now();
			if (by > t->ahead)
				t->ahead = by;
		}
	}
}

/* --- the rest ------------------------------------------------------------------------- */

static uint64_t random_of(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ln(x) for x in (0, 1], good to nine digits; there is no libm where this is linked */
static double ln(double x)
{
	double k = 0, y, sum = 0, power;

	while (x < 0.7) {
		x *= 2;
		k++;
	}
	y = power = (x - 1) / (x + 1);
	for (int i = 1; i < 24; i += 2) {
		sum += power / i;
		power *= y * y;
	}
	return 2 * sum - k * 0.693147180559945309;
}

/* DRAWS values whose distribution is as exponential as can be, in an order of its own. */
static void draw(uint32_t *to, double mean, uint64_t *state)
{
	for (unsigned int i = 0; i < DRAWS; i++)
		to[i] = -mean * ln((i + 0.5) / DRAWS);
	for (unsigned int i = DRAWS - 1; i; i--) {
		unsigned int j = random_of(state) % (i + 1);
		uint32_t v = to[i];

		to[i] = to[j];
		to[j] = v;
	}
}

static void run(const char *name, void (*what)(struct thread *))
{
	uint64_t counts = 0, last = 0, mean = 0, late = 0, held = 0, thought = 0;
	int64_t ahead = 0;
	pthread_attr_t attr;
	cpu_set_t cpus;

	body = what;
	arrived = 0;
	start = 0;
	counter = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (unsigned int i = 0; i < n; i++) {
		struct thread *t = &threads[i];

		t->count = t->held = t->thought = 0;
		t->ahead = 0;
		t->clock = 0;
		CPU_ZERO(&cpus);
		CPU_SET(i, &cpus);
		pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
		if (pthread_create(&t->id, &attr, thread, t)) {
			fprintf(stderr, "model: no thread on CPU %u\n", i);
			exit(1);
		}
	}
	for (unsigned int i = 0; i < n; i++) {
		struct thread *t = &threads[i];

		pthread_join(t->id, NULL);
		counts += t->count;
		held += t->held;
		thought += t->thought;
		mean += t->last - start;
		last = t->last - start > last ? t->last - start : last;
		late = t->first - start > late ? t->first - start : late;
		ahead = t->ahead > ahead ? t->ahead : ahead;
	}
	if (what == count && counts != counter) {
		fprintf(stderr, "model: %llu increments, but the counter is %llu\n", (unsigned long long)counts,
			(unsigned long long)counter);
		exit(1);
	}
	printf("%s window %u cpus %u late %llu mean %llu last %llu count %llu ahead %lld", name, window, n,
	       (unsigned long long)late, (unsigned long long)(mean / n), (unsigned long long)last,
	       (unsigned long long)counts, (long long)ahead);
	if (what == lock)
		printf(" time %llu held %llu thought %llu", (unsigned long long)lock_ns, (unsigned long long)held,
		       (unsigned long long)thought);
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned int windows = argc > 2 ? atoi(argv[1]) : 0;

	if (!windows || windows > 254) {
		fprintf(stderr, "usage: model WINDOWS N...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOFBF, 4096);
	for (unsigned int i = 0; i < MAX_CPUS; i++) {
		uint64_t state = 0x9e3779b97f4a7c15ULL * (i + 1);

		threads[i].cpu = i;
		draw(threads[i].section, SECTION_NS, &state);
		draw(threads[i].think, THINK_NS, &state);
	}
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		perror("mlockall");
	for (window = 1; window <= windows; window++) {
		for (int a = 2; a < argc; a++) {
			uint64_t at_most;

			n = atoi(argv[a]);
			if (!n || n > MAX_CPUS)
				return 2;
			/* about SECTIONS sections, be it thinking or the lock that limits */
			at_most = SECTION_NS;
			lock_ns = SECTIONS * (uint64_t)(SECTION_NS + THINK_NS) / n;
			if (lock_ns < SECTIONS * at_most)
				lock_ns = SECTIONS * at_most;
			/* a tick may fall into one of them, but not into most */
			for (int i = 0; i < 3; i++) {
				run("nothing", nothing);
				run("readers", readers);
				run("counter", count);
			}
			run("lock", lock);
			run("skew", skew);
		}
	}
	mark(255);
	printf("end\n");
	return 0;
}
