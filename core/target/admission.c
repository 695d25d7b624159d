/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Choose which connection is evicted. A pending connection competes first with others of its own
 * address, then with the network and the address that have most. Once admitted, it can replace a
 * connection of a network that has more than its part. */
#include "admission.h"
#include "admission_limits.h"
#include "buffers.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* From this limit on, a single network or host leaves a sixteenth of the connections to others. */
#define OTHERS_FROM 64

/* Count a refusal. True: report it. */
static bool count_refusal(struct target_admission *admission)
{
	uint64_t now;

	admission->refused++;
	if (!admission->full)
		return false;
	now = loop_clock();
	if (admission->reported_ns && now - admission->reported_ns < TARGET_REPORT_MS * MSEC)
		return false;
	admission->reported_ns = now;
	return true;
}

void target_admission_report_refusal(struct target_admission *admission, const struct diag *why)
{
	if (count_refusal(admission))
		admission->full(why, admission->user);
}

static void join_class(
	struct target_admission *admission, struct target_admission_entry *entry, unsigned class)
{
	entry->class = (uint8_t) class;
	admission->of[class]++;
	entry->peer_addr->of[class]++;
	entry->peer_addr->network->hosts += class == TARGET_ADMITTED;
	entry->next = NULL;
	entry->prev = admission->last[class];
	*(entry->prev ? &entry->prev->next : &admission->first[class]) = entry;
	admission->last[class] = entry;
}

static void leave_class(struct target_admission *admission, struct target_admission_entry *entry)
{
	unsigned class = entry->class;

	if (entry->evicted)
		return;
	admission->of[class]--;
	entry->peer_addr->of[class]--;
	entry->peer_addr->network->hosts -= class == TARGET_ADMITTED;
	*(entry->prev ? &entry->prev->next : &admission->first[class]) = entry->next;
	*(entry->next ? &entry->next->prev : &admission->last[class]) = entry->prev;
}

/* Count connections of the class against its quota. */
static unsigned excess(const struct target_admission *admission,
	const struct target_peer_addr *peer_addr, unsigned class)
{
	unsigned announced =
		class == TARGET_PENDING ? peer_addr->openers * admission->limit.announced : 0;

	return peer_addr->of[class] > announced ? peer_addr->of[class] - announced : 0;
}

static bool evict(struct target_admission *admission, struct target_admission_entry *entry)
{
	if (!entry || admission->evicted >= TARGET_EVICTED_MAX)
		return false;
	leave_class(admission, entry);
	entry->evicted = true;
	admission->evicted++;
	admission->evict(entry);
	return true;
}

/* Set the weight: by connections of the network beyond those announced, then of the address. */
static void weigh(
	struct target_admission *admission, struct target_peer_addr *peer_addr, unsigned class)
{
	uint64_t own = excess(admission, peer_addr, class), all = own;

	for (const struct target_peer_addr *o = admission->peer_addrs; own && o; o = o->next)
		if (o != peer_addr && o->network == peer_addr->network)
			all += excess(admission, o, class);
	peer_addr->weight = own ? all << 32 | own : 0;
}

/* Find the oldest connection of the address; NULL: of the address with the largest weight. */
static struct target_admission_entry *oldest(struct target_admission *admission, unsigned class,
	const struct target_peer_addr *peer_addr)
{
	struct target_admission_entry *entry = admission->first[class];
	uint64_t most = 1;

	for (struct target_peer_addr *o = admission->peer_addrs; !peer_addr && o; o = o->next) {
		weigh(admission, o, class);
		if (o->weight > most)
			most = o->weight;
	}
	while (entry &&
		(peer_addr ? entry->peer_addr != peer_addr : entry->peer_addr->weight < most))
		entry = entry->next;
	return entry;
}

static unsigned count_pending(const struct target_admission *admission)
{
	unsigned count = 0;

	for (const struct target_peer_addr *peer_addr = admission->peer_addrs; peer_addr;
		peer_addr = peer_addr->next)
		count += excess(admission, peer_addr, TARGET_PENDING);
	return count;
}

/* Find the oldest announced connection of the address that has most of them. */
static struct target_admission_entry *oldest_announced(struct target_admission *admission)
{
	const struct target_peer_addr *most = NULL;

	for (const struct target_peer_addr *o = admission->peer_addrs; o; o = o->next)
		if (o->openers && o->of[TARGET_PENDING] &&
			(!most || o->of[TARGET_PENDING] > most->of[TARGET_PENDING]))
			most = o;
	return most ? oldest(admission, TARGET_PENDING, most) : NULL;
}

