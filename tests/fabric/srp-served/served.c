/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* served GUID SERVICE-ID: device management of this node's port as `serve --srp --ib` has it,
 * without the target, which needs an RDMA device. */
#include "applet.h"
#include "mad.h"
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

const struct applet *const applets[] = { NULL };

int main(int argc, char **argv)
{
	const struct mad_port_choice any = { 0 };
	char service[41];
	struct mad_agent_conf served = {
		.text = "rdmastor SRP target", .service = service, .send_size = 8448, .depth = 64
	};
	struct mad_port_info port;
	struct mad_agent *agent;
	struct diag diag = { 0 };
	struct loop *loop;

	if (argc != 3)
		errx(2, "usage: served GUID SERVICE-ID");
	served.guid = strtoull(argv[1], NULL, 16);
	served.service_id = strtoull(argv[2], NULL, 16);
	snprintf(service, sizeof(service), "SRP.T10:%s", argv[1]);
	if (loop_new(&loop, &(struct loop_options){ .name = "served" }, &diag) ||
		mad_port_choose(&port, &any, &diag) ||
		mad_agent_start(&agent, loop, &port, &served, &diag))
		errx(1, "%s: %s", diag.object, diag.text);
	puts("ready");
	fflush(stdout);
	for (;;)
		loop_wait(loop, &(int){ 0 }, loop_clock() + 1000000000);
}
