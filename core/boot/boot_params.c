/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read rd.rdmastor=URI[,via=...] on the kernel command line, and find out whether it has parameters
 * that other applets read with --from-cmdline. */
#include "cmdline.h"
#include "kernel_boot.h"
#include "kernel_iscsi_conf.h"
#include "kernel_nfs.h"
#include "kernel_nvmf.h"
#include "kernel_sys.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const vias[] = { "kernel", "ublk", "nbd" };

const char *kernel_boot_via_name(uint8_t via)
{
	return vias[via];
}

void kernel_boot_disk(struct boot_disk *disk, const char *text, const char *from)
{
	const char *comma = strrchr(text, ','), *via = "kernel";
	size_t len = strlen(text);

	*disk = (struct boot_disk){ 0 };
	snprintf(disk->from, sizeof(disk->from), "%s", from);
	if (comma && !strncmp(comma, ",via=", 5)) {
		len = (size_t)(comma - text);
		via = comma + 5;
	}
	if (!len || len >= sizeof(disk->uri)) {
		diag_set(&disk->why, DIAG_USAGE, EINVAL,
			"invalid value: expected a URI of 1 to %d bytes", URI_MAX - 1);
		diag_ctx(&disk->why, "%s", from);
		return;
	}
	memcpy(disk->uri, text, len);
	while (disk->via < 3 && strcmp(vias[disk->via], via))
		disk->via++;
	if (disk->via < 3)
		return;
	disk->via = BOOT_KERNEL;
	diag_set(&disk->why, DIAG_USAGE, EINVAL, "invalid via=%.40s: expected kernel, ublk or nbd",
		via);
	diag_ctx(&disk->why, "%s", disk->uri);
}

int kernel_boot_unknown_scheme(const char *name, struct diag *diag)
{
	return scheme_unknown(name, SCHEME_ATTACH, "another disk with ,via=ublk or ,via=nbd", diag);
}

static int add_disk(struct boot_params *params, const char *text, struct diag *diag)
{
	struct boot_disk *more = calloc(params->disks + 1, sizeof(*more));

	if (!more)
		return diag_sys(diag, ENOMEM, "kernel command line");
	if (params->disks) {
		memcpy(more, params->disk, params->disks * sizeof(*more));
		explicit_bzero(params->disk, params->disks * sizeof(*more));
	}
	free(params->disk);
	params->disk = more;
	kernel_boot_disk(&more[params->disks++], text, "rd.rdmastor");
	return 0;
}

static void read_timeout(struct boot_params *params, const char *value)
{
	uint32_t ms;

	if (parse_msec(value, &ms, &params->timeout)) {
		diag_ctx(&params->timeout, "rd.rdmastor.timeout=%.40s", value);
		return;
	}
	params->timeout_ms = ms;
	params->never = !ms;
}

static int read_own(struct boot_params *params, char *text, struct diag *diag)
{
	char *rest = text, *param, *value;
	int err = 0;

	while (!err && (param = kernel_cmdline_param(&rest))) {
		if ((value = kernel_cmdline_value(param, "rd.rdmastor")))
			err = add_disk(params, value, diag);
		if ((value = kernel_cmdline_value(param, "rd.rdmastor.timeout")))
			read_timeout(params, value);
	}
	return err;
}

/* Invalid parameters count, too: the applet that reads them reports why. */
static void find_other_params(int root, struct boot_params *params)
{
	struct nvmf_entries nvme = { 0 };
	struct iscsi_boot_config iscsi;
	struct nfs_root nfs = { 0 };

	params->nvme = (kernel_nvmf_conf_kernel(root, &nvme, NULL) || nvme.count) && !nvme.off;
	kernel_nvmf_conf_free(&nvme);
	params->iscsi = kernel_iscsi_boot_read(root, &iscsi, NULL) != -ENOENT;
	kernel_iscsi_boot_free(&iscsi);
	kernel_nfs_root(root, &nfs, NULL);
	params->nfs = nfs.rdma;
}

int kernel_boot_params_read(int root, struct boot_params *params, struct diag *diag)
{
	char *text = kernel_sys_cmdline(root);
	size_t len = text ? strlen(text) : 0;
	int err;

	*params = (struct boot_params){ 0 };
	if (!text)
		return kernel_sys_no_cmdline(diag);
	err = read_own(params, text, diag);
	explicit_bzero(text, len);
	free(text);
	if (!err)
		find_other_params(root, params);
	return err;
}

void kernel_boot_params_free(struct boot_params *params)
{
	if (params->disks)
		explicit_bzero(params->disk, params->disks * sizeof(*params->disk));
	free(params->disk);
	*params = (struct boot_params){ 0 };
}
