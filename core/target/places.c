/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decide which connections are kept. A peer without a valid login competes first with others of its
 * own address, then with the network and the address that hold most. Once it is admitted, it takes
 * a place of a host that has more than its part. */
#include "places.h"
#include "buffers.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MSEC 1000000ull
/* If there are more connections than this, a network or a host that is alone leaves a sixteenth to
 * others. */
#define OTHERS_FROM 64

/* Count a refusal; true: it is time to report one. */
static bool refused(struct target_places *places)
{
	uint64_t now;

	places->refused++;
	if (!places->full)
		return false;
	now = loop_clock();
	if (places->reported_ns && now - places->reported_ns < TARGET_REPORT_MS * MSEC)
		return false;
	places->reported_ns = now;
	return true;
}

void target_places_refuse(struct target_places *places, const struct diag *why)
{
	if (refused(places))
		places->full(why, places->user);
}

static void class_join(struct target_places *places, struct target_place *place, unsigned class)
{
	place->class = (uint8_t) class;
	places->of[class]++;
	place->origin->of[class]++;
	place->origin->network->hosts += class == TARGET_HOST;
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
	place->origin->of[class]--;
	place->origin->network->hosts -= class == TARGET_HOST;
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

	for (const struct target_origin *o = places->origins; own && o; o = o->next)
		if (o != origin && o->network == origin->network)
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

static unsigned strangers(const struct target_places *places)
{
	unsigned count = 0;

	for (const struct target_origin *origin = places->origins; origin; origin = origin->next)
		count += excess(places, origin, TARGET_STRANGER);
	return count;
}

/* The oldest announced connection of the address that has most of them. */
static struct target_place *oldest_announced(struct target_places *places)
{
	const struct target_origin *most = NULL;

	for (const struct target_origin *o = places->origins; o; o = o->next)
		if (o->leaders && o->of[TARGET_STRANGER] &&
			(!most || o->of[TARGET_STRANGER] > most->of[TARGET_STRANGER]))
			most = o;
	return most ? oldest(places, TARGET_STRANGER, most) : NULL;
}

/* A few newcomers can finish their login before others make them give way: what idles goes first.
 * Announced connections go, too: otherwise one host could hold all places with them. */
bool target_places_evict(struct target_places *places)
{
	return (strangers(places) > TARGET_SPARE &&
		       evict(places, oldest(places, TARGET_STRANGER, NULL))) ||
	       evict(places, oldest(places, TARGET_GUEST, NULL)) ||
	       evict(places, oldest_announced(places)) ||
	       evict(places, oldest(places, TARGET_STRANGER, NULL));
}

/* The address of the network that has most connections of hosts. */
static const struct target_origin *largest(
	const struct target_places *places, const struct target_network *network)
{
	const struct target_origin *most = NULL;

	for (const struct target_origin *o = places->origins; o; o = o->next)
		if (o->network == network && (!most || o->of[TARGET_HOST] > most->of[TARGET_HOST]))
			most = o;
	return most;
}

/* Find the connection of a host that would make room for one of that address: the newest of the
 * network that has most of them, if that is more than a quarter of all places, and more than the
 * other network has. In its own network: of the address that has most. NULL: there is none. */
static struct target_place *find_victim(const struct target_places *places,
	const struct target_network *network, const struct target_origin *origin)
{
	const struct target_network *most = places->networks;
	const struct target_origin *address = NULL;
	struct target_place *place = places->last[TARGET_HOST];
	unsigned part = places->limit.connections / 4;

	for (const struct target_network *n = most; n; n = n->next)
		if (n->hosts > most->hosts)
			most = n;
	if (places->limit.listed || !most || most->hosts <= (part ? part : 1))
		return NULL;
	if (most == network) {
		address = largest(places, network);
		if (address->of[TARGET_HOST] <= (origin ? origin->of[TARGET_HOST] : 0) + 1)
			return NULL;
	} else if (network && most->hosts <= network->hosts + 1) {
		return NULL;
	}
	while (address ? place->origin != address : place->origin->network != most)
		place = place->prev;
	return place;
}

static struct target_origin_key origin_key(const struct addr *peer)
{
	const struct sockaddr_in *in = (const void *)&peer->ss;
	const struct sockaddr_in6 *in6 = (const void *)&peer->ss;
	struct target_origin_key key = { .family = peer->ss.ss_family };

	if (key.family == AF_INET) {
		memcpy(key.ip, &in->sin_addr, sizeof(in->sin_addr));
	} else if (key.family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		key.family = AF_INET;
		memcpy(key.ip, in6->sin6_addr.s6_addr + 12, 4);
	} else if (key.family == AF_INET6) {
		memcpy(key.ip, &in6->sin6_addr, sizeof(key.ip));
		key.scope = in6->sin6_scope_id;
	} else if (key.family == ADDR_IB) {
		memcpy(key.ip, ((const struct addr_ib *)(const void *)&peer->ss)->gid,
			sizeof(key.ip));
	}
	return key;
}

static struct target_origin *find_origin(
	const struct target_places *places, const struct target_origin_key *key)
{
	struct target_origin *origin = places->origins;

	while (origin && memcmp(&origin->key, key, sizeof(*key)))
		origin = origin->next;
	return origin;
}

/* The /64; 0: not IPv6. */
static uint64_t network_v6(const struct addr *peer)
{
	const struct sockaddr_in6 *in6 = (const void *)&peer->ss;
	uint64_t net = 0;

	if (peer->ss.ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		memcpy(&net, &in6->sin6_addr, sizeof(net));
	return net;
}

static struct target_network *find_network(const struct target_places *places,
	const struct target_origin *origin, const struct addr *peer)
{
	struct target_network *network = places->networks;
	uint64_t v6 = network_v6(peer);

	if (origin || !v6)
		return origin ? origin->network : NULL;
	while (network && network->v6 != v6)
		network = network->next;
	return network;
}

static bool replace(struct target_places *places, struct target_place *place)
{
	return loop_clock() - place->since_ns >= TARGET_NEWCOMER_MS * MSEC && evict(places, place);
}

/* File permissions protect a unix socket, and one user may start as many clients at once as there
 * are places: no quotas there. */
static bool has_quotas(const struct addr *peer)
{
	return peer->ss.ss_family != AF_UNIX;
}

static bool crowded(const struct target_places *places, const struct target_origin *origin,
	const struct addr *peer)
{
	return has_quotas(peer) && origin &&
	       excess(places, origin, TARGET_STRANGER) >= TARGET_STRANGERS_ADDR;
}

static bool make_room(
	struct target_places *places, const struct target_origin *origin, const struct addr *peer)
{
	unsigned all = places->limit.connections, used = places->count - places->leaving,
		 others = places->of[TARGET_STRANGER] + places->of[TARGET_GUEST];

	if (crowded(places, origin, peer))
		return replace(places, oldest(places, TARGET_STRANGER, origin));
	if (has_quotas(peer) && strangers(places) >= TARGET_STRANGERS)
		return evict(places, oldest(places, TARGET_STRANGER, NULL));
	if (used < all && !(places->limit.listed && others >= all - all / 4))
		return true;
	/* A host's connection gives way only once this one is admitted. */
	return (!places->of[TARGET_GUEST] && used < all + TARGET_SPARE &&
		       find_victim(places, find_network(places, origin, peer), origin)) ||
	       target_places_evict(places);
}

bool target_places_room(struct target_places *places, const struct addr *peer)
{
	struct target_origin_key key = origin_key(peer);
	const struct target_origin *origin = find_origin(places, &key);
	struct diag why = { 0 };
	char name[ADDR_TEXT] = "unix socket";

	if (make_room(places, origin, peer))
		return true;
	/* Hot in a flood of connections: format text only for a report. */
	if (!refused(places))
		return false;
	if (key.family != AF_UNIX)
		addr_host(peer, name);
	if (places->leaving >= TARGET_LEAVING)
		diag_set(&why, DIAG_BUSY, EBUSY,
			"%s: refused: %u connections are still being closed", name,
			places->leaving);
	else if (crowded(places, origin, peer))
		diag_set(&why, DIAG_BUSY, EBUSY,
			"%s: refused: %u connections from this address have not logged in yet",
			name, TARGET_STRANGERS_ADDR);
	else
		diag_set(&why, DIAG_BUSY, EBUSY, "%s: refused: all %u connections are in use", name,
			places->limit.connections);
	places->full(&why, places->user);
	return false;
}

static struct target_network *get_network(struct target_places *places, const struct addr *peer)
{
	struct target_network *network = find_network(places, NULL, peer);

	if (network)
		return network;
	network = calloc(1, sizeof(*network));
	if (!network)
		return &places->nowhere;
	network->v6 = network_v6(peer);
	return network;
}

static struct target_origin *get_origin(struct target_places *places, const struct addr *peer)
{
	struct target_origin_key key = origin_key(peer);
	struct target_origin *origin = find_origin(places, &key);
	struct target_network *network = &places->nowhere;

	if (origin)
		return origin;
	origin = calloc(1, sizeof(*origin));
	if (origin) {
		origin->key = key;
		network = get_network(places, peer);
	} else if (places->unknown.count) {
		return &places->unknown;
	} else {
		origin = &places->unknown;
	}
	origin->network = network;
	origin->next = places->origins;
	places->origins = origin;
	if (!network->count++) {
		network->next = places->networks;
		places->networks = network;
	}
	return origin;
}

void target_places_enter(
	struct target_places *places, struct target_place *place, const struct addr *peer)
{
	struct target_origin *origin = get_origin(places, peer);

	origin->count++;
	places->count++;
	place->origin = origin;
	place->since_ns = loop_clock();
	class_join(places, place, TARGET_STRANGER);
}

static void network_put(struct target_places *places, struct target_network *network)
{
	struct target_network **at = &places->networks;

	if (--network->count)
		return;
	while (*at != network)
		at = &(*at)->next;
	*at = network->next;
	free(network->share);
	network->share = NULL;
	if (network != &places->nowhere)
		free(network);
}

static void origin_put(struct target_places *places, struct target_origin *origin)
{
	struct target_origin **at = &places->origins;

	if (--origin->count)
		return;
	while (*at != origin)
		at = &(*at)->next;
	*at = origin->next;
	network_put(places, origin->network);
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

static unsigned most_of_one(const struct target_places *places)
{
	unsigned all = places->limit.connections;

	return all < OTHERS_FROM ? all : all - all / 16;
}

/* Half of all if there are other hosts or a list of hosts; a host that is alone gets all but what
 * others need to connect. */
static unsigned most_of(const struct target_places *places, const struct target_host *host)
{
	if (places->limit.listed || places->hosts != host || host->next)
		return (places->limit.connections + 1) / 2;
	return most_of_one(places);
}

static struct target_share *new_shares(const struct target_places *places, unsigned of_each)
{
	size_t count = places->shares ? places->shares : 1;

	return calloc(count * of_each, sizeof(struct target_share));
}

static struct target_client *get_client(const struct target_places *places, const char *name)
{
	const struct target_host *host = places->hosts;
	struct target_client *client;

	while (host && strcmp(host->name, name))
		host = host->next;
	client = host ? host->client : calloc(1, sizeof(*client));
	if (client)
		client->hosts++;
	return client;
}

static void client_put(struct target_client *client)
{
	if (client && !--client->hosts)
		free(client);
}

/* A host on a list is a network of its own for the buffers, wherever its connections come from. */
static struct target_host *new_host(
	const struct target_places *places, struct target_network *network, const char *name)
{
	size_t size = strlen(name) + 1;
	struct target_host *host = calloc(1, sizeof(*host) + size);
	struct target_share *up;

	if (!host)
		return NULL;
	if (network && !network->share)
		network->share = new_shares(places, 1);
	host->network = network;
	host->share = new_shares(places, network ? 1 : 2);
	host->client = get_client(places, name);
	memcpy(host->name, name, size);
	if (!host->share || !host->client || (network && !network->share)) {
		client_put(host->client);
		free(host->share);
		free(host);
		return NULL;
	}
	up = network ? network->share : host->share + places->shares;
	for (unsigned i = 0; i < places->shares; i++)
		host->share[i].up = &up[i];
	return host;
}

static struct target_host *find_host(
	struct target_places *places, struct target_network *network, const char *name)
{
	struct target_host *host = places->hosts;

	while (host && (host->network != network || strcmp(host->name, name)))
		host = host->next;
	if (host)
		return host;
	host = new_host(places, network, name);
	if (!host)
		return NULL;
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
	client_put(host->client);
	free(host->share);
	free(host);
}

bool target_places_host(
	struct target_places *places, struct target_place *place, const char *name, bool leads)
{
	struct target_network *network = places->limit.listed ? NULL : place->origin->network;
	struct target_host *host;
	struct diag why = { 0 };

	if (place->evicted)
		return false;
	host = find_host(places, network, name);
	if (!host)
		diag_set(&why, DIAG_BUSY, ENOMEM, "%.224s: refused: out of memory", name);
	else if (host->connections >= most_of(places, host))
		diag_set(&why, DIAG_BUSY, EBUSY,
			"%.224s: refused: it has %u connections, must be at most %u", name,
			host->connections, most_of(places, host));
	else if (network && network->hosts >= most_of_one(places) &&
		 !evict(places, find_victim(places, network, place->origin)))
		diag_set(&why, DIAG_BUSY, EBUSY,
			"%.96s: refused: its address has %u connections, must be at most %u", name,
			network->hosts, most_of_one(places));
	else if (places->of[TARGET_HOST] >= places->limit.connections &&
		 !evict(places, find_victim(places, network, place->origin)))
		diag_set(&why, DIAG_BUSY, EBUSY, "%.224s: refused: all %u connections are in use",
			name, places->limit.connections);
	if (why.err) {
		target_places_refuse(places, &why);
		if (host)
			host_put(places, host);
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
	if (place->host && !--place->host->connections)
		host_put(places, place->host);
	origin_put(places, origin);
	*place = (struct target_place){ 0 };
}