/* Spare a few pending connections, which may complete their login, if a discovery connection can be
 * evicted. Announced connections can be evicted, too; otherwise one host could use up the limit. */
bool target_admission_evict(struct target_admission *admission)
{
	return (count_pending(admission) > TARGET_PENDING_SPARE &&
		       evict(admission, oldest(admission, TARGET_PENDING, NULL))) ||
	       evict(admission, oldest(admission, TARGET_DISCOVERY, NULL)) ||
	       evict(admission, oldest_announced(admission)) ||
	       evict(admission, oldest(admission, TARGET_PENDING, NULL));
}

/* Find the address of the network with most admitted connections. */
static const struct target_peer_addr *largest_addr(
	const struct target_admission *admission, const struct target_network *network)
{
	const struct target_peer_addr *most = NULL;

	for (const struct target_peer_addr *o = admission->peer_addrs; o; o = o->next)
		if (o->network == network &&
			(!most || o->of[TARGET_ADMITTED] > most->of[TARGET_ADMITTED]))
			most = o;
	return most;
}

/* Find the admitted connection to replace by one of that address: the newest of the network with
 * most admitted connections, if these are more than a quarter of the limit and more than those of
 * the other network. In its own network: the newest of the address with most. NULL: none. */
static struct target_admission_entry *find_victim(const struct target_admission *admission,
	const struct target_network *network, const struct target_peer_addr *peer_addr)
{
	const struct target_network *most = admission->networks;
	const struct target_peer_addr *address = NULL;
	struct target_admission_entry *entry = admission->last[TARGET_ADMITTED];
	unsigned part = admission->limit.connections / 4;

	for (const struct target_network *n = most; n; n = n->next)
		if (n->hosts > most->hosts)
			most = n;
	if (admission->limit.listed || !most || most->hosts <= (part ? part : 1))
		return NULL;
	if (most == network) {
		address = largest_addr(admission, network);
		if (address->of[TARGET_ADMITTED] <=
			(peer_addr ? peer_addr->of[TARGET_ADMITTED] : 0) + 1)
			return NULL;
	} else if (network && most->hosts <= network->hosts + 1) {
		return NULL;
	}
	while (address ? entry->peer_addr != address : entry->peer_addr->network != most)
		entry = entry->prev;
	return entry;
}

