/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A kernel with one NBD device. */
#include "nbd_driver.h"
#include "../../core/kernel/disks/nbd_nl.h"
#include "wire/nbd.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/nbd-netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct nbd_driver nbd_driver;

void nbd_driver_start(const struct tree *tree)
{
	nbd_driver = (struct nbd_driver){ .tree = tree, .index = -1 };
	tree_dir(tree, "sys/module/nbd");
}

void nbd_driver_kill(unsigned sock)
{
	close(nbd_driver.sock[sock]);
	nbd_driver.sock[sock] = -1;
}

/* Callers may run on other threads. A thread that has read the count also sees the effects of the
 * calls. */
static void count(unsigned *calls)
{
	__atomic_fetch_add(calls, 1, __ATOMIC_RELEASE);
}

static void show(const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "sys/block/nbd%d/%s", nbd_driver.index, name);
	if (text)
		tree_file(nbd_driver.tree, path, text);
	else
		unlinkat(nbd_driver.tree->root, path, 0);
}

static void resize(uint64_t size)
{
	char text[24];

	nbd_driver.size = size;
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)size / 512);
	show("size", text);
}

static int keep(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static int connect_it(const struct kernel_nbd *nbd)
{
	struct nbd_driver *d = &nbd_driver;

	if (d->index >= 0)
		return -EBUSY;
	d->asked = *nbd;
	d->asked.id = NULL;
	d->asked.fds = NULL;
	d->index = nbd->index >= 0 ? nbd->index : 0;
	snprintf(d->id, sizeof(d->id), "%s", nbd->id ? nbd->id : "");
	for (d->socks = 0; d->socks < nbd->nfds; d->socks++)
		d->sock[d->socks] = keep(nbd->fds[d->socks]);
	show("pid", "1\n");
	show("backend", d->id);
	show("queue/max_sectors_kb", "1280\n");
	show("queue/io_timeout", "30000\n");
	resize(nbd->size);
	count(&d->connects);
	return d->index;
}

static int reconfigure(unsigned parts, const struct kernel_nbd *nbd)
{
	struct nbd_driver *d = &nbd_driver;
	unsigned next = 0;

	if (nbd->index != d->index || d->index < 0 ||
		(d->id[0] && (!nbd->id || strcmp(nbd->id, d->id))))
		return -EINVAL;
	if (parts & NBD_NL_SIZE)
		resize(nbd->size);
	for (unsigned i = 0; parts & NBD_NL_SOCKETS && i < d->socks && next < nbd->nfds; i++)
		if (d->sock[i] < 0)
			d->sock[i] = keep(nbd->fds[next++]);
	if (parts & NBD_NL_SIZE)
		count(&d->resizes);
	if (parts & NBD_NL_SOCKETS)
		count(&d->renews);
	return 0; /* also when there was no place for all */
}

static int disconnect(const struct kernel_nbd *nbd)
{
	const struct nbd_request bye = { .magic = put_be32(NBD_REQUEST_MAGIC),
		.type = put_be16(NBD_CMD_DISC) };
	struct nbd_driver *d = &nbd_driver;

	if (nbd->index != d->index)
		return 0;
	for (unsigned i = 0; i < d->socks; i++)
		if (d->sock[i] >= 0) {
			(void)!send(d->sock[i], &bye, sizeof(bye), MSG_NOSIGNAL);
			nbd_driver_kill(i);
		}
	show("pid", NULL);
	show("backend", NULL);
	resize(0);
	d->index = -1;
	count(&d->disconnects);
	return 0;
}

int kernel_nbd_nl_call(uint8_t cmd, unsigned parts, const struct kernel_nbd *nbd)
{
	int fail = nbd_driver.fail;

	nbd_driver.fail = 0;
	if (fail)
		return fail;
	switch (cmd) {
	case NBD_CMD_CONNECT:
		return connect_it(nbd);
	case NBD_CMD_RECONFIGURE:
		return reconfigure(parts, nbd);
	default:
		return disconnect(nbd);
	}
}
