/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asynchronous events of a device's ports, read from a context of its own, which works without any
 * connection through the device. */
#include "port_events.h"
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define TURN 64 /* events per turn */

struct port_events {
	struct loop *loop;
	struct ibv_context *context;
	struct loop_fd fd;
	void (*event)(void *arg, unsigned port, unsigned what);
	void *arg;
	bool *closed; /* set when `event` calls close */
};

static unsigned meaning(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
		return PORT_EVENT_STATE;
	case IBV_EVENT_LID_CHANGE:
		return PORT_EVENT_LID;
	case IBV_EVENT_SM_CHANGE:
		return PORT_EVENT_SM;
	case IBV_EVENT_PKEY_CHANGE:
		return PORT_EVENT_PKEYS;
	case IBV_EVENT_GID_CHANGE:
		return PORT_EVENT_GID;
	case IBV_EVENT_CLIENT_REREGISTER:
		return PORT_EVENT_REREGISTER;
	case IBV_EVENT_DEVICE_FATAL:
		return PORT_EVENT_GONE;
	default:
		return 0;
	}
}

/* False: it was the last event, or `event` has closed. */
static bool report_event(struct port_events *events, unsigned port, unsigned what)
{
	bool closed = false;

	if (what & PORT_EVENT_GONE)
		loop_fd_del(events->loop, &events->fd);
	events->closed = &closed;
	events->event(events->arg, port, what);
	if (closed)
		return false;
	events->closed = NULL;
	return !(what & PORT_EVENT_GONE);
}

static void readable(struct loop_fd *fd, uint32_t ready)
{
	struct port_events *events = container_of(fd, struct port_events, fd);

	(void)ready;
	for (unsigned i = 0; i < TURN; i++) {
		struct ibv_async_event event;
		unsigned what;

		if (ibv_get_async_event(events->context, &event)) {
			if (errno != EAGAIN && errno != EINTR)
				report_event(events, 0, PORT_EVENT_GONE);
			return;
		}
		ibv_ack_async_event(&event);
		what = meaning(event.event_type);
		loop_trace(events->loop, "%s: %s", ibv_get_device_name(events->context->device),
			ibv_event_type_str(event.event_type));
		if (what && !report_event(events,
				    what & PORT_EVENT_GONE ? 0 : (unsigned)event.element.port_num,
				    what))
			return;
	}
}

static struct ibv_context *open_named(const char *dev, struct diag *diag)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int err = list ? ENODEV : errno;

	for (unsigned i = 0; list && list[i]; i++) {
		if (strcmp(ibv_get_device_name(list[i]), dev))
			continue;
		context = ibv_open_device(list[i]);
		err = errno ? errno : EIO;
		break;
	}
	if (list)
		ibv_free_device_list(list);
	if (context)
		return context;
	if (err == ENODEV || err == ENOSYS)
		diag_set(diag, DIAG_NO_DEVICE, ENODEV, "not a verbs device: is ib_uverbs loaded?");
	else
		diag_sys(diag, err, "open for events");
	diag_ctx(diag, "%s", dev);
	errno = err == ENOSYS ? ENODEV : err;
	return NULL;
}

int port_events_open(struct port_events **out, struct loop *loop, const char *dev,
	void (*event)(void *arg, unsigned port, unsigned what), void *arg, struct diag *diag)
{
	struct port_events *events = calloc(1, sizeof(*events));
	int err;

	if (!events)
		return diag_sys(diag, ENOMEM, "events of %s", dev);
	events->context = open_named(dev, diag);
	if (!events->context) {
		err = -errno;
		free(events);
		return err;
	}
	events->loop = loop;
	events->event = event;
	events->arg = arg;
	events->fd = (struct loop_fd){
		.fd = events->context->async_fd, .events = EPOLLIN, .ready = readable
	};
	fcntl(events->fd.fd, F_SETFL, fcntl(events->fd.fd, F_GETFL) | O_NONBLOCK);
	err = loop_fd_add(loop, &events->fd, diag);
	if (err) {
		ibv_close_device(events->context);
		free(events);
		return err;
	}
	*out = events;
	return 0;
}

void port_events_close(struct port_events *events)
{
	if (events->closed)
		*events->closed = true;
	loop_fd_del(events->loop, &events->fd);
	ibv_close_device(events->context);
	free(events);
}
