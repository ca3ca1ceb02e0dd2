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
 * Calls and returns are followed by counting: a tail call does not change the depth, so
 * the return belongs to the first caller, as it should. If the task is switched inside an
 * entry point, that call is thrown away and told.
 *
 * The map has lines "HEX-ADDRESS KIND NAME", sorted by address. Kinds: E entry point,
 * P not counted inside entry points, I interrupt entry, S the scheduler, F any other.
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
enum { CB_NO_REGS = 0 };
typedef void (*exec_cb)(unsigned int vcpu, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*cb)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, exec_cb cb, int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, exec_cb cb, int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

#define WINDOWS		8
#define WRITE_OUT	255
#define MAX_CPUS	256
#define MAX_FRAMES	64

enum end { PLAIN, CALL, RET, IRET };

struct func {
	uint64_t addr;
	char kind;
	char *name;
	uint64_t self[WINDOWS], inside[WINDOWS];
	uint64_t calls[WINDOWS], insns[WINDOWS], dropped[WINDOWS], dropped_insns[WINDOWS];
};

struct block {
	struct func *f;
	unsigned int n;
	enum end end;
	bool first;		/* starts a function */
};

struct cpu {
	struct { struct func *f; int level; } frames[MAX_FRAMES];
	int nframes, depth, irq;
	uint64_t now;		/* of the call that goes on */
};

static struct func *funcs;
static size_t nfuncs;
static struct func user = { .name = "(user)", .kind = 'F' }, unknown = { .name = "(unknown)", .kind = 'F' };
static struct cpu cpus[MAX_CPUS];
static uint64_t all[WINDOWS];
static unsigned int window;
static const char *out_path;

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

static void block_exec(unsigned int vcpu, void *data)
{
	const struct block *b = data;
	struct cpu *c = &cpus[vcpu % MAX_CPUS];
	char kind = b->first ? b->f->kind : 'F';

	if (!window)
		return;
	all[window] += b->n;
	b->f->self[window] += b->n;
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

static void write_out(void)
{
	FILE *f = fopen(out_path, "w");

	if (!f) {
		fprintf(stderr, "insncount: cannot write %s\n", out_path);
		return;
	}
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
	}
	fprintf(f, "end\n");
	fclose(f);
}

static void mark_exec(unsigned int vcpu, void *data)
{
	unsigned int w = (uintptr_t)data;

	(void)vcpu;
	for (unsigned int i = 0; i < MAX_CPUS; i++)
		drop(&cpus[i]);
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
	b->n = n;
	insn = qemu_plugin_tb_get_insn(tb, n - 1);
	b->end = end_of(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn), &whole);
	if (!whole) {
		b->end = PLAIN;
		b->n--;
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_exec, CB_NO_REGS, b);
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
	char name[512], kind;
	size_t room = 0;
	uint64_t addr;

	if (!f)
		return -1;
	while (fscanf(f, "%" SCNx64 " %c %511s", &addr, &kind, name) == 3) {
		if (nfuncs == room) {
			room = room ? 2 * room : 4096;
			funcs = realloc(funcs, room * sizeof(*funcs));
			if (!funcs)
				return -1;
		}
		memset(&funcs[nfuncs], 0, sizeof(*funcs));
		funcs[nfuncs].addr = addr;
		funcs[nfuncs].kind = kind;
		funcs[nfuncs++].name = strdup(name);
	}
	fclose(f);
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
	}
	if (!map || !out_path || read_map(map)) {
		fprintf(stderr, "insncount: give map=FILE,out=FILE, and the map must have functions\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_trans);
	return 0;
}
