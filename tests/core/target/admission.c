/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Admission: quotas, choice of the evicted connection, reserves, and rate of reports. */
/* Link: leap */
#include "admission.h"
#include "admission_limits.h"
#include "buffers.h"
#include "leap.h"
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>

#define MANY 1200
#define SEC  1000000000ull

static struct target_admission_entry entry[MANY];
static struct target_admission admission;
static struct target_admission_entry *evicted[MANY];
static unsigned evictions, reports;
static struct diag report;

static void evict(struct target_admission_entry *p)
{
	cr_assert(p->evicted);
	evicted[evictions++] = p;
}

static void full(const struct diag *why, void *user)
{
	cr_assert_eq(user, &admission);
	cr_assert_eq(why->code, DIAG_BUSY);
	reports++;
	report = *why;
}

static void begin(unsigned connections, bool listed)
{
	admission = (struct target_admission){
		.limit = { .connections = connections, .announced = 64, .listed = listed },
		.quotas = 2,
		.evict = evict,
		.full = full,
		.user = &admission
	};
}

static struct addr address(unsigned number)
{
	struct addr addr = { .len = sizeof(struct sockaddr_in) };
	struct sockaddr_in *in = (void *)&addr.ss;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(0x0a000000 + number);
	in->sin_port = htons((uint16_t)(1000 + number)); /* does not count */
	return addr;
}

static bool enter_addr(unsigned i, const struct addr *addr)
{
	if (!target_admission_make_room(&admission, addr))
		return false;
	target_admission_add(&admission, &entry[i], addr);
	return true;
}

static bool enter(unsigned i, unsigned from)
{
	struct addr addr = address(from);

	static uint16_t port;

	((struct sockaddr_in *)(void *)&addr.ss)->sin_port = htons(++port);
	return enter_addr(i, &addr);
}

/* Of IPv6: 2001:db8::/32, a /64 of it, and the number in that. */
static bool enter6(unsigned i, uint8_t net, uint16_t number)
{
	struct addr addr = { .len = sizeof(struct sockaddr_in6) };
	struct sockaddr_in6 *in6 = (void *)&addr.ss;

	in6->sin6_family = AF_INET6;
	in6->sin6_addr = (struct in6_addr){ { { 0x20, 1, 0xd,
		0xb8, [7] = net, [14] = (uint8_t)(number >> 8), [15] = (uint8_t)number } } };
	return enter_addr(i, &addr);
}

/* What was evicted goes, as connections do after a while. */
static void gone(void)
{
	for (unsigned i = 0; i < evictions; i++) {
		target_admission_remove(&admission, evicted[i]);
		*evicted[i] = (struct target_admission_entry){ 0 };
	}
	evictions = 0;
}

static void end(void)
{
	gone();
	for (unsigned i = 0; i < MANY; i++)
		if (entry[i].peer_addr)
			target_admission_remove(&admission, &entry[i]);
	cr_assert_eq(admission.count, 0);
	cr_assert_eq(admission.evicted, 0);
	cr_assert(!admission.of[0] && !admission.of[1] && !admission.of[2]);
	cr_assert(!admission.peer_addrs && !admission.networks && !admission.hosts);
}

Test(target_admission, pending_connections_of_one_address_compete_among_themselves)
{
	begin(1024, false);
	cr_assert(enter(0, 1));
	for (unsigned i = 1; i <= TARGET_PENDING_ADDR_MAX; i++)
		cr_assert(enter(i, 2));
	cr_assert_eq(evictions, 0);
	for (unsigned i = 0; i < 40; i++) {
		cr_assert(enter(100 + i, 2));
		cr_assert_eq(evictions, i + 1);
		cr_assert_eq(evicted[i], i < TARGET_PENDING_ADDR_MAX
						 ? &entry[1 + i]
						 : &entry[100 + i - TARGET_PENDING_ADDR_MAX]);
	}
	cr_assert_eq(admission.of[TARGET_PENDING], 1 + TARGET_PENDING_ADDR_MAX);
	cr_assert(!entry[0].evicted);
	end();
}