static struct target_peer_addr_key peer_addr_key(const struct addr *peer)
{
	const struct sockaddr_in *in = (const void *)&peer->ss;
	const struct sockaddr_in6 *in6 = (const void *)&peer->ss;
	struct target_peer_addr_key key = { .family = peer->ss.ss_family };

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

static struct target_peer_addr *find_peer_addr(
	const struct target_admission *admission, const struct target_peer_addr_key *key)
{
	struct target_peer_addr *peer_addr = admission->peer_addrs;

	while (peer_addr && memcmp(&peer_addr->key, key, sizeof(*key)))
		peer_addr = peer_addr->next;
	return peer_addr;
}

/* Return the /64 prefix; 0: not IPv6. */
static uint64_t network_v6(const struct addr *peer)
{
	const struct sockaddr_in6 *in6 = (const void *)&peer->ss;
	uint64_t net = 0;

	if (peer->ss.ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		memcpy(&net, &in6->sin6_addr, sizeof(net));
	return net;
}

static struct target_network *find_network(const struct target_admission *admission,
	const struct target_peer_addr *peer_addr, const struct addr *peer)
{
	struct target_network *network = admission->networks;
	uint64_t v6 = network_v6(peer);

	if (peer_addr || !v6)
		return peer_addr ? peer_addr->network : NULL;
	while (network && network->v6 != v6)
		network = network->next;
	return network;
}

/* No quotas for unix sockets, which are protected by file permissions. */
static bool make_room(struct target_admission *admission, const struct target_peer_addr *peer_addr,
	const struct addr *peer)
{
	bool quotas = peer->ss.ss_family != AF_UNIX;
	unsigned all = admission->limit.connections, used = admission->count - admission->evicted,
		 others = admission->of[TARGET_PENDING] + admission->of[TARGET_DISCOVERY];

	if (quotas && peer_addr &&
		excess(admission, peer_addr, TARGET_PENDING) >= TARGET_PENDING_ADDR_MAX)
		return evict(admission, oldest(admission, TARGET_PENDING, peer_addr));
	if (quotas && count_pending(admission) >= TARGET_PENDING_MAX)
		return evict(admission, oldest(admission, TARGET_PENDING, NULL));
	if (used < all && !(admission->limit.listed && others >= all - all / 4))
		return true;
	/* An admitted connection is evicted only once this one is admitted. */
	return (!admission->of[TARGET_DISCOVERY] && used < all + TARGET_PENDING_SPARE &&
		       find_victim(
			       admission, find_network(admission, peer_addr, peer), peer_addr)) ||
	       target_admission_evict(admission);
}

bool target_admission_make_room(struct target_admission *admission, const struct addr *peer)
{
	struct target_peer_addr_key key = peer_addr_key(peer);
	struct diag why = { 0 };
	char name[ADDR_TEXT] = "unix socket";

	if (make_room(admission, find_peer_addr(admission, &key), peer))
		return true;
	/* A flood of connections gets here often: format the text only for a report. */
	if (!count_refusal(admission))
		return false;
	if (key.family != AF_UNIX)
		addr_host(peer, name);
	if (admission->evicted >= TARGET_EVICTED_MAX)
		diag_set(&why, DIAG_BUSY, EBUSY,
			"%s: refused: %u connections are still being closed", name,
			admission->evicted);
	else
		diag_set(&why, DIAG_BUSY, EBUSY, "%s: refused: all %u connections are in use", name,
			admission->limit.connections);
	admission->full(&why, admission->user);
	return false;
}

static struct target_network *get_network(
	struct target_admission *admission, const struct addr *peer)
{
	struct target_network *network = find_network(admission, NULL, peer);

	if (network)
		return network;
	network = calloc(1, sizeof(*network));
	if (!network)
		return &admission->nowhere;
	network->v6 = network_v6(peer);
	return network;
}

static struct target_peer_addr *get_peer_addr(
	struct target_admission *admission, const struct addr *peer)
{
	struct target_peer_addr_key key = peer_addr_key(peer);
	struct target_peer_addr *peer_addr = find_peer_addr(admission, &key);
	struct target_network *network = &admission->nowhere;

	if (peer_addr)
		return peer_addr;
	peer_addr = calloc(1, sizeof(*peer_addr));
	if (peer_addr) {
		peer_addr->key = key;
		network = get_network(admission, peer);
	} else if (admission->unknown.count) {
		return &admission->unknown;
	} else {
		peer_addr = &admission->unknown;
	}
	peer_addr->network = network;
	peer_addr->next = admission->peer_addrs;
	admission->peer_addrs = peer_addr;
	if (!network->count++) {
		network->next = admission->networks;
		admission->networks = network;
	}
	return peer_addr;
}

void target_admission_add(struct target_admission *admission, struct target_admission_entry *entry,
	const struct addr *peer)
{
	struct target_peer_addr *peer_addr = get_peer_addr(admission, peer);

	peer_addr->count++;
	admission->count++;
	entry->peer_addr = peer_addr;
	join_class(admission, entry, TARGET_PENDING);
}

static void put_network(struct target_admission *admission, struct target_network *network)
{
	struct target_network **at = &admission->networks;

	if (--network->count)
		return;
	while (*at != network)
		at = &(*at)->next;
	*at = network->next;
	free(network->quota);
	network->quota = NULL;
	if (network != &admission->nowhere)
		free(network);
}

static void put_peer_addr(struct target_admission *admission, struct target_peer_addr *peer_addr)
{
	struct target_peer_addr **at = &admission->peer_addrs;

	if (--peer_addr->count)
		return;
	while (*at != peer_addr)
		at = &(*at)->next;
	*at = peer_addr->next;
	put_network(admission, peer_addr->network);
	if (peer_addr != &admission->unknown)
		free(peer_addr);
}

void target_admission_set_discovery(
	struct target_admission *admission, struct target_admission_entry *entry)
{
	if (entry->evicted)
		return;
	leave_class(admission, entry);
	if (admission->of[TARGET_DISCOVERY] >= TARGET_DISCOVERY_MAX)
		evict(admission, oldest(admission, TARGET_DISCOVERY, NULL));
	join_class(admission, entry, TARGET_DISCOVERY);
}

static unsigned network_limit(const struct target_admission *admission)
{
	unsigned all = admission->limit.connections;

	return all < OTHERS_FROM ? all : all - all / 16;
}

/* Half of the limit if there are other hosts or a list of hosts; otherwise all but what others need
 * to connect. */
static unsigned host_limit(const struct target_admission *admission, const struct target_host *host)
{
	if (admission->limit.listed || admission->hosts != host || host->next)
		return (admission->limit.connections + 1) / 2;
	return network_limit(admission);
}

static struct target_quota *new_quotas(const struct target_admission *admission, unsigned of_each)
{
	size_t count = admission->quotas ? admission->quotas : 1;

	return calloc(count * of_each, sizeof(struct target_quota));
}

static struct target_client *get_client(const struct target_admission *admission, const char *name)
{
	const struct target_host *host = admission->hosts;
	struct target_client *client;

	while (host && strcmp(host->name, name))
		host = host->next;
	client = host ? host->client : calloc(1, sizeof(*client));
	if (client)
		client->hosts++;
	return client;
}

static void put_client(struct target_client *client)
{
	if (client && !--client->hosts)
		free(client);
}

/* A host on a list counts as a network of its own in the sharing of buffers. */
static struct target_host *new_host(
	const struct target_admission *admission, struct target_network *network, const char *name)
{
	size_t size = strlen(name) + 1;
	struct target_host *host = calloc(1, sizeof(*host) + size);
	struct target_quota *up;

	if (!host)
		return NULL;
	if (network && !network->quota)
		network->quota = new_quotas(admission, 1);
	host->network = network;
	host->quota = new_quotas(admission, network ? 1 : 2);
	host->client = get_client(admission, name);
	memcpy(host->name, name, size);
	if (!host->quota || !host->client || (network && !network->quota)) {
		put_client(host->client);
		free(host->quota);
		free(host);
		return NULL;
	}
	up = network ? network->quota : host->quota + admission->quotas;
	for (unsigned i = 0; i < admission->quotas; i++)
		host->quota[i].up = &up[i];
	return host;
}

static struct target_host *find_host(
	struct target_admission *admission, struct target_network *network, const char *name)
{
	struct target_host *host = admission->hosts;

	while (host && (host->network != network || strcmp(host->name, name)))
		host = host->next;
	if (host)
		return host;
	host = new_host(admission, network, name);
	if (!host)
		return NULL;
	host->next = admission->hosts;
	admission->hosts = host;
	return host;
}

static void put_host(struct target_admission *admission, struct target_host *host)
{
	struct target_host **at = &admission->hosts;

	if (host->connections)
		return;
	while (*at != host)
		at = &(*at)->next;
	*at = host->next;
	put_client(host->client);
	free(host->quota);
	free(host);
}

bool target_admission_admit(struct target_admission *admission,
	struct target_admission_entry *entry, const char *name, bool opens_more)
{
	struct target_network *network = admission->limit.listed ? NULL : entry->peer_addr->network;
	struct target_host *host;
	struct diag why = { 0 };

	if (entry->evicted)
		return false;
	host = find_host(admission, network, name);
	if (!host)
		diag_set(&why, DIAG_BUSY, ENOMEM, "%.224s: refused: out of memory", name);
	else if (host->connections >= host_limit(admission, host))
		diag_set(&why, DIAG_BUSY, EBUSY,
			"%.224s: refused: it has %u connections, must be at most %u", name,
			host->connections, host_limit(admission, host));
	else if (network && network->hosts >= network_limit(admission) &&
		 !evict(admission, find_victim(admission, network, entry->peer_addr)))
		diag_set(&why, DIAG_BUSY, EBUSY,
			"%.96s: refused: its address has %u connections, must be at most %u", name,
			network->hosts, network_limit(admission));
	else if (admission->of[TARGET_ADMITTED] >= admission->limit.connections &&
		 !evict(admission, find_victim(admission, network, entry->peer_addr)))
		diag_set(&why, DIAG_BUSY, EBUSY, "%.224s: refused: all %u connections are in use",
			name, admission->limit.connections);
	if (why.err) {
		target_admission_report_refusal(admission, &why);
		if (host)
			put_host(admission, host);
		return false;
	}
	host->connections++;
	entry->host = host;
	entry->opens_more = opens_more;
	entry->peer_addr->openers += opens_more;
	leave_class(admission, entry);
	if (!entry->evicted)
		join_class(admission, entry, TARGET_ADMITTED);
	return true;
}

void target_admission_remove(
	struct target_admission *admission, struct target_admission_entry *entry)
{
	struct target_peer_addr *peer_addr = entry->peer_addr;

	leave_class(admission, entry);
	admission->count--;
	admission->evicted -= entry->evicted;
	peer_addr->openers -= entry->opens_more;
	if (entry->host && !--entry->host->connections)
		put_host(admission, entry->host);
	put_peer_addr(admission, peer_addr);
	*entry = (struct target_admission_entry){ 0 };
}
