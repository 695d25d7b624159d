/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Answer device management for a target of this process: an I/O unit with one controller, which has
 * one service (16.3; SRP-2, annex B). Requests come from anyone in the fabric: nothing is allocated
 * for them, and more than a discovery needs is dropped. */
#include "agent.h"
#include "dev.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#define TURN          64     /* datagrams per turn of the loop */
#define ROOM          4096   /* datagrams longer than MAD_LEN are read and dropped */
#define RESP_TIME     18     /* about 1 s */
#define STATUS_METHOD 0x000c /* no such attribute with this method; 13.4.7 */
#define RETRY_MS      1000   /* while the device is gone */
#define OPERATIONS    0x33   /* sends, RDMA reads and writes, both ways as SRP needs them */

/* Datagrams per second, in total and per sending port. The first ones of each port do not count for
 * the total, so that other ports can't block its discovery. */
#define EACH_SECOND 1000
#define EACH_PORT   100
#define PORT_SHARE  16
#define LIDS        65536

struct mad_agent {
	struct loop *loop;
	char name[MAD_DEV_LEN];
	uint8_t port, lmc;
	struct mad_dev *dev; /* NULL: removed */
	struct loop_fd fd;
	struct loop_timer retry;
	struct mad_agent_conf served;
	uint64_t second;
	unsigned all;
	uint8_t by_port[LIDS]; /* index: LID, without the bits of the LMC */
};

static void put_unit(struct io_unit_info *unit)
{
	unit->change_id = put_be16(1);
	unit->max_controllers = 1;
	memset(unit->list, DM_SLOT_NONE << 4 | DM_SLOT_NONE, sizeof(unit->list));
	unit->list[0] = DM_SLOT_PRESENT << 4 | DM_SLOT_NONE;
}

static void put_ioc(struct ioc_profile *ioc, const struct mad_agent_conf *served)
{
	ioc->guid = put_be64(served->guid);
	ioc->io_class = put_be16(SRP_IO_CLASS);
	ioc->io_subclass = put_be16(0x609e); /* T10 */
	ioc->protocol = put_be16(0x0108);    /* SRP */
	ioc->protocol_version = put_be16(1);
	ioc->send_depth = put_be16(served->depth);
	ioc->read_depth = served->reads;
	ioc->send_size = put_be32(served->send_size);
	ioc->rdma_size = put_be32(served->rdma_size);
	ioc->operations = OPERATIONS;
	ioc->services = 1;
	memcpy(ioc->id, served->text, strnlen(served->text, sizeof(ioc->id)));
}

uint16_t mad_agent_get(
	const struct mad_agent_conf *served, uint16_t attr, uint32_t mod, uint8_t out[DM_DATA_LEN])
{
	struct service_entry *entry = (void *)out;

	memset(out, 0, DM_DATA_LEN);
	switch (attr) {
	case MAD_CLASS_PORT_INFO: {
		struct class_port_info *info = (void *)out;

		info->base_version = info->class_version = 1;
		info->cap_mask2_resp_time = put_be32(RESP_TIME);
		return 0;
	}
	case DM_IO_UNIT_INFO:
		put_unit((void *)out);
		return 0;
	case DM_IOC_PROFILE:
		if (mod != 1)
			return MAD_STATUS_FIELD;
		put_ioc((void *)out, served);
		return 0;
	case DM_SERVICE_ENTRIES: /* slot, then last and first entry */
		if (mod != 1u << 16)
			return MAD_STATUS_FIELD;
		memcpy(entry->name, served->service, strnlen(served->service, sizeof(entry->name)));
		entry->id = put_be64(served->service_id);
		return 0;
	}
	return STATUS_METHOD;
}

/* Whether the datagram is within the limits of this second. Assume the own LMC for the sender:
 * subnet managers use one for all ports. */
static bool within_rate(struct mad_agent *agent, uint16_t lid)
{
	uint64_t second = loop_now(agent->loop) / 1000000000;
	uint8_t *count = &agent->by_port[lid >> agent->lmc];

	if (second != agent->second) {
		agent->second = second;
		agent->all = 0;
		memset(agent->by_port, 0, sizeof(agent->by_port));
	}
	if (*count >= EACH_PORT || (*count >= PORT_SHARE && agent->all >= EACH_SECOND))
		return false;
	agent->all += *count >= PORT_SHARE;
	(*count)++;
	return true;
}