/* There, handshakes are ended only at the limit. */
Test(target_admission, unix_sockets_have_no_quota)
{
	const struct addr local = { .ss.ss_family = AF_UNIX, .len = sizeof(sa_family_t) };

	begin(100, false);
	for (unsigned i = 0; i < 100; i++) {
		cr_assert(target_admission_make_room(&admission, &local));
		target_admission_add(&admission, &entry[i], &local);
	}
	cr_assert_eq(evictions, 0);
	cr_assert(enter(100, 1));
	cr_assert_eq(evictions, 1);
	cr_assert_eq(evicted[0], &entry[0]);
	end();
}

/* A thousand connections of as many addresses: the one of a host that is slow to come is not the
 * first to go as long as some address has more. */
Test(target_admission, pending_connections_of_all_addresses)
{
	begin(1024, false);
	cr_assert(enter(0, 1));
	for (unsigned i = 0; i < 63; i++)
		cr_assert(enter(1 + i, 2 + i / 2));
	cr_assert_eq(evictions, 0);
	cr_assert(enter(100, 500));
	cr_assert_eq(evictions, 1);
	cr_assert_eq(evicted[0], &entry[1]);
	for (unsigned i = 0; i < 1000; i++) {
		cr_assert(enter(101 + i, 1000 + i));
		gone();
		cr_assert_leq(admission.count, TARGET_PENDING_MAX);
	}
	cr_assert_eq(admission.refused, 0);
	end();
}

/* Many addresses of one /64 are one peer's, as far as others are concerned; among themselves the
 * address that has most makes room. */
Test(target_admission, pending_connections_of_one_network)
{
	begin(1024, false);
	for (unsigned i = 0; i < 3; i++)
		cr_assert(enter6(i, 1, 1));
	cr_assert(enter6(3, 2, 1));
	for (unsigned i = 4; i < TARGET_PENDING_MAX - 2; i++)
		cr_assert(enter6(i, 2, (uint16_t)(10 + i)));
	cr_assert(enter6(TARGET_PENDING_MAX - 2, 2, 1));
	cr_assert(enter6(TARGET_PENDING_MAX - 1, 2, 9));
	cr_assert_eq(evictions, 0);
	for (unsigned i = 0; i < 40; i++)
		cr_assert(enter6(100 + i, 2, (uint16_t)(1000 + i)));
	cr_assert_eq(evictions, 40);
	cr_assert_eq(evicted[0], &entry[3], "of the address with two");
	for (unsigned i = 1; i < 40; i++)
		cr_assert_eq(evicted[i], &entry[3 + i]);
	for (unsigned i = 0; i < 3; i++)
		cr_assert(!entry[i].evicted);
	end();
}

/* Connections that a host announced do not count as pending, if they come from its address. */
Test(target_admission, announced_connections)
{
	begin(1024, false);
	cr_assert(enter(0, 1));
	cr_assert(target_admission_admit(&admission, &entry[0], "a", true));
	for (unsigned i = 1; i <= 64 + TARGET_PENDING_ADDR_MAX; i++)
		cr_assert(enter(i, 1));
	cr_assert_eq(evictions, 0);
	cr_assert(enter(100, 1));
	cr_assert_eq(evictions, 1);
	cr_assert_eq(evicted[0], &entry[1]);
	/* they don't take the room of others */
	for (unsigned i = 0; i < TARGET_PENDING_MAX - TARGET_PENDING_ADDR_MAX; i++)
		cr_assert(enter(200 + i, 2 + i));
	cr_assert_eq(evictions, 1);
	for (unsigned i = 2; i <= 64; i++)
		cr_assert(target_admission_admit(&admission, &entry[i], "a", false));
	cr_assert_eq(admission.hosts->connections, 64);
	end();
}

/* Order of eviction: pending connections beyond the limit of concurrent logins, then discovery
 * sessions, then announced connections, so that no host can block others by announcing many. */
