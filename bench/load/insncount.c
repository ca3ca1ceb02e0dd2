// SPDX-License-Identifier: GPL-2.0
/*
 * insncount - a QEMU plugin that counts a guest kernel's instructions by function.
 *
 *   -plugin insncount.so,map=FILE,out=FILE
 *
 * Counts while a window is open; the guest opens and closes windows with the marker
 * instruction of swapload.c. Four counts a window:
 *   all       every instruction, user's and kernel's
 *   self      of each kernel function, without what it calls
 *   entries   of each entry point (kind E in the map), from its first instruction to its
 *             return, with all that it calls, but without interrupts that come meanwhile
 *             and without functions of kind P (unless these call an entry point again).
 *             Calls in calls count for the outermost one.
 *   inside    the part of a function's `self` that was counted for an entry point
 *   stage     the part of a function's `self` that was run under a root (KIND+ in the map),
 *             the innermost one; calls, interrupts and tasks are followed
 * Calls and returns are followed by counting: a tail call does not change the depth, so
 * the return belongs to the first caller, as it should. If the task is switched inside an
 * entry point, that call is thrown away and told.
 *
 * The map has lines "HEX-ADDRESS KIND NAME", sorted by address. Kinds: E entry point,
 * P not counted inside entry points, I interrupt entry, S the scheduler, F any other. A +
 * behind the kind makes the function a root.
 *
 *   -plugin insncount.so,map=FILE,out=FILE,watch=on
 *
 * Stopwatches instead, for bench/fault.py, and for one CPU: each page fault of user space in
 * which a command goes to an NVMe drive is timed, in kernel instructions since its first
 * one. Instructions are counted one by one, since an access to a device breaks a block up
 * and would have the rest of it counted twice. A line a fault:
 *   fault WINDOW FIRST LAST POLL SLEEP CAUGHT WOKEN IRQ END DOORBELLS IRQS TICKS SWITCHES
 * FIRST and LAST: the store that rings a submission queue's doorbell, the first and the
 * last one before the thread polls or sleeps. POLL: the first call of a function of kind Y.
 * SLEEP: first entry of the scheduler (S). CAUGHT: first function of kind C (or H, which
 * the interrupt's handler calls, too: then it does not count) while it polls; or at one
 * of kind K, the entry of the call of Y that led to it. WOKEN: the entry of the interrupt
 * (I) that led to the driver's handler (Q) that woke the thread (W). IRQ: of the last
 * interrupt that led to the handler. END: back in user space at the instruction that
 * faulted. 0: did not happen. TICKS: other interrupts (T), SWITCHES: how often the
 * scheduler was entered. Other faults are only counted: "others WINDOW N";
 * "dropped WINDOW N" were cut off by the end of a window. Kinds in the map beside these:
 * X the fault's entry. A doorbell is a store to a device by a function whose name begins
 * with nvme_.
 *
 * The interface of QEMU 7.2 (plugin version 1), as far as it is used, is declared here.
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
enum { INLINE_ADD_U64 = 0 };
enum { MEM_READS = 1, MEM_WRITES = 2 };
typedef void (*exec_cb)(unsigned int vcpu, void *data);
typedef void (*mem_cb)(unsigned int vcpu, uint32_t info, uint64_t vaddr, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*cb)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, exec_cb cb, int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, exec_cb cb, int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int op, void *ptr, uint64_t imm);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb cb, int flags, int rw, void *data);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *haddr);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

#define WINDOWS		8
#define WRITE_OUT	255
#define MAX_CPUS	256
#define MAX_FRAMES	64
#define MAX_TASKS	4096
#define NO_ROOT		0

enum end { PLAIN, CALL, RET, IRET };

struct func {
	uint64_t addr;
	char kind;
	unsigned int root;	/* its number, or NO_ROOT */
	char *name;
	uint64_t self[WINDOWS], inside[WINDOWS];
	uint64_t calls[WINDOWS], insns[WINDOWS], dropped[WINDOWS], dropped_insns[WINDOWS];
};

struct block {
	struct func *f;
	unsigned int n;
	enum end end;
	bool first;		/* starts a function */
	bool switched;		/* starts __switch_to() */
	uint64_t addr, size;	/* of the block */
};

/* The roots that a task is in. An interrupt is a frame as well, which its IRET ends. */
struct task {
	uint64_t key;
	struct { unsigned int root; int level; bool irq; } frames[MAX_FRAMES];
	int nframes, depth, depth_switched;
};

struct cpu {
	struct { struct func *f; int level; } frames[MAX_FRAMES];
	int nframes, depth, irq;
	uint64_t now;		/* of the call that goes on */
	struct task *task;
};

