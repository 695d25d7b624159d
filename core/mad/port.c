/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A port's MAD device over libibumad: list, open, send, receive. choose.c selects the port, xact.c
 * decides when to send, port_poll.c polls the port's state; tests link tests/fake/mad_port.c
 * instead. */
#include "port.h"
#include "grow.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QKEY 0x80010000 /* of queue pair 1; 10.2.4 */
#define GIDS 256

static void fill(struct mad_port_info *info, const umad_port_t *port)
{
	snprintf(info->dev, sizeof(info->dev), "%s", port->ca_name);
	snprintf(info->link_layer, sizeof(info->link_layer), "%s", port->link_layer);
	/* Kernels before 2.6.37 lack the file link_layer; libibumad reports IB then */
	info->infiniband =
		!strcmp(port->link_layer, "InfiniBand") || !strcmp(port->link_layer, "IB");
	info->port = (uint8_t)port->portnum;
	info->state = (uint8_t)port->state;
	info->phys = (uint8_t)port->phys_state;
	info->lmc = (uint8_t)port->lmc;
	info->sm_sl = (uint8_t)port->sm_sl;
	info->lid = (uint16_t)port->base_lid;
	info->sm_lid = (uint16_t)port->sm_lid;
	info->prefix = be64toh(port->gid_prefix);
	info->guid = be64toh(port->port_guid);
	info->pkeys = port->pkeys_size < MAD_PKEYS_MAX ? (uint16_t)port->pkeys_size : MAD_PKEYS_MAX;
	memcpy(info->pkey, port->pkeys, info->pkeys * sizeof(*info->pkey));
}

static int add_ports(const char *dev, struct mad_port_info **list, unsigned *count)
{
	umad_ca_t ca;
	int err = 0;

	if (umad_get_ca(dev, &ca) < 0)
		return 0; /* a device without ports that libibumad knows, or being removed */
	for (int i = 0; i < UMAD_CA_MAX_PORTS && !err; i++) {
		struct mad_port_info *more = ca.ports[i] ? grow(*list, *count) : NULL;

		if (more)
			fill(more, ca.ports[i]);
		else if (ca.ports[i])
			err = -ENOMEM;
	}
	umad_release_ca(&ca);
	return err;
}

int mad_dev_list(struct mad_port_info **list, unsigned *count, struct diag *diag)
{
	struct umad_device_node *devs = umad_get_ca_device_list();
	int err = 0;

	*list = NULL;
	*count = 0;
	if (devs)
		umad_sort_ca_device_list(&devs, 0);
	for (struct umad_device_node *dev = devs; dev && !err; dev = dev->next)
		err = add_ports(dev->ca_name, list, count);
	umad_free_ca_device_list(devs);
	if (!err)
		return 0;
	free(*list);
	return diag_sys(diag, -err, "list of ports");
}

static bool read_line(char *text, size_t len, const char *path)
{
	FILE *from = fopen(path, "re");

	if (!from)
		return false;
	if (!fgets(text, (int)len, from))
		text[0] = 0;
	fclose(from);
	text[strcspn(text, "\n")] = 0;
	return true;
}

int mad_dev_of_umad(const char *umad, char dev[MAD_DEV_LEN], unsigned *port)
{
	char path[160], number[16];

	snprintf(path, sizeof(path), SYS_INFINIBAND_MAD "/%s/" SYS_IB_MAD_DEV, umad);
	if (!read_line(dev, MAD_DEV_LEN, path))
		return -ENOENT;
	snprintf(path, sizeof(path), SYS_INFINIBAND_MAD "/%s/" SYS_IB_MAD_PORT, umad);
	if (!read_line(number, sizeof(number), path))
		return -ENOENT;
	*port = (unsigned)strtoul(number, NULL, 10);
	return *dev && *port ? 0 : -ENOENT;
}

/* Prefer the GID with the same prefix, else take any that is neither link-local nor an IPv4
 * address. */
int mad_dev_gid_index(const struct mad_port_info *info, const uint8_t gid[16])
{
	static const uint8_t local[8] = { 0xfe, 0x80 }, zero[8];
	bool is_local = !memcmp(gid, local, sizeof(local));
	int other = -EADDRNOTAVAIL;
	char path[160], text[64];
	uint8_t own[16];

	for (int i = 0; i < GIDS; i++) {
		snprintf(path, sizeof(path), SYS_INFINIBAND "/%s/" SYS_CA_PORTS_DIR "/%u/gids/%d",
			info->dev, info->port, i);
		if (!read_line(text, sizeof(text), path))
			break;
		if (inet_pton(AF_INET6, text, own) != 1 || !memcmp(own, zero, sizeof(zero)))
			continue;
		if (!memcmp(own, gid, 8))
			return i;
		if (!is_local && other < 0 && memcmp(own, local, sizeof(local)))
			other = i;
	}
	return other;
}

