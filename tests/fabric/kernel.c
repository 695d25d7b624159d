/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* kernel: what ib_umad answers a program, one line a question; the box has to answer as the kernel
 * does. */
#include "umad.h"
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#define DEVICE     "/dev/infiniband/umad0"
#define LID_UNUSED 0xbff0
#define TABLE_MAX  65536

static int fd;

static void tell(const char *what, ssize_t rc)
{
	printf("%s: %s\n", what, rc < 0 ? strerrorname_np(errno) : "ok");
}

static int ask_register(
	uint8_t mgmt_class, uint8_t version, uint32_t qpn, uint8_t rmpp, uint64_t methods)
{
	struct ib_user_mad_reg_req2 req = {
		.qpn = qpn,
		.mgmt_class = mgmt_class,
		.mgmt_class_version = version,
		.rmpp_version = rmpp,
		.method_mask = { methods },
	};

	return ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req) ? -1 : (int)req.id;
}

static ssize_t ask(
	int agent, uint16_t lid, uint8_t method, uint16_t attr, uint64_t tid, uint32_t timeout_ms)
{
	struct umad umad = {
		.hdr = { .id = (uint32_t)agent,
			.timeout_ms = timeout_ms,
			.qpn = htonl(1),
			.qkey = htonl(UMAD_QKEY),
			.lid = htons(lid) },
	};
	struct sa_hdr *sa = (void *)umad.mad;

	sa->mad = (struct mad_hdr){ 1, MAD_CLASS_SA, SA_CLASS_VERSION, method, .tid = put_be64(tid),
		.attr = put_be16(attr) };
	return write(fd, &umad, sizeof(umad));
}

static void agents(void)
{
	uint32_t none = 31;

	tell("a method of a class", ask_register(0x0a, 1, 1, 0, 2));
	tell("the same again", ask_register(0x0a, 1, 1, 0, 6));
	tell("another method", ask_register(0x0a, 1, 1, 0, 4));
	tell("another version", ask_register(0x0a, 2, 1, 0, 2));
	tell("no method", ask_register(0x0a, 1, 1, 0, 0));
	tell("queue pair 2", ask_register(0x0a, 1, 2, 0, 0));
	tell("a class of queue pair 0 on 1", ask_register(MAD_CLASS_SMP, 1, 1, 0, 0));
	tell("RMPP in a class without", ask_register(0x04, 1, 1, 1, 0));
	tell("a missing agent", ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &none));
	tell("P_Key indices too late", ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL));
}

static void times_out(int agent)
{
	struct umad umad;
	ssize_t got;

	tell("read of nothing", read(fd, &umad, sizeof(umad)));
	tell("a short write", write(fd, &umad, sizeof(umad.hdr) + 35));
	tell("a request", ask(agent, LID_UNUSED, MAD_GET, MAD_CLASS_PORT_INFO, 7, 100));
	tell("its transaction again", ask(agent, LID_UNUSED, MAD_GET, MAD_CLASS_PORT_INFO, 7, 100));
	tell("not readable yet",
		poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 20) ? -1 : 0);
	tell("readable then",
		poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 1000) == 1 ? 0 : -1);
	got = read(fd, &umad, sizeof(umad));
	printf("it comes back: %zd bytes, status %s, to LID 0x%x\n", got,
		strerrorname_np((int)umad.hdr.status), ntohs(umad.hdr.lid));
	tell("and is not readable any more",
		poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) ? -1 : 0);
}

static void table(int agent)
{
	static struct {
		struct ib_user_mad_hdr hdr;
		uint8_t mad[TABLE_MAX];
	} big;
	ssize_t got;

	ask(agent, (uint16_t)umad_sys("sm_lid"), MAD_GET_TABLE, SA_NODE_RECORD, 8, 1000);
	poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 2000);
	tell("a table into half a datagram", read(fd, &big, sizeof(big.hdr) + MAD_LEN / 2));
	tell("into one", read(fd, &big, sizeof(big.hdr) + MAD_LEN));
	printf("it says how long it is: %s\n",
		big.hdr.length > sizeof(big.hdr) + MAD_LEN ? "yes" : "no");
	got = read(fd, &big, big.hdr.length);
	printf("into that much: %s\n", got == (ssize_t)big.hdr.length ? "all of it" : "not all");
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void blocks(int agent)
{
	struct itimerval soon = { .it_value = { .tv_usec = 50000 } };
	struct sigaction act = { .sa_handler = on_alarm };
	struct umad umad;

	sigaction(SIGALRM, &act, NULL);
	fcntl(fd, F_SETFL, 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	tell("a read that waits, and a signal", read(fd, &umad, sizeof(umad)));
	ask(agent, LID_UNUSED, MAD_GET, MAD_CLASS_PORT_INFO, 9, 50);
	tell("a read that waits", read(fd, &umad, sizeof(umad)));
}

int main(void)
{
	int agent;

	setvbuf(stdout, NULL, _IOLBF, 0);
	fd = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		err(1, DEVICE);
	agents();
	agent = ask_register(MAD_CLASS_SA, SA_CLASS_VERSION, 1, 1, 0);
	times_out(agent);
	table(agent);
	blocks(agent);
	tell("a missing device", open("/dev/infiniband/umad9", O_RDWR));
	return 0;
}