Test(target_admission, who_makes_room)
{
	begin(80, false);
	cr_assert(enter(0, 1));
	cr_assert(target_admission_admit(&admission, &entry[0], "a", true));
	for (unsigned i = 1; i <= 40; i++)
		cr_assert(enter(i, 1));
	for (unsigned i = 41; i < 46; i++) {
		cr_assert(enter(i, 2));
		target_admission_set_discovery(&admission, &entry[i]);
	}
	for (unsigned i = 46; i < 80; i++)
		cr_assert(enter(i, 3 + i / 2));
	for (unsigned i = 0; i < 24; i++) {
		cr_assert(enter(100 + i, 100 + i));
		cr_assert(target_admission_admit(&admission, &entry[100 + i], "b", false));
		if (i < 18)
			cr_assert(evicted[i] >= &entry[46] && evicted[i] < &entry[80], "%u", i);
		else
			cr_assert_eq(evicted[i], i < 23 ? &entry[41 + i - 18] : &entry[1], "%u", i);
	}
	cr_assert_eq(admission.refused, 0);
	end();
}

/* A host without a complete login holds all connections: newcomers do not evict each other. */
Test(target_admission, newcomers_and_announced_connections)
{
	begin(64, false);
	for (unsigned i = 0; i < 4; i++) {
		cr_assert(enter(i, 1));
		cr_assert(target_admission_admit(&admission, &entry[i], "a", true));
	}
	for (unsigned i = 4; i < 64; i++)
		cr_assert(enter(i, 1));
	cr_assert_eq(evictions, 0);
	cr_assert(enter(64, 2));
	for (unsigned i = 0; i < 30; i++) {
		cr_assert(enter(65 + i, 1)); /* the hoarder is back each time */
		cr_assert(!entry[64].evicted, "%u", i);
		cr_assert_eq(evicted[i], &entry[4 + i], "%u", i);
	}
	cr_assert(target_admission_admit(&admission, &entry[64], "b", true));
	end();
}

Test(target_admission, newcomers_and_discovery_sessions)
{
	begin(80, false);
	for (unsigned i = 0; i < 16; i++) {
		cr_assert(enter(i, 1));
		cr_assert(target_admission_admit(&admission, &entry[i], "a", false));
	}
	for (unsigned i = 16; i < 80; i++) {
		cr_assert(enter(i, 1));
		target_admission_set_discovery(&admission, &entry[i]);
	}
	cr_assert(enter(80, 2));
	for (unsigned i = 0; i < 10; i++) {
		cr_assert(enter(81 + i, 1));
		target_admission_set_discovery(&admission, &entry[81 + i]);
		cr_assert(!entry[80].evicted, "%u", i);
	}
	cr_assert(target_admission_admit(&admission, &entry[80], "b", false));
	end();
}

/* An eviction may be under way when its login arrives. */
Test(target_admission, evicted_ones_are_not_admitted)
{
	begin(64, false);
	for (unsigned i = 0; i < 16; i++)
		cr_assert(enter(i, 1));
	cr_assert(enter(16, 1));
	cr_assert(entry[0].evicted);
	cr_assert(!target_admission_admit(&admission, &entry[0], "a", false));
	cr_assert_eq(admission.of[TARGET_ADMITTED], 0);
	cr_assert_eq(reports, 0);
	end();
}

/* A listener for IPv6 and IPv4 knows an IPv4 address as ::ffff:a.b.c.d. */
Test(target_admission, an_address_in_both_notations)
{
	struct addr mapped = { .len = sizeof(struct sockaddr_in6) };
	struct sockaddr_in6 *in6 = (void *)&mapped.ss;

	in6->sin6_family = AF_INET6;
	inet_pton(AF_INET6, "::ffff:10.0.0.1", &in6->sin6_addr);
	begin(1024, false);
	cr_assert(enter(0, 1));
	cr_assert(enter_addr(1, &mapped));
	cr_assert_eq(entry[0].peer_addr, entry[1].peer_addr);
	end();
}

Test(target_admission, discoveries)
{
	begin(1024, true);
	cr_assert(enter(0, 1));
	target_admission_set_discovery(&admission, &entry[0]);
	for (unsigned i = 1; i <= TARGET_DISCOVERY_MAX + 40; i++) {
		cr_assert(enter(i, 2));
		target_admission_set_discovery(&admission, &entry[i]);
		cr_assert_leq(admission.of[TARGET_DISCOVERY], TARGET_DISCOVERY_MAX);
	}
	cr_assert_eq(evictions, 41);
	cr_assert_eq(evicted[0], &entry[1]);
	cr_assert(!entry[0].evicted); /* the other address has more */
	end();
}