static void answer(struct mad_agent *agent, const struct mad_addr *from, const uint8_t *datagram)
{
	uint8_t out[MAD_LEN];
	struct dm_hdr *dm = (void *)out;
	uint16_t status;

	memcpy(out, datagram, sizeof(*dm));
	status = dm->mad.method == MAD_GET ? mad_agent_get(&agent->served, get_be16(dm->mad.attr),
						     get_be32(dm->mad.mod), out + sizeof(*dm))
					   : STATUS_METHOD;
	if (status)
		memset(out + sizeof(*dm), 0, DM_DATA_LEN);
	dm->mad.method = MAD_GET | MAD_RESPONSE; /* of Set, too; 13.4.5 */
	dm->mad.status = put_be16(status);
	mad_dev_send(agent->dev, from, out, sizeof(out), 0);
}

static bool is_request(const uint8_t *datagram, size_t len)
{
	const struct mad_hdr *hdr = (const void *)datagram;

	return len == MAD_LEN && hdr->base_version == 1 && hdr->mgmt_class == MAD_CLASS_DM &&
	       hdr->class_version == 1 && (hdr->method == MAD_GET || hdr->method == MAD_SET);
}

static void leave_dev(struct mad_agent *agent)
{
	loop_fd_del(agent->loop, &agent->fd);
	mad_dev_close(agent->dev);
	agent->dev = NULL;
}

static void lost(struct mad_agent *agent)
{
	leave_dev(agent);
	loop_trace(agent->loop, "%s port %u: device management waits for the device to come back",
		agent->name, agent->port);
	loop_timer_set(agent->loop, &agent->retry, loop_now(agent->loop) + RETRY_MS * 1000000ull);
}

static void readable(struct loop_fd *fd, uint32_t events)
{
	struct mad_agent *agent = container_of(fd, struct mad_agent, fd);
	size_t room = MAD_LEN;

	(void)events;
	for (unsigned i = 0; i < TURN; i++) {
		const uint8_t *datagram;
		struct mad_addr from;
		ssize_t len = mad_dev_recv(agent->dev, &room, &datagram, &from);

		if (len == -EAGAIN)
			return;
		if (len == -ENOSPC && room <= ROOM)
			continue;
		if (len < 0) {
			lost(agent);
			return;
		}
		if (len && is_request(datagram, (size_t)len) && within_rate(agent, from.lid))
			answer(agent, &from, datagram);
		room = MAD_LEN;
	}
}

static int open_dev(struct mad_agent *agent, struct diag *diag)
{
	int err = mad_dev_open(&agent->dev, agent->name, agent->port, diag);

	if (err)
		return err;
	agent->fd = (struct loop_fd){
		.fd = mad_dev_fd(agent->dev), .events = EPOLLIN, .ready = readable
	};
	err = mad_dev_serve(agent->dev, MAD_CLASS_DM, diag);
	if (!err)
		err = loop_fd_add(agent->loop, &agent->fd, diag);
	if (err) {
		mad_dev_close(agent->dev);
		agent->dev = NULL;
	}
	return err;
}

static void retry(struct loop_timer *timer)
{
	struct mad_agent *agent = container_of(timer, struct mad_agent, retry);

	if (open_dev(agent, NULL))
		loop_timer_set(agent->loop, timer, loop_now(agent->loop) + RETRY_MS * 1000000ull);
	else
		loop_trace(agent->loop, "%s port %u: device management answers again", agent->name,
			agent->port);
}

int mad_agent_start(struct mad_agent **out, struct loop *loop, const struct mad_port_info *port,
	const struct mad_agent_conf *served, struct diag *diag)
{
	struct mad_agent *agent = calloc(1, sizeof(*agent));
	int err;

	if (!agent)
		return diag_sys(diag, ENOMEM, "device management");
	agent->loop = loop;
	agent->served = *served;
	agent->retry.fire = retry;
	agent->port = port->port;
	agent->lmc = port->lmc;
	memcpy(agent->name, port->dev, sizeof(agent->name));
	err = open_dev(agent, diag);
	if (err) {
		free(agent);
		return diag_ctx(diag, "%s port %u", port->dev, port->port);
	}
	*out = agent;
	return 0;
}

void mad_agent_stop(struct mad_agent *agent)
{
	loop_timer_del(agent->loop, &agent->retry);
	if (agent->dev)
		leave_dev(agent);
	free(agent);
}