static struct func *funcs;
static size_t nfuncs;
static struct func user = { .name = "(user)", .kind = 'F' }, unknown = { .name = "(unknown)", .kind = 'F' };
static struct cpu cpus[MAX_CPUS];
static uint64_t all[WINDOWS];
static unsigned int window;
static const char *out_path;
static bool watch;
static unsigned int nroots = 1;		/* NO_ROOT is one */
static struct func **roots;
static uint64_t **staged;		/* by root and window: instructions by function, or NULL */
static struct task tasks[MAX_TASKS];
static unsigned int ntasks = 1;		/* the first is for what was not switched to yet */

static struct func *find(uint64_t addr)
{
	size_t lo = 0, hi = nfuncs;

	if (addr < 1ULL << 63)
		return &user;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (funcs[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &funcs[lo - 1] : &unknown;
}

static void done(struct cpu *c)
{
	c->frames[0].f->calls[window]++;
	c->frames[0].f->insns[window] += c->now;
	c->now = 0;
}

static void drop(struct cpu *c)
{
	if (!c->nframes)
		return;
	c->frames[0].f->dropped[window]++;
	c->frames[0].f->dropped_insns[window] += c->now;
	c->nframes = c->depth = c->irq = 0;
	c->now = 0;
}

/* --- stages ------------------------------------------------------------------------- */

static bool is_named(const struct func *f, const char *name)
{
	return !strcmp(f->name, name);
}

static void stage_push(struct task *t, unsigned int root, bool irq)
{
	if (t->nframes == MAX_FRAMES)
		return;
	t->frames[t->nframes].root = root;
	t->frames[t->nframes].level = t->depth;
	t->frames[t->nframes++].irq = irq;
}

static void stage_count(struct cpu *c, const struct block *b)
{
	struct task *t = c->task ? c->task : &tasks[0];
	unsigned int root;
	uint64_t **counts;

	if (b->f == &user) {
		t->nframes = t->depth = 0;
		return;
	}
	if (b->first && b->f->kind == 'I')
		stage_push(t, b->f->root, true);
	else if (b->first && b->f->root)
		stage_push(t, b->f->root, false);
	/* the calls that fill the return buffer never return */
	if (b->switched)
		t->depth = t->depth_switched;
	root = t->nframes ? t->frames[t->nframes - 1].root : NO_ROOT;
	counts = &staged[root * WINDOWS + window];
	if (!*counts)
		*counts = calloc(nfuncs, sizeof(**counts));
	if (*counts && b->f != &unknown)
		(*counts)[b->f - funcs] += b->n;
	if (b->end == CALL) {
		t->depth++;
	} else if (b->end == RET) {
		while (t->nframes && !t->frames[t->nframes - 1].irq &&
		       t->frames[t->nframes - 1].level >= t->depth)
			t->nframes--;
		/* a task that was asleep when the window opened returns from calls not seen */
		t->depth -= t->depth > 0;
	} else if (b->end == IRET) {
		while (t->nframes && !t->frames[t->nframes - 1].irq)
			t->nframes--;
		if (t->nframes)
			t->depth = t->frames[--t->nframes].level;
	}
}

/*
 * The load of the next task's stack pointer, in __switch_to_asm(): its address tells which
 * task that is.
 */
static void stage_switch(unsigned int vcpu, uint32_t info, uint64_t vaddr, void *data)
{
	struct cpu *c = &cpus[vcpu % MAX_CPUS];
	struct task *t = c->task ? c->task : &tasks[0];
	unsigned int i;

	(void)info;
	(void)data;
	if (!window)
		return;
	t->depth_switched = t->depth;
	for (i = 1; i < ntasks && tasks[i].key != vaddr; i++)
		;
	if (i == MAX_TASKS)
		i = 0;
	else if (i == ntasks)
		tasks[ntasks++].key = vaddr;
	c->task = &tasks[i];
}

static void stage_trans(struct qemu_plugin_tb *tb)
{
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const uint8_t *p = qemu_plugin_insn_data(insn);

		/* mov N(%rsi),%rsp */
		if (qemu_plugin_insn_size(insn) >= 4 && p[0] == 0x48 && p[1] == 0x8b && (p[2] & 0x3f) == 0x26)
			qemu_plugin_register_vcpu_mem_cb(insn, stage_switch, CB_NO_REGS, MEM_READS, NULL);
	}
}

static void stage_forget(void)
{
	for (unsigned int i = 0; i < ntasks; i++)
		tasks[i].nframes = tasks[i].depth = tasks[i].depth_switched = 0;
}

/* --- entry points ------------------------------------------------------------------- */

static void block_exec(unsigned int vcpu, void *data)
{
	const struct block *b = data;
	struct cpu *c = &cpus[vcpu % MAX_CPUS];
	char kind = b->first ? b->f->kind : 'F';

	if (!window)
		return;
	all[window] += b->n;
	b->f->self[window] += b->n;
	if (nroots > 1)
		stage_count(c, b);
	if (c->nframes) {
		if (kind == 'I')
			c->irq++;
		if (c->irq) {
			if (b->end == IRET)
				c->irq--;
			return;
		}
		if (kind == 'S')
			drop(c);
	}
	if ((kind == 'E' || (kind == 'P' && c->nframes)) && c->nframes < MAX_FRAMES) {
		c->frames[c->nframes].f = b->f;
		c->frames[c->nframes++].level = c->depth;
	}
	if (!c->nframes)
		return;
	if (c->frames[c->nframes - 1].f->kind == 'E') {
		c->now += b->n;
		b->f->inside[window] += b->n;
	}
	if (b->end == CALL) {
		c->depth++;
	} else if (b->end == RET) {
		while (c->nframes && c->frames[c->nframes - 1].level >= c->depth) {
			if (c->nframes == 1)
				done(c);
			c->nframes--;
		}
		c->depth = c->nframes ? c->depth - 1 : 0;
	}
}

static void watch_write_out(FILE *f);

static void write_out(void)
{
	FILE *f = fopen(out_path, "w");

	if (!f) {
		fprintf(stderr, "insncount: cannot write %s\n", out_path);
		return;
	}
	if (watch)
		watch_write_out(f);
	for (unsigned int w = 1; w < WINDOWS; w++) {
		if (!all[w])
			continue;
		fprintf(f, "all %u %" PRIu64 "\n", w, all[w]);
		fprintf(f, "self %u %" PRIu64 " %s\n", w, user.self[w], user.name);
		for (size_t i = 0; i < nfuncs; i++) {
			struct func *g = &funcs[i];

			if (g->self[w])
				fprintf(f, "self %u %" PRIu64 " %s\n", w, g->self[w], g->name);
			if (g->inside[w])
				fprintf(f, "inside %u %" PRIu64 " %s\n", w, g->inside[w], g->name);
			if (g->calls[w] || g->dropped[w])
				fprintf(f, "entry %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", w,
					g->calls[w], g->insns[w], g->dropped[w], g->dropped_insns[w], g->name);
		}
		for (unsigned int r = 0; r < nroots && nroots > 1; r++) {
			const uint64_t *counts = staged[r * WINDOWS + w];

			for (size_t i = 0; counts && i < nfuncs; i++)
				if (counts[i])
					fprintf(f, "stage %u %" PRIu64 " %s %s\n", w, counts[i],
						r ? roots[r]->name : "-", funcs[i].name);
		}
	}
	fprintf(f, "end\n");
	fclose(f);
}

/* --- stopwatches ------------------------------------------------------------------ */

enum mark { FIRST, LAST, POLL, SLEEP, CAUGHT, WOKEN, IRQ, END, MARKS };

struct fault {
	unsigned int window;
	uint32_t at[MARKS];
	uint32_t doorbells, irqs, ticks, switches;
};

static struct fault *faults;
static size_t nfaults, faults_room;
static uint64_t executed;	/* instructions of the kernel, ever */
static struct {
	bool on;
	bool in_handler;
	uint64_t start, irq, poll;
	struct fault f;
} now;
static struct { uint64_t lo, hi, executed; } last_user;
static uint64_t others[WINDOWS], dropped[WINDOWS];

static void watch_note(enum mark m, uint64_t when)
{
	now.f.at[m] = when - now.start;
}

static void watch_end(void)
{
	now.on = false;
	if (!now.f.doorbells) {
		others[window]++;
		return;
	}
	watch_note(END, executed);
	if (nfaults == faults_room) {
		faults_room = faults_room ? 2 * faults_room : 65536;
		faults = realloc(faults, faults_room * sizeof(*faults));
		if (!faults)
			abort();
	}
	faults[nfaults++] = now.f;
}

static void watch_user(unsigned int vcpu, void *data)
{
	const struct block *b = data;

	(void)vcpu;
	if (now.on && b->addr >= last_user.lo && b->addr < last_user.hi)
		watch_end();
	/* Another process' block, while the fault's thread sleeps, is not the one that faulted. */
	if (now.on)
		return;
	last_user.lo = b->addr;
	last_user.hi = b->addr + b->size;
	last_user.executed = executed;
}

static void watch_kernel(unsigned int vcpu, void *data)
{
	const struct block *b = data;

	(void)vcpu;
	/* From user space if no other instruction of the kernel came in between. */
	if (b->f->kind == 'X' && window && !now.on && executed == last_user.executed) {
		memset(&now, 0, sizeof(now));
		now.on = true;
		now.start = executed;
		now.f.window = window;
		return;
	}
	if (!now.on)
		return;
	switch (b->f->kind) {
	case 'I':
		now.irq = executed;
		break;
	case 'T':
		now.f.ticks++;
		break;
	case 'Q':
		now.f.irqs++;
		now.in_handler = true;
		watch_note(IRQ, now.irq);
		break;
	case 'W':
		/* More than once if pages share a wait queue: the last one has woken it. */
		if (now.f.irqs)
			now.f.at[WOKEN] = now.f.at[IRQ];
		break;
	case 'Y':
		if (now.f.doorbells && !now.f.at[POLL])
			watch_note(POLL, executed);
		now.poll = executed;
		break;
	case 'H':
		/* Called by the handler, for what comes by interrupt meanwhile? */
		if (now.in_handler) {
			now.in_handler = false;
			break;
		}
		/* fallthrough */
	case 'C':
		if (now.f.at[POLL] && !now.f.at[CAUGHT])
			watch_note(CAUGHT, executed);
		break;
	case 'K':
		if (now.f.at[POLL] && !now.f.at[CAUGHT])
			watch_note(CAUGHT, now.poll);
		break;
	case 'S':
		if (now.f.doorbells && !now.f.at[SLEEP])
			watch_note(SLEEP, executed);
		now.f.switches++;
		break;
	}
}

static void watch_store(unsigned int vcpu, uint32_t info, uint64_t vaddr, void *data)
{
	struct qemu_plugin_hwaddr *to;
	unsigned int at = vaddr & 0xfff;

	(void)vcpu;
	(void)data;
	if (!now.on || now.f.at[POLL] || now.f.at[SLEEP])
		return;
	to = qemu_plugin_get_hwaddr(info, vaddr);
	/* Doorbells are 4 bytes apart: the admin queue's two, then SQ and CQ in turn. */
	if (!to || !qemu_plugin_hwaddr_is_io(to) || at < 8 || at & 4)
		return;
	if (!now.f.doorbells++)
		watch_note(FIRST, executed);
	watch_note(LAST, executed);
}

static void watch_drop(void)
{
	if (now.on)
		dropped[window]++;
	now.on = false;
}

static void watch_write_out(FILE *f)
{
	for (size_t i = 0; i < nfaults; i++) {
		const struct fault *g = &faults[i];

		fprintf(f, "fault %u", g->window);
		for (int m = 0; m < MARKS; m++)
			fprintf(f, " %u", g->at[m]);
		fprintf(f, " %u %u %u %u\n", g->doorbells, g->irqs, g->ticks, g->switches);
	}
	for (unsigned int w = 1; w < WINDOWS; w++)
		if (others[w] || dropped[w])
			fprintf(f, "others %u %" PRIu64 "\ndropped %u %" PRIu64 "\n", w, others[w], w, dropped[w]);
}

static void watch_trans(struct qemu_plugin_tb *tb, struct block *b)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	if (b->f == &user) {
		qemu_plugin_register_vcpu_tb_exec_cb(tb, watch_user, CB_NO_REGS, b);
		return;
	}
	if (b->first && strchr("XITQWYHCKS", b->f->kind))
		qemu_plugin_register_vcpu_tb_exec_cb(tb, watch_kernel, CB_NO_REGS, b);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD_U64, &executed, 1);
		if (!strncmp(b->f->name, "nvme_", 5))
			qemu_plugin_register_vcpu_mem_cb(insn, watch_store, CB_NO_REGS, MEM_WRITES, NULL);
	}
}

