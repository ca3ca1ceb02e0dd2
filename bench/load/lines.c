// SPDX-License-Identifier: GPL-2.0
/*
 * lines - a QEMU plugin that lets a cache line of another CPU cost time.
 *
 *   -icount shift=0,sleep=off,quantum=N -plugin lines.so,map=FILE,out=FILE,t=NS,q=NS
 *
 * It needs the QEMU of scripts/build/qemu.sh: vCPUs there run in lock step. The guest opens
 * and closes windows with the marker instruction of swapload.c. Options:
 *   t=NS       what it takes to get a line that another CPU has (60; 0: nothing)
 *   q=NS       how far CPUs may be apart in a window (300); outside of windows it is N
 *   set=W:Q:T  other values in window W; can be given more than once. With a T of -1 no
 *              lines are modelled in it, so that it is in lock step and nothing else.
 *   range=A-B  the addresses whose lines are modelled, hexadecimal; the kernel's half of
 *              the address space unless given
 *   user=on    the lines of user space as well, told apart by where they are in memory
 *   kinds=on   what each function costs, by the kind of thread that ran it, too; see below
 *   map=FILE   names of functions and data, "HEX-ADDRESS KIND NAME" sorted by address, as
 *              insncount takes it; KIND D is data
 *   out=FILE   where the counts go, with the marker that writes out
 *
 * The model. A line of 64 bytes has a set of CPUs that share it. A load by another CPU, or
 * a store by one that does not have it alone, is a transfer: it takes T, and no other
 * transfer of this line goes on meanwhile, so CPUs that want one word queue up. A load and
 * a store of one instruction are one transfer, since a CPU asks for a line that it is about
 * to write at once. What nobody has used yet costs nothing. Nor do REP MOVS and REP STOS:
 * these are limited by bandwidth, not by latency; they leave the sharers as they are. The
 * same holds for the kernel's functions that do without these (BULK, found by the map):
 * QEMU 7.2 has no CPU with FSRM, so memcpy() is one of them.
 *
 * A transfer ends the CPU's turn, so the CPU that is behind all others always asks first.
 * A CPU may have run up to Q ahead before it asks, and another one may ask for a time
 * before that. Then it gets the line at once if that fits in; but nobody gets a line before
 * it was written, by the clock of the CPU that wrote it, not even with a T of 0. Otherwise a
 * CPU that waits for a lock would have it up to Q before the other one gives it back.
 *
 * Lines are modelled in windows only, but keep their sharers from one to the next. The
 * output, for each window W:
 *   window W Q T NS           how long it was open, by the clock of the CPU that closed it
 *   total W TRANSFERS NS      NS: how long CPUs waited, queues included
 *   insn W TRANSFERS NS NAME  by the function whose instruction needed the line
 *   data W TRANSFERS NS NAME  by the line: the name of its data, or "(memory)", "(user)"
 *   line W TRANSFERS NS ADDRESS NAME  the 40 lines that cost most
 * and with kinds=on, one instruction being 1 ns:
 *   kind W KIND INSNS NS TRANSFERS CALLS NAME  by the kind of thread and the function
 * A thread is a "task" once it has run in user space, an "evictor" or "idle" once it has run
 * the function of these, and "other" before. Which thread a CPU runs is known by its stack,
 * which finish_task_switch() writes to. A new thread on the stack of one that has ended counts
 * as that one did until it has run in user space, or one of these functions. Interrupts count
 * for the thread that they hit.
 *
 * The interface of QEMU 7.2 (plugin version 1) and the three functions that our patch adds,
 * as far as they are used, are declared here.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
enum { CB_NO_REGS = 0 };
enum { MEM_RW = 3 };
typedef void (*exec_cb)(unsigned int vcpu, void *data);
typedef void (*mem_cb)(unsigned int vcpu, uint32_t info, uint64_t vaddr, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*cb)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, exec_cb cb, int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb cb, int flags, int rw, void *data);
bool qemu_plugin_mem_is_store(uint32_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *haddr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *haddr);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, exec_cb cb, int flags, void *data);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

int64_t qemu_plugin_lockstep_now(void);
void qemu_plugin_lockstep_delay(int64_t ns);
int64_t qemu_plugin_lockstep_quantum(int64_t ns);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

#define WINDOWS		255	/* and this one writes out */
#define MAX_CPUS	256
#define LINE_SHIFT	6
#define KERNEL		(1ULL << 63)
#define TOP_LINES	40
#define STACK_SHIFT	14	/* THREAD_SIZE */
#define STACKS		65536
#define SWITCH_BYTES	24	/* of finish_task_switch(), in which it saves registers */

