// SPDX-License-Identifier: GPL-2.0
/*
 * Simulated IAA device: its registers, commands and interrupts. See sim.h
 *
 * What the driver only reads or writes is memory. The device is told of commands, and of interrupt
 * causes that are acknowledged. It sends interrupts by asking the interrupt core to send them
 * again, so they come at the vectors, and to the CPUs, that the driver has chosen.
 */
#include <linux/bitfield.h>
#include <linux/cpufeature.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "idxd.h"
#include "registers.h"
#include "sim.h"

/* The first PCI functions that are simulated, as in lspci -D, with commas between them */
static char sim_names[256];

/* Check whether a list of names has none that is not a PCI function's. */
static int sim_names_set(const char *val, const struct kernel_param *kp)
{
	const char *at = val;
	unsigned int domain, bus, dev, fn;
	int len;

	if (strlen(val) >= sizeof(sim_names))
		return -ENOSPC;
	do {
		len = 0;
		if (sscanf(at, "%4x:%2x:%2x.%1x%n", &domain, &bus, &dev, &fn, &len) != 4 ||
		    (at[len] && at[len] != ',')) {
			pr_err("idxd: sim=%s: not a PCI function at '%s'; write as 0000:00:05.0\n",
			       val, at);
			return -EINVAL;
		}
		at += len;
	} while (*at++ == ',');
	strscpy(sim_names, val);
	return 0;
}

static int sim_names_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", sim_names);
}

static const struct kernel_param_ops sim_names_ops = {
	.set = sim_names_set,
	.get = sim_names_get,
};
module_param_cb(sim, &sim_names_ops, NULL, 0444);
MODULE_PARM_DESC(sim, "PCI functions that are simulated IAA devices, as 0000:00:05.0");

/**
 * idxd_sim_wanted - check whether any device is to be simulated
 *
 * Context: any.
 * Return: true if so. Then the driver is of use on a CPU that has no MOVDIR64B.
 */
bool idxd_sim_wanted(void)
{
	return *sim_names;
}

/**
 * idxd_sim_named - check whether a PCI function is to be a simulated device
 * @pdev: the function
 *
 * Context: any.
 * Return: true if it is in idxd.sim=
 */
bool idxd_sim_named(struct pci_dev *pdev)
{
	const char *name = pci_name(pdev), *at = sim_names;
	size_t len = strlen(name);

	while (at) {
		at += *at == ',';
		if (!strncmp(at, name, len) && (!at[len] || at[len] == ','))
			return true;
		at = strchr(at, ',');
	}
	return false;
}

/**
 * idxd_sim_data - say what kind of device a PCI function is
 * @pdev: the function
 * @data: what the driver's table says, or NULL if it is not there but was given to the driver by
 *	driver_override
 * @iax: what IAA devices have
 *
 * Context: probe.
 * Return: its kind, or NULL if this driver cannot use it.
 */
struct idxd_driver_data *idxd_sim_data(struct pci_dev *pdev, struct idxd_driver_data *data,
				       struct idxd_driver_data *iax)
{
	if (idxd_sim_named(pdev)) {
		/* The driver's own way out of that frees things twice. */
		if (pci_msix_vec_count(pdev) <= SIM_QUEUES) {
			pci_err(pdev, "idxd.sim= needs a function with %d MSI-X vectors\n",
				SIM_QUEUES + 1);
			return NULL;
		}
		pci_info(pdev, "simulated IAA device, for tests: CPUs do its work\n");
		return iax;
	}
	if (data && cpu_feature_enabled(X86_FEATURE_MOVDIR64B))
		return data;
	pci_err(pdev, "%s. To simulate a device, boot with idxd.sim=%s\n",
		data ? "the CPU has no MOVDIR64B" : "not an accelerator", pci_name(pdev));
	return NULL;
}

static ssize_t simulated_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "1\n");
}
static DEVICE_ATTR_RO(simulated);

/**
 * sim_interrupt - send an interrupt
 * @sim: the device
 * @vector: which of its MSI-X vectors
 *
 * Context: any. Without effect if nothing has asked for the vector.
 */
