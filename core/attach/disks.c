/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Wait until the disks of an attachment can be opened, without udev. Uevents trigger polls: one
 * socket for all waits of a loop. A timer polls as well, as uevents get lost and are not delivered
 * to every network namespace. Disks are opened in a child, as that may block. */
#include "disks.h"
#include "child.h"
#include "grow.h"
#include "kernel_disk.h"
#include "loop.h"
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define GAP_MS     2 /* minimum between polls: uevents come in bursts */
#define GAP_MAX_MS 250
#define OPEN_MS    2000
#define DISKS      4096
#define ROOM       (1 << 20)

struct uevents { /* of a loop */
	struct loop_local local;
	struct loop *loop;
	struct loop_fd fd; /* -1: no socket */
	struct attach *waiting;
};

static struct attach *owner(const struct attach_wait *wait)
{
	return container_of(wait, struct attach, wait);
}

static void schedule_poll(struct attach *attach, uint64_t at)
{
	struct attach_wait *wait = &attach->wait;

	if (!wait->timer.on || wait->timer.at_ns > at)
		loop_timer_set(attach->loop, &wait->timer, at);
}

void attach_schedule_poll(struct attach *attach)
{
	if (attach->wait.timer.fire)
		schedule_poll(attach, attach->wait.polled_at + GAP_MS * MSEC);
}

void attach_disk(struct attach *attach, const char *name)
{
	struct attach_wait *wait = &attach->wait;
	struct attach_disk *more;

	for (unsigned i = 0; i < wait->disks; i++)
		if (!strcmp(wait->disk[i].name, name)) {
			wait->disk[i].named = true;
			return;
		}
	more = wait->disks < DISKS ? grow(wait->disk, wait->disks) : NULL;
	wait->complete &= !!more;
	if (!more)
		return;
	more->named = true;
	snprintf(more->name, sizeof(more->name), "%s", name);
}

const char *attach_unopened(const struct attach *attach)
{
	const struct attach_wait *wait = &attach->wait;

	for (unsigned i = 0; i < wait->disks; i++)
		if (wait->disk[i].named && !wait->disk[i].opens)
			return wait->disk[i].name;
	return "";
}

static bool all_open(const struct attach *attach)
{
	return !attach_unopened(attach)[0];
}

/* In the child. */
static int open_disks(int root, const void *arg, void *out)
{
	const struct attach_wait *wait = arg;
	uint8_t *opened = out;

	for (unsigned i = 0; i < wait->disks; i++)
		opened[i] = wait->disk[i].named && !wait->disk[i].opens &&
			    !kernel_disk_opens(root, wait->disk[i].name);
	return 0;
}

/* Retry the others after the next poll. */
static void disks_opened(struct child_call *call)
{
	struct attach_wait *wait = container_of(call, struct attach_wait, opening);
	struct attach *attach = owner(wait);

	for (unsigned i = 0; i < wait->disks; i++)
		wait->disk[i].opens |= wait->opened[i];
	free(wait->opened);
	wait->opened = NULL;
	if (wait->poll_again || all_open(attach)) /* the last poll may have read old sizes */
		attach_schedule_poll(attach);
	else
		schedule_poll(attach, loop_clock() + wait->gap_ms * MSEC);
	wait->poll_again = false;
}

static int start_opening(struct attach *attach)
{
	struct attach_wait *wait = &attach->wait;
	int err;

	wait->opened = calloc(wait->disks, 1);
	if (!wait->opened)
		return -ENOMEM;
	wait->opening = (struct child_call){ .fn = open_disks,
		.arg = wait,
		.out = wait->opened,
		.out_len = wait->disks,
		.until = attach_limit(attach, OPEN_MS),
		.grace_ms = 10,
		.done = disks_opened };
	err = child_call_start(&wait->opening, attach->loop, &attach->root, 1);
	if (!err)
		return 0;
	free(wait->opened);
	wait->opened = NULL;
	return err;
}

/* 1: all disks exist; 0: not yet. */
static int poll_disks(struct attach *attach)
{
	struct attach_wait *wait = &attach->wait;
	int all;

	wait->polled_at = loop_clock();
	wait->complete = true;
	for (unsigned i = 0; i < wait->disks; i++)
		wait->disk[i].named = false;
	all = attach->proto->poll(attach);
	if (all > 0 && !wait->complete)
		return diag_set(&attach->why, DIAG_NO_MEMORY, ENOMEM,
			"more than %u disks, or out of memory", wait->disks);
	return all;
}