static int refused(struct diag *diag, int err)
{
	if (err != EACCES && err != EPERM)
		return diag_sys(diag, err, "open its MAD device");
	diag_set(diag, DIAG_PERMISSION, err, "no permission to open its MAD device");
	diag_hint(diag, "run as root, or give access to /dev/infiniband/umad*");
	return -err;
}

static int make_room(struct mad_dev *dev, size_t len)
{
	struct ib_user_mad *buf = realloc(dev->buf, umad_size() + len);

	if (!buf)
		return -ENOMEM;
	dev->buf = buf;
	dev->room = len;
	return 0;
}

int mad_dev_open(struct mad_dev **out, const char *name, unsigned port, struct diag *diag)
{
	struct mad_dev *dev = calloc(1, sizeof(*dev));
	char path[160];
	int err;

	if (!dev)
		return diag_sys(diag, ENOMEM, "MAD device");
	dev->reports = -1;
	errno = 0;
	dev->fd = umad_open_port(name, (int)port);
	if (dev->fd < 0) {
		/* libibumad returns -EIO for any errno of open(2), -EINVAL for a port without a MAD
		 * device */
		err = dev->fd == -EIO && errno
			      ? refused(diag, errno)
			      : diag_set(diag, DIAG_NO_DEVICE, ENODEV,
					"no MAD device: ib_umad does not support this port");
		free(dev);
		return err;
	}
	snprintf(path, sizeof(path), SYS_INFINIBAND "/%s/" SYS_CA_PORTS_DIR "/%u", name, port);
	dev->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = dev->dir < 0 ? -errno : make_room(dev, MAD_LEN);
	if (err) {
		mad_dev_close(dev);
		return diag_sys(diag, -err, "MAD device");
	}
	*out = dev;
	return 0;
}

void mad_dev_close(struct mad_dev *dev)
{
	umad_close_port(dev->fd);
	if (dev->dir >= 0)
		close(dev->dir);
	free(dev->buf);
	free(dev);
}

int mad_dev_fd(const struct mad_dev *dev)
{
	return umad_get_fd(dev->fd);
}

static int agent_of(const struct mad_dev *dev, uint8_t mgmt_class)
{
	for (unsigned i = 0; i < dev->classes; i++)
		if (dev->class[i].mgmt_class == mgmt_class)
			return dev->class[i].agent;
	return -ENOENT;
}

/* The kernel returns EINVAL if another agent has the method (ib_register_mad_agent() of Linux
 * 6.12). */
static bool is_taken(int err)
{
	return err == -EINVAL || err == -EBUSY;
}

static int register_class(
	struct mad_dev *dev, uint8_t mgmt_class, long methods[16 / sizeof(long)], struct diag *diag)
{
	bool sa = mgmt_class == MAD_CLASS_SA;
	int agent;

	if (dev->classes == PORT_CLASSES)
		return diag_set(diag, DIAG_SYSTEM, ENOSPC, "too many management classes");
	errno = 0;
	agent = umad_register(dev->fd, mgmt_class, sa ? SA_CLASS_VERSION : 1, sa, methods);
	if (agent < 0)
		return diag_sys(diag, errno ? errno : EPERM, "register for management class 0x%02x",
			mgmt_class);
	dev->class[dev->classes].mgmt_class = mgmt_class;
	dev->class[dev->classes++].agent = agent;
	return 0;
}

/* Register an agent for answers only: without methods it blocks no other agent. The kernel
 * reassembles class 3. */
int mad_dev_register_class(struct mad_dev *dev, uint8_t mgmt_class, struct diag *diag)
{
	if (agent_of(dev, mgmt_class) >= 0)
		return 0;
	return register_class(dev, mgmt_class, NULL, diag);
}

int mad_dev_serve(struct mad_dev *dev, uint8_t mgmt_class, struct diag *diag)
{
	long methods[16 / sizeof(long)] = { 1l << MAD_GET | 1l << MAD_SET };
	int err = register_class(dev, mgmt_class, methods, diag);

	if (!is_taken(err))
		return err;
	diag_set(diag, DIAG_BUSY, EBUSY,
		"another program or kernel module answers management class 0x%02x on this port",
		mgmt_class);
	return mgmt_class == MAD_CLASS_DM
		       ? diag_hint(diag, "if it is the kernel's SRP target: modprobe -r ib_srpt")
		       : -EBUSY;
}

