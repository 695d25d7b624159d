/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The program's /sys/class: RDMA devices, their MAD devices, and SRP initiators, as the simulator
 * says they are. */
#include "box.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRESH_MS 5
#define PKEYS    32

static void make_dirs(int dir, const char *path)
{
	char part[BOX_PATH];

	for (const char *end = path; (end = strchr(end, '/')); end++) {
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		mkdirat(dir, part, 0755);
	}
}

/* Replace the file atomically: readers get the old content or the new. */
void sys_write(int dir, const char *path, const char *fmt, ...)
{
	va_list args;
	int fd;

	make_dirs(dir, path);
	fd = openat(dir, ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		box_die("/sys/class/%s: %m", path);
	va_start(args, fmt);
	vdprintf(fd, fmt, args);
	va_end(args);
	close(fd);
	if (renameat(dir, ".new", dir, path))
		box_die("/sys/class/%s: %m", path);
}

static const char *guid_text(uint64_t guid, char text[20])
{
	snprintf(text, 20, "%04x:%04x:%04x:%04x", (unsigned)(guid >> 48) & 0xffff,
		(unsigned)(guid >> 32) & 0xffff, (unsigned)(guid >> 16) & 0xffff,
		(unsigned)guid & 0xffff);
	return text;
}

static void write_state(int dir, const char *at, const struct port_info *info)
{
	static const char *const state[] = { "NOP", "DOWN", "INIT", "ARMED", "ACTIVE",
		"ACTIVE_DEFER" };
	static const char *const phys[] = { "", "Sleep", "Polling", "Disabled",
		"PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "Phy Test" };
	unsigned is = info->speed_state & 15, link = info->phys_down >> 4;
	char path[96];

	snprintf(path, sizeof(path), "%s/state", at);
	sys_write(dir, path, "%u: %s\n", is, is < sizeof(state) / sizeof(*state) ? state[is] : "?");
	snprintf(path, sizeof(path), "%s/phys_state", at);
	sys_write(dir, path, "%u: %s\n", link,
		link < sizeof(phys) / sizeof(*phys) ? phys[link] : "?");
}

/* ibsim tells the GUID of the node in both places, and has those of a channel adapter's ports
 * follow it. */
static uint64_t port_guid(const struct port *port)
{
	uint64_t node = get_be64(port->node.node_guid), own = get_be64(port->node.port_guid);

	return own == node && port->node.type == MAD_NODE_CA ? node + port->info.local_port : own;
}

/* PortInfo has LMC in the byte after the one of the physical state, and the subnet manager's
 * service level two further on. */
static void write_port(int dir, const struct port *port)
{
	const struct port_info *info = &port->info;
	uint64_t prefix = get_be64(info->gid_prefix);
	char at[64], path[96], high[20], low[20];

	snprintf(at, sizeof(at), "infiniband/ibsim%u/ports/1", port->number);
	write_state(dir, at, info);
#define PUT(name, ...)                                                                             \
	(snprintf(path, sizeof(path), "%s/" name, at), sys_write(dir, path, __VA_ARGS__))
	PUT("lid", "0x%x\n", get_be16(info->lid));
	PUT("sm_lid", "0x%x\n", get_be16(info->sm_lid));
	PUT("cap_mask", "0x%08x\n", get_be32(info->cap_mask));
	PUT("lid_mask_count", "%u\n", info->rest1[0] & 7);
	PUT("sm_sl", "%u\n", info->rest1[2] & 15);
	PUT("rate", "10 Gb/sec (4X)\n");
	PUT("link_layer", "InfiniBand\n");
	PUT("gids/0", "%s:%s\n", guid_text(prefix ? prefix : 0xfe80000000000000, high),
		guid_text(port_guid(port), low));
#undef PUT
	for (unsigned i = 0; i < PKEYS; i++) {
		snprintf(path, sizeof(path), "%s/pkeys/%u", at, i);
		sys_write(dir, path, "0x%04" PRIx64 "\n", wire_be(port->pkeys + 2 * i, 2));
	}
}

static void write_device(int dir, const struct port *port)
{
	static const char *const type[] = { "?", "CA", "SWITCH", "ROUTER" };
	unsigned is = port->node.type;
	char path[96], guid[20];

#define PUT(where, name, ...)                                                                      \
	(snprintf(path, sizeof(path), where "/" name, port->number),                               \
		sys_write(dir, path, __VA_ARGS__))
	PUT("infiniband/ibsim%u", "node_type", "%u: %s\n", is, type[is < 4 ? is : 0]);
	PUT("infiniband/ibsim%u", "fw_ver", "1\n");
	PUT("infiniband/ibsim%u", "hw_rev", "a1\n");
	PUT("infiniband/ibsim%u", "hca_type", "simulator\n");
	PUT("infiniband/ibsim%u", "node_desc", "simulator\n");
	PUT("infiniband/ibsim%u", "node_guid", "%s\n",
		guid_text(get_be64(port->node.node_guid), guid));
	PUT("infiniband/ibsim%u", "sys_image_guid", "%s\n",
		guid_text(get_be64(port->node.system_guid), guid));
	for (unsigned i = 0; i < 2; i++) {
		const char *kind = i ? "issm" : "umad";

#define OF(name, ...)                                                                              \
	(snprintf(path, sizeof(path), "infiniband_mad/%s%u/" name, kind, port->number),            \
		sys_write(dir, path, __VA_ARGS__))
		OF("ibdev", "ibsim%u\n", port->number);
		OF("port", "1\n");
		OF("dev", "231:%u\n", port->number + 64 * i);
#undef OF
	}
	PUT("infiniband_srp/srp-ibsim%u-1", "add_target", "%s", "");
	PUT("infiniband_srp/srp-ibsim%u-1", "port", "1\n");
	snprintf(path, sizeof(path), "infiniband_srp/srp-ibsim%u-1/ibdev", port->number);
	sys_write(dir, path, "ibsim%u\n", port->number);
#undef PUT
}

static void read_port(struct port *port)
{
	uint8_t info[sizeof(port->info)] = { 0 };

	if (sim_ask(&port->sim, SIM_GET_PORTINFO, info, sizeof(info)) ||
		sim_ask(&port->sim, SIM_GET_PKEYS, port->pkeys, sizeof(port->pkeys)))
		box_die("the simulator does not tell the state of its port");
	memcpy(&port->info, info, sizeof(info));
	port->read_ms = now_ms();
}

void sys_refresh(struct box *box)
{
	for (unsigned i = 0; i < box->ports; i++) {
		struct port *port = &box->port[i], was = *port;

		if (now_ms() < port->read_ms + FRESH_MS)
			continue;
		read_port(port);
		if (memcmp(&was.info, &port->info, sizeof(was.info)) ||
			memcmp(was.pkeys, port->pkeys, sizeof(was.pkeys)))
			write_port(box->sys, port);
	}
}

void sys_make(struct box *box)
{
	mkdirat(box->sys, "scsi_host", 0755);
	mkdirat(box->sys, "net", 0755);
	sys_write(box->sys, "infiniband_mad/abi_version", "%d\n", IB_USER_MAD_ABI_VERSION);
	for (unsigned i = 0; i < box->ports; i++) {
		struct port *port = &box->port[i];
		uint8_t node[64] = { 0 };

		if (sim_ask(&port->sim, SIM_GET_NODEINFO, node, sizeof(node)))
			box_die("the simulator does not tell what its node is");
		memcpy(&port->node, node, sizeof(port->node));
		read_port(port);
		write_device(box->sys, port);
		write_port(box->sys, port);
	}
}
