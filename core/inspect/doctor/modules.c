/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's modules: which are loaded, which could be, and why others can't. With a URI, only
 * what it needs, which is loaded if possible. */
#include "find.h"
#include "kernel_facts.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RDMA "nvme+rdma iser srp srp+cm nfs+rdma"

static const struct part {
	const char *module, *config;
	const char *schemes; /* of URIs that need it; NULL: none in particular */
	const char *use;
	bool rdma;             /* useless without ib_core */
	bool required;         /* nothing in userspace replaces it */
	bool tls;              /* a URI with TLS needs it */
	unsigned major, minor; /* first release of Linux that rdmastor can use it in; 0: any */
} parts[] = {
	{ "ib_core", "INFINIBAND", RDMA, "RDMA" },
	{ "ib_uverbs", "INFINIBAND_USER_ACCESS", RDMA, "RDMA from userspace", true },
	{ "rdma_ucm", "INFINIBAND_USER_ACCESS", RDMA, "RDMA connections from userspace", true },
	{ "ib_umad", "INFINIBAND_USER_MAD", "srp", "discovery of SRP targets", true },
	{ "nvme_fabrics", "NVME_FABRICS", "nvme+rdma nvme+tcp", "NVMe-oF" },
	{ "nvme_rdma", "NVME_RDMA", "nvme+rdma", "NVMe over RDMA", true },
	{ "nvme_tcp", "NVME_TCP", "nvme+tcp", "NVMe over TCP" },
	{ "tls", "TLS", NULL, "nvmf-connect --tls", .tls = true },
	{ "ib_iser", "INFINIBAND_ISER", "iser", "iSER", true },
	{ "iscsi_tcp", "ISCSI_TCP", "iscsi", "iSCSI over TCP" },
	{ "ib_srp", "INFINIBAND_SRP", "srp srp+cm", "SRP", true },
	{ "rpcrdma", "SUNRPC_XPRT_RDMA", "nfs+rdma", "NFS over RDMA", true, true },
	{ "nfsv4", "NFS_V4", "nfs+rdma", "NFS version 4" },
	{ "ublk_drv", "BLK_DEV_UBLK", NULL, "export --ublk", .major = 6, .minor = 5 },
	{ "nbd", "BLK_DEV_NBD", NULL, "export --nbd-dev" },
};

struct scan {
	struct doctor *doctor;
	char *config; /* NULL: unknown */
	bool disabled;
	bool no_rdma; /* ib_core is missing, and so is all that needs it */
	bool none;    /* no modules are installed, which was reported once */
};

static bool needed(const struct doctor *doctor, const struct part *part)
{
	return part->tls ? doctor_uses_tls(doctor)
			 : part->schemes && doctor_is(doctor, part->schemes);
}

/* Return FAILURE if the disk of the URI can't be used without the module. */
static enum doctor_state badness(const struct doctor *doctor, const struct part *part)
{
	bool alone = part->required ||
		     (doctor_needs_rdma(doctor) && part->schemes && !strcmp(part->schemes, RDMA));

	if (!doctor->uri)
		return DOCTOR_INFO;
	return needed(doctor, part) && alone && !doctor->no_sysfs ? DOCTOR_FAILURE : DOCTOR_WARNING;
}

static void missing(struct scan *scan, const struct part *part, enum kernel_module_state state)
{
	const char value = scan->config ? kernel_config_value(scan->config, part->config) : '?';
	const bool none = value != 'n' && state == KERNEL_MODULES_MISSING;
	const bool old = doctor_older(scan->doctor, part->major, part->minor);
	const char *const what = value == 'n' || (old && value == '?') ? "not part of this kernel"
				 : none ? "no modules for the running kernel"
				 : state == KERNEL_MODULE_DAMAGED ? "a file of it is missing"
				 : value == 'm' ? "part of this kernel, but not installed"
						: "not installed";
	struct finding *finding = doctor_add(scan->doctor, DOCTOR_MODULES, "module",
		badness(scan->doctor, part), part->module, "%s: no %s", what, part->use);

	/* not explained by the kernel's configuration */
	if (finding->state == DOCTOR_INFO &&
		(state == KERNEL_MODULE_DAMAGED || (none && !old && !scan->none)))
		finding->state = DOCTOR_WARNING;
	finding->missing = part->use;
	finding->detail = finding->state < DOCTOR_FAILURE &&
			  ((scan->no_rdma && part->rdma) || (scan->none && none));
	scan->none |= none;
	scan->no_rdma |= !strcmp(part->module, "ib_core");
	doctor_text(finding, "module", part->module);
	doctor_text(
		finding, "module_state", state == KERNEL_MODULE_DAMAGED ? "damaged" : "missing");
	if (value != '?')
		doctor_text(finding, "config", value == 'n' ? "n" : value == 'm' ? "m" : "y");
	if (old && (value == 'n' || value == '?'))
		doctor_hint(finding, "use Linux %u.%u or later with CONFIG_%s", part->major,
			part->minor, part->config);
	else if (value == 'n')
		doctor_hint(finding, "use a kernel with CONFIG_%s", part->config);
	else if (none)
		doctor_hint(finding,
			"install the modules of %s, or reboot if the kernel was just updated",
			scan->doctor->release[0] ? scan->doctor->release : "this kernel");
	else
		doctor_hint(finding, "install %s for %s, or add it to the initramfs", part->module,
			scan->doctor->release);
}

