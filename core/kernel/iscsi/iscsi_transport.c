/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's iSCSI transports, and texts for its numeric codes. */
#include "iscsi_nl.h"
#include "kernel_rdma.h"
#include "kernel_sys.h"
#include "loop.h"
#include "modules/modules.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *module, *dir;
} transports[ISCSI_CARRIERS] = {
	[ISCSI_TCP] = { "iscsi_tcp", "sys/class/iscsi_transport/tcp" },
	[ISCSI_ISER] = { "ib_iser", "sys/class/iscsi_transport/iser" },
};

static void found(const char *name, void *arg)
{
	(void)name;
	*(bool *)arg = true;
}

/* ib_iser needs an RDMA device, but none of the modules for RDMA in userspace. */
static int check_rdma(int root, struct diag *diag)
{
	bool found_device = false;
	int err;

	kernel_sys_list(root, "sys/class/infiniband", found, &found_device);
	err = found_device ? 0 : kernel_rdma_ready(root, diag);
	if (!err)
		return 0;
	diag->hint[0] = 0;
	if (err == -ENODEV)
		diag_hint(diag, HINT_RDMA_DEVICE "; or use TCP: iscsi://HOST/IQN");
	else
		diag_hint(diag, "iSCSI over TCP needs no RDMA: iscsi://HOST/IQN");
	return err;
}

int kernel_iscsi_transport_find(int root, enum iscsi_carrier carrier,
	struct kernel_iscsi_transport *transport, struct diag *diag)
{
	const char *dir = transports[carrier].dir;
	char text[32] = "";
	ssize_t got = kernel_sys_read(root, text, sizeof(text), "%s/handle", dir);

	if (got == -EACCES || got == -EPERM)
		return diag_set(diag, DIAG_PERMISSION, EPERM,
			"only root can use the kernel's iSCSI initiator");
	if (got <= 0)
		return diag_sys(diag, got < 0 ? (int)-got : EIO, "/%s/handle", dir);
	transport->handle = strtoull(text, NULL, 10);
	return 0;
}

/* iscsi_tcp (6.12) requests crc32c for each new connection, and gets ENOMEM if the kernel can't
 * load modules itself. */
static bool knows_crc32c(int root)
{
	char *crypto = kernel_sys_read_all(root, "proc/crypto");
	bool knows = crypto && strstr(crypto, " : crc32c\n");

	free(crypto);
	return knows;
}

bool kernel_iscsi_loaded(int root, enum iscsi_carrier carrier)
{
	bool needed = carrier == ISCSI_TCP && knows_crc32c(root);

	if (carrier == ISCSI_ISER)
		kernel_sys_list(root, "sys/class/infiniband", found, &needed);
	return needed && kernel_sys_exists(root, transports[carrier].dir);
}

int kernel_iscsi_transport(int root, enum iscsi_carrier carrier,
	struct kernel_iscsi_transport *transport, struct diag *diag)
{
	const char *module = transports[carrier].module, *dir = transports[carrier].dir,
		   *why = NULL;
	struct diag rdma = { 0 };

	if (carrier == ISCSI_ISER && check_rdma(root, &rdma)) {
		if (diag)
			*diag = rdma;
		return -rdma.err;
	}
	if (!kernel_sys_exists(root, dir))
		why = kernel_module_load(root, module);
	if (!kernel_sys_exists(root, dir)) {
		kernel_module_missing(module, why, diag);
		if (kernel_module_errno(why) == ENOENT)
			diag_hint(diag, "%s",
				carrier == ISCSI_ISER
					? "iSCSI over TCP needs iscsi_tcp instead: iscsi://HOST/IQN"
					: "iSER needs ib_iser instead: iser://HOST/IQN");
		return -kernel_module_errno(why);
	}
	if (carrier == ISCSI_TCP && !knows_crc32c(root))
		kernel_module_load(root, "crc32c_generic");
	return kernel_iscsi_transport_find(root, carrier, transport, diag);
}

const char *kernel_iscsi_reason(uint32_t reason)
{
	switch (reason) {
	case ISCSI_IF_CONN_FAILED:
		return "the connection failed";
	case ISCSI_IF_SESSION_FAILED:
		return "the session failed";
	case ISCSI_IF_XMIT_FAILED:
		return "sending to the target failed";
	case ISCSI_IF_CONN_CLOSED:
		return "connection closed by the target";
	case ISCSI_IF_SCSI_RESET:
		return "the kernel reset the session because a command timed out";
	case ISCSI_IF_NOP_TIMEDOUT:
		return "the target no longer answers pings";
	default:
		return "the kernel reports a protocol error of the target";
	}
}