/* Everything that is not a host makes room for one, and hosts never do. */
Test(target_admission, room_for_hosts)
{
	char name[16];

	begin(100, true);
	for (unsigned i = 0; i < 60; i++) {
		cr_assert(enter(i, i));
		target_admission_set_discovery(&admission, &entry[i]);
	}
	for (unsigned i = 60; i < 75; i++)
		cr_assert(enter(i, i));
	cr_assert_eq(evictions, 0);
	for (unsigned i = 100; i < 200; i++) {
		cr_assert(enter(i, i), "%u", i);
		snprintf(name, sizeof(name), "host %u", i);
		cr_assert(target_admission_admit(&admission, &entry[i], name, true));
		gone();
	}
	cr_assert_eq(admission.of[TARGET_ADMITTED], 100);
	cr_assert_eq(admission.of[TARGET_PENDING] + admission.of[TARGET_DISCOVERY], 0);
	cr_assert_eq(admission.refused, 0);
	cr_assert(!enter(300, 300));
	cr_assert_eq(admission.refused, 1);
	cr_assert(!target_admission_evict(&admission));
	end();
}

/* With a list, a quarter is out of reach for all that have not shown that they are on it. */
Test(target_admission, kept_for_the_list)
{
	begin(16, true);
	for (unsigned i = 0; i < 40; i++) {
		cr_assert(enter(i, i));
		gone();
		cr_assert_leq(admission.count, 12);
	}
	end();
}

static unsigned admitted(unsigned first, const char *name)
{
	unsigned count = 0;

	while (first + count < MANY && enter(first + count, 1)) {
		if (!target_admission_admit(
			    &admission, &entry[first + count], name, count % 65 == 0))
			break;
		count++;
	}
	return count;
}

Test(target_admission, part_of_a_host)
{
	begin(1024, false);
	cr_assert_eq(admitted(0, "a"), 960);
	cr_assert(enter(1000, 2));
	cr_assert(target_admission_admit(
		&admission, &entry[1000], "b", true)); /* there is room left */
	end();
	begin(1024, false);
	cr_assert(enter(1000, 2));
	cr_assert(target_admission_admit(&admission, &entry[1000], "b", true));
	cr_assert_eq(admitted(0, "a"), 512);
	cr_assert(enter(1001, 2));
	cr_assert(target_admission_admit(&admission, &entry[1001], "b", false));
	end();
	begin(1024, true);
	cr_assert_eq(admitted(0, "a"), 512);
	end();
	begin(4, false);
	cr_assert_eq(admitted(0, "a"), 4);
	end();
}

/* --- no list: anybody can give any number of names */

static bool host_name(unsigned i, unsigned number)
{
	char name[16];

	snprintf(name, sizeof(name), "host %u", number);
	return target_admission_admit(&admission, &entry[i], name, true);
}

/* A new name for each connection. */
static unsigned names_of(unsigned first, unsigned count, unsigned from)
{
	unsigned got = 0;

	while (got < count && enter(first + got, from) && host_name(first + got, first + got))
		got++;
	return got;
}

static unsigned still_in(unsigned first, unsigned count)
{
	unsigned in = 0;

	for (unsigned i = first; i < first + count; i++)
		in += entry[i].peer_addr && !entry[i].evicted;
	return in;
}

/* However many names: all but what others need to connect. */
Test(target_admission, names_of_one_address)
{
	begin(1024, false);
	cr_assert_eq(names_of(0, 1024, 1), 960);
	cr_assert_str_eq(report.text,
		"host 960: refused: its address has 960 connections, must be at most 960");
	cr_assert_eq(evictions, 0);
	cr_assert_eq(names_of(1000, 1, 2), 1);
	cr_assert_eq(evictions, 0);
	end();
}

/* The newest of the address with most, down to a quarter of all. */
Test(target_admission, an_address_with_most_gives_way)
{
	begin(100, false);
	cr_assert_eq(names_of(0, 20, 1), 20);
	cr_assert_eq(names_of(20, 80, 2), 74 + 6);
	cr_assert_eq(evictions, 0);
	for (unsigned i = 0; i < 55; i++) {
		cr_assert_eq(names_of(100 + i, 1, 10 + i / 5), 1, "%u", i);
		cr_assert_eq(evictions, 1);
		cr_assert_eq(evicted[0], &entry[99 - i], "the newest");
		gone();
	}
	cr_assert_eq(still_in(20, 80), 25);
	cr_assert_eq(still_in(0, 20), 20);
	cr_assert(!enter(200, 99));
	cr_assert_eq(still_in(0, 200), 100);
	end();
}

