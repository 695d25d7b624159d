/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's end of a pair test. */
#include "serving.h"
#include "leap.h"
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>
#include <unistd.h>

struct fake_disk *backing;
struct target_options opt;
struct target *target;
struct nbd_server *nbd_server;
struct tls_creds *serving_tls;

static struct nbd_options nbd;

void serving_listen(struct listen_addr *listen, unsigned transports)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	in.sin_port = htons(transports & TRANSPORT_VERBS ? 4420 : 0);
	memcpy(&listen->at.ss, &in, sizeof(in));
	listen->at.len = sizeof(in);
	listen->transports = transports;
}

void serving_begin(uint32_t size, unsigned transports, uint32_t poll_us)
{
	host_begin(poll_us);
	backing = fake_disk_new(loop, size, 512);
	opt = (struct target_options){ .disks = 1, .listens = 1, .loops = &loop, .nloops = 1 };
	opt.disk[0] = (struct target_disk_options){ .bdev = &backing->bdev,
		.name = SERVING_NQN,
		.uuid = { 1, 2, 3 },
		.nguid = { 4, 5, 6 },
		.serial = "S1" };
	serving_listen(&opt.listen[0], transports);
}

void serving_start(void)
{
	cr_assert_eq(nvme_serve(&target, loop, &opt, 1000, &why), 0, "%s", why.text);
}

unsigned serving_port(void)
{
	struct addr bound;

	cr_assert(target_transports(target, 0, &bound));
	return ntohs(((struct sockaddr_in *)&bound.ss)->sin_port);
}

const char *serving_socket(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/rdmastor-serving-%d", (int)getpid());
	return path;
}

void serving_start_nbd(unsigned slots)
{
	struct sockaddr_un *un = (struct sockaddr_un *)(void *)&nbd.listen[0].ss;

	nbd = (struct nbd_options){ .exports = 1,
		.listens = 1,
		.loops = opt.loops,
		.nloops = opt.nloops,
		.slots = slots,
		.tls = serving_tls };
	nbd.export[0] = (struct nbd_export){ .name = "", .bdev = opt.disk[0].bdev };
	un->sun_family = AF_UNIX;
	snprintf(un->sun_path, sizeof(un->sun_path), "%s", serving_socket());
	nbd.listen[0].len = sizeof(*un);
	cr_assert_eq(nbd_server_start(&nbd_server, loop, &nbd, &why), 0, "%s", why.text);
}

void serving_start_srp(void)
{
	struct target_options srp = opt;

	memset(srp.disk[0].uuid, 0, sizeof(srp.disk[0].uuid));
	srp.disk[0].uuid[7] = 9;
	cr_assert_eq(srp_serve(&target, loop, &srp, 1000, &why), 0, "%s", why.text);
}

void serving_start_iscsi(void)
{
	struct target_options iscsi = opt;

	iscsi.disk[0].name = SERVING_IQN;
	cr_assert_eq(iscsi_serve(&target, loop, &iscsi, 1000, &why), 0, "%s", why.text);
}

void serving_stop(void)
{
	cr_assert_eq(target_stop(target, leap_limit_ms(5000), &why), 0, "%s", why.text);
	cr_assert_eq(nbd_server_stop(nbd_server, leap_limit_ms(5000), &why), 0, "%s", why.text);
	target = NULL;
	nbd_server = NULL;
}

void serving_end(void)
{
	host_hang_up();
	serving_stop();
	fake_disk_free(backing);
	loop_free(loop);
}
