/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* subscribe TRAP...: has the subnet administrator report these traps to queue pair 1 of the port,
 * as ports that come and go (64, 65) and changed capability masks (144); prints a line for each
 * answer and each report, until it is killed. */
#include "umad.h"
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#define MASK                                                                                       \
	(SA_INFORM_LID_BEGIN | SA_INFORM_GENERIC | SA_INFORM_SUBSCRIBE | SA_INFORM_TYPE |          \
		SA_INFORM_TRAP | SA_INFORM_PRODUCER)

static void ask(int fd, unsigned id, uint16_t trap)
{
	struct umad umad = { .hdr = { .id = id,
				     .timeout_ms = 1000,
				     .retries = 2,
				     .qpn = htonl(1),
				     .qkey = htonl(UMAD_QKEY) } };
	struct sa_hdr *sa = (void *)umad.mad;
	bool caps = trap == 144;

	umad.hdr.lid = htons((uint16_t)umad_sys("sm_lid"));
	sa->mad = (struct mad_hdr){ 1, MAD_CLASS_SA, SA_CLASS_VERSION, MAD_SET,
		.tid = put_be64(trap), .attr = put_be16(MAD_INFORM_INFO) };
	sa->mask = put_be64(MASK);
	*(struct inform_info *)(sa + 1) = (struct inform_info){
		.lid_begin = put_be16(0xffff),
		.generic = 1,
		.subscribe = 1,
		.type = put_be16(caps ? NOTICE_INFORMATIONAL : NOTICE_SUBNET_MANAGEMENT),
		.trap = put_be16(trap),
		.qpn_resp_time = put_be32(1 << 8 | 19),
		.producer = put_be32(caps ? MAD_NODE_CA : NOTICE_BY_MANAGER),
	};
	umad_send(fd, &umad);
}

static void print_report(const struct notice *notice)
{
	const struct notice_caps *caps = (const void *)notice->details;
	const struct notice_gid *port = (const void *)notice->details;
	unsigned trap = get_be16(notice->trap);
	char gid[INET6_ADDRSTRLEN];

	if (trap == 144)
		printf("report 144 lid %u mask 0x%08x\n", get_be16(caps->lid),
			get_be32(caps->cap_mask));
	else
		printf("report %u gid %s\n", trap,
			inet_ntop(AF_INET6, port->gid, gid, sizeof(gid)));
}

static void received(int fd, unsigned id, struct umad *umad)
{
	struct sa_hdr *sa = (void *)umad->mad;

	if (umad->hdr.status) {
		printf("no answer to the subscription to trap %u\n",
			(unsigned)get_be64(sa->mad.tid) & 0xffff);
	} else if (sa->mad.method == MAD_REPORT && get_be16(sa->mad.attr) == MAD_NOTICE) {
		print_report((void *)(sa + 1));
		sa->mad.method = MAD_REPORT | MAD_RESPONSE;
		umad->hdr = (struct ib_user_mad_hdr){ .id = id,
			.lid = umad->hdr.lid,
			.qpn = umad->hdr.qpn,
			.qkey = htonl(UMAD_QKEY) };
		umad_send(fd, umad);
	} else {
		printf("subscribed %u status 0x%04x\n", (unsigned)get_be64(sa->mad.tid) & 0xffff,
			get_be16(sa->mad.status));
	}
}

int main(int argc, char **argv)
{
	int fd = umad_open();
	unsigned id = umad_register(fd, MAD_CLASS_SA, SA_CLASS_VERSION, 1, 1 << MAD_REPORT);
	struct umad umad;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++)
		ask(fd, id, (uint16_t)strtoul(argv[i], NULL, 10));
	for (;;) {
		umad_recv(fd, &umad);
		received(fd, id, &umad);
	}
}
