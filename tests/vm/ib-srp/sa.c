/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The subnet administrator of a fabric with one port, on which it runs: path records, which the
 * kernel's connection manager asks for, and what discovery asks for. The capability mask in
 * PortInfoRecord is the kernel's own. */
#include "../../fabric/umad.h"
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MTU_1024     3
#define RATE_10_GBPS 3
#define EXACTLY      0x80 /* selector of MTU, rate and packet life time */
#define UNSUPPORTED  0x000c

static uint8_t gid[16];

static uint16_t put_record(uint8_t *out, const struct sa_hdr *sa, size_t *len)
{
	const uint8_t *asked = (const uint8_t *)(sa + 1);
	uint16_t lid = (uint16_t)umad_sys("lid");

	switch (get_be16(sa->mad.attr)) {
	case MAD_CLASS_PORT_INFO: {
		struct class_port_info *info = (void *)out;

		info->base_version = 1;
		info->class_version = SA_CLASS_VERSION;
		info->cap_mask = put_be16(SA_CAP_PORT_INFO_MASK_MATCH);
		info->cap_mask2_resp_time = put_be32(18);
		*len = sizeof(*info);
		return 0;
	}
	case SA_PATH_RECORD: {
		struct path_record *path = (void *)out;

		memcpy(path, asked, sizeof(*path));
		if (get_be64(sa->mask) & SA_PATH_DGID && memcmp(path->dgid, gid, sizeof(gid)))
			return SA_STATUS_NO_RECORDS;
		memcpy(path->dgid, gid, sizeof(gid));
		memcpy(path->sgid, gid, sizeof(gid));
		path->dlid = path->slid = put_be16(lid);
		path->flow_hop = put_be32(0);
		path->numb_path = 0;
		path->pkey = put_be16(0xffff);
		path->mtu = EXACTLY | MTU_1024;
		path->rate = EXACTLY | RATE_10_GBPS;
		path->life = EXACTLY | 14;
		*len = sizeof(*path);
		return 0;
	}
	case SA_NODE_RECORD: {
		struct node_record *node = (void *)out;

		node->lid = put_be16(lid);
		node->info = (struct node_info){
			.base_version = 1, .class_version = 1, .type = MAD_NODE_CA, .ports = 1
		};
		memcpy(&node->info.port_guid, gid + 8, 8);
		*len = sizeof(*node);
		return 0;
	}
	case SA_PORT_INFO_RECORD: {
		struct port_info_record *port = (void *)out;
		uint32_t caps = umad_sys("cap_mask");

		if (get_be32(sa->mad.mod) & SA_PIR_MATCH && !(caps & PORT_CAP_DM))
			return SA_STATUS_NO_RECORDS;
		port->lid = put_be16(lid);
		port->port = 1;
		memcpy(&port->info.gid_prefix, gid, 8);
		port->info.lid = port->info.sm_lid = put_be16(lid);
		port->info.cap_mask = put_be32(caps);
		port->info.speed_state = PORT_ACTIVE;
		port->info.subnet_timeout = port->info.resp_time = 16;
		*len = sizeof(*port);
		return 0;
	}
	}
	return UNSUPPORTED;
}

int main(void)
{
	struct umad umad;
	char text[64];
	FILE *from = fopen(UMAD_SYS "gids/0", "re");
	int fd = umad_open();
	struct ib_user_mad_reg_req2 req = { .qpn = 1,
		.mgmt_class = MAD_CLASS_SA,
		.mgmt_class_version = SA_CLASS_VERSION,
		.rmpp_version = 1,
		.method_mask = { 1ull << MAD_GET | 1ull << MAD_SET | 1ull << MAD_GET_TABLE } };

	if (ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req))
		err(1, "register");
	if (!from || fscanf(from, "%63s", text) != 1 || inet_pton(AF_INET6, text, gid) != 1)
		errx(1, "no GID");
	for (;;) {
		struct sa_hdr *sa = (void *)umad.mad;
		uint8_t record[SA_DATA_LEN] = { 0 };
		size_t len = 0;
		uint16_t status;
		bool table;

		umad_recv(fd, &umad);
		if (umad.hdr.status)
			continue;
		table = sa->mad.method == MAD_GET_TABLE;
		status = put_record(record, sa, &len);
		printf("method 0x%02x attribute 0x%04x status 0x%04x\n", sa->mad.method,
			get_be16(sa->mad.attr), status);
		fflush(stdout);
		if (status == SA_STATUS_NO_RECORDS && table)
			status = 0;
		sa->mad.status = put_be16(status);
		sa->mad.method = (table ? MAD_GET_TABLE : MAD_GET) | MAD_RESPONSE;
		sa->rmpp = (struct mad_rmpp){ 0 };
		if (table) {
			len = (len + 7) / 8 * 8;
			sa->rmpp = (struct mad_rmpp){
				.version = 1, .type = 1, .rtime_flags = MAD_RMPP_ACTIVE
			};
		}
		sa->attr_offset = put_be16((uint16_t)((len + 7) / 8));
		memcpy(umad.mad + sizeof(*sa), record, SA_DATA_LEN);
		umad.hdr.id = req.id;
		umad.hdr.timeout_ms = umad.hdr.retries = 0;
		umad.hdr.qkey = htonl(UMAD_QKEY);
		len += sizeof(umad.hdr) + sizeof(*sa);
		if (!table)
			len = sizeof(umad);
		if (write(fd, &umad, len) != (ssize_t)len)
			err(1, "write");
	}
}
