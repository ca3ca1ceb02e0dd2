// SPDX-License-Identifier: GPL-2.0
/*
 * A TCG plugin that makes MFENCE a fence.
 *
 * With thread=single, QEMU before 8.1 translates no memory barrier: only one vCPU runs
 * at a time. But devices run beside it, on another host thread. The guest's nvme driver
 * writes a shadow doorbell, has a barrier, and reads whether the device wants to be told.
 * Without the barrier the host may do the read first, both sides take the other for
 * awake, and the command lies there until the driver's 30 s are over. Polled reads of
 * several CPUs on one queue met that within a minute. QEMU's commit c914d46d0a64 mended it for 8.1.
 *
 * QEMU of Debian 12 has plugins, but no header for them; what is used here of its
 * plugin API version 1 is declared here.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t;

typedef void (*qemu_plugin_tb_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*qemu_plugin_exec_cb)(unsigned int vcpu, void *data);

extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
							size_t index);
extern const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_tb_cb cb);
/* @flags: 0 for a callback that does not look at registers */
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
						   qemu_plugin_exec_cb cb, int flags, void *data);

int qemu_plugin_version = 1;
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc,
			char **argv);

/* Called before the instruction: after the guest's write, before its read. */
static void fence(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	static const uint8_t mfence[] = { 0x0f, 0xae, 0xf0 };
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (qemu_plugin_insn_size(insn) == sizeof(mfence) &&
		    !memcmp(qemu_plugin_insn_data(insn), mfence, sizeof(mfence)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, fence, 0, NULL);
	}
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc,
			char **argv)
{
	(void)info;
	(void)argc;
	(void)argv;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