struct count {
	uint64_t transfers, ns;
};

enum kind { OTHER, TASK, EVICTOR, IDLE, KINDS };
static const char *const kind_names[] = { "other", "task", "evictor", "idle" };

struct cost {
	struct count lines;
	uint64_t insns, calls;
};

struct symbol {
	uint64_t addr;
	char kind;
	char *name;
	struct count insn, data;
	enum kind makes;		/* of a thread that runs it, if not OTHER */
	struct cost *of;		/* for each kind, if asked for */
};

struct line {
	uint64_t tag;			/* the address of its first byte, with bit 0 set; 0: none */
	int64_t from, until;		/* when it is being transferred, time after time */
	int64_t written;		/* when it was, by the clock of the CPU that did it */
	struct count count;		/* in this window */
	uint64_t sharers[MAX_CPUS / 64];
};

static struct symbol *symbols;
static size_t nsymbols;
static struct symbol memory = { .name = "(memory)" }, user = { .name = "(user)" };
static struct line *lines;
static size_t nlines, room;

/* The last load of each CPU that was a transfer: a store by the same instruction is none. */
static struct { uint64_t insn; struct line *line; } asked[MAX_CPUS];

static struct { int64_t q, t; } set[WINDOWS];
static unsigned int window;
static int64_t opened, outside;
static uint64_t range_lo = KERNEL, range_hi = UINT64_MAX;
static bool user_too;
static FILE *out;
static const char *out_path;

static const char *const BULK[] = { "memcpy_orig", "memset_orig", "memmove", "__memmove", "copy_page_regs",
				    "clear_page_orig", "rep_movs_alternative", "rep_stos_alternative" };

static struct symbol *find_symbol(uint64_t addr)
{
	size_t lo = 0, hi = nsymbols;

	if (addr < KERNEL)
		return &user;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (symbols[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &symbols[lo - 1] : &memory;
}

/* --- kinds of threads ----------------------------------------------------------------- */

/* A run of instructions that is executed as a whole */
struct block {
	struct symbol *symbol;
	unsigned int insns;
	bool begins;			/* the function */
};

static bool kinds;
static uint64_t switch_from, switch_to;
static struct { uint64_t stack; enum kind kind; } threads[STACKS];
static enum kind first_threads[MAX_CPUS], *running[MAX_CPUS];
static uint64_t stack_of[MAX_CPUS];

static enum kind *kind_on(unsigned int cpu)
{
	return running[cpu] ? running[cpu] : &first_threads[cpu];
}

static enum kind *find_thread(uint64_t stack)
{
	size_t i = (stack * 0x9e3779b97f4a7c15ULL >> 40) % STACKS, first = i;

	while (threads[i].stack && threads[i].stack != stack) {
		i = (i + 1) % STACKS;
		if (i == first)
			abort();
	}
	threads[i].stack = stack;
	return &threads[i].kind;
}

/* A CPU writes to its stack in the function that ends a switch. */
static void note_thread(unsigned int cpu, uint64_t vaddr)
{
	uint64_t stack = vaddr >> STACK_SHIFT;

	if (stack == stack_of[cpu])
		return;
	stack_of[cpu] = stack;
	running[cpu] = find_thread(stack);
}

static struct cost *cost_of(struct symbol *s, enum kind kind)
{
	if (!s->of) {
		s->of = calloc(KINDS, sizeof(*s->of));
		if (!s->of)
			abort();
	}
	return &s->of[kind];
}

static void block_exec(unsigned int vcpu, void *data)
{
	const struct block *b = data;
	enum kind *kind = kind_on(vcpu % MAX_CPUS);
	struct cost *c;

	if (b->symbol->makes != OTHER)
		*kind = b->symbol->makes;
	if (!window)
		return;
	c = cost_of(b->symbol, *kind);
	c->insns += b->insns;
	c->calls += b->begins;
}

static void count_block(struct qemu_plugin_tb *tb)
{
	struct block *b = calloc(1, sizeof(*b));
	uint64_t addr = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));

	if (!b)
		abort();
	b->symbol = find_symbol(addr);
	b->insns = qemu_plugin_tb_n_insns(tb);
	b->begins = b->symbol->addr == addr;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_exec, CB_NO_REGS, b);
}

