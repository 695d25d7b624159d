/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* List the namespaces that a controller shows to this host, by Identify. */
#include "disks/node.h"
#include "nvme.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PAGE 4096

static int identify(int fd, uint32_t after, uint32_t *page)
{
	struct nvme_admin_cmd cmd = {
		.opcode = 0x06, .nsid = after, .addr = (uintptr_t)page, .data_len = PAGE, .cdw10 = 2
	};
	int rc;

	memset(page, 0, PAGE);
	rc = ioctl(fd, NVME_IOCTL_ADMIN_CMD, &cmd);
	return rc < 0 ? -errno : rc ? -EIO : 0;
}

int kernel_nvmf_active(int root, const char *ctrl, uint32_t *nsid, unsigned max)
{
	static uint32_t page[PAGE / 4] __attribute__((aligned(PAGE)));
	uint32_t after = 0;
	unsigned count = 0, at = 0;
	char node[32], dev_file[64];
	int fd, err;

	snprintf(node, sizeof(node), "dev/%s", ctrl);
	snprintf(dev_file, sizeof(dev_file), NVME_CLASS "/%s/dev", ctrl);
	err = kernel_node_make(root, node, dev_file, false);
	if (err)
		return err;
	fd = openat(root, node, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		err = identify(fd, after, page);
		for (at = 0; !err && at < PAGE / 4 && count < max; at++) {
			uint32_t id = le32toh(page[at]);

			if (id <= after) /* end of the list, or an invalid order */
				break;
			nsid[count++] = after = id;
		}
	} while (!err && at == PAGE / 4 && count < max);
	close(fd);
	return err ? err : (int)count;
}