/* --- both --------------------------------------------------------------------------- */

static void mark_exec(unsigned int vcpu, void *data)
{
	unsigned int w = (uintptr_t)data;

	(void)vcpu;
	for (unsigned int i = 0; i < MAX_CPUS; i++)
		drop(&cpus[i]);
	watch_drop();
	stage_forget();
	if (w == WRITE_OUT)
		write_out();
	window = w < WINDOWS ? w : 0;
}

/* How long "ff /2" is from its ModRM byte on. */
static size_t modrm_size(const uint8_t *p, size_t n)
{
	unsigned int mod = p[0] >> 6, rm = p[0] & 7, size = 1;

	if (mod == 3)
		return size;
	if (rm == 4) {
		size++;
		if (!mod && n > 1 && (p[1] & 7) == 5)
			size += 4;
	} else if (!mod && rm == 5) {
		size += 4;
	}
	return size + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/*
 * How a block ends. An instruction that crosses a page begins a block of its own, but
 * QEMU 7.2 has by then put its first bytes into the block before: *whole says if not.
 */
static enum end end_of(const uint8_t *p, size_t n, bool *whole)
{
	size_t i = 0;

	*whole = true;
	while (i + 1 < n && (p[i] == 0xf2 || p[i] == 0xf3 || p[i] == 0x2e || p[i] == 0x3e || p[i] == 0x66 ||
			     (p[i] & 0xf0) == 0x40))
		i++;
	if (p[i] == 0xe8) {
		*whole = n - i >= 5;
		return CALL;
	}
	if (p[i] == 0xff && i + 1 < n && (p[i + 1] >> 3 & 7) == 2) {
		*whole = n - i - 1 >= modrm_size(p + i + 1, n - i - 1);
		return CALL;
	}
	if (p[i] == 0xc3 || p[i] == 0xc2)
		return RET;
	return p[i] == 0xcf ? IRET : PLAIN;
}

static void block_trans(plugin_id id, struct qemu_plugin_tb *tb)
{
	static const uint8_t marker[] = { 0x4b, 0x52, 0x41, 0x4d, 0x57, 0x53, 0x53 };
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *insn;
	struct block *b;
	bool whole;

	(void)id;
	/* A translation may outlive any flush that is told of, so these are never freed. */
	b = calloc(1, sizeof(*b));
	if (!b || !n)
		return;
	b->f = find(qemu_plugin_tb_vaddr(tb));
	b->first = b->f->addr == qemu_plugin_tb_vaddr(tb);
	b->switched = b->first && is_named(b->f, "__switch_to");
	b->n = n;
	insn = qemu_plugin_tb_get_insn(tb, n - 1);
	b->end = end_of(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn), &whole);
	if (!whole) {
		b->end = PLAIN;
		b->n--;
	}
	b->addr = qemu_plugin_tb_vaddr(tb);
	/* QEMU may have cut the last instruction's bytes off at the end of a page */
	b->size = qemu_plugin_insn_vaddr(insn) - b->addr + 1;
	if (watch)
		watch_trans(tb, b);
	else
		qemu_plugin_register_vcpu_tb_exec_cb(tb, block_exec, CB_NO_REGS, b);
	if (nroots > 1 && is_named(b->f, "__switch_to_asm"))
		stage_trans(tb);
	if (b->f != &user)
		return;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *p;

		insn = qemu_plugin_tb_get_insn(tb, i);
		p = qemu_plugin_insn_data(insn);
		if (qemu_plugin_insn_size(insn) == 10 && p[0] == 0x48 && p[1] == 0xb8 &&
		    !memcmp(p + 3, marker, sizeof(marker)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, mark_exec, CB_NO_REGS,
							       (void *)(uintptr_t)p[2]);
	}
}