int mad_dev_reports(struct mad_dev *dev, bool on, struct diag *diag)
{
	long methods[16 / sizeof(long)] = { 1l << MAD_REPORT };

	if (on == (dev->reports >= 0))
		return 0;
	if (!on) {
		umad_unregister(dev->fd, dev->reports);
		dev->reports = -1;
		return 0;
	}
	errno = 0;
	dev->reports = umad_register(dev->fd, MAD_CLASS_SA, SA_CLASS_VERSION, 0, methods);
	if (dev->reports >= 0)
		return 0;
	dev->reports = -1;
	if (!is_taken(-errno))
		return diag_sys(diag, errno ? errno : EPERM,
			"register for the subnet administrator's reports");
	diag_set(diag, DIAG_BUSY, EBUSY,
		"another program receives the subnet administrator's reports on this port");
	return diag_hint(diag, "list the candidates with: fuser -v /dev/infiniband/umad*");
}

static void set_addr(struct ib_user_mad *out, const struct mad_addr *to)
{
	ib_mad_addr_t *addr = umad_get_mad_addr(out);

	umad_set_addr(out, to->lid, (int)to->qpn, to->sl,
		to->qpn ? (int)(to->qkey ? to->qkey : QKEY) : 0);
	umad_set_pkey(out, to->pkey_index);
	addr->path_bits = to->path_bits;
	if (!to->grh)
		return;
	addr->grh_present = 1;
	addr->gid_index = to->gid_index; /* umad_set_grh() does not set it */
	addr->hop_limit = 64;
	memcpy(addr->gid, to->gid, sizeof(addr->gid));
}

int mad_dev_send(struct mad_dev *dev, const struct mad_addr *to, const void *mad, size_t len,
	uint32_t timeout_ms)
{
	const struct mad_hdr *hdr = mad;
	union {
		struct ib_user_mad umad;
		uint8_t room[sizeof(struct ib_user_mad) + MAD_LEN];
	} one = { 0 };
	struct ib_user_mad *out = &one.umad;
	bool report = hdr->method == (MAD_REPORT | MAD_RESPONSE);
	int agent = report ? dev->reports : agent_of(dev, hdr->mgmt_class), err;

	if (agent < 0 || (len > MAD_LEN && hdr->mgmt_class != MAD_CLASS_SA))
		return -EINVAL;
	if (len > MAD_LEN)
		out = calloc(1, sizeof(*out) + len);
	if (!out)
		return -ENOMEM;
	set_addr(out, to);
	memcpy(umad_get_mad(out), mad, len);
	errno = 0;
	err = umad_send(dev->fd, agent, out, (int)len, (int)timeout_ms, 0) ? -(errno ? errno : EIO)
									   : 0;
	if (out != &one.umad)
		free(out);
	return err;
}

static void get_addr(struct mad_addr *from, const struct ib_user_mad *in)
{
	const ib_mad_addr_t *addr = &in->addr;

	*from = (struct mad_addr){
		.qpn = be32toh(addr->qpn),
		.lid = be16toh(addr->lid),
		.pkey_index = addr->pkey_index,
		.sl = addr->sl,
		.path_bits = addr->path_bits,
		.grh = addr->grh_present,
		.gid_index = addr->gid_index,
	};
	memcpy(from->gid, addr->gid, sizeof(from->gid));
}

ssize_t mad_dev_recv(struct mad_dev *dev, size_t *room, const uint8_t **mad, struct mad_addr *from)
{
	int got, rc;

	if (*room != dev->room && make_room(dev, *room))
		return -ENOMEM;
	got = (int)dev->room;
	dev->buf->length = 0; /* libibumad takes it as the length if it could not read */
	rc = umad_recv(dev->fd, dev->buf, &got, 0);
	if (rc < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (rc < 0 && errno == ENOSPC && got > (int)dev->room) {
		*room = (size_t)got;
		return -ENOSPC;
	}
	if (rc < 0)
		return errno ? -errno : -EIO;
	if (umad_status(dev->buf) || (size_t)got < sizeof(struct mad_hdr))
		return 0; /* the kernel timed out one of our requests, which has its own timer here
			   */
	get_addr(from, dev->buf);
	*mad = umad_get_mad(dev->buf);
	return got;
}
