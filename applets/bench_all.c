/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bench --matrix --all: serve one disk by every protocol, in processes of their own. */
#include "bench_kernel.h"
#include "disk_open.h"
#include "kernel_rdma.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READY_MS 20000

enum { SERVE, EXPORT, LISTEN, SERVERS };

struct bench_servers {
	struct bench_child server[SERVERS];
	struct bench_kernel *kernel; /* NULL without --kernel */
	struct bench_folder folder;
	char socket[sizeof("unix:") + 108], rdma[80];
};

/* The order of rows. */
static const char *const row_order[] = {
	"nvme+tcp:", "nvme+rdma:", "iscsi:", "iser:", "srp+cm:", "nbd+unix:", "nbd:"
};

/* Find an address of a network interface that has an RDMA device. */
static bool find_verbs(char *host, size_t len)
{
	DIR *folder = opendir("/sys/class/infiniband");
	struct ifaddrs *all = NULL;
	struct dirent *entry;
	char netdev[32];

	host[0] = 0;
	if (folder && getifaddrs(&all))
		all = NULL;
	while (folder && !host[0] && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || kernel_rdma_netdev(disk_root(NULL), entry->d_name,
						       netdev, sizeof(netdev), &(struct diag){ 0 }))
			continue;
		for (const struct ifaddrs *at = all; at && !host[0]; at = at->ifa_next)
			if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET &&
				!strcmp(at->ifa_name, netdev))
				inet_ntop(AF_INET,
					&((const struct sockaddr_in *)(const void *)at->ifa_addr)
						 ->sin_addr,
					host, (socklen_t)len);
	}
	freeifaddrs(all);
	if (folder)
		closedir(folder);
	return host[0];
}

static void set_words(
	struct bench_servers *servers, const char *disk, bool write, const char *on_loss)
{
	struct bench_child *server = servers->server;
	static const char tcp[] = "127.0.0.1:0";
	const char *mode = write ? "--force" : "--ro";
	char host[INET6_ADDRSTRLEN];

	snprintf(servers->rdma, sizeof(servers->rdma), "127.0.0.1:0?rdma=iwarp");
	if (disk_root(NULL) >= 0 && !kernel_rdma_ready(disk_root(NULL), &(struct diag){ 0 }) &&
		find_verbs(host, sizeof(host)))
		snprintf(servers->rdma, sizeof(servers->rdma), "%s:0?rdma=verbs", host);
	bench_child_add(&server[SERVE],
		(const char *const[]){ "serve", disk, mode, "--json", "--quiet", "--nvmf", "--tcp",
			tcp, "--rdma", servers->rdma, "--iscsi", "--tcp", tcp, "--rdma",
			servers->rdma, "--srp", "--rdma", servers->rdma, NULL });
	bench_child_add(
		&server[EXPORT], (const char *const[]){ "export", disk, mode, "--json", "--quiet",
					 "--nbd", servers->socket, "--nbd", tcp, NULL });
	bench_child_add(&server[LISTEN], (const char *const[]){ "bench", "--listen", servers->rdma,
						 "--tcp", "--rdma", "--json", "--quiet", NULL });
	for (unsigned i = SERVE; on_loss && i <= EXPORT; i++)
		bench_child_add(&server[i], (const char *const[]){ "--on-loss", on_loss, NULL });
}

