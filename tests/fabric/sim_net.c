// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The simulator's side of ibsim's sockets: clients connect and disconnect, their datagrams are
// delivered, and answers are queued until they are due and fit into the socket.
#include "sim.h"
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TURN 256 /* datagrams of one client before others have their turn */
#define FULL 64

struct waiting {
	struct waiting *next;
	struct sim_packet packet;
};

struct client {
	int fd;
	uint32_t id, node;
	unsigned index, count; /* count: of those that wait */
	struct waiting *head, **tail;
};

static socklen_t name(
	const struct sim *sim, struct sockaddr_un *addr, const char *what, int64_t number)
{
	char digits[24] = "";
	int len;

	if (number >= 0)
		snprintf(digits, sizeof(digits), "%lld", (long long)number);
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(
		addr->sun_path + 1, sizeof(addr->sun_path) - 1, "%s:%s%s", sim->name, what, digits);
	/* The zeroes before and behind count */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 2 + (size_t)len);
}

static int bound(const struct sim *sim, const char *what, int64_t number)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), room = 4 << 20;
	struct sockaddr_un addr;
	socklen_t len = name(sim, &addr, what, number);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&addr, len)) {
		close(fd);
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return fd;
}

int net_open(struct sim *sim, const char *base)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = CLIENTS };

	sim->name = base;
	sim->control = bound(sim, "ctl", -1);
	if (sim->control < 0)
		return -1;
	return epoll_ctl(sim->epoll, EPOLL_CTL_ADD, sim->control, &event);
}

const struct node *net_node(const struct sim *sim, const struct client *client)
{
	return &sim->node[client->node];
}

uint16_t net_lid(const struct sim_packet *packet)
{
	return be16toh((uint16_t)packet->dlid);
}

static bool sooner(const struct delayed *a, const struct delayed *b)
{
	return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->order < b->order);
}

static void sift_down(struct sim_later *later, size_t at)
{
	struct delayed last = later->list[at];

	for (size_t child; (child = 2 * at + 1) < later->count; at = child) {
		if (child + 1 < later->count &&
			sooner(&later->list[child + 1], &later->list[child]))
			child++;
		if (!sooner(&later->list[child], &last))
			break;
		later->list[at] = later->list[child];
	}
	later->list[at] = last;
}

static void put_later(struct sim_later *later, struct client *client,
	const struct sim_packet *packet, uint64_t due_ns)
{
	size_t at = later->count;

	if (at == later->room) {
		size_t room = later->room ? later->room * 2 : 256;
		struct delayed *list = realloc(later->list, room * sizeof(*list));

		if (!list)
			return;
		later->list = list;
		later->room = room;
	}
	struct delayed new = {
		.due_ns = due_ns, .order = later->order++, .client = client, .packet = *packet
	};

	later->count++;
	for (; at && sooner(&new, &later->list[(at - 1) / 2]); at = (at - 1) / 2)
		later->list[at] = later->list[(at - 1) / 2];
	later->list[at] = new;
}

static void forget_delayed(struct sim_later *later, const struct client *client)
{
	size_t kept = 0;

	for (size_t i = 0; i < later->count; i++)
		if (later->list[i].client != client)
			later->list[kept++] = later->list[i];
	later->count = kept;
	for (size_t i = kept / 2; i-- > 0;)
		sift_down(later, i);
}

static void part(struct sim *sim, struct client *client)
{
	rmpp_forget(sim, client);
	event_forget(sim, client);
	forget_delayed(&sim->later, client);
	for (struct waiting *waiting = client->head, *next; waiting; waiting = next) {
		next = waiting->next;
		free(waiting);
	}
	sim->client[client->index] = NULL;
	close(client->fd);
	free(client);
}

static void watch(struct sim *sim, struct client *client, int how)
{
	struct epoll_event event = { .events = EPOLLIN | (client->head ? EPOLLOUT : 0),
		.data.u64 = client->index };

	epoll_ctl(sim->epoll, how, client->fd, &event);
}

static int attach(struct sim *sim, struct sim_client *who)
{
	struct client *client = calloc(1, sizeof(*client));
	struct sockaddr_un addr;
	unsigned index = 0;

	for (unsigned i = 0; i < CLIENTS; i++) /* a number that comes again is another process's */
		if (sim->client[i] && sim->client[i]->id == who->id)
			part(sim, sim->client[i]);
	while (index < CLIENTS && sim->client[index])
		index++;
	who->node[sizeof(who->node) - 1] = 0;
	if (!client || index == CLIENTS)
		goto refuse;
	client->node = *who->node ? fabric_node(sim, who->node, strlen(who->node)) : 0;
	client->fd = bound(sim, "out", index);
	if (client->fd < 0 || client->node == NO_INDEX)
		goto refuse;
	if (connect(client->fd, (struct sockaddr *)&addr, name(sim, &addr, "in", who->id)))
		goto refuse;
	client->id = who->id;
	client->index = index;
	client->tail = &client->head;
	sim->client[index] = client;
	who->id = index;
	watch(sim, client, EPOLL_CTL_ADD);
	return 0;
refuse:
	if (client && client->fd > 0)
		close(client->fd);
	free(client);
	return -1;
}

