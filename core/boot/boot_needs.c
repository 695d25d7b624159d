/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What an initramfs needs for a device, a URI, or the root file system. */
#include "attach_boot.h"
#include "kernel_status.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_MS 5000 /* for the resolver */

/* operand NULL: the root */
static int collect_attached(int root, const char *operand, const struct kernel_serving *serving,
	struct boot_needs *needs, struct diag *diag)
{
	struct kernel_list *list;
	int err = kernel_list_new(root, &list, diag);

	if (err)
		return err;
	if (operand)
		err = kernel_list_select(root, list, operand, NAME_MS, diag);
	if (!err)
		err = kernel_boot_needs(root, list, serving, operand, needs, diag);
	kernel_list_free(list);
	return err;
}

/* Its disk may be attached or not. */
static int collect_uri(int root, const char *operand, const struct kernel_serving *serving,
	struct boot_needs *needs, struct diag *diag)
{
	struct kernel_list *list;
	struct boot_disk disk;
	int err;

	kernel_boot_disk(&disk, operand, "operand");
	boot_check_disk(&disk);
	if (disk.why.err) {
		*diag = disk.why;
		err = -disk.why.err;
	} else {
		bool attached = disk.via == BOOT_KERNEL &&
				!collect_attached(root, disk.uri, serving, needs, NULL);

		err = kernel_list_new(root, &list, diag);
		if (!err) {
			err = kernel_boot_needs_disk(root, list, &disk, attached, needs, diag);
			kernel_list_free(list);
		}
	}
	explicit_bzero(&disk, sizeof(disk));
	return err;
}

int boot_find_needs(int root, const char *operand, const struct kernel_serving *serving,
	struct boot_needs *needs, struct diag *diag)
{
	struct stat st;
	int err;

	if (operand && uri_is_address(operand))
		err = collect_uri(root, operand, serving, needs, diag);
	else
		err = collect_attached(root, operand, serving, needs, diag);
	if (err == -ENOENT && operand && !stat(operand, &st) && S_ISREG(st.st_mode))
		diag_set(diag, DIAG_USAGE, EINVAL, "not a remote disk: expected a device or a URI");
	if (err && operand)
		diag_ctx(diag, "%s", operand);
	return err;
}
