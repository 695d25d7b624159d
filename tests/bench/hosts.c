/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The cost of many hosts to a server: connects ever more of them, each with a name and a connection
 * of its own, and reads 4 KiB at random places at QD1, first with the first host alone, then with
 * all. Prints for each step, on a line: hosts, CPU time of the server for a read in us with one and
 * with all of them active, and resident and locked memory of the server for each host of this step
 * in KiB, connected and after its first reads. hosts PID URI READS HOSTS… */
#include "bdev.h"
#include "names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "applet.h"

#define HOSTS_MAX 4096
#define BYTES     4096
#define SOURCES   8 /* addresses of loopback: a target leaves room to other networks */

const struct applet *const applets[] = { NULL };

struct host {
	struct bdev *disk;
	struct lane *lane;
	struct io io;
	struct buf buf;
};

static struct hosts {
	struct loop *loop;
	struct pool *pool;
	struct host host[HOSTS_MAX];
	unsigned connected, active;
	uint64_t seed, left; /* left: reads to submit */
	volatile int idle;
} hosts;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "hosts: %s: %s\n", what, why);
	exit(1);
}

static void submit(struct host *host)
{
	hosts.left--;
	hosts.seed = hosts.seed * 6364136223846793005u + 1442695040888963407u;
	host->io.off = (hosts.seed >> 20) % (host->disk->lim.size / BYTES) * BYTES;
	bdev_submit(host->lane, &host->io);
}

static void done(struct io *io)
{
	struct host *host = container_of(io, struct host, io);

	if (io->status)
		die(host->disk->uri, strerror(-io->status));
	if (hosts.left)
		submit(host);
	else if (!--hosts.active)
		hosts.idle = 1;
}

static void read_with(unsigned count, uint64_t reads)
{
	hosts.idle = 0;
	hosts.left = reads;
	hosts.active = count;
	for (unsigned i = 0; i < count; i++)
		submit(&hosts.host[i]);
	loop_wait(hosts.loop, &hosts.idle, 0);
}

static void connect_host(const char *uri, unsigned i)
{
	struct host *host = &hosts.host[i];
	struct bdev_env env = { .timeout_ms = 30000 };
	struct diag why = { 0 };
	char from[URI_MAX], uuid[UUID_TEXT];
	void *lower;

	if (getrandom(env.hostid, sizeof(env.hostid), 0) != sizeof(env.hostid))
		die("getrandom", "failed");
	uuid_mark_random(env.hostid);
	nqn_of_uuid(env.hostnqn, env.hostid);
	snprintf(env.initiator, sizeof(env.initiator), IQN_OWN "%s", uuid_text(uuid, env.hostid));
	snprintf(from, sizeof(from), "%s%csrc=127.0.0.%u", uri, strchr(uri, '?') ? '&' : '?',
		2 + i % SOURCES);
	if (bdev_open(&host->disk, hosts.loop, from, &env, &why) ||
		lane_open(&host->lane, host->disk, hosts.loop, &why) ||
		lane_map(host->lane, hosts.pool, &why))
		die(from, why.text);
	host->buf = pool_buf(hosts.pool, i);
	lower = calloc(1, host->disk->lim.io_size + 8u);
	if (!lower)
		die(from, "no memory");
	host->io = (struct io){
		.kind = IO_READ, .len = BYTES, .buf = &host->buf, .done = done, .lower = lower
	};
}

/* CPU time of the server so far, in us. */
static double cpu_us(int pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		die("the server", "has ended");
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Memory of the server in KiB: resident, and what is locked or pinned of it. */
static void get_memory(int pid, double kib[2])
{
	char path[64], line[256];
	unsigned long value;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "r");
	if (!status)
		die(path, "can't be read");
	kib[0] = kib[1] = 0;
	while (fgets(line, sizeof(line), status)) {
		if (sscanf(line, "VmRSS: %lu", &value) == 1)
			kib[0] = (double)value;
		if (sscanf(line, "VmLck: %lu", &value) == 1 ||
			sscanf(line, "VmPin: %lu", &value) == 1)
			kib[1] += (double)value;
	}
	fclose(status);
}

static double read_cost(int pid, unsigned count, uint64_t reads)
{
	double before;

	read_with(count, reads / 10 + 2 * count);
	before = cpu_us(pid);
	read_with(count, reads);
	return (cpu_us(pid) - before) / (double)reads;
}

static void step(int pid, const char *uri, unsigned count, uint64_t reads)
{
	double before[2], idle[2], used[2], one, all, more = count - hosts.connected;

	get_memory(pid, before);
	while (hosts.connected < count)
		connect_host(uri, hosts.connected++);
	get_memory(pid, idle);
	one = read_cost(pid, 1, reads);
	all = read_cost(pid, count, reads);
	get_memory(pid, used);
	printf("%u %.3f %.3f %.2f %.2f %.2f %.2f\n", count, one, all, (idle[0] - before[0]) / more,
		(idle[1] - before[1]) / more, (used[0] - before[0]) / more,
		(used[1] - before[1]) / more);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct diag why = { 0 };

	if (argc < 5)
		die("usage", "hosts PID URI READS HOSTS…");
	loop_raise_fd_limit();
	if (loop_new(&hosts.loop, &(struct loop_options){ .name = "hosts" }, &why) ||
		pool_new(&hosts.pool, BYTES, HOSTS_MAX, &why))
		die("start", why.text);
	for (int i = 4; i < argc; i++) {
		unsigned count = (unsigned)atoi(argv[i]);

		if (count <= hosts.connected || count > HOSTS_MAX)
			die(argv[i], "not an ascending number of hosts");
		if (count > (uint64_t)atoll(argv[3]))
			die(argv[i], "more hosts than reads");
		step(atoi(argv[1]), argv[2], count, (uint64_t)atoll(argv[3]));
	}
	return 0; /* the kernel closes all connections at once */
}
