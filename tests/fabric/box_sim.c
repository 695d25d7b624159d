/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A client of the simulator. Never block on the data socket: if the socket buffer is full, the
 * simulator repeats its send at once and serves no other client until it succeeds. */
#include "box.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define START_MS  10000 /* for a simulator that is starting */
#define ANSWER_MS 20000
#define OWN_QPN   0x800000

struct sim_queued {
	struct sim_queued *next;
	struct sim_packet packet;
};

static socklen_t name(struct sockaddr_un *addr, const char *base, const char *what, int64_t number)
{
	int len;

	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (number < 0)
		len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "%s:%s", base, what);
	else
		len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "%s:%s%lld", base,
			what, (long long)number);
	/* ibsim counts the zero in front and one behind */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 2 + (size_t)len);
}

static int socket_named(const char *base, const char *what, uint32_t id)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), room = 4 << 20;
	struct sockaddr_un addr;
	socklen_t len = name(&addr, base, what, id);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, len))
		box_die("socket %s:%s%u: %m", base, what, id);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return fd;
}

static void push(struct sim_queue *queue, const struct sim_packet *packet)
{
	struct sim_queued *new = malloc(sizeof(*new));

	if (!new)
		box_die("out of memory");
	new->packet = *packet;
	new->next = NULL;
	*queue->tail = new;
	queue->tail = &new->next;
}

static bool pop(struct sim_queue *queue, struct sim_packet *packet)
{
	struct sim_queued *first = queue->head;

	if (!first)
		return false;
	queue->head = first->next;
	if (!queue->head)
		queue->tail = &queue->head;
	*packet = first->packet;
	free(first);
	return true;
}

void sim_drain(struct sim *sim)
{
	struct sim_packet packet;
	ssize_t got;

	while ((got = recv(sim->data, &packet, sizeof(packet), MSG_DONTWAIT)) >= 0)
		if (got == sizeof(packet))
			push(&sim->in, &packet);
}

bool sim_get(struct sim *sim, struct sim_packet *packet)
{
	return pop(&sim->in, packet);
}

void sim_flush(struct sim *sim)
{
	struct sim_packet packet;

	while (sim->out.head) {
		if (send(sim->data, &sim->out.head->packet, sizeof(packet), MSG_DONTWAIT) < 0) {
			if (errno == EAGAIN || errno == ENOBUFS)
				return;
			box_die("the simulator is gone: %m");
		}
		pop(&sim->out, &packet);
	}
}

void sim_put(struct sim *sim, const struct sim_packet *packet)
{
	push(&sim->out, packet);
	sim_flush(sim);
}

int sim_ask(struct sim *sim, enum sim_ctl_type type, void *data, size_t len)
{
	struct sim_ctl ctl = {
		.magic = SIM_MAGIC, .client = sim->client, .type = type, .len = (uint32_t)len
	};
	struct pollfd fds[] = { { .fd = sim->ctl, .events = POLLIN },
		{ .fd = sim->data, .events = POLLIN } };

	if (len)
		memcpy(ctl.data, data, len);
	if (send(sim->ctl, &ctl, sizeof(ctl), 0) != sizeof(ctl))
		return -errno;
	do {
		if (poll(fds, type == SIM_CONNECT ? 1 : 2, ANSWER_MS) <= 0)
			return -ETIMEDOUT;
		if (fds[1].revents)
			sim_drain(sim);
	} while (!fds[0].revents);
	if (recv(sim->ctl, &ctl, sizeof(ctl), 0) != sizeof(ctl) || ctl.type == SIM_ERROR)
		return -EREMOTEIO;
	if (len)
		memcpy(data, ctl.data, len);
	return 0;
}

void sim_attach(struct sim *sim, const char *base, const char *node, uint32_t id, bool issm)
{
	struct sim_client client = { .id = id, .qpn = issm ? 0 : OWN_QPN | id, .issm = issm };
	uint64_t until = now_ms() + START_MS;
	struct sockaddr_un addr;
	socklen_t len;

	sim->qpn = client.qpn;
	sim->issm = issm;
	sim->in.tail = &sim->in.head;
	sim->out.tail = &sim->out.head;
	sim->ctl = socket_named(base, "ctl", id);
	sim->data = socket_named(base, "in", id);
	len = name(&addr, base, "ctl", -1);
	while (connect(sim->ctl, (struct sockaddr *)&addr, len)) {
		if (errno != ECONNREFUSED || now_ms() > until)
			box_die("simulator at %s:ctl: %m", base);
		usleep(20000);
	}
	if (strlen(node) >= sizeof(client.node))
		box_die("%s: the name of a node has at most %zu characters", node,
			sizeof(client.node) - 1);
	strcpy(client.node, node);
	if (sim_ask(sim, SIM_CONNECT, &client, sizeof(client)))
		box_die("the simulator refuses to attach to node %s", node);
	sim->client = client.id;
	len = name(&addr, base, "out", client.id);
	if (connect(sim->data, (struct sockaddr *)&addr, len))
		box_die("simulator at %s:out%u: %m", base, client.id);
}

void sim_detach(struct sim *sim)
{
	sim_ask(sim, SIM_DISCONNECT, NULL, 0);
}

void sim_set_issm(struct sim *sim, bool on)
{
	int value = on;

	sim->issm = on;
	sim_ask(sim, SIM_SET_ISSM, &value, sizeof(value));
}
