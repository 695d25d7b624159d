/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A server of load_listen() and the loop of its client. */
#include "load_side.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

struct loop *loops[2];
struct load_server *server;
struct addr at;
static struct workers *workers;

void load_side_begin(struct load_listen conf)
{
	static const struct loop_options options = { .name = "test" };
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	host_begin(0);
	cr_assert_eq(workers_start(&workers, conf.nloops, &options, &why), 0);
	for (unsigned i = 0; i < conf.nloops; i++)
		loops[i] = workers_loop(workers, i);
	conf.loops = loops;
	memcpy(&conf.at.ss, &in, sizeof(in));
	conf.at.len = sizeof(in);
	cr_assert_eq(load_listen(&server, loop, &conf, NO_LIMIT_MS, &why), 0, "%s", why.text);
	at = *load_server_addr(server);
}

void load_side_end(void)
{
	load_server_stop(server);
	workers_stop(workers);
	host_end();
}