/* Installed, but not loaded. */
static void load(const struct scan *scan, const struct part *part)
{
	struct doctor *doctor = scan->doctor;
	const char *why = scan->disabled ? "kernel.modules_disabled is set"
			  : geteuid()
				  ? "only root can load it"
				  : kernel_module_try(doctor->root, doctor->release, part->module);
	struct finding *finding = doctor_add(doctor, DOCTOR_MODULES, "module",
		why ? badness(doctor, part) : DOCTOR_OK, part->module,
		why ? "not loaded: %s" : "%s", why ? why : "loaded now");

	doctor_text(finding, "module", part->module);
	doctor_text(finding, "module_state", why ? "failed" : "loaded");
	doctor_hint(finding,
		scan->disabled ? "reboot, and load it before modules are disabled: "
				 "add it to /etc/modules-load.d"
			       : "modprobe -v %s; dmesg | tail",
		part->module);
}

static void ruled(const struct scan *scan, const struct part *part)
{
	struct finding *finding = doctor_add(scan->doctor, DOCTOR_MODULES, "module",
		badness(scan->doctor, part), part->module,
		"a rule in modprobe.d prevents or replaces loading it: no %s", part->use);

	finding->missing = part->use;
	doctor_text(finding, "module", part->module);
	doctor_text(finding, "module_state", "ruled");
	doctor_hint(finding,
		"find and remove the rule: grep -r %s /etc/modprobe.d "
		"/usr/lib/modprobe.d /run/modprobe.d",
		part->module);
}

static void check(struct scan *scan, const struct part *part)
{
	struct doctor *doctor = scan->doctor;
	enum kernel_module_state state =
		kernel_module_get_state(doctor->root, doctor->release, part->module);
	struct finding *finding;

	if (state != KERNEL_MODULE_LOADED && scan->config &&
		kernel_config_value(scan->config, part->config) == 'y')
		state = KERNEL_MODULE_LOADED; /* one without parameters is not in /sys/module */
	if (state == KERNEL_MODULE_RULED) {
		ruled(scan, part);
	} else if (state == KERNEL_MODULE_INSTALLED && needed(doctor, part)) {
		load(scan, part);
	} else if (state == KERNEL_MODULE_INSTALLED || state == KERNEL_MODULE_LOADED) {
		const bool loaded = state == KERNEL_MODULE_LOADED,
			   old = doctor_older(doctor, part->major, part->minor);

		finding = doctor_add(doctor, DOCTOR_MODULES, "module",
			old ? badness(doctor, part) : DOCTOR_OK, part->module,
			old ? "%s, but too old in this kernel: no %s" : "%s: %s",
			loaded ? "loaded" : "installed", part->use);
		finding->missing = part->use;
		if (old)
			doctor_hint(finding, "use Linux %u.%u or later", part->major, part->minor);
		doctor_text(finding, "module", part->module);
		doctor_text(finding, "module_state", loaded ? "loaded" : "installed");
		finding->detail = !old && !needed(doctor, part);
	} else {
		missing(scan, part, state);
	}
}

static void check_disabled(struct scan *scan)
{
	struct finding *finding;

	scan->disabled = kernel_modules_disabled(scan->doctor->root);
	finding = doctor_add(scan->doctor, DOCTOR_MODULES, "loading",
		scan->disabled ? DOCTOR_WARNING : DOCTOR_OK, "", "%s",
		scan->disabled ? "kernel.modules_disabled is set: no more modules can be loaded"
			       : "kernel.modules_disabled is not set");
	finding->detail = !scan->disabled;
	doctor_hint(finding, "reboot, and load the modules before it is set");
}

void doctor_modules(struct doctor *doctor)
{
	char from[128];
	struct scan scan = { .doctor = doctor,
		.config = kernel_config(doctor->root, doctor->release, from, sizeof(from)) };

	check_disabled(&scan);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!doctor->uri || needed(doctor, &parts[i]))
			check(&scan, &parts[i]);
	free(scan.config);
}