void sim_interrupt(struct idxd_sim *sim, unsigned int vector)
{
	int irq = pci_irq_vector(sim->pdev, vector);

	/* -EBUSY: it is on its way, and who gets it will see what there is now. */
	if (irq > 0)
		irq_inject_interrupt(irq);
}

/* Tell the driver why there is a miscellaneous interrupt. */
static void sim_cause(struct idxd_sim *sim, u32 cause)
{
	unsigned long flags;

	spin_lock_irqsave(&sim->lock, flags);
	*sim_reg32(sim, IDXD_INTCAUSE_OFFSET) |= cause;
	spin_unlock_irqrestore(&sim->lock, flags);
	sim_interrupt(sim, 0);
}

/**
 * idxd_sim_ack - the driver has seen causes of a miscellaneous interrupt
 * @idxd: its device
 * @cause: what it writes to the register
 *
 * Context: any.
 * Return: false if the device is not simulated: it is to write to the register.
 */
bool idxd_sim_ack(struct idxd_device *idxd, u32 cause)
{
	struct idxd_sim *sim = idxd->sim;
	unsigned long flags;

	if (!sim)
		return false;
	spin_lock_irqsave(&sim->lock, flags);
	*sim_reg32(sim, IDXD_INTCAUSE_OFFSET) &= ~cause;
	spin_unlock_irqrestore(&sim->lock, flags);
	return true;
}

/* --- commands --------------------------------------------------------------- */

/* What the registers are after a reset. The driver reads them as memory meanwhile. */
static void sim_reset_regs(struct idxd_sim *sim)
{
	union gen_cap_reg gen = { .cmd_cap = 1, .max_xfer_shift = 21, .config_en = 1 };
	union group_cap_reg group = { .num_groups = SIM_QUEUES, .total_rdbufs = 96 };
	union engine_cap_reg engine = { .num_engines = SIM_ENGINES };
	union iaa_cap_reg iaa = { .header_gen = 1 };
	union offsets_reg tables = {
		.grpcfg = SIM_GRPCFG / IDXD_TABLE_MULT,
		.wqcfg = SIM_WQCFG / IDXD_TABLE_MULT,
		.msix_perm = SIM_MSIX_PERM / IDXD_TABLE_MULT,
	};
	union wq_cap_reg wq = {
		.total_wq_size = SIM_DEPTH,
		.num_wqs = SIM_QUEUES,
		.wqcfg_size = ilog2(sizeof(union wqcfg)) - IDXD_WQCFG_MIN,
		.dedicated_mode = 1,
		.priority = 1,
	};

	memset(sim->regs + SIM_GRPCFG, 0, SIM_REGS - SIM_GRPCFG);
	*sim_reg32(sim, IDXD_GENCFG_OFFSET) = 0;
	*sim_reg32(sim, IDXD_GENSTATS_OFFSET) = IDXD_DEVICE_STATE_DISABLED;
	*sim_reg32(sim, IDXD_VER_OFFSET) = DEVICE_VERSION_2;
	*sim_reg64(sim, IDXD_GENCAP_OFFSET) = gen.bits;
	*sim_reg64(sim, IDXD_WQCAP_OFFSET) = wq.bits;
	*sim_reg64(sim, IDXD_GRPCAP_OFFSET) = group.bits;
	*sim_reg64(sim, IDXD_ENGCAP_OFFSET) = engine.bits;
	*sim_reg64(sim, IDXD_IAACAP_OFFSET) = iaa.bits;
	*sim_reg64(sim, IDXD_TABLE_OFFSET) = tables.bits[0];
	*sim_reg64(sim, IDXD_OPCAP_OFFSET) = BIT(IAX_OPCODE_NOOP) | BIT(IAX_OPCODE_DRAIN);
	*sim_reg64(sim, IDXD_OPCAP_OFFSET + sizeof(u64)) =
		BIT(IAX_OPCODE_COMPRESS - 64) | BIT(IAX_OPCODE_DECOMPRESS - 64);
	/* Commands up to that to reset a queue */
	*sim_reg32(sim, IDXD_CMDCAP_OFFSET) =
		GENMASK(IDXD_CMD_RESET_WQ, IDXD_CMD_ENABLE_DEVICE);
}

