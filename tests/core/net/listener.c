/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Listening over several transports: what is retried, what fails at once, and what is handed over.
 */
/* Link: leap */
#include "ep_pair.h"
#include "listener.h"
#include "says.h"
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND 1000000000ull

static struct loop *loop;
static struct listener listeners[2];
static struct diag why;
static unsigned changes;
static volatile int streams;

static void stream(int fd, const struct addr *peer, void *user)
{
	(void)peer;
	cr_assert_eq(user, listeners);
	close(fd);
	streams++;
}

static void rdma(struct ep_incoming *incoming, void *user)
{
	(void)user;
	ep_reject(incoming, NULL, 0);
}

static void changed(struct listener *which)
{
	cr_assert_eq(which->user, listeners);
	changes++;
}

static void set(unsigned i, const char *host, unsigned transports)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	inet_pton(AF_INET, host, &in.sin_addr);
	listeners[i] = (struct listener){ .transports = transports,
		.stream = stream,
		.rdma = rdma,
		.changed = changed,
		.user = listeners,
		.timeout_ms = 1000,
		.at.len = sizeof(in) };
	memcpy(&listeners[i].at.ss, &in, sizeof(in));
}

static void begin(void)
{
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &why), 0);
}

static void end(void)
{
	listeners_close(listeners, 2);
	loop_free(loop);
}

Test(listener, an_address_that_is_not_there_is_waited_for, .init = begin, .fini = end)
{
	set(0, "192.0.2.1", TRANSPORT_TCP);
	cr_assert_eq(listeners_open(listeners, 1, loop, 1200, &why), -EADDRNOTAVAIL);
	diag_says(&why, DIAG_NOT_FOUND, "192.0.2.1:0", "address_not_available");
	cr_assert_eq(changes, 0);
	set(0, "192.0.2.1", TRANSPORT_TCP | TRANSPORT_IWARP);
	set(1, "127.0.0.1", TRANSPORT_TCP);
	cr_assert_eq(listeners_open(listeners, 2, loop, 0, &why), 0, "%s", why.text);
	cr_assert_eq(listeners[0].up, 0);
	cr_assert_eq(listeners[1].up, TRANSPORT_TCP);
	cr_assert_eq(changes, 1);
}

Test(listener, the_port_in_use_is_not_waited_for, .init = begin, .fini = end)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&listeners[1].at.ss;
	char text[ADDR_TEXT];

	set(0, "127.0.0.1", TRANSPORT_TCP);
	cr_assert_eq(listeners_open(listeners, 1, loop, 0, &why), 0, "%s", why.text);
	set(1, "127.0.0.1", TRANSPORT_TCP);
	in->sin_port = ((const struct sockaddr_in *)&listeners[0].bound.ss)->sin_port;
	cr_assert_eq(listeners_open(listeners + 1, 1, loop, 0, &why), -EADDRINUSE);
	diag_says(&why, DIAG_BUSY, addr_text(&listeners[1].at, text), "address_in_use");
}

Test(listener, what_comes_is_handed_on, .init = begin, .fini = end)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	set(0, "127.0.0.1", TRANSPORT_TCP);
	cr_assert_eq(listeners_open(listeners, 1, loop, 0, &why), 0, "%s", why.text);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&listeners[0].bound.ss,
			     listeners[0].bound.len),
		0);
	cr_assert(loop_wait(loop, &streams, loop_clock() + 5 * SECOND));
	close(fd);
}

static volatile int returned;

static void look(struct loop_timer *timer)
{
	returned = listeners[0].up & TRANSPORT_VERBS;
	loop_timer_set(loop, timer, loop_clock() + SECOND / 50);
}

Test(listener, a_device_that_goes_is_waited_for_again, .init = begin, .fini = end)
{
	struct loop_timer timer = { .fire = look };
	static struct ep_peer peer; /* outlives the test: the fixture closes */

	ep_pair_peer(loop, &peer);
	set(0, "127.0.0.1", TRANSPORT_TCP | TRANSPORT_VERBS);
	cr_assert_eq(listeners_open(listeners, 1, loop, 0, &why), 0, "%s", why.text);
	cr_assert_eq(listeners[0].up, TRANSPORT_TCP | TRANSPORT_VERBS);
	ep_pair_lose(&peer);
	cr_assert_eq(listeners[0].up, TRANSPORT_TCP);
	look(&timer);
	cr_assert(loop_wait(loop, &returned, loop_clock() + 10 * SECOND), "it is not tried again");
	cr_assert_eq(changes, 4);
	loop_timer_del(loop, &timer);
}

Test(listener, without_any_device_the_rest_is_enough, .init = begin, .fini = end)
{
	set(0, "127.0.0.1", TRANSPORT_TCP | TRANSPORT_VERBS);
	cr_assert_eq(listeners_open(listeners, 1, loop, 0, &why), 0, "%s", why.text);
	cr_assert_eq(listeners[0].up, TRANSPORT_TCP);
	set(1, "127.0.0.1", TRANSPORT_VERBS);
	cr_assert_eq(listeners_open(listeners + 1, 1, loop, 100, &why), -ENODEV);
	diag_says(&why, DIAG_NO_DEVICE, "127.0.0.1:0", "RDMA_device");
}
