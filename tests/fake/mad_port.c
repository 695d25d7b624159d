/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fabric in memory: what core/mad sends is answered from here when it is due. */
#include "mad_port.h"
#include "../../core/mad/dev.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LIDS 65536

struct fake_fabric fake_fabric;

struct reply {
	struct reply *next;
	uint64_t due_ns;
	uint16_t lid; /* of device management; 0 = other */
	uint16_t from;
	size_t len;
	uint8_t mad[];
};

struct mad_dev {
	int fd;                    /* timer */
	struct reply *head, *last; /* soonest first */
	uint8_t *out;
	uint8_t each[LIDS];
	bool has[256]; /* classes */
	bool reports, serves;
	unsigned pkey_at;
};
static struct mad_dev *opened;

void fake_fabric_init(unsigned nodes)
{
	fake_fabric = (struct fake_fabric){ .ports = 1, .nodes = nodes, .leaf = 30 };
	fake_fabric.port[0] = (struct mad_port_info){
		.dev = "fake0",
		.link_layer = "InfiniBand",
		.port = 1,
		.state = PORT_ACTIVE,
		.phys = 5,
		.infiniband = true,
		.lid = 1,
		.sm_lid = 2,
		.prefix = 0xfe80000000000000,
		.guid = 0x100001,
		.pkeys = 1,
		.pkey = { 0xffff },
	};
	fake_fabric.node = calloc(nodes + 1, sizeof(*fake_fabric.node));
	for (unsigned i = 0; i < nodes; i++)
		fake_fabric.node[i] = (struct fake_node){
			.lid = (uint16_t)(10 + i),
			.guid = 0x200000 + i,
			.management = true,
			.max_controllers = 16,
			.iocs = 1,
			.services = 1,
			.io_class = 0x0100,
		};
}

void fake_fabric_free(void)
{
	free(fake_fabric.node);
	fake_fabric.node = NULL;
}

int mad_dev_list(struct mad_port_info **list, unsigned *count, struct diag *diag)
{
	(void)diag;
	*list = malloc(sizeof(fake_fabric.port));
	memcpy(*list, fake_fabric.port, sizeof(fake_fabric.port));
	*count = fake_fabric.ports;
	return 0;
}

int mad_dev_of_umad(const char *umad, char dev[MAD_DEV_LEN], unsigned *port)
{
	unsigned n;

	if (sscanf(umad, "umad%u", &n) != 1 || n >= fake_fabric.ports)
		return -ENOENT;
	snprintf(dev, MAD_DEV_LEN, "%s", fake_fabric.port[n].dev);
	*port = fake_fabric.port[n].port;
	return 0;
}

int mad_dev_gid_index(const struct mad_port_info *info, const uint8_t gid[16])
{
	(void)info;
	return gid[0] == 0xfe ? 0 : 2;
}

int mad_dev_open(struct mad_dev **out, const char *dev, unsigned port, struct diag *diag)
{
	(void)dev;
	(void)port;
	if (fake_fabric.open_err)
		return diag_sys(diag, fake_fabric.open_err, "open its MAD device");
	fake_fabric.opens++;
	*out = calloc(1, sizeof(**out));
	opened = *out;
	(*out)->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return 0;
}

void mad_dev_close(struct mad_dev *dev)
{
	for (struct reply *reply = dev->head, *next; reply; reply = next) {
		next = reply->next;
		free(reply);
	}
	if (opened == dev)
		opened = NULL;
	if (dev->reports)
		fake_fabric.reports = false;
	close(dev->fd);
	free(dev->out);
	free(dev);
}

int mad_dev_fd(const struct mad_dev *dev)
{
	return dev->fd;
}

int mad_dev_register_class(struct mad_dev *dev, uint8_t mgmt_class, struct diag *diag)
{
	(void)diag;
	dev->has[mgmt_class] = true;
	return 0;
}

int mad_dev_serve(struct mad_dev *dev, uint8_t mgmt_class, struct diag *diag)
{
	if (fake_fabric.served_by_other)
		return diag_set(diag, DIAG_BUSY, EBUSY, "another program answers");
	dev->serves = dev->has[mgmt_class] = true;
	return 0;
}