static union wqcfg *sim_wqcfg(struct idxd_sim *sim, unsigned int id)
{
	return (union wqcfg *)(sim->regs + SIM_WQCFG) + id;
}

static struct grpcfg *sim_grpcfg(struct idxd_sim *sim, unsigned int id)
{
	return (struct grpcfg *)(sim->regs + SIM_GRPCFG + id * GRPCFG_SIZE);
}

static u32 sim_state(struct idxd_sim *sim)
{
	union gensts_reg sts = { .bits = *sim_reg32(sim, IDXD_GENSTATS_OFFSET) };

	return sts.state;
}

/* Whether a group's engines, and queues, are its own */
static bool sim_group_is_good(struct idxd_sim *sim, unsigned int id)
{
	const struct grpcfg *group = sim_grpcfg(sim, id);

	if (group->engines & ~GENMASK_ULL(SIM_ENGINES - 1, 0) ||
	    group->wqs[0] & ~GENMASK_ULL(SIM_QUEUES - 1, 0) ||
	    !group->engines != !group->wqs[0])
		return false;
	for (unsigned int i = 0; i < id; i++) {
		const struct grpcfg *other = sim_grpcfg(sim, i);

		if (group->engines & other->engines || group->wqs[0] & other->wqs[0])
			return false;
	}
	return true;
}

static u32 sim_enable(struct idxd_sim *sim)
{
	unsigned int size = 0;
	u16 command;

	if (sim_state(sim) == IDXD_DEVICE_STATE_ENABLED)
		return IDXD_CMDSTS_ERR_DEV_ENABLED;
	pci_read_config_word(sim->pdev, PCI_COMMAND, &command);
	if (!(command & PCI_COMMAND_MASTER))
		return IDXD_CMDSTS_ERR_BUSMASTER_EN;
	for (unsigned int i = 0; i < SIM_QUEUES; i++) {
		if (!sim_group_is_good(sim, i))
			return IDXD_CMDSTS_ERR_GRP_CONFIG;
		size += sim_wqcfg(sim, i)->wq_size;
	}
	if (size > SIM_DEPTH)
		return IDXD_CMDSTS_ERR_WQ_SIZE_ERANGE;
	*sim_reg32(sim, IDXD_GENSTATS_OFFSET) = IDXD_DEVICE_STATE_ENABLED;
	return IDXD_CMDSTS_SUCCESS;
}

static u32 sim_queue_enable(struct idxd_sim *sim, unsigned int id)
{
	const union wqcfg *cfg = sim_wqcfg(sim, id);
	struct sim_queue *queue = &sim->queue[id];
	unsigned long engines = 0;

	if (id >= SIM_QUEUES)
		return IDXD_CMDSTS_INVAL_WQIDX;
	if (sim_state(sim) != IDXD_DEVICE_STATE_ENABLED)
		return IDXD_CMDSTS_ERR_DEV_NOTEN;
	if (queue->size)
		return IDXD_CMDSTS_ERR_WQ_ENABLED;
	if (!cfg->wq_size || cfg->wq_size > SIM_DEPTH)
		return IDXD_CMDSTS_ERR_WQ_SIZE;
	if (!cfg->mode)
		return IDXD_CMDSTS_ERR_WQ_MODE;
	if (cfg->bof)
		return IDXD_CMDSTS_ERR_BOF_EN;
	if (cfg->pasid_en)
		return IDXD_CMDSTS_ERR_PASID_EN;
	for (unsigned int i = 0; i < SIM_QUEUES; i++)
		if (sim_grpcfg(sim, i)->wqs[0] & BIT(id))
			engines = sim_grpcfg(sim, i)->engines;
	if (!engines)
		return IDXD_CMDSTS_ERR_GRP_CONFIG;
	spin_lock_irq(&sim->lock);
	queue->engines = engines;
	queue->size = cfg->wq_size;
	spin_unlock_irq(&sim->lock);
	return IDXD_CMDSTS_SUCCESS;
}

static void sim_queue_disable(struct idxd_sim *sim, unsigned int id)
{
	spin_lock_irq(&sim->lock);
	sim->queue[id].size = 0;
	spin_unlock_irq(&sim->lock);
}