/* Start a server and wait until it is ready. */
static int start_server(struct bench *bench, struct bench_child *server, uint64_t until)
{
	int err;

	server->run.messages = true;
	err = bench_child_start(bench, server);
	if (!err)
		err = bench_child_ready(bench, server, until);
	if (!err || err == -EINTR)
		return err;
	if (!server->run.result) {
		*bench->call->diag = server->run.why;
		return err;
	}
	bench_child_finish(bench, server); /* it prints the reason itself */
	out_error(bench->call->out, "error", &server->run.why);
	return server->run.why.code == DIAG_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

/* One after the other, as all may have the same reason to fail. */
static int start_servers(struct bench *bench, struct bench_servers *servers)
{
	uint32_t limit = bench->opts->common.timeout_ms;
	uint64_t until = loop_clock() + (limit > READY_MS ? limit : READY_MS) * MSEC;
	int err = 0;

	for (unsigned i = 0; !err && i < SERVERS; i++)
		err = start_server(bench, &servers->server[i], until);
	return err;
}

/* Open the disk before the servers do, which need --force, as both write to it: so its failure is
 * reported once, and what the user did not force is refused, as are impossible combinations. */
static int check_disk(struct bench *bench, const char *disk, bool write, uint64_t *size)
{
	struct bdev *bdev = NULL;
	struct bdev_env env;
	int err = disk_env(bench->call, &env, bench->opts->on_loss);

	env.write = write;
	env.force = bench->opts->force;
	if (!err)
		err = disk_open(bench->call, &bdev, bench->task.loop, disk, &env);
	if (!err) {
		*size = bdev->lim.size;
		err = bench_check_plan(bench, bdev);
	}
	bdev_close(bdev);
	return err;
}

int bench_servers_start(struct bench *bench, const char *disk, struct bench_servers **started)
{
	struct bench_servers *servers = *started = calloc(1, sizeof(*servers));
	bool write = bdev_uri_in_memory(disk) || bench_writes(bench);
	uint64_t size = 0;
	int err;

	if (!servers)
		return diag_sys(bench->call->diag, ENOMEM, "servers");
	err = check_disk(bench, disk, write, &size);
	if (!err)
		err = bench_folder_make(&servers->folder, bench->call->diag);
	if (err)
		return err;
	snprintf(servers->socket, sizeof(servers->socket), "unix:%s", servers->folder.socket);
	set_words(servers, disk, write, bench->opts->on_loss);
	if (!bdev_uri_in_memory(disk))
		call_warn(bench->call, "%s: any %s can %s it during the measurement", disk,
			strstr(servers->rdma, "verbs") ? "host that can reach this one"
						       : "user of this machine",
			write ? "overwrite" : "read");
	err = start_servers(bench, servers);
	if (!err && bench->opts->kernel)
		err = bench_kernel_start(bench, disk, size, write ? "--force" : "--ro",
			servers->rdma, &servers->kernel);
	return err;
}

struct found {
	struct bench_sources *sources;
	const char *scheme;
	pid_t server;
};

static void add_uri(const char *uri, void *arg)
{
	const struct found *found = arg;
	struct bench_sources *sources = found->sources;

	if (strncmp(uri, found->scheme, strlen(found->scheme)))
		return;
	for (unsigned i = 0; i < sources->count; i++)
		if (!strcmp(sources->uri[i], uri))
			return;
	if (sources->count < MATRIX_DISKS - 2) {
		sources->uri[sources->count] = (char *)uri;
		sources->disk[sources->count++].server = found->server;
	}
}

static void set_port(const char *text, void *arg)
{
	snprintf(arg, 8, "%s", text);
}

static void add_raw(struct bench_sources *sources, pid_t server)
{
	struct matrix_disk *disk = &sources->disk[sources->count];

	disk[0].name = "socket";
	disk[0].uri = "a TCP socket without a protocol";
	disk[0].socket = &sources->socket;
	disk[1].name = "rdma";
	disk[1].uri = "RDMA READs without a protocol";
	disk[1].rdma = &sources->rdma;
	disk[0].server = disk[1].server = server;
	sources->count += 2;
}

static int set_addresses(
	const struct bench_servers *servers, struct bench_sources *sources, struct diag *diag)
{
	size_t host = strcspn(servers->rdma, ":");
	char port[8] = "", text[sizeof(servers->rdma) + 8];
	int err;

	applet_run_texts(&servers->server[LISTEN].run, "trsvcid", "", set_port, port);
	snprintf(text, sizeof(text), "%.*s:%s%s", (int)host, servers->rdma, port,
		strchr(servers->rdma, '?'));
	err = load_addr_read(text, LOAD_PORT, false, &sources->rdma.dst, &sources->rdma.backend,
		&sources->rdma.no_crc, diag);
	sources->socket = sources->rdma.dst;
	return err;
}

int bench_servers_sources(
	const struct bench_servers *servers, struct bench_sources *sources, struct diag *diag)
{
	for (size_t i = 0; i < sizeof(row_order) / sizeof(*row_order); i++) {
		struct found found = { .sources = sources, .scheme = row_order[i] };

		found.server = servers->server[SERVE].run.call.pid;
		applet_run_texts(&servers->server[SERVE].run, "rdmastor", "", add_uri, &found);
		found.server = servers->server[EXPORT].run.call.pid;
		applet_run_texts(&servers->server[EXPORT].run, "nbd_uris", "", add_uri, &found);
	}
	add_raw(sources, servers->server[LISTEN].run.call.pid);
	bench_kernel_sources(servers->kernel, sources);
	return set_addresses(servers, sources, diag);
}

void bench_servers_rehearse(struct bench_sources *sources, bool kernel)
{
	const struct matrix_disk disk = sources->disk[0];

	sources->count = 0;
	for (size_t i = 0; i < sizeof(row_order) / sizeof(*row_order); i++) {
		char *name = sources->name[sources->count];

		snprintf(name, sizeof(*sources->name), "%.*s", (int)strcspn(row_order[i], ":"),
			row_order[i]);
		sources->disk[sources->count] = disk;
		sources->disk[sources->count++].name = name;
	}
	add_raw(sources, 0);
	if (kernel)
		bench_kernel_rehearse(sources, &disk);
}

int bench_servers_stop(struct bench *bench, struct bench_servers *servers)
{
	int rc;

	if (!servers)
		return EXIT_DONE;
	rc = bench_kernel_stop(bench, servers->kernel);
	for (unsigned i = 0; i < SERVERS; i++)
		bench_child_expire(&servers->server[i]);
	for (unsigned i = 0; i < SERVERS; i++)
		bench_child_free(bench, &servers->server[i]);
	bench_folder_remove(&servers->folder);
	free(servers);
	return rc;
}