static void poll_timer_fired(struct loop_timer *timer)
{
	struct attach_wait *wait = container_of(timer, struct attach_wait, timer);
	struct attach *attach = owner(wait);
	int all;

	if (wait->opening.pid) {
		wait->poll_again = true;
		return;
	}
	all = poll_disks(attach);
	if (all < 0 || (all && all_open(attach))) {
		attach_step(attach, all < 0 ? all : 0);
		return;
	}
	if (!all || start_opening(attach))
		schedule_poll(attach, wait->polled_at + wait->gap_ms * MSEC);
	wait->gap_ms = 2 * wait->gap_ms < GAP_MAX_MS ? 2 * wait->gap_ms : GAP_MAX_MS;
}

/* Find "SUBSYSTEM=nvme" among the strings of a uevent. */
static const char *subsystem(const char *text, size_t len)
{
	static const char key[] = "SUBSYSTEM=";

	for (const char *at = text, *end = text + len; at < end; at += strlen(at) + 1)
		if (!strncmp(at, key, sizeof(key) - 1))
			return at + sizeof(key) - 1;
	return "";
}

static bool concerns(const struct attach *attach, const char *name)
{
	const char *at = attach->proto->events;
	size_t len = strlen(name);

	if (!strcmp(name, "block"))
		return true;
	for (; at && len && (at = strstr(at, name)); at += len)
		if ((at == attach->proto->events || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

/* Drain the socket. After an overflow (ENOBUFS) any event may be missing: poll for all. */
static void uevents_ready(struct loop_fd *fd, uint32_t events)
{
	struct uevents *uevents = container_of(fd, struct uevents, fd);
	char text[8192];
	ssize_t got;

	(void)events;
	while ((got = recv(fd->fd, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0 || errno == ENOBUFS) {
		const char *name;

		text[got > 0 ? got : 0] = 0;
		name = got > 0 ? subsystem(text, (size_t)got) : "block";
		for (struct attach *at = uevents->waiting; at; at = at->wait.next)
			if (concerns(at, name))
				attach_schedule_poll(at);
		errno = 0;
	}
}

static void uevents_free(struct loop_local *local)
{
	struct uevents *uevents = container_of(local, struct uevents, local);

	loop_fd_del(uevents->loop, &uevents->fd);
	if (uevents->fd.fd >= 0)
		close(uevents->fd.fd);
	free(uevents);
}

/* NULL: out of memory. Without a socket the timer remains. */
static struct uevents *uevents_of(struct loop *loop)
{
	static const char key[] = "uevents";
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	struct loop_local *local = loop_local_find(loop, key);
	struct uevents *uevents;
	int fd, room = ROOM;

	if (local)
		return container_of(local, struct uevents, local);
	uevents = calloc(1, sizeof(*uevents));
	if (!uevents)
		return NULL;
	fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	uevents->local = (struct loop_local){ .key = key, .fini = uevents_free };
	uevents->loop = loop;
	uevents->fd = (struct loop_fd){ .fd = fd, .events = EPOLLIN, .ready = uevents_ready };
	loop_local_add(loop, &uevents->local);
	if (fd < 0)
		return uevents;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (!bind(fd, (const struct sockaddr *)&kernel, sizeof(kernel)) &&
		!loop_fd_add(loop, &uevents->fd, NULL))
		return uevents;
	close(fd);
	uevents->fd.fd = -1;
	return uevents;
}

void attach_wait_begin(struct attach *attach)
{
	struct uevents *uevents = uevents_of(attach->loop);
	struct attach_wait *wait = &attach->wait;

	*wait = (struct attach_wait){ .timer.fire = poll_timer_fired, .gap_ms = GAP_MS };
	if (uevents) {
		wait->next = uevents->waiting;
		uevents->waiting = attach;
	}
	schedule_poll(attach, loop_clock());
}

bool attach_wait_poll(struct attach *attach)
{
	struct attach_wait *wait = &attach->wait;

	return !wait->opening.pid && poll_disks(attach) > 0 && all_open(attach);
}

void attach_wait_end(struct attach *attach)
{
	struct attach_wait *wait = &attach->wait;
	struct uevents *uevents;

	if (!wait->timer.fire)
		return;
	uevents = uevents_of(attach->loop);
	for (struct attach **at = uevents ? &uevents->waiting : NULL; at && *at;
		at = &(*at)->wait.next)
		if (*at == attach) {
			*at = wait->next;
			break;
		}
	loop_timer_del(attach->loop, &wait->timer);
	child_call_cancel(&wait->opening);
	free(wait->opened);
	free(wait->disk);
	*wait = (struct attach_wait){ 0 };
}
