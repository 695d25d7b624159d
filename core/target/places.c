/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decide which connections are kept. A peer without a valid login competes first with others of its
 * own address, then with the network and the address that hold most, and never with an admitted
 * host. */
#include "places.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MSEC 1000000ull
/* If there are more connections than this, a host that is alone leaves a sixteenth to others. */
#define OTHERS_FROM 64

void target_places_refuse(struct target_places *places, const struct diag *why)
{
	uint64_t now = loop_clock();

	places->refused++;
	if (!places->full ||
		(places->reported_ns && now - places->reported_ns < TARGET_REPORT_MS * MSEC))
		return;
	places->reported_ns = now;
	places->full(why, places->user);
}

static void class_join(struct target_places *places, struct target_place *place, unsigned class)
{
	place->class = (uint8_t) class;
	places->of[class]++;
	if (class == TARGET_HOST)
		return;
	place->origin->of[class]++;
	place->next = NULL;
	place->prev = places->last[class];
	*(place->prev ? &place->prev->next : &places->first[class]) = place;
	places->last[class] = place;
}

static void class_leave(struct target_places *places, struct target_place *place)
{
	unsigned class = place->class;

	if (place->evicted)
		return;
	places->of[class]--;
	if (class == TARGET_HOST)
		return;
	place->origin->of[class]--;
	*(place->prev ? &place->prev->next : &places->first[class]) = place->next;
	*(place->next ? &place->next->prev : &places->last[class]) = place->prev;
}

/* Count connections of the class against its quota. */
static unsigned excess(
	const struct target_places *places, const struct target_origin *origin, unsigned class)
{
	unsigned announced =
		class == TARGET_STRANGER ? origin->leaders * places->limit.announced : 0;

	return origin->of[class] > announced ? origin->of[class] - announced : 0;
}

static bool evict(struct target_places *places, struct target_place *place)
{
	if (!place || places->leaving >= TARGET_LEAVING)
		return false;
	class_leave(places, place);
	place->evicted = true;
	places->leaving++;
	places->evict(place);
	return true;
}

/* Weigh by the network that has most beyond what was announced, then by the address; 0: none. */
static void weigh(struct target_places *places, struct target_origin *origin, unsigned class)
{
	uint64_t own = excess(places, origin, class), all = own;

	for (const struct target_origin *o = places->origins; own && origin->net && o; o = o->next)
		if (o != origin && o->net == origin->net)
			all += excess(places, o, class);
	origin->weight = own ? all << 32 | own : 0;
}

/* Find the oldest of one address; NULL: of the one that weighs most. */
static struct target_place *oldest(
	struct target_places *places, unsigned class, const struct target_origin *origin)
{
	struct target_place *place = places->first[class];
	uint64_t most = 1;

	for (struct target_origin *o = places->origins; !origin && o; o = o->next) {
		weigh(places, o, class);
		if (o->weight > most)
			most = o->weight;
	}
	while (place && (origin ? place->origin != origin : place->origin->weight < most))
		place = place->next;
	return place;
}

/* Announced connections go last, but they go: otherwise one host could hold all places with
 * them. */
bool target_places_evict(struct target_places *places)
{
	return evict(places, oldest(places, TARGET_STRANGER, NULL)) ||
	       evict(places, oldest(places, TARGET_GUEST, NULL)) ||
	       evict(places, places->first[TARGET_STRANGER]);
}

static unsigned strangers(const struct target_places *places)
{
	unsigned count = 0;

	for (const struct target_origin *origin = places->origins; origin; origin = origin->next)
		count += excess(places, origin, TARGET_STRANGER);
	return count;
}

static struct target_origin *find_origin(
	struct target_places *places, const struct addr *peer, char name[ADDR_TEXT])
{
	struct target_origin *origin = places->origins;

	name[0] = 0;
	if (peer->ss.ss_family != AF_UNIX)
		addr_host(peer, name);
	while (origin && strcmp(origin->name, name))
		origin = origin->next;
	return origin;
}

/* File permissions protect a unix socket, and one user may start as many clients at once as there
 * are places: no quotas there. */
static bool make_room(struct target_places *places, const struct target_origin *origin, bool quotas)
{
	unsigned all = places->limit.connections,
		 others = places->of[TARGET_STRANGER] + places->of[TARGET_GUEST];

	if (quotas && origin && excess(places, origin, TARGET_STRANGER) >= TARGET_STRANGERS_ADDR)
		return evict(places, oldest(places, TARGET_STRANGER, origin));
	if (quotas && strangers(places) >= TARGET_STRANGERS)
		return evict(places, oldest(places, TARGET_STRANGER, NULL));
	if (places->count - places->leaving >= all ||
		(places->limit.listed && others >= all - all / 4))
		return target_places_evict(places);
	return true;
}