static bool find_kinds(void)
{
	user.makes = TASK;
	for (size_t i = 0; i < nsymbols; i++) {
		struct symbol *s = &symbols[i];

		if (!strncmp(s->name, "finish_task_switch", 18) && !strstr(s->name, ".cold")) {
			switch_from = s->addr;
			switch_to = s->addr + SWITCH_BYTES;
		}
		if (!strcmp(s->name, "ssw_evictor"))
			s->makes = EVICTOR;
		if (!strcmp(s->name, "do_idle"))
			s->makes = IDLE;
	}
	return switch_from;
}

/* --- lines -------------------------------------------------------------------------- */

static struct line *slot_of(uint64_t tag)
{
	size_t i = ((tag >> LINE_SHIFT) * 0x9e3779b97f4a7c15ULL >> 20) & (room - 1);

	while (lines[i].tag && lines[i].tag != tag)
		i = (i + 1) & (room - 1);
	return &lines[i];
}

static void grow(void)
{
	struct line *old = lines;
	size_t n = room;

	room = room ? 2 * room : 1 << 16;
	lines = calloc(room, sizeof(*lines));
	if (!lines)
		abort();
	for (size_t i = 0; i < n; i++)
		if (old[i].tag)
			*slot_of(old[i].tag) = old[i];
	free(old);
	memset(asked, 0, sizeof(asked));
}

static struct line *find_line(uint64_t addr)
{
	uint64_t tag = (addr >> LINE_SHIFT << LINE_SHIFT) | 1;
	struct line *line = slot_of(tag);

	if (line->tag)
		return line;
	if (2 * ++nlines > room) {
		grow();
		line = slot_of(tag);
	}
	line->tag = tag;
	return line;
}

static bool has(const struct line *line, unsigned int cpu)
{
	return line->sharers[cpu / 64] >> cpu % 64 & 1;
}

/* Do CPUs other than this one share the line? */
static bool others(const struct line *line, unsigned int cpu)
{
	uint64_t any = 0;

	for (unsigned int i = 0; i < MAX_CPUS / 64; i++)
		any |= line->sharers[i] & ~(i == cpu / 64 ? 1ULL << cpu % 64 : 0);
	return any;
}

static void share(struct line *line, unsigned int cpu, bool alone)
{
	if (alone)
		memset(line->sharers, 0, sizeof(line->sharers));
	line->sharers[cpu / 64] |= 1ULL << cpu % 64;
}

/* Let the CPU have the line, and return how long it takes until it does. */
static int64_t transfer(struct line *line, int64_t t)
{
	int64_t now = qemu_plugin_lockstep_now(), at = now > line->written ? now : line->written;

	if (at >= line->until) {
		line->from = at;
		line->until = at + t;
	} else if (at + t > line->from) {
		at = line->until;
		line->until += t;
	}
	return at - now + t;
}

static void access_cb(unsigned int vcpu, uint32_t info, uint64_t vaddr, void *data)
{
	unsigned int cpu = vcpu % MAX_CPUS;
	uint64_t insn = (uintptr_t)data, addr = vaddr;
	struct qemu_plugin_hwaddr *hw;
	struct symbol *s;
	struct line *line;
	int64_t wait;
	bool store;

	if (insn >= switch_from && insn < switch_to && vaddr >= KERNEL && qemu_plugin_mem_is_store(info))
		note_thread(cpu, vaddr);
	if (!window || set[window].t < 0)
		return;
	if (vaddr < range_lo || vaddr > range_hi) {
		if (!user_too || vaddr >= KERNEL)
			return;
		hw = qemu_plugin_get_hwaddr(info, vaddr);
		if (!hw || qemu_plugin_hwaddr_is_io(hw))
			return;
		addr = qemu_plugin_hwaddr_phys_addr(hw);
	}
	store = qemu_plugin_mem_is_store(info);
	line = find_line(addr);
	if (has(line, cpu) && (!store || !others(line, cpu))) {
		if (store)
			line->written = qemu_plugin_lockstep_now();
		return;
	}
	if (!others(line, cpu) || (store && asked[cpu].insn == insn && asked[cpu].line == line)) {
		/* the first use; or the second half of one transfer */
		share(line, cpu, store);
		asked[cpu].line = NULL;
		if (store)
			line->written = qemu_plugin_lockstep_now();
		return;
	}
	/* A CPU's APIC is at the same address for all, but is no memory */
	hw = qemu_plugin_get_hwaddr(info, vaddr);
	if (!hw || qemu_plugin_hwaddr_is_io(hw))
		return;
	share(line, cpu, store);
	asked[cpu].insn = insn;
	asked[cpu].line = store ? NULL : line;
	wait = transfer(line, set[window].t);
	line->count.transfers++;
	line->count.ns += wait;
	s = find_symbol(insn);
	s->insn.transfers++;
	s->insn.ns += wait;
	if (kinds) {
		struct cost *c = cost_of(s, *kind_on(cpu));

		c->lines.transfers++;
		c->lines.ns += wait;
	}
	if (wait)
		qemu_plugin_lockstep_delay(wait);
	if (store)
		line->written = qemu_plugin_lockstep_now();
}