/* What a command does to a queue */
static void sim_queue_command(struct idxd_sim *sim, unsigned int id, u32 cmd)
{
	bool aborts = cmd == IDXD_CMD_ABORT_WQ || cmd == IDXD_CMD_ABORT_ALL ||
		      cmd == IDXD_CMD_RESET_WQ || cmd == IDXD_CMD_RESET_DEVICE;

	if (cmd == IDXD_CMD_ABORT_WQ)
		sim_queue_count_abort(sim, id);
	/* A queue that is being disabled takes no more. */
	if (cmd != IDXD_CMD_DRAIN_WQ && cmd != IDXD_CMD_DRAIN_ALL &&
	    cmd != IDXD_CMD_ABORT_WQ && cmd != IDXD_CMD_ABORT_ALL)
		sim_queue_disable(sim, id);
	if (aborts)
		sim_queue_abort(sim, id);
	else
		sim_queue_drain(sim, id);
	if (cmd == IDXD_CMD_RESET_WQ)
		memset(sim_wqcfg(sim, id), 0, sizeof(union wqcfg));
}

/* Execute a command. Return what its status says. */
static u32 sim_execute(struct idxd_sim *sim, union idxd_command_reg cmd)
{
	unsigned long queues = GENMASK(SIM_QUEUES - 1, 0);
	unsigned int id;

	switch (cmd.cmd) {
	case IDXD_CMD_ENABLE_DEVICE:
		return sim_enable(sim);
	case IDXD_CMD_ENABLE_WQ:
		return sim_queue_enable(sim, cmd.operand);
	case IDXD_CMD_DISABLE_WQ:
	case IDXD_CMD_DRAIN_WQ:
	case IDXD_CMD_ABORT_WQ:
	case IDXD_CMD_RESET_WQ:
		/* 16 bits of a mask, and which 16 */
		if (!cmd.operand || cmd.operand & ~queues)
			return IDXD_CMDSTS_INVAL_WQIDX;
		queues = cmd.operand;
		break;
	case IDXD_CMD_DISABLE_DEVICE:
	case IDXD_CMD_DRAIN_ALL:
	case IDXD_CMD_ABORT_ALL:
	case IDXD_CMD_RESET_DEVICE:
		break;
	default:
		return IDXD_CMDSTS_INVAL_CMD;
	}
	if (cmd.cmd != IDXD_CMD_RESET_DEVICE && sim_state(sim) != IDXD_DEVICE_STATE_ENABLED)
		return IDXD_CMDSTS_ERR_DEV_NOT_EN;
	for_each_set_bit(id, &queues, SIM_QUEUES)
		sim_queue_command(sim, id, cmd.cmd);
	if (cmd.cmd == IDXD_CMD_DISABLE_DEVICE)
		*sim_reg32(sim, IDXD_GENSTATS_OFFSET) = IDXD_DEVICE_STATE_DISABLED;
	if (cmd.cmd == IDXD_CMD_RESET_DEVICE)
		sim_reset_regs(sim);
	return IDXD_CMDSTS_SUCCESS;
}

static void sim_command_work(struct work_struct *work)
{
	struct idxd_sim *sim = container_of(work, struct idxd_sim, command);
	u32 status;

	while (READ_ONCE(sim->deaf))
		msleep(20);
	mutex_lock(&sim->commands);
	status = sim_execute(sim, (union idxd_command_reg){ .bits = sim->cmd });
	mutex_unlock(&sim->commands);
	WRITE_ONCE(*sim_reg32(sim, IDXD_CMDSTS_OFFSET), status);
	sim_cause(sim, IDXD_INTC_CMD);
}

/**
 * idxd_sim_command - the driver writes to the command register
 * @idxd: its device
 * @cmd: what it writes
 *
 * A command that ends without an interrupt is over when this returns, as its caller polls and may
 * hold a spinlock; only a reset before anything was enabled is one.
 *
 * Context: any.
 * Return: false if the device is not simulated: it is to write to the register.
 */