static int read_map(const char *path)
{
	FILE *f = fopen(path, "r");
	char name[512], kind[3];
	size_t room = 0;
	uint64_t addr;

	if (!f)
		return -1;
	while (fscanf(f, "%" SCNx64 " %2s %511s", &addr, kind, name) == 3) {
		if (nfuncs == room) {
			room = room ? 2 * room : 4096;
			funcs = realloc(funcs, room * sizeof(*funcs));
			if (!funcs)
				return -1;
		}
		memset(&funcs[nfuncs], 0, sizeof(*funcs));
		funcs[nfuncs].addr = addr;
		funcs[nfuncs].kind = kind[0];
		funcs[nfuncs].root = kind[1] == '+' ? nroots++ : NO_ROOT;
		funcs[nfuncs++].name = strdup(name);
	}
	fclose(f);
	roots = calloc(nroots, sizeof(*roots));
	staged = calloc(nroots * WINDOWS, sizeof(*staged));
	if (!roots || !staged)
		return -1;
	for (size_t i = 0; i < nfuncs; i++)
		if (funcs[i].root)
			roots[funcs[i].root] = &funcs[i];
	return nfuncs ? 0 : -1;
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	const char *map = NULL;

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "map=", 4))
			map = argv[i] + 4;
		else if (!strncmp(argv[i], "out=", 4))
			out_path = argv[i] + 4;
		else if (!strcmp(argv[i], "watch=on"))
			watch = true;
	}
	if (!map || !out_path || read_map(map)) {
		fprintf(stderr, "insncount: give map=FILE,out=FILE, and the map must have functions\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_trans);
	return 0;
}
