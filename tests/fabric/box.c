/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* box [OPTION]... -- COMMAND: runs a command as if on a node of a simulated InfiniBand fabric; see
 * tests/fabric/lib.sh. Needs root for a mount name space, and a kernel with seccomp user
 * notification (5.9). Ends with the command's status. */
#include "box.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX 4096

struct counter {
	const char *direction;
	uint8_t mgmt_class, method;
	uint16_t attr;
	unsigned count;
};

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void box_die(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("box: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(125); /* the program dies with us */
}

void box_log(struct box *box, const char *fmt, ...)
{
	va_list args;

	if (!box->log)
		return;
	va_start(args, fmt);
	vfprintf(box->log, fmt, args);
	va_end(args);
	fputc('\n', box->log);
	fflush(box->log);
}

void count_mad(struct box *box, const char *direction, const uint8_t *mad)
{
	const struct mad_hdr *hdr = (const void *)mad;
	const struct counter like = { direction, hdr->mgmt_class, hdr->method, get_be16(hdr->attr),
		1 };

	for (unsigned i = 0; i < box->counters; i++) {
		struct counter *counter = &box->counter[i];

		if (counter->direction != like.direction ||
			counter->mgmt_class != like.mgmt_class || counter->method != like.method ||
			counter->attr != like.attr)
			continue;
		counter->count++;
		return;
	}
	box->counter = realloc(box->counter, (box->counters + 1) * sizeof(like));
	if (!box->counter)
		box_die("out of memory");
	box->counter[box->counters++] = like;
}

static void log_counters(struct box *box)
{
	box_log(box, "mads");
	for (unsigned i = 0; i < box->counters; i++) {
		const struct counter *counter = &box->counter[i];

		box_log(box, "mads %s class 0x%02x method 0x%02x attribute 0x%04x: %u",
			counter->direction, counter->mgmt_class, counter->method, counter->attr,
			counter->count);
	}
}

/* --- system calls of the program */

static void opened(struct box *box, const struct seccomp_notif *call)
{
	int flags = (int)call->data.args[call->data.nr == SYS_openat ? 2 : 1], fd;
	char path[BOX_PATH];

	mem_path(call, path);
	fd = file_open(box, call, path, flags);
	if (fd != -ENOENT) {
		mem_answer(box, call, fd < 0 ? 0 : fd, fd < 0 ? fd : 0);
		return;
	}
	if (!strncmp(path, "/sys/class/infiniband/", strlen("/sys/class/infiniband/")))
		sys_refresh(box);
	mem_pass(box, call);
}

static void wrote_target(struct box *box, struct file *file, const struct seccomp_notif *call)
{
	char line[LINE_MAX];
	ssize_t len = mem_gather(call, line, sizeof(line) - 1);
	int err = (int)len;

	if (len >= 0) {
		line[len] = 0;
		err = srp_add_target(box, file->port, line);
	}
	mem_answer(box, call, err ? 0 : len, err);
}

static void called(struct box *box, const struct seccomp_notif *call)
{
	int nr = call->data.nr;
	struct file *file;

	if (nr == SYS_openat || nr == SYS_open) {
		opened(box, call);
		return;
	}
	file = file_of(box, call);
	if (!file)
		mem_pass(box, call);
	else if (file->kind == FILE_ADD_TARGET && (nr == SYS_write || nr == SYS_writev))
		wrote_target(box, file, call);
	else if (file->kind == FILE_UMAD && nr == SYS_ioctl)
		umad_ioctl(box, file, call);
	else if (file->kind == FILE_UMAD && nr == SYS_read)
		umad_read(box, file, call);
	else if (file->kind == FILE_UMAD && nr == SYS_write)
		umad_write(box, file, call);
	else
		mem_answer(box, call, 0, nr == SYS_ioctl ? -ENOTTY : -EINVAL);
}

static void next_call(struct box *box)
{
	struct seccomp_notif call = { 0 };

	if (ioctl(box->listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
		return;
	file_reap(box); /* what the program has closed before this call is closed in it */
	called(box, &call);
}

/* --- life */

static int signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The kernel keeps the filter until the program is waited for. */
static void signalled(struct box *box, int from, pid_t program, int *status)
{
	struct signalfd_siginfo info;

	while (read(from, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			log_counters(box);
		else if (info.ssi_signo == SIGCHLD)
			waitpid(program, status, WNOHANG);
		else
			kill(program, (int)info.ssi_signo);
	}
}

enum { POLL_CALLS, POLL_SIGNALS, POLL_PORTS, POLLS = POLL_PORTS + BOX_PORTS + BOX_FILES };

static unsigned watch(const struct box *box, int sigfd, struct pollfd fds[POLLS])
{
	unsigned count = POLL_PORTS;

	fds[POLL_CALLS] = (struct pollfd){ .fd = box->listener, .events = POLLIN };
	fds[POLL_SIGNALS] = (struct pollfd){ .fd = sigfd, .events = POLLIN };
	for (unsigned i = 0; i < box->ports; i++) {
		const struct sim *sim = &box->port[i].sim;

		fds[count++] = (struct pollfd){ .fd = sim->data,
			.events = (short)(POLLIN | (sim->out.head ? POLLOUT : 0)) };
	}
	for (unsigned i = 0; i < BOX_FILES; i++)
		if (box->file[i].used)
			fds[count++] = (struct pollfd){ .fd = box->file[i].pipe };
	return count;
}

static void wire(struct box *box)
{
	for (unsigned i = 0; i < box->ports; i++) {
		struct port *port = &box->port[i];
		struct sim_packet packet;

		sim_flush(&port->sim);
		sim_drain(&port->sim);
		while (sim_get(&port->sim, &packet))
			umad_received(box, port, &packet);
	}
}

/* Serve until the program and all its children have ended. */
static int serve(struct box *box, pid_t program, int sigfd)
{
	struct pollfd fds[POLLS];
	int status = 0;

	for (;;) {
		uint64_t next = sent_timers(box), now = now_ms();
		int wait_ms = next == UINT64_MAX ? -1 : next > now ? (int)(next - now) : 0;
		unsigned count = watch(box, sigfd, fds);

		if (poll(fds, count, wait_ms) < 0 && errno != EINTR)
			box_die("poll: %m");
		if (fds[POLL_SIGNALS].revents)
			signalled(box, sigfd, program, &status);
		file_reap(box);
		wire(box);
		if (fds[POLL_CALLS].revents & POLLIN)
			next_call(box);
		else if (fds[POLL_CALLS].revents & POLLHUP)
			break;
	}
	waitpid(program, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void usage(void)
{
	fputs("usage: box [-n NODE]... [-s SOCKET] [-l LOG] [-m] [-i] [-C GUID=MASK|@FILE]... -- "
	      "COMMAND\n"
	      "  -n  the machine has a device at this node; up to 4 of them, without it none\n"
	      "  -s  name of the simulator's sockets (sim)\n"
	      "  -l  log of agents, of what is written to add_target, and, at the end and on "
	      "SIGUSR1, of MADs\n"
	      "  -m  requests to queue pair 1 of the node come here: for programs that answer\n"
	      "  -i  requests to no receiver fail at once\n"
	      "  -C  bits to set in the capability mask of a port, as this program sees it\n",
		stderr);
	exit(125);
}

struct options {
	const char *base, *node[BOX_PORTS];
	bool issm;
};

static void read_options(struct box *box, struct options *options, int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "+n:s:l:miC:")) != -1) {
		switch (opt) {
		case 'n':
			if (box->ports == BOX_PORTS)
				usage();
			options->node[box->ports++] = optarg;
			break;
		case 's':
			options->base = optarg;
			break;
		case 'l':
			box->log = fopen(optarg, "ae");
			if (!box->log)
				box_die("%s: %m", optarg);
			break;
		case 'm':
			options->issm = true;
			break;
		case 'i':
			box->instant = true;
			break;
		case 'C':
			caps_add(&box->caps, optarg);
			break;
		default:
			usage();
		}
	}
	if (optind >= argc)
		usage();
}

static void attach(struct box *box, const struct options *options)
{
	for (unsigned i = 0; i < box->ports; i++) {
		box->port[i].number = i;
		sim_attach(&box->port[i].sim, options->base, options->node[i],
			(uint32_t)getpid() * BOX_PORTS + i, options->issm);
	}
	setenv("BOX_SOCKET", options->base, 1); /* for fakeverbs.c */
	setenv("BOX_NODE", box->ports ? options->node[0] : "", 1);
}

int main(int argc, char **argv)
{
	static struct box box;
	struct options options = { .base = SIM_BASE };
	int sigfd, status;
	pid_t program;

	read_options(&box, &options, argc, argv);
	attach(&box, &options);
	sigfd = signals();
	program = child_start(&box, argv + optind);
	status = serve(&box, program, sigfd);
	for (unsigned i = 0; i < BOX_FILES; i++)
		if (box.file[i].used)
			umad_release(&box, &box.file[i]);
	for (unsigned i = 0; i < box.ports; i++)
		sim_detach(&box.port[i].sim);
	log_counters(&box);
	if (box.log)
		fclose(box.log);
	return status;
}
