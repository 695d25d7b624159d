/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a port reports of itself, without a connection. */
#include "rdma_port.h"
#include "verbs.h"
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

static int query_mtu(struct ibv_device *device, unsigned port, unsigned *active, unsigned *max)
{
	struct ibv_context *context = ibv_open_device(device);
	struct ibv_port_attr attr;
	int err = context ? ibv_query_port(context, (uint8_t)port, &attr) : errno;

	if (context)
		ibv_close_device(context);
	if (err)
		return -err;
	*active = 128u << attr.active_mtu; /* enum ibv_mtu: 1 is 256 bytes */
	*max = 128u << attr.max_mtu;
	return 0;
}

int rdma_port_mtu(const char *dev, unsigned port, unsigned *active, unsigned *max)
{
	struct ibv_device **list;
	int count = 0, err = -ENODEV;

	if (verbs_check_memlock(NULL))
		return -ENOMEM;
	list = ibv_get_device_list(&count);
	for (int i = 0; list && i < count && err == -ENODEV; i++)
		if (!strcmp(ibv_get_device_name(list[i]), dev))
			err = query_mtu(list[i], port, active, max);
	if (list)
		ibv_free_device_list(list);
	return err;
}
