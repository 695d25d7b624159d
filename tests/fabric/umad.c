/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "umad.h"
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEVICE "/dev/infiniband/umad0"

int umad_open(void)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL))
		err(1, DEVICE);
	return fd;
}

unsigned umad_register(int fd, uint8_t mgmt_class, uint8_t version, uint32_t qpn, uint64_t methods)
{
	struct ib_user_mad_reg_req2 req = {
		.qpn = qpn,
		.mgmt_class = mgmt_class,
		.mgmt_class_version = version,
		.method_mask = { methods },
	};

	if (ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req))
		err(1, DEVICE ": register for class 0x%02x", mgmt_class);
	return req.id;
}

void umad_send(int fd, const struct umad *umad)
{
	if (write(fd, umad, sizeof(*umad)) != sizeof(*umad))
		err(1, DEVICE ": write");
}

void umad_recv(int fd, struct umad *umad)
{
	if (read(fd, umad, sizeof(*umad)) < (ssize_t)(sizeof(umad->hdr) + sizeof(struct mad_hdr)))
		err(1, DEVICE ": read");
}

unsigned umad_sys(const char *name)
{
	unsigned value = 0;
	char path[128];
	FILE *from;

	snprintf(path, sizeof(path), UMAD_SYS "%s", name);
	from = fopen(path, "re");
	if (!from || fscanf(from, "%i", (int *)&value) != 1)
		err(1, "%s", path);
	fclose(from);
	return value;
}