/* An address takes nothing from itself, nor more than it leaves. */
Test(target_admission, addresses_end_up_equal)
{
	begin(100, false);
	cr_assert_eq(names_of(0, 60, 1), 60);
	cr_assert_eq(names_of(100, 40, 2), 40);
	cr_assert(!enter(99, 1));
	for (unsigned i = 0; i < 20; i++) {
		if (names_of(140 + i, 1, 2) != 1)
			break;
		gone();
	}
	cr_assert_eq(still_in(0, 60), 50);
	cr_assert_eq(still_in(100, 60), 50);
	end();
}

/* Connections without a login cost no host a connection: they take a few beyond all, from each
 * other. */
Test(target_admission, pending_connections_take_no_place_of_a_host)
{
	begin(16, false);
	cr_assert_eq(names_of(0, 16, 1), 16);
	for (unsigned i = 0; i < 50; i++) {
		cr_assert(enter(100 + i, 10 + i));
		gone();
	}
	cr_assert_eq(still_in(0, 16), 16);
	cr_assert_eq(still_in(100, 50), TARGET_PENDING_SPARE);
	cr_assert(host_name(149, 149));
	cr_assert_eq(evictions, 1);
	cr_assert_eq(evicted[0], &entry[15], "the newest of the address with most");
	gone();
	cr_assert_eq(still_in(0, 16), 15);
	end();
}

/* All addresses of a /64 are one. */
Test(target_admission, names_of_one_network)
{
	begin(100, false);
	for (unsigned i = 0; i < 90; i++) {
		cr_assert(enter6(i, 1, (uint16_t)i));
		cr_assert(host_name(i, i));
	}
	for (unsigned i = 90; i < 100; i++) {
		cr_assert(enter6(i, 2, (uint16_t)i));
		cr_assert(host_name(i, i));
	}
	cr_assert(!enter6(100, 1, 1000));
	for (unsigned i = 0; i < 10; i++) {
		cr_assert(enter6(110 + i, 3, (uint16_t)i));
		cr_assert_eq(evictions, i);
		cr_assert(host_name(110 + i, 110 + i));
		cr_assert_eq(evicted[i], &entry[89 - i]);
	}
	end();
}

/* Within a /64 the address with most gives way. */
Test(target_admission, names_of_one_address_of_a_network)
{
	begin(60, false);
	for (unsigned i = 0; i < 60; i++) {
		cr_assert(enter6(i, 1, i < 50 ? 7 : (uint16_t)i));
		cr_assert(host_name(i, i));
	}
	for (unsigned i = 0; i < 10; i++) {
		cr_assert(enter6(100 + i, 1, (uint16_t)(200 + i)));
		cr_assert(host_name(100 + i, 100 + i));
		cr_assert_eq(evicted[i], &entry[49 - i]);
	}
	cr_assert(!enter6(200, 1, 7), "it takes nothing from others");
	end();
}

/* Hosts on a list never give way. */
Test(target_admission, listed_hosts_stay)
{
	begin(16, true);
	for (unsigned i = 0; i < 16; i++)
		cr_assert(enter(i, 1) && host_name(i, i));
	cr_assert(!enter(100, 2));
	cr_assert_eq(evictions, 0);
	end();
}

/* On small servers, too: but the last one of an address stays. */
Test(target_admission, few_places)
{
	begin(2, false);
	cr_assert_eq(names_of(0, 2, 1), 2);
	cr_assert_eq(names_of(10, 1, 2), 1);
	cr_assert_eq(evicted[0], &entry[1]);
	gone();
	cr_assert(!enter(20, 3));
	end();
}

/* The parts of buffers belong to the host, one memory for all of its connections, made once; and
 * those of all its hosts to the network. */