bool idxd_sim_command(struct idxd_device *idxd, u32 cmd)
{
	union idxd_command_reg reg = { .bits = cmd };
	struct idxd_sim *sim = idxd->sim;

	if (!sim)
		return false;
	if (reg.int_req) {
		sim->cmd = cmd;
		WRITE_ONCE(*sim_reg32(sim, IDXD_CMDSTS_OFFSET), IDXD_CMDSTS_ACTIVE);
		queue_work(sim->command_wq, &sim->command);
	} else if (reg.cmd == IDXD_CMD_RESET_DEVICE &&
		   sim_state(sim) == IDXD_DEVICE_STATE_DISABLED) {
		sim_reset_regs(sim);
		*sim_reg32(sim, IDXD_CMDSTS_OFFSET) = IDXD_CMDSTS_SUCCESS;
	} else {
		*sim_reg32(sim, IDXD_CMDSTS_OFFSET) = IDXD_CMDSTS_INVAL_CMD;
	}
	return true;
}

/**
 * sim_halt - stop as after an error that the device does not recover from by itself
 * @sim: the device
 * @reset_type: what it needs to go on, of enum idxd_device_reset_type
 *
 * Descriptors that have not ended never do. There is no access to memory after this.
 *
 * Context: may sleep.
 */
void sim_halt(struct idxd_sim *sim, unsigned int reset_type)
{
	union gensts_reg sts = { .state = IDXD_DEVICE_STATE_HALT, .reset_type = reset_type };

	mutex_lock(&sim->commands);
	for (unsigned int i = 0; i < SIM_QUEUES; i++) {
		sim_queue_disable(sim, i);
		sim_queue_abort(sim, i);
	}
	WRITE_ONCE(*sim_reg32(sim, IDXD_GENSTATS_OFFSET), sts.bits);
	mutex_unlock(&sim->commands);
	sim_cause(sim, IDXD_INTC_HALT_STATE);
}

/* --- coming and going ------------------------------------------------------- */

static void sim_free(struct idxd_sim *sim)
{
	if (sim->command_wq)
		destroy_workqueue(sim->command_wq);
	if (sim->wq)
		destroy_workqueue(sim->wq);
	sim_held_exit(sim);
	sim_engines_exit(sim);
	kvfree(sim);
}

/**
 * idxd_sim_map - make a device
 * @idxd: the driver's device, of a PCI function that idxd_sim_named() says yes to
 *
 * Context: probe.
 * Return: its registers, or NULL if there is not enough memory.
 */
void __iomem *idxd_sim_map(struct idxd_device *idxd)
{
	struct idxd_sim *sim = kvzalloc(sizeof(*sim), GFP_KERNEL);

	if (!sim)
		return NULL;
	sim->pdev = idxd->pdev;
	spin_lock_init(&sim->lock);
	mutex_init(&sim->commands);
	init_waitqueue_head(&sim->ended);
	INIT_WORK(&sim->command, sim_command_work);
	/* Reclaim waits for them. */
	sim->wq = alloc_workqueue("idxd_sim-%s", WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_HIGHPRI,
				  SIM_ENGINES, pci_name(sim->pdev));
	sim->command_wq = alloc_ordered_workqueue("idxd_sim_cmd-%s", WQ_MEM_RECLAIM | WQ_HIGHPRI,
						  pci_name(sim->pdev));
	if (!sim->wq || !sim->command_wq || sim_engines_init(sim) ||
	    sim_held_init(sim) ||
	    device_create_file(&sim->pdev->dev, &dev_attr_simulated)) {
		sim_free(sim);
		return NULL;
	}
	sim_reset_regs(sim);
	sim_debug_init(sim);
	idxd->sim = sim;
	return (void __iomem __force *)sim->regs;
}

/**
 * idxd_sim_unmap - remove a device
 * @idxd: the driver's device
 *
 * Context: may sleep. The driver has freed its interrupts.
 * Return: false if the device is not simulated: its registers are to be unmapped.
 */
bool idxd_sim_unmap(struct idxd_device *idxd)
{
	struct idxd_sim *sim = idxd->sim;

	if (!sim)
		return false;
	sim_debug_exit(sim);
	device_remove_file(&sim->pdev->dev, &dev_attr_simulated);
	for (unsigned int i = 0; i < SIM_QUEUES; i++) {
		sim_queue_disable(sim, i);
		sim_queue_abort(sim, i);
	}
	idxd->sim = NULL;
	sim_free(sim);
	return true;
}