/* --- windows and what comes out ------------------------------------------------------- */

static int by_cost(const void *a, const void *b)
{
	const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;

	if (x->count.ns != y->count.ns)
		return x->count.ns < y->count.ns ? 1 : -1;
	if (x->count.transfers != y->count.transfers)
		return x->count.transfers < y->count.transfers ? 1 : -1;
	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

/* Find the last symbol that begins in the line, or before it. */
static struct symbol *data_of(const struct line *line)
{
	struct symbol *s = line->tag < KERNEL ? &user : find_symbol(line->tag + (1 << LINE_SHIFT) - 2);

	return s == &user || (s->kind == 'D' && strcmp(s->name, "_end")) ? s : &memory;
}

static void print_symbol(struct symbol *s)
{
	if (s->insn.transfers)
		fprintf(out, "insn %u %" PRIu64 " %" PRIu64 " %s\n", window, s->insn.transfers, s->insn.ns, s->name);
	if (s->data.transfers)
		fprintf(out, "data %u %" PRIu64 " %" PRIu64 " %s\n", window, s->data.transfers, s->data.ns, s->name);
	memset(&s->insn, 0, sizeof(s->insn));
	memset(&s->data, 0, sizeof(s->data));
	for (enum kind kind = 0; s->of && kind < KINDS; kind++) {
		struct cost *c = &s->of[kind];

		if (c->insns || c->lines.transfers)
			fprintf(out, "kind %u %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", window,
				kind_names[kind], c->insns, c->lines.ns, c->lines.transfers, c->calls, s->name);
		memset(c, 0, sizeof(*c));
	}
}

static void close_window(void)
{
	struct line **top = malloc((nlines + 1) * sizeof(*top));
	struct count total = { 0 };
	size_t n = 0;

	if (!top)
		abort();
	for (size_t i = 0; i < room; i++) {
		struct line *line = &lines[i];
		struct symbol *s;

		if (!line->count.transfers)
			continue;
		s = data_of(line);
		s->data.transfers += line->count.transfers;
		s->data.ns += line->count.ns;
		total.transfers += line->count.transfers;
		total.ns += line->count.ns;
		top[n++] = line;
	}
	fprintf(out, "window %u %" PRId64 " %" PRId64 " %" PRId64 "\n", window, set[window].q, set[window].t,
		qemu_plugin_lockstep_now() - opened);
	fprintf(out, "total %u %" PRIu64 " %" PRIu64 "\n", window, total.transfers, total.ns);
	for (size_t i = 0; i < nsymbols; i++)
		print_symbol(&symbols[i]);
	print_symbol(&user);
	print_symbol(&memory);
	qsort(top, n, sizeof(*top), by_cost);
	for (size_t i = 0; i < n; i++) {
		if (i < TOP_LINES)
			fprintf(out, "line %u %" PRIu64 " %" PRIu64 " %" PRIx64 " %s\n", window, top[i]->count.transfers,
				top[i]->count.ns, top[i]->tag & ~UINT64_C(1), data_of(top[i])->name);
		memset(&top[i]->count, 0, sizeof(top[i]->count));
	}
	free(top);
}

static void mark_exec(unsigned int vcpu, void *data)
{
	unsigned int w = (uintptr_t)data;

	(void)vcpu;
	if (window) {
		close_window();
		window = 0;
		qemu_plugin_lockstep_quantum(outside);
	}
	if (w == WINDOWS) {
		fprintf(out, "end\n");
		fflush(out);
	} else if (w) {
		window = w;
		opened = qemu_plugin_lockstep_now();
		outside = qemu_plugin_lockstep_quantum(set[w].q);
	}
}

static bool is_bulk(uint64_t addr, const uint8_t *p, size_t n)
{
	const char *name = find_symbol(addr)->name;
	size_t i = 0;
	bool rep = false;

	for (size_t k = 0; k < sizeof(BULK) / sizeof(*BULK); k++)
		if (!strcmp(name, BULK[k]))
			return true;

	while (i + 1 < n && (p[i] == 0xf2 || p[i] == 0xf3 || p[i] == 0x66 || p[i] == 0x67 || (p[i] & 0xf0) == 0x40)) {
		rep |= p[i] == 0xf2 || p[i] == 0xf3;
		i++;
	}
	return rep && (p[i] == 0xa4 || p[i] == 0xa5 || p[i] == 0xaa || p[i] == 0xab);
}

static void block_trans(plugin_id id, struct qemu_plugin_tb *tb)
{
	static const uint8_t marker[] = { 0x4b, 0x52, 0x41, 0x4d, 0x57, 0x53, 0x53 };
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	if (kinds)
		count_block(tb);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const uint8_t *p = qemu_plugin_insn_data(insn);
		size_t size = qemu_plugin_insn_size(insn);
		uint64_t addr = qemu_plugin_insn_vaddr(insn);

		if (!is_bulk(addr, p, size))
			qemu_plugin_register_vcpu_mem_cb(insn, access_cb, CB_NO_REGS, MEM_RW, (void *)(uintptr_t)addr);
		if (addr < KERNEL && size == 10 && p[0] == 0x48 && p[1] == 0xb8 && !memcmp(p + 3, marker, sizeof(marker)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, mark_exec, CB_NO_REGS, (void *)(uintptr_t)p[2]);
	}
}

/* --- options -------------------------------------------------------------------------- */

static bool read_map(const char *path)
{
	FILE *f = fopen(path, "r");
	char name[512], kind;
	uint64_t addr;
	size_t size = 0;

	if (!f)
		return false;
	while (fscanf(f, "%" SCNx64 " %c %511s", &addr, &kind, name) == 3) {
		if (nsymbols == size) {
			size = size ? 2 * size : 4096;
			symbols = realloc(symbols, size * sizeof(*symbols));
			if (!symbols)
				abort();
		}
		/* offsets of per-CPU data are no addresses */
		if (addr < KERNEL)
			continue;
		symbols[nsymbols++] = (struct symbol){ .addr = addr, .kind = kind, .name = strdup(name) };
	}
	fclose(f);
	return nsymbols;
}

static bool option(const char *arg)
{
	int64_t q, t;
	unsigned int w;

	if (sscanf(arg, "set=%u:%" SCNd64 ":%" SCNd64, &w, &q, &t) == 3) {
		if (!w || w >= WINDOWS)
			return false;
		set[w].q = q;
		set[w].t = t;
		return q > 0 && t >= -1;
	}
	if (sscanf(arg, "range=%" SCNx64 "-%" SCNx64, &range_lo, &range_hi) == 2)
		return range_lo <= range_hi;
	if (!strncmp(arg, "out=", 4))
		out_path = arg + 4;
	else if (!strncmp(arg, "map=", 4))
		return read_map(arg + 4);
	else if (!strcmp(arg, "user=on"))
		user_too = true;
	else if (!strcmp(arg, "kinds=on"))
		kinds = true;
	else
		return !strncmp(arg, "t=", 2) || !strncmp(arg, "q=", 2);
	return true;
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	int64_t q = 300, t = 60;

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "t=", 2))
			t = strtoll(argv[i] + 2, NULL, 10);
		else if (!strncmp(argv[i], "q=", 2))
			q = strtoll(argv[i] + 2, NULL, 10);
	}
	for (unsigned int w = 0; w < WINDOWS; w++) {
		set[w].q = q;
		set[w].t = t;
	}
	for (int i = 0; i < argc; i++) {
		if (!option(argv[i])) {
			fprintf(stderr, "lines: %s: wrong, or a map without a name\n", argv[i]);
			return -1;
		}
	}
	if (q <= 0 || t < 0 || !out_path || !(out = fopen(out_path, "w"))) {
		fprintf(stderr, "lines: give q above 0, t not below 0, and out=FILE that can be written\n");
		return -1;
	}
	if (kinds && !find_kinds()) {
		fprintf(stderr, "lines: kinds=on: finish_task_switch() is not in the map\n");
		return -1;
	}
	grow();
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_trans);
	return 0;
}