static void arm(struct mad_dev *dev)
{
	struct itimerspec when = { 0 };
	uint64_t due = fake_fabric.gone ? 1 : dev->head ? dev->head->due_ns : 0;

	when.it_value.tv_sec = (time_t)(due / 1000000000);
	when.it_value.tv_nsec = (long)(due % 1000000000);
	timerfd_settime(dev->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void queue(struct mad_dev *dev, const void *mad, size_t len, uint32_t delay_ms, uint16_t lid,
	uint16_t from)
{
	struct reply *reply = malloc(sizeof(*reply) + len), **at = &dev->head;

	*reply = (struct reply){
		.due_ns = loop_clock() + delay_ms * 1000000ull,
		.len = len,
		.lid = lid,
		.from = lid ? lid : from,
	};
	memcpy(reply->mad, mad, len);
	if (fake_fabric.mangle)
		fake_fabric.mangle(fake_fabric.arg, reply->mad, &reply->len);
	if (dev->last && dev->head && dev->last->due_ns <= reply->due_ns)
		at = &dev->last->next;
	while (*at && (*at)->due_ns <= reply->due_ns)
		at = &(*at)->next;
	reply->next = *at;
	*at = reply;
	if (!reply->next)
		dev->last = reply;
	if (lid) {
		if (++dev->each[lid] > fake_fabric.most_each)
			fake_fabric.most_each = dev->each[lid];
		if (++fake_fabric.in_flight > fake_fabric.most_in_flight)
			fake_fabric.most_in_flight = fake_fabric.in_flight;
	}
	arm(dev);
}

static void answer(
	struct mad_dev *dev, const void *mad, size_t len, uint32_t delay_ms, uint16_t lid)
{
	queue(dev, mad, len, delay_ms, lid, fake_fabric.port[0].sm_lid);
}

static struct fake_node *find(unsigned lid)
{
	for (unsigned i = 0; i < fake_fabric.nodes; i++) {
		/* Mostly they are in order */
		struct fake_node *node =
			&fake_fabric.node[lid >= 10 ? (lid - 10 + i) % fake_fabric.nodes : i];

		if (node->lid == lid)
			return node;
	}
	return NULL;
}

static void make_port(struct port_info *info, const struct fake_node *node)
{
	info->gid_prefix = put_be64(fake_fabric.port[0].prefix);
	info->lid = put_be16(node->lid);
	info->sm_lid = put_be16(fake_fabric.port[0].sm_lid);
	info->cap_mask = put_be32(0x00500048 | (node->management ? PORT_CAP_DM : 0));
	info->speed_state = 0x10 | (node->state ? node->state : PORT_ACTIVE);
	info->subnet_timeout = 12;
	info->resp_time = 13;
}

static void make_node(struct node_info *info, const struct fake_node *node)
{
	info->base_version = info->class_version = 1;
	info->type = MAD_NODE_CA;
	info->ports = info->local_port = 1;
	info->node_guid = info->system_guid = put_be64(node->guid - 1);
	info->port_guid = put_be64(node->guid);
}

static bool shares(const struct fake_node *node, uint16_t pkey)
{
	if (!node->pkey[0])
		return (pkey & 0x7fff) == 0x7fff;
	for (unsigned i = 0; i < 4; i++)
		if (node->pkey[i] && (node->pkey[i] & 0x7fff) == (pkey & 0x7fff))
			return true;
	return false;
}

static size_t make_record(uint8_t *to, uint16_t attr, const struct fake_node *node)
{
	struct port_info_record *port = (void *)to;
	struct node_record *rec = (void *)to;

	if (attr == SA_PORT_INFO_RECORD) {
		port->lid = put_be16(node->lid);
		port->port = 1;
		make_port(&port->info, node);
		return sizeof(*port);
	}
	rec->lid = put_be16(node->lid);
	make_node(&rec->info, node);
	return sizeof(*rec);
}

static void sa_table(struct mad_dev *dev, const struct sa_hdr *ask, uint16_t attr)
{
	size_t each = attr == SA_PORT_INFO_RECORD ? sizeof(struct port_info_record)
						  : sizeof(struct node_record),
	       len = sizeof(*ask);
	bool by_cap =
		get_be64(ask->mask) & SA_PIR_CAP_MASK && get_be32(ask->mad.mod) & SA_PIR_MATCH;
	struct sa_hdr *hdr;

	each = (each + fake_fabric.sa_pad + 7) / 8 * 8;
	hdr = calloc(1, sizeof(*hdr) + fake_fabric.nodes * each + MAD_LEN);
	*hdr = *ask;
	hdr->mad.method |= MAD_RESPONSE;
	hdr->mad.status = put_be16(fake_fabric.sa_status);
	hdr->attr_offset = put_be16((uint16_t)(each / 8));
	for (unsigned i = 0; i < fake_fabric.nodes && !fake_fabric.sa_status; i++) {
		if (attr == SA_PORT_INFO_RECORD && by_cap && !fake_fabric.node[i].management)
			continue;
		make_record((uint8_t *)hdr + len, attr, &fake_fabric.node[i]);
		len += each;
	}
	answer(dev, hdr, len, fake_fabric.sa_delay_ms, 0);
	free(hdr);
}

static unsigned trap_bit(uint16_t trap)
{
	return trap == MAD_TRAP_IN_SERVICE       ? 1
	       : trap == MAD_TRAP_OUT_OF_SERVICE ? 2
	       : trap == MAD_TRAP_CAP_MASK       ? 4
						 : 0;
}

/* As OpenSM has it: a trap's own type and producer, and who unsubscribes names the queue pair. */
static uint16_t inform(const struct inform_info *info, uint64_t mask)
{
	uint16_t trap = get_be16(info->trap);
	bool of_port = trap == MAD_TRAP_CAP_MASK;
	uint64_t least = SA_INFORM_LID_BEGIN | SA_INFORM_GENERIC | SA_INFORM_SUBSCRIBE |
			 SA_INFORM_TYPE | SA_INFORM_TRAP | SA_INFORM_PRODUCER |
			 (info->subscribe ? 0 : SA_INFORM_QPN);

	fake_fabric.informs++;
	if (fake_fabric.inform_status)
		return fake_fabric.inform_status;
	if (mask != least || get_be16(info->lid_begin) != 0xffff || info->generic != 1 ||
		get_be16(info->type) != (of_port ? 4 : 3) ||
		get_be32(info->producer) != (of_port ? 1 : 4) ||
		get_be32(info->qpn_resp_time) >> 8 != 1 || !trap_bit(trap))
		return MAD_STATUS_FIELD;
	if (info->subscribe)
		fake_fabric.subscribed |= trap_bit(trap);
	else
		fake_fabric.subscribed &= ~trap_bit(trap);
	return 0;
}

static void redirect(struct mad_dev *dev, const struct sa_hdr *ask)
{
	uint8_t mad[MAD_LEN] = { 0 };
	struct class_port_info *info = (void *)(mad + sizeof(*ask));
	struct sa_hdr *hdr = (void *)mad;

	*hdr = *ask;
	hdr->mad.method = MAD_RESPONSE | (ask->mad.method == MAD_SET || fake_fabric.elsewhere_by_get
							 ? MAD_GET
							 : ask->mad.method);
	hdr->mad.status = put_be16(MAD_STATUS_REDIRECT);
	hdr->mad.attr = put_be16(MAD_CLASS_PORT_INFO);
	info->redirect_lid = put_be16(fake_fabric.sa_elsewhere);
	info->redirect_pkey = put_be16(0xffff);
	info->redirect_qp = put_be32(5);
	info->redirect_qkey = put_be32(0x1234);
	answer(dev, mad, sizeof(mad), 0, 0);
}

static void sa_one(struct mad_dev *dev, const uint8_t *ask)
{
	const struct sa_hdr *request = (const void *)ask;
	uint8_t mad[MAD_LEN] = { 0 }, *data = mad + sizeof(*request);
	uint16_t attr = get_be16(request->mad.attr);
	struct sa_hdr *hdr = (void *)mad;
	struct fake_node *node = NULL;

	*hdr = *request;
	hdr->mad.method =
		MAD_RESPONSE | (request->mad.method == MAD_SET ? MAD_GET : request->mad.method);
	if (attr == MAD_INFORM_INFO) {
		if (fake_fabric.inform_drop) {
			fake_fabric.inform_drop--;
			return;
		}
		memcpy(data, ask + sizeof(*request), sizeof(struct inform_info));
		hdr->mad.status = put_be16(
			inform((const void *)(ask + sizeof(*request)), get_be64(request->mask)));
	} else if (attr == MAD_CLASS_PORT_INFO) {
		((struct class_port_info *)(void *)data)->cap_mask =
			put_be16(fake_fabric.sa_no_match ? 0 : SA_CAP_PORT_INFO_MASK_MATCH);
	} else if (attr == SA_PATH_RECORD) {
		struct path_record *path = (void *)data;

		memcpy(path, ask + sizeof(*request), sizeof(*path));
		if (get_be64(request->mask) & SA_PATH_DGID) {
			for (unsigned i = 0; i < fake_fabric.nodes; i++)
				if (wire_be(path->dgid + 8, 8) == fake_fabric.node[i].guid)
					node = &fake_fabric.node[i];
			if (node)
				path->dlid = put_be16(node->lid);
		} else {
			node = find(get_be16(path->dlid));
			if (node && !shares(node, get_be16(path->pkey)))
				node = NULL;
		}
		path->qos_sl = put_be16(3);
		if (!node)
			hdr->mad.status = put_be16(SA_STATUS_NO_RECORDS);
	} else {
		node = find(get_be16(
			((const struct node_record *)(const void *)(ask + sizeof(*request)))->lid));
		if (node && node->is_switch && attr == SA_PORT_INFO_RECORD &&
			!(get_be64(request->mask) & SA_PIR_PORT))
			hdr->mad.status = put_be16(SA_STATUS_TOO_MANY);
		else if (node)
			make_record(data, attr, node);
		else
			hdr->mad.status = put_be16(SA_STATUS_NO_RECORDS);
	}
	answer(dev, mad, sizeof(mad), fake_fabric.sa_delay_ms, 0);
}

static void make_unit(struct io_unit_info *info, const struct fake_node *node)
{
	info->change_id = put_be16(
		(uint16_t)(1 + (node->change_every ? node->asked / node->change_every : 0)));
	info->max_controllers = node->max_controllers;
	for (unsigned i = 0; i < node->iocs; i++)
		info->list[i / 2] |= i % 2 ? DM_SLOT_PRESENT : DM_SLOT_PRESENT << 4;
}

static void make_ioc(struct ioc_profile *ioc, const struct fake_node *node, unsigned slot)
{
	ioc->guid = put_be64(node->guid + (slot - 1) * 0x1000000);
	ioc->vendor_id = put_be32(0x0002c900);
	ioc->device_id = put_be32(0x5a44);
	ioc->io_class = put_be16(node->io_class);
	ioc->send_size = put_be32(2052);
	ioc->services = node->services;
	memcpy(ioc->id, "Fake SRP target", 15);
}

static bool make_services(struct service_entry *entry, const struct fake_node *node, uint32_t mod)
{
	unsigned first = mod & 0xff, last = mod >> 8 & 0xff;
	char name[64];

	if (first > last || last >= node->services || last - first >= DM_SERVICES_EACH)
		return false;
	for (unsigned i = first; i <= last; i++, entry++) {
		snprintf(name, sizeof(name),
			node->service_name ? node->service_name : "SRP.T10:%016X",
			(unsigned)node->guid + i);
		memcpy(entry->name, name, strnlen(name, sizeof(entry->name)));
		entry->id = put_be64(node->guid + i);
	}
	return true;
}

static uint16_t dm_fill(uint8_t *data, const struct fake_node *node, uint16_t attr, uint32_t mod,
	const uint8_t *ask)
{
	if (attr == node->refuse_attr && node->refuse_status)
		return node->refuse_status;
	switch (attr) {
	case MAD_CLASS_PORT_INFO:
		fake_fabric.traps_to =
			get_be16(((const struct class_port_info *)(const void *)ask)->trap_lid);
		return 0;
	case DM_IO_UNIT_INFO:
		make_unit((void *)data, node);
		return 0;
	case DM_IOC_PROFILE:
		if (!mod || mod > node->iocs)
			return 0x0100;
		make_ioc((void *)data, node, mod);
		return 0;
	case DM_SERVICE_ENTRIES:
		return mod >> 16 && mod >> 16 <= node->iocs &&
				       make_services((void *)data, node, mod)
			       ? 0
			       : 0x001c;
	default:
		return 0x000c;
	}
}

static void dm(struct mad_dev *dev, struct fake_node *node, const struct mad_hdr *ask)
{
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_hdr *hdr = (void *)mad;

	fake_fabric.dm_sent++;
	if (node->drop) {
		node->drop--;
		return;
	}
	*hdr = *ask;
	hdr->method = MAD_GET | MAD_RESPONSE; /* to Set as well */
	node->asked++;
	if (node->busy) {
		node->busy--;
		hdr->status = put_be16(MAD_STATUS_BUSY);
	} else {
		hdr->status =
			put_be16(dm_fill(mad + sizeof(struct dm_hdr), node, get_be16(ask->attr),
				get_be32(ask->mod), (const uint8_t *)ask + sizeof(struct dm_hdr)));
	}
	answer(dev, mad, sizeof(mad), node->delay_ms, node->lid);
	if (fake_fabric.twice)
		answer(dev, mad, sizeof(mad), node->delay_ms + 1, node->lid);
}

static void smp(struct mad_dev *dev, const struct fake_node *node, const struct mad_hdr *ask)
{
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_hdr *hdr = (void *)mad;

	*hdr = *ask;
	hdr->method |= MAD_RESPONSE;
	if (get_be16(ask->attr) == SMP_NODE_INFO)
		make_node((void *)(mad + sizeof(struct dm_hdr)), node);
	else
		make_port((void *)(mad + sizeof(struct dm_hdr)), node);
	answer(dev, mad, sizeof(mad), 0, 0);
}

/* Where a route leads: our own node, a switch, a node, or nowhere. */
struct place {
	enum { NOWHERE, OURSELVES, SWITCH, NODE } what;
	unsigned index; /* of the switch, 0 the root; of the node */
};

static unsigned leaves(void)
{
	return (fake_fabric.nodes + fake_fabric.leaf - 1) / fake_fabric.leaf;
}

static struct place step(struct place from, unsigned port)
{
	unsigned node;

	if (from.what == OURSELVES && port == fake_fabric.port[0].port)
		return (struct place){ SWITCH, 0 };
	if (from.what != SWITCH || !port)
		return (struct place){ NOWHERE, 0 };
	if (!from.index)
		return port <= leaves()
			       ? (struct place){ SWITCH, port }
			       : (struct place){ port == leaves() + 1 ? OURSELVES : NOWHERE, 0 };
	node = (from.index - 1) * fake_fabric.leaf + port - 1;
	if (port == fake_fabric.leaf + 1)
		return (struct place){ SWITCH, 0 };
	return (struct place){
		port <= fake_fabric.leaf && node < fake_fabric.nodes ? NODE : NOWHERE, node
	};
}

static struct place go(const struct smp_dr *ask)
{
	unsigned hops = get_be16(ask->mad.class_specific);
	struct place at = { OURSELVES, 0 };

	for (unsigned i = 1; i <= hops && i < 64; i++)
		at = step(at, ask->out[i]);
	return at;
}

static void dr_switch(struct smp_dr *out, struct place at, unsigned port)
{
	const struct fake_node self = { .guid = 0x900000 + at.index,
		.lid = (uint16_t)(0xb000 + at.index) };

	if (get_be16(out->mad.attr) == SMP_NODE_INFO) {
		make_node((void *)out->data, &self);
		((struct node_info *)(void *)out->data)->type = MAD_NODE_SWITCH;
		((struct node_info *)(void *)out->data)->ports =
			(uint8_t)((at.index ? fake_fabric.leaf : leaves()) + 1);
	} else {
		make_port((void *)out->data, &self);
		if (port && step(at, port).what == NOWHERE)
			((struct port_info *)(void *)out->data)->speed_state = 0x10 | PORT_DOWN;
	}
}

static void dr(struct mad_dev *dev, const struct smp_dr *ask)
{
	const struct fake_node self = { .guid = fake_fabric.port[0].guid,
		.lid = fake_fabric.port[0].lid };
	const struct fake_node *node = &self;
	struct place at = go(ask);
	struct smp_dr out = *ask;

	if (at.what == NOWHERE || (at.what == NODE && fake_fabric.node[at.index].dead))
		return;
	if (at.what == NODE)
		node = &fake_fabric.node[at.index];
	out.mad.method |= MAD_RESPONSE;
	out.mad.status = put_be16(MAD_STATUS_DR_D);
	if (at.what == SWITCH)
		dr_switch(&out, at, get_be32(ask->mad.mod));
	else if (get_be16(ask->mad.attr) == SMP_NODE_INFO)
		make_node((void *)out.data, node);
	else
		make_port((void *)out.data, node);
	answer(dev, &out, sizeof(out), 0, 0);
}

static bool in_segments(const struct sa_hdr *hdr, size_t len)
{
	if (hdr->mad.mgmt_class != MAD_CLASS_SA || hdr->rmpp.version != 1 || hdr->rmpp.type != 1 ||
		!(hdr->rmpp.rtime_flags & MAD_RMPP_ACTIVE))
		return false;
	fake_fabric.long_len = len;
	fake_fabric.long_sum = 0;
	for (size_t i = sizeof(*hdr); i < len; i++)
		fake_fabric.long_sum += ((const uint8_t *)hdr)[i];
	return true;
}

int mad_dev_reports(struct mad_dev *dev, bool on, struct diag *diag)
{
	if (on && fake_fabric.reports_taken)
		return diag_set(diag, DIAG_BUSY, EBUSY,
			"another program receives the subnet administrator's reports on this port");
	dev->reports = fake_fabric.reports = on;
	return 0;
}

static unsigned poll_pkeys(struct mad_dev *dev, struct mad_port_info *info, unsigned pkeys)
{
	unsigned what = 0;

	for (unsigned i = 0; i < pkeys && i < info->pkeys; i++) {
		uint16_t now =
			fake_fabric.port[0].pkey[dev->pkey_at = (dev->pkey_at + 1) % info->pkeys];

		what |= info->pkey[dev->pkey_at] != now ? PORT_EVENT_PKEYS : 0;
		info->pkey[dev->pkey_at] = now;
	}
	return what;
}

int mad_dev_poll(struct mad_dev *dev, struct mad_port_info *info, unsigned pkeys)
{
	const struct mad_port_info *now = &fake_fabric.port[0];
	unsigned what = 0;

	fake_fabric.looks++;
	if (fake_fabric.gone)
		return -ENODEV;
	what |= info->state != now->state ? PORT_EVENT_STATE : 0;
	what |= info->lid != now->lid ? PORT_EVENT_LID : 0;
	what |= info->sm_lid != now->sm_lid || info->sm_sl != now->sm_sl ? PORT_EVENT_SM : 0;
	what |= info->prefix != now->prefix || info->guid != now->guid ? PORT_EVENT_GID : 0;
	info->state = now->state;
	info->lid = now->lid;
	info->sm_lid = now->sm_lid;
	info->sm_sl = now->sm_sl;
	info->prefix = now->prefix;
	info->guid = now->guid;
	return (int)(what | poll_pkeys(dev, info, pkeys));
}

void fake_report(uint16_t from, const void *mad, size_t len)
{
	if (opened)
		queue(opened, mad, len, 0, 0, from);
}

void fake_notice(uint16_t trap, uint64_t guid_or_lid, uint32_t cap_mask)
{
	static uint32_t tid;
	uint8_t mad[MAD_LEN] = { 0 };
	struct sa_hdr *hdr = (void *)mad;
	struct notice *notice = (void *)(mad + sizeof(*hdr));

	if (!fake_fabric.reports || !(fake_fabric.subscribed & trap_bit(trap)))
		return;
	hdr->mad.base_version = 1;
	hdr->mad.mgmt_class = MAD_CLASS_SA;
	hdr->mad.class_version = SA_CLASS_VERSION;
	hdr->mad.method = MAD_REPORT;
	hdr->mad.attr = put_be16(MAD_NOTICE);
	hdr->mad.tid = put_be64(++tid);
	notice->trap = put_be16(trap);
	if (trap == MAD_TRAP_CAP_MASK) {
		struct notice_caps *details = (void *)notice->details;

		notice->generic_type = NOTICE_GENERIC | NOTICE_INFORMATIONAL;
		notice->producer = put_be24(MAD_NODE_CA);
		details->lid = put_be16((uint16_t)guid_or_lid);
		details->cap_mask = put_be32(cap_mask);
	} else {
		notice->generic_type = NOTICE_GENERIC | NOTICE_SUBNET_MANAGEMENT;
		notice->producer = put_be24(NOTICE_BY_MANAGER);
		mad_gid_make(((struct notice_gid *)(void *)notice->details)->gid,
			fake_fabric.port[0].prefix, guid_or_lid);
	}
	fake_report(fake_fabric.port[0].sm_lid, mad, sizeof(mad));
}

int mad_dev_send(struct mad_dev *dev, const struct mad_addr *to, const void *mad, size_t len,
	uint32_t timeout_ms)
{
	const struct mad_hdr *hdr = mad;
	struct fake_node *node = NULL;

	fake_fabric.timeout_ms = timeout_ms;
	if (fake_fabric.gone)
		arm(dev);
	if (fake_fabric.gone || !dev->has[hdr->mgmt_class] || len < MAD_LEN)
		return -EIO;
	fake_fabric.sent++;
	if (len > MAD_LEN && !in_segments(mad, len))
		return -EINVAL;
	if (dev->serves) {
		if (hdr->mgmt_class != MAD_CLASS_DM || hdr->method != (MAD_GET | MAD_RESPONSE) ||
			len != MAD_LEN)
			abort();
		memcpy(fake_fabric.answer, mad, MAD_LEN);
		fake_fabric.dm_answers++;
		return 0;
	}
	if (hdr->method & MAD_RESPONSE) {
		if (!dev->reports || hdr->method != (MAD_REPORT | MAD_RESPONSE) ||
			to->lid != fake_fabric.port[0].sm_lid || to->qpn != 1)
			return -EINVAL;
		memcpy(fake_fabric.answer, mad, MAD_LEN);
		fake_fabric.answered++;
		return 0;
	}
	if (hdr->mgmt_class == MAD_CLASS_SA) {
		bool elsewhere = fake_fabric.sa_elsewhere && to->lid == fake_fabric.sa_elsewhere &&
				 to->qpn == 5 && to->qkey == 0x1234;

		if (fake_fabric.sa_dead || (to->lid != fake_fabric.port[0].sm_lid && !elsewhere))
			return 0;
		if (fake_fabric.sa_elsewhere && (!elsewhere || fake_fabric.sa_nowhere))
			redirect(dev, mad);
		else if (hdr->method == MAD_GET_TABLE)
			sa_table(dev, mad, get_be16(hdr->attr));
		else
			sa_one(dev, mad);
		return 0;
	}
	if (hdr->mgmt_class == MAD_CLASS_SMP_DR) {
		dr(dev, mad);
		return 0;
	}
	for (unsigned i = 0; to->grh && i < fake_fabric.nodes; i++)
		if (wire_be(to->gid + 8, 8) == fake_fabric.node[i].guid)
			node = &fake_fabric.node[i];
	if (!to->grh)
		node = find(to->lid);
	if (!node || node->dead || !shares(node, fake_fabric.port[0].pkey[to->pkey_index]))
		return 0;
	if (hdr->mgmt_class == MAD_CLASS_DM && !node->smi_only)
		dm(dev, node, hdr);
	else if (hdr->mgmt_class == MAD_CLASS_SMP)
		smp(dev, node, hdr);
	return 0;
}

ssize_t mad_dev_recv(struct mad_dev *dev, size_t *room, const uint8_t **mad, struct mad_addr *from)
{
	struct reply *reply = dev->head;
	ssize_t len;

	if (fake_fabric.gone)
		return -EIO;
	if (!reply || reply->due_ns > loop_clock()) {
		arm(dev);
		return -EAGAIN;
	}
	if (reply->len > *room) {
		*room = reply->len;
		return -ENOSPC;
	}
	dev->head = reply->next;
	if (!dev->head)
		dev->last = NULL;
	if (reply->lid) {
		dev->each[reply->lid]--;
		fake_fabric.in_flight--;
	}
	*from = (struct mad_addr){ .lid = reply->from, .qpn = 1 };
	free(dev->out);
	len = (ssize_t)reply->len;
	dev->out = malloc(reply->len ? reply->len : 1);
	memcpy(dev->out, reply->mad, reply->len);
	free(reply);
	*mad = dev->out;
	return len;
}
