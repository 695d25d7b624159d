/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Collect all targets that this host is configured to log in to: from the kernel command line, then
 * the firmware, then Debian's file. */
#include "ibft.h"
#include "iscsi_conf.h"
#include "kernel_sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

void kernel_iscsi_boot_free(struct iscsi_boot_config *w)
{
	if (w->count)
		explicit_bzero(w->entry, w->count * sizeof(*w->entry));
	free(w->entry);
	for (unsigned i = 0; i < w->params; i++)
		kernel_iscsi_conf_wipe(w->param[i]);
	*w = (struct iscsi_boot_config){ 0 };
}

static int add_firmware(int root, struct iscsi_boot_config *w, struct diag *diag)
{
	struct ibft ibft;
	int err = kernel_ibft_targets(root, &ibft, diag);

	if (!err && !w->initiator[0] && ibft.initiator[0]) {
		strcpy(w->initiator, ibft.initiator);
		strcpy(w->initiator_from, "iBFT");
	}
	for (unsigned i = 0; !err && i < ibft.targets; i++) {
		struct iscsi_boot_target entry;

		kernel_ibft_boot_target(&ibft, &ibft.target[i], &entry);
		err = kernel_iscsi_conf_add(w, &entry, diag);
		explicit_bzero(&entry, sizeof(entry));
	}
	for (unsigned i = 0; !err && i < ibft.damages; i++) {
		struct diag why = { 0 };

		diag_set(&why, DIAG_PROTOCOL, EPROTO, "%s", ibft.damage[i]);
		diag_ctx(&why, "firmware targets");
		kernel_iscsi_conf_problem(w, &why);
	}
	explicit_bzero(&ibft, sizeof(ibft));
	return err;
}

int kernel_iscsi_firmware(int root, struct iscsi_boot_config *w, struct diag *diag)
{
	*w = (struct iscsi_boot_config){ .retry_max = -1, .firmware = true };
	return add_firmware(root, w, diag);
}

int kernel_iscsi_boot_read(int root, struct iscsi_boot_config *w, struct diag *diag)
{
	char *text = kernel_sys_cmdline(root), *debian;
	struct diag why = { 0 };
	int err;

	*w = (struct iscsi_boot_config){ .retry_max = -1 };
	if (!text)
		return kernel_sys_no_cmdline(diag);
	debian = kernel_sys_read_conf(root, "etc/iscsi.initramfs");
	if (!debian) /* the source from which the initramfs is built */
		debian = kernel_sys_read_conf(root, "etc/iscsi/iscsi.initramfs");
	err = kernel_iscsi_cmdline(w, text, debian, diag);
	if (!err && w->firmware && add_firmware(root, w, &why)) {
		diag_ctx(&why, "firmware targets");
		kernel_iscsi_conf_problem(w, &why);
	}
	kernel_iscsi_conf_wipe(text);
	kernel_iscsi_conf_wipe(debian);
	if (err || w->count || w->problems)
		return err;
	diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no iSCSI target on the kernel command line");
	diag_hint(diag, "expected root=iscsi:HOST:PROTOCOL:PORT:LUN:NAME, netroot=iser:..., "
			"rd.iscsi.firmware=1 or others of dracut.cmdline(7)");
	return -ENOENT;
}

void kernel_iscsi_network(int root, struct iscsi_boot_config *w)
{
	struct ibft ibft;
	int err = kernel_ibft(root, &ibft, NULL);

	for (unsigned i = 0; !err && i < ibft.targets; i++) {
		const struct ibft_nic_info *nic = kernel_ibft_nic(&ibft, &ibft.target[i]);
		struct diag why = { 0 };

		if (!nic || !kernel_ibft_network(root, nic, &ibft.target[i], &why))
			continue;
		diag_ctx(&why, "firmware network");
		kernel_iscsi_conf_problem(w, &why);
	}
	explicit_bzero(&ibft, sizeof(ibft));
}

int kernel_iscsi_conf_file(int root, const char *path,
	int (*each)(const char *name, const char *value, void *arg), void *arg, struct diag *diag)
{
	char *text = path ? kernel_sys_read_conf(
				    path[0] == '/' ? root : AT_FDCWD, path + (path[0] == '/'))
			  : kernel_sys_read_conf(root, "etc/iscsi/iscsid.conf");
	char *rest = text, *line;
	int err = 0;

	if (!text && path)
		return diag_sys(diag, errno, "read %s", path);
	while (!err && (line = strsep(&rest, "\n"))) {
		char *equals = strchr(line, '='), *name = line + strspn(line, " \t"), *value;

		if (*name == '#' || !equals)
			continue;
		*equals = 0;
		name[strcspn(name, " \t")] = 0;
		value = equals + 1 + strspn(equals + 1, " \t");
		value[strcspn(value, " \t\r")] = 0;
		err = *name && *value ? each(name, value, arg) : 0;
	}
	free(text);
	return err;
}