Test(target_admission, quotas)
{
	struct target_quota *quota;

	begin(1024, false);
	for (unsigned i = 0; i < 4; i++)
		cr_assert(enter(i, 1 + i / 3));
	cr_assert(target_admission_admit(&admission, &entry[0], "a", true));
	cr_assert(target_admission_admit(&admission, &entry[1], "b", true));
	cr_assert(target_admission_admit(&admission, &entry[2], "a", true));
	cr_assert(target_admission_admit(&admission, &entry[3], "a", true));
	quota = entry[0].host->quota;
	cr_assert_eq(quota, entry[2].host->quota);
	cr_assert_neq(quota, entry[1].host->quota);
	cr_assert_neq(quota, entry[3].host->quota, "a name from elsewhere");
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(quota[i].up, entry[1].host->quota[i].up);
		cr_assert_neq(quota[i].up, entry[3].host->quota[i].up);
	}
	cr_assert_neq(quota[0].up, quota[1].up);
	quota[1].held = quota[1].up->held = 5;
	target_admission_remove(&admission, &entry[0]);
	entry[0] = (struct target_admission_entry){ 0 };
	cr_assert_eq(entry[2].host->quota[1].held, 5);
	cr_assert_eq(entry[1].host->quota[1].up->held, 5);
	end();
}

/* A name on the list is one host, wherever it comes from, and needs to share with no other. */
Test(target_admission, shares_of_the_list)
{
	begin(1024, true);
	for (unsigned i = 0; i < 3; i++)
		cr_assert(enter(i, i / 2));
	cr_assert(target_admission_admit(&admission, &entry[0], "a", true));
	cr_assert(target_admission_admit(&admission, &entry[1], "b", true));
	cr_assert(target_admission_admit(&admission, &entry[2], "a", true));
	cr_assert_eq(entry[0].host, entry[2].host);
	for (unsigned i = 0; i < 2; i++)
		cr_assert_neq(entry[0].host->quota[i].up, entry[1].host->quota[i].up);
	end();
}

/* However fast connections come and slow they go: no more than both limits together. */
Test(target_admission, those_on_their_way_out_are_bounded)
{
	unsigned entered = 0;

	begin(200, false);
	for (unsigned i = 0; i < MANY; i++)
		entered += enter(i, i % 7);
	cr_assert_eq(admission.evicted, TARGET_EVICTED_MAX);
	cr_assert_leq(admission.count, TARGET_PENDING_MAX + TARGET_EVICTED_MAX);
	cr_assert_eq(admission.refused, MANY - entered);
	cr_assert_eq(reports, 1);
	end();
}

/* All are counted, one in 10 s is reported. */
Test(target_admission, reports)
{
	begin(1, false);
	cr_assert(enter(0, 0));
	cr_assert(target_admission_admit(&admission, &entry[0], "a", false));
	for (unsigned s = 0; s < 25; s++) {
		for (unsigned i = 0; i < 10; i++)
			cr_assert(!enter(1, 1));
		leap_now += SEC;
	}
	cr_assert_eq(admission.refused, 250);
	cr_assert_eq(reports, 3);
	cr_assert_str_eq(report.text, "10.0.0.1: refused: all 1 connections are in use");
	end();
}

/* They say who it was, and which limit. */
Test(target_admission, reasons)
{
	struct addr local = { .ss.ss_family = AF_UNIX, .len = sizeof(sa_family_t) };

	begin(2, true);
	cr_assert(enter(0, 0));
	cr_assert(target_admission_admit(&admission, &entry[0], "a", false));
	cr_assert(enter(1, 0));
	cr_assert(!target_admission_admit(&admission, &entry[1], "a", false));
	cr_assert_str_eq(report.text, "a: refused: it has 1 connections, must be at most 1");
	cr_assert(target_admission_admit(&admission, &entry[1], "b", false));
	leap_now += 10 * SEC;
	cr_assert(!target_admission_make_room(&admission, &local));
	cr_assert_str_eq(report.text, "unix socket: refused: all 2 connections are in use");
	end();
	leap_now += 10 * SEC;
	begin(1024, false);
	for (unsigned i = 0; i <= TARGET_PENDING_MAX + TARGET_EVICTED_MAX; i++)
		cr_assert_eq(enter(i, i), i < TARGET_PENDING_MAX + TARGET_EVICTED_MAX);
	cr_assert_str_eq(report.text, "10.0.0.128: refused: 64 connections are still being closed");
	end();
}