bool target_places_room(struct target_places *places, const struct addr *peer)
{
	struct diag why = { 0 };
	char name[ADDR_TEXT];

	if (make_room(places, find_origin(places, peer, name), peer->ss.ss_family != AF_UNIX))
		return true;
	if (!name[0])
		strcpy(name, "unix socket");
	if (places->leaving >= TARGET_LEAVING)
		diag_set(&why, DIAG_BUSY, EBUSY,
			"%s: refused: %u connections are still being closed", name,
			places->leaving);
	else
		diag_set(&why, DIAG_BUSY, EBUSY, "%s: refused: all %u connections are in use", name,
			places->limit.connections);
	target_places_refuse(places, &why);
	return false;
}

/* An IPv6 host can use any address of its /64. */
static uint64_t network(const struct addr *peer)
{
	const struct sockaddr_in6 *in6 = (const void *)&peer->ss;
	uint64_t net = 0;

	if (peer->ss.ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		memcpy(&net, &in6->sin6_addr, sizeof(net));
	return net;
}

void target_places_enter(
	struct target_places *places, struct target_place *place, const struct addr *peer)
{
	char name[ADDR_TEXT];
	struct target_origin *origin = find_origin(places, peer, name);

	if (!origin) {
		origin = calloc(1, sizeof(*origin));
		if (origin) {
			strcpy(origin->name, name);
			origin->net = network(peer);
		} else {
			origin = &places->unknown;
		}
	}
	if (!origin->count++) {
		origin->next = places->origins;
		places->origins = origin;
	}
	places->count++;
	place->origin = origin;
	class_join(places, place, TARGET_STRANGER);
}

static void origin_put(struct target_places *places, struct target_origin *origin)
{
	struct target_origin **at = &places->origins;

	if (--origin->count)
		return;
	while (*at != origin)
		at = &(*at)->next;
	*at = origin->next;
	if (origin != &places->unknown)
		free(origin);
}

void target_places_guest(struct target_places *places, struct target_place *place)
{
	if (place->evicted)
		return;
	class_leave(places, place);
	if (places->of[TARGET_GUEST] >= TARGET_GUESTS)
		evict(places, oldest(places, TARGET_GUEST, NULL));
	class_join(places, place, TARGET_GUEST);
}

/* Half of all if there are other hosts or a list of hosts; a host that is alone gets all but what
 * others need to connect. */
static unsigned most_of(const struct target_places *places, const struct target_host *host)
{
	unsigned all = places->limit.connections;

	if (places->limit.listed || places->hosts != host || host->next)
		return (all + 1) / 2;
	return all < OTHERS_FROM ? all : all - all / 16;
}

static struct target_host *find_host(struct target_places *places, const char *name)
{
	struct target_host *host = places->hosts;
	size_t size = strlen(name) + 1;

	while (host && strcmp(host->name, name))
		host = host->next;
	if (host)
		return host;
	host = calloc(1, sizeof(*host) + size);
	if (host)
		host->share = calloc(places->shares ? places->shares : 1, sizeof(*host->share));
	if (!host || !host->share) {
		free(host);
		return NULL;
	}
	memcpy(host->name, name, size);
	host->next = places->hosts;
	places->hosts = host;
	return host;
}

static void host_put(struct target_places *places, struct target_host *host)
{
	struct target_host **at = &places->hosts;

	if (host->connections)
		return;
	while (*at != host)
		at = &(*at)->next;
	*at = host->next;
	free(host->share);
	free(host);
}

bool target_places_host(
	struct target_places *places, struct target_place *place, const char *name, bool leads)
{
	struct target_host *host = find_host(places, name);
	struct diag why = { 0 };
	unsigned most = host ? most_of(places, host) : 0;

	if (!host || host->connections >= most) {
		if (host)
			diag_set(&why, DIAG_BUSY, EBUSY,
				"%.224s: refused: it has %u connections, must be at most %u", name,
				host->connections, most);
		else
			diag_set(&why, DIAG_BUSY, ENOMEM, "%.224s: refused: out of memory", name);
		target_places_refuse(places, &why);
		return false;
	}
	host->connections++;
	place->host = host;
	place->leads = leads;
	place->origin->leaders += leads;
	class_leave(places, place);
	if (!place->evicted)
		class_join(places, place, TARGET_HOST);
	return true;
}

void target_places_leave(struct target_places *places, struct target_place *place)
{
	struct target_origin *origin = place->origin;

	class_leave(places, place);
	places->count--;
	places->leaving -= place->evicted;
	origin->leaders -= place->leads;
	origin_put(places, origin);
	if (place->host && !--place->host->connections)
		host_put(places, place->host);
	*place = (struct target_place){ 0 };
}