static int tell(const struct sim *sim, const struct client *client, enum sim_ctl_type type,
	uint8_t data[64])
{
	const struct node *node = net_node(sim, client);
	unsigned num = data[0] ? data[0] : 1;
	const struct port *port = &sim->port[node->port + (num <= node->ports ? num - 1 : 0)];

	switch (type) {
	case SIM_GET_NODEINFO:
		fabric_node_info(node, &sim->port[node->port], 1, (struct node_info *)data);
		return 0;
	case SIM_GET_PORTINFO:
		if (num > node->ports)
			return -1;
		fabric_port_info(sim, node, num, (struct port_info *)data);
		return 0;
	case SIM_GET_GID:
		fabric_gid(sim, &sim->port[node->port], data);
		return 0;
	case SIM_GET_GUID:
		wire_put_be(data, 8, sim->port[node->port].guid);
		return 0;
	case SIM_GET_PKEYS:
		for (unsigned i = 0; i < PKEYS; i++)
			wire_put_be(data + 2 * i, 2, port->pkey[i]);
		return 0;
	case SIM_GET_VENDOR:
	case SIM_SET_ISSM:
		return 0;
	default:
		return -1;
	}
}

void net_control(struct sim *sim)
{
	struct sockaddr_un from;
	socklen_t len = sizeof(from);
	struct sim_ctl ctl;

	while (recvfrom(sim->control, &ctl, sizeof(ctl), 0, (struct sockaddr *)&from, &len) ==
		sizeof(ctl)) {
		struct client *client = ctl.client < CLIENTS ? sim->client[ctl.client] : NULL;
		int err = ctl.magic == SIM_MAGIC ? 0 : -1;

		if (!err && ctl.type == SIM_CONNECT)
			err = attach(sim, (struct sim_client *)(void *)ctl.data);
		else if (!err && client && ctl.type == SIM_DISCONNECT)
			part(sim, client);
		else if (!err)
			err = client ? tell(sim, client, (enum sim_ctl_type)ctl.type, ctl.data)
				     : -1;
		if (err)
			ctl.type = SIM_ERROR;
		(void)!sendto(sim->control, &ctl, sizeof(ctl), 0, (struct sockaddr *)&from, len);
		len = sizeof(from);
	}
}

/* Not a response, and not an acknowledgement of segments. */
static bool is_request(const struct sim_packet *packet)
{
	const struct sa_hdr *hdr = (const void *)packet->mad;

	return !(hdr->mad.method & MAD_RESPONSE) &&
	       (hdr->mad.mgmt_class != MAD_CLASS_SA || hdr->rmpp.type < 2);
}

static void hand_over(struct sim *sim, struct client *client, const struct sim_packet *packet)
{
	sim->count.in += is_request(packet);
	switch (packet->mad[1]) {
	case MAD_CLASS_SMP:
	case MAD_CLASS_SMP_DR:
		smp_ask(sim, client, packet);
		return;
	case MAD_CLASS_SA:
		sa_ask(sim, client, packet);
		return;
	case MAD_CLASS_DM:
		dm_ask(sim, client, packet);
		return;
	default:
		sim->count.unheard++;
	}
}

static void flush(struct sim *sim, struct client *client)
{
	while (client->head) {
		struct waiting *first = client->head;

		if (send(client->fd, &first->packet, sizeof(first->packet), 0) < 0 &&
			(errno == EAGAIN || errno == ENOBUFS))
			return;
		sim->count.out++;
		client->count--;
		client->head = first->next;
		if (!client->head)
			client->tail = &client->head;
		free(first);
	}
	rmpp_more(sim, client);
	if (!client->head)
		watch(sim, client, EPOLL_CTL_MOD);
}

void net_client(struct sim *sim, unsigned index, uint32_t events)
{
	struct client *client = sim->client[index];
	struct sim_packet packet;
	ssize_t got = 0;

	if (client && events & EPOLLOUT)
		flush(sim, client);
	for (unsigned i = 0; client && i < TURN; i++) {
		got = recv(client->fd, &packet, sizeof(packet), 0);
		if (got < 0)
			break;
		if (got == sizeof(packet))
			hand_over(sim, client, &packet);
	}
	if (client && got < 0 && errno == ECONNREFUSED) /* it died without a word */
		part(sim, client);
}

void net_send(
	struct sim *sim, struct client *client, const struct sim_packet *packet, uint32_t delay_ms)
{
	struct waiting *waiting;

	if (delay_ms) {
		put_later(&sim->later, client, packet, sim->now + TICK_MS(delay_ms));
		return;
	}
	if (!client->head && (send(client->fd, packet, sizeof(*packet), 0) >= 0 ||
				     (errno != EAGAIN && errno != ENOBUFS))) {
		sim->count.out++;
		return;
	}
	waiting = malloc(sizeof(*waiting));
	if (!waiting)
		return;
	waiting->packet = *packet;
	waiting->next = NULL;
	*client->tail = waiting;
	client->tail = &waiting->next;
	if (!client->count++)
		watch(sim, client, EPOLL_CTL_MOD);
}

void net_answer(struct sim *sim, struct client *client, const struct sim_packet *req,
	const void *mad, uint32_t delay_ms)
{
	struct sim_packet packet = { .dlid = req->slid,
		.slid = req->dlid,
		.dqp = req->sqp,
		.sqp = req->dqp,
		.length = htobe64(MAD_LEN) };

	memcpy(packet.mad, mad, MAD_LEN);
	net_send(sim, client, &packet, delay_ms);
}

bool net_full(const struct client *client)
{
	return client->count >= FULL;
}

int64_t net_timers(struct sim *sim)
{
	struct sim_later *later = &sim->later;

	while (later->count && later->list[0].due_ns <= sim->now) {
		struct delayed due = later->list[0];

		later->list[0] = later->list[--later->count];
		if (later->count)
			sift_down(later, 0);
		net_send(sim, due.client, &due.packet, 0);
	}
	return later->count ? (int64_t)(later->list[0].due_ns - sim->now) : -1;
}
