/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Look up host names: getaddrinfo() in detached threads, a table of names shared with them, and a
 * blocking and an event-driven wait for the answer. A thread may block for long (musl: 5 s for each
 * search domain), so nothing waits for it, not even exit. Threads rather than children, because
 * getaddrinfo() is safe in a thread, but fork() in a process with threads is not. */
#include "resolve.h"
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct resolve_name {
	struct resolve_name *next;
	struct resolve_waiter *waiters;
	struct addr last; /* family 0: never found */
	bool stale;
	bool queued;      /* waits for a lookup thread */
	bool in_progress; /* being looked up by a thread */
	char host[ADDR_HOST];
};

/* names: ordered by the last request, so that the list also is the queue of the threads. */
static struct {
	pthread_mutex_t lock;
	struct resolve_name *names;
	unsigned count, threads;
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t process_deadline;

static struct resolve_name **find_name(const char *host)
{
	struct resolve_name **at = &cache.names;

	while (*at && strcasecmp((*at)->host, host))
		at = &(*at)->next;
	return at;
}

static void append(struct resolve_name *name)
{
	struct resolve_name **at = &cache.names;

	while (*at)
		at = &(*at)->next;
	name->next = NULL;
	*at = name;
}

/* Make room for one more name: forget the least recently used one. */
static bool make_room(void)
{
	struct resolve_name **at = &cache.names, *name;

	if (cache.count < RESOLVE_NAMES)
		return true;
	while (*at && ((*at)->queued || (*at)->in_progress || (*at)->waiters))
		at = &(*at)->next;
	name = *at;
	if (!name)
		return false;
	*at = name->next;
	free(name);
	cache.count--;
	return true;
}

static struct resolve_name *use_name(const char *host)
{
	struct resolve_name **at = find_name(host), *name = *at;

	if (name) {
		*at = name->next;
		append(name);
		return name;
	}
	if (!make_room()) {
		errno = EBUSY;
		return NULL;
	}
	name = calloc(1, sizeof(*name));
	if (!name)
		return NULL;
	snprintf(name->host, sizeof(name->host), "%s", host);
	cache.count++;
	append(name);
	return name;
}

/* A failed lookup falls back to the last address. */
static void answer(struct resolve_name *name, int eai, const struct addr *addr)
{
	const uint64_t one = 1;
	struct resolve_waiter *waiter;

	if (!eai) {
		name->last = *addr;
		name->stale = false;
	} else if (name->last.ss.ss_family) {
		eai = 0;
	}
	while ((waiter = name->waiters)) {
		name->waiters = waiter->next;
		waiter->name = NULL;
		waiter->eai = eai;
		waiter->addr = name->last;
		if (write(waiter->fd, &one, sizeof(one)) < 0)
			abort(); /* writing to a new eventfd can't fail */
	}
}

static struct resolve_name *next_queued(void)
{
	struct resolve_name *name = cache.names;

	while (name && !name->queued)
		name = name->next;
	return name;
}

/* Names have no case, but musl compares those in /etc/hosts with it: ask for the name as that
 * file has it. */
static void find_spelling(const char *host, char spelling[ADDR_HOST])
{
	FILE *hosts = fopen("/etc/hosts", "re");
	char line[1024], *word;
	bool found = false, exact = false;

	snprintf(spelling, ADDR_HOST, "%s", host);
	while (hosts && !exact && fgets(line, sizeof(line), hosts)) {
		char *rest = line;

		line[strcspn(line, "#\n")] = 0;
		strsep(&rest, " \t"); /* the address */
		while (!exact && (word = strsep(&rest, " \t"))) {
			exact = !strcmp(word, host);
			if (exact || (!found && !strcasecmp(word, host)))
				found = snprintf(spelling, ADDR_HOST, "%s", word) > 0;
		}
	}
	if (hosts)
		fclose(hosts);
}

static int lookup(const char *host, struct addr *addr)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char spelling[ADDR_HOST];
	struct addrinfo *list;

	int eai;

	find_spelling(host, spelling);
	eai = getaddrinfo(spelling, NULL, &hints, &list);
	if (eai)
		return eai;
	*addr = (struct addr){ .len = list->ai_addrlen };
	memcpy(&addr->ss, list->ai_addr, list->ai_addrlen);
	for (const struct addrinfo *other = list->ai_next; other; other = other->ai_next)
		addr_add(addr, other->ai_addr);
	freeaddrinfo(list);
	return 0;
}

static void *work(void *arg)
{
	struct resolve_name *name;

	pthread_mutex_lock(&cache.lock);
	while ((name = next_queued())) {
		struct addr addr;
		int eai;

		name->queued = false;
		if (!name->waiters)
			continue;
		name->in_progress = true;
		pthread_mutex_unlock(&cache.lock);
		eai = lookup(name->host, &addr);
		pthread_mutex_lock(&cache.lock);
		name->in_progress = false;
		answer(name, eai, &addr);
	}
	cache.threads--;
	pthread_mutex_unlock(&cache.lock);
	return arg;
}

/* Block signals in lookup threads. */
static int add_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	int err;

	if (cache.threads == RESOLVE_THREADS)
		return 0;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attr, work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!err)
		cache.threads++;
	return cache.threads ? 0 : err;
}

/* Return 1 if *addr is known and not stale; 0 if waiter->fd will signal the answer. */
static int wait_for(struct resolve_waiter *waiter, const char *host, bool fresh, struct addr *addr)
{
	struct resolve_name *name = use_name(host);
	int err = 0;

	if (!name)
		return -errno;
	if (!fresh && name->last.ss.ss_family && !name->stale) {
		*addr = name->last;
		return 1;
	}
	if (!name->queued && !name->in_progress) {
		name->queued = true;
		err = add_thread();
	}
	if (err) {
		name->queued = false;
		return -err;
	}
	waiter->name = name;
	waiter->next = name->waiters;
	name->waiters = waiter;
	return 0;
}

static int join(struct resolve_waiter *waiter, const char *host, bool fresh, struct addr *addr,
	struct diag *diag)
{
	int rc;

	*waiter = (struct resolve_waiter){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	rc = waiter->fd < 0 ? -errno : 0;
	if (!rc) {
		pthread_mutex_lock(&cache.lock);
		rc = wait_for(waiter, host, fresh, addr);
		pthread_mutex_unlock(&cache.lock);
	}
	if (rc && waiter->fd >= 0)
		close(waiter->fd);
	if (rc == -EBUSY)
		return diag_set(diag, DIAG_BUSY, EBUSY,
			"resolve host '%s': %d other lookups are in progress", host, RESOLVE_NAMES);
	return rc < 0 ? diag_sys(diag, -rc, "resolve host '%s'", host) : rc;
}

static int explain(int eai, const char *host, struct diag *diag)
{
	switch (eai) {
	case EAI_NONAME:
#ifdef EAI_NODATA
	case EAI_NODATA:
#endif
		return diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no such host '%s'", host);
	case EAI_AGAIN:
		diag_set(diag, DIAG_UNREACHABLE, EHOSTUNREACH,
			"resolve host '%s': no answer from a name server", host);
		return diag_hint(diag, "use a numeric address");
	case EAI_MEMORY:
		return diag_sys(diag, ENOMEM, "resolve host '%s'", host);
	default:
		return diag_set(diag, DIAG_NOT_FOUND, ENOENT, "resolve host '%s': %s", host,
			gai_strerror(eai));
	}
}

/* Stop waiting. Without an answer, use the last known address. */
static int leave(struct resolve_waiter *waiter, const char *host, uint32_t timeout_ms,
	struct addr *addr, struct diag *diag)
{
	struct resolve_name *name;
	char text[DIAG_SECONDS];
	int err;

	pthread_mutex_lock(&cache.lock);
	name = waiter->name;
	if (name) {
		struct resolve_waiter **at = &name->waiters;

		while (*at != waiter)
			at = &(*at)->next;
		*at = waiter->next;
		waiter->addr = name->last;
	}
	pthread_mutex_unlock(&cache.lock);
	close(waiter->fd);
	*addr = waiter->addr;
	if (addr->ss.ss_family)
		return 0;
	if (waiter->eai)
		return explain(waiter->eai, host, diag);
	err = diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT, "resolve host '%s': no answer within %s",
		host, diag_seconds(timeout_ms, text));
	diag_hint(diag, "use a numeric address");
	return err;
}

static void stop_waiting(struct resolve *r, struct diag *why)
{
	if (!r->fd.on)
		return;
	loop_fd_del(r->loop, &r->fd);
	loop_timer_del(r->loop, &r->timer);
	leave(&r->waiter, r->host, r->timeout_ms, &r->addr, why);
}

static void finish_resolve(struct resolve *r)
{
	stop_waiting(r, &r->why);
	addr_set_port(&r->addr, r->port);
	r->on = false;
	r->done(r);
}

static void answered(struct loop_fd *fd, uint32_t events)
{
	(void)events;
	finish_resolve(container_of(fd, struct resolve, fd));
}

static void timed_out(struct loop_timer *timer)
{
	finish_resolve(container_of(timer, struct resolve, timer));
}

static void run_done(struct loop_work *work)
{
	finish_resolve(container_of(work, struct resolve, done_work));
}

static bool has_last(const char *host)
{
	struct resolve_name *name;
	bool has;

	pthread_mutex_lock(&cache.lock);
	name = *find_name(host);
	has = name && name->last.ss.ss_family;
	pthread_mutex_unlock(&cache.lock);
	return has;
}

static int wait_on_loop(struct resolve *r, struct diag *diag)
{
	uint32_t ms = r->timeout_ms;
	int err;

	r->fd = (struct loop_fd){ .fd = r->waiter.fd, .events = EPOLLIN, .ready = answered };
	err = loop_fd_add(r->loop, &r->fd, diag);
	if (err) {
		leave(&r->waiter, r->host, 0, &r->addr, NULL);
		return err;
	}
	if (has_last(r->host) && (!ms || ms > RESOLVE_STALE_MS))
		ms = RESOLVE_STALE_MS;
	r->timer.fire = timed_out;
	if (ms)
		loop_timer_set(r->loop, &r->timer, loop_clock() + ms * MSEC);
	return 0;
}

int resolve_start(struct resolve *r, struct loop *loop, const char *host, uint16_t port,
	uint32_t timeout_ms, struct diag *diag)
{
	void (*fn)(struct resolve *) = r->done;
	int rc;

	*r = (struct resolve){ .done = fn,
		.loop = loop,
		.port = port,
		.timeout_ms = timeout_ms,
		.done_work.run = run_done };
	rc = addr_known(&r->addr, host, port, diag);
	if (!rc) {
		snprintf(r->host, sizeof(r->host), "%s", host);
		rc = join(&r->waiter, host, false, &r->addr, diag);
		if (!rc)
			rc = wait_on_loop(r, diag);
	}
	if (rc < 0)
		return rc;
	if (rc)
		loop_work_add(loop, &r->done_work);
	r->on = true;
	return 0;
}

void resolve_cancel(struct resolve *r)
{
	if (!r->on)
		return;
	stop_waiting(r, NULL);
	loop_work_del(r->loop, &r->done_work);
	r->on = false;
}

void resolve_fail(struct resolve *r, struct loop *loop, const struct diag *why)
{
	resolve_cancel(r);
	*r = (struct resolve){
		.done = r->done, .loop = loop, .done_work.run = run_done, .why = *why, .on = true
	};
	loop_work_add(loop, &r->done_work);
}

void resolve_mark_stale(const char *host)
{
	pthread_mutex_lock(&cache.lock);
	for (struct resolve_name *name = cache.names; name; name = name->next)
		name->stale |= !host || !strcasecmp(name->host, host);
	pthread_mutex_unlock(&cache.lock);
}

void resolve_set_deadline(uint64_t deadline_ns)
{
	process_deadline = deadline_ns;
}

/* end: 0 = no deadline */
static void wait_blocking(int fd, uint64_t end)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	uint64_t now = loop_clock();
	int n = 0;

	while (n <= 0 && (!end || now < end)) {
		uint64_t ms = end ? (end - now) / MSEC + 1 : 0;

		n = poll(&poll_fd, 1, !end ? -1 : ms > INT32_MAX ? INT32_MAX : (int)ms);
		now = loop_clock();
	}
}

int addr_resolve(
	struct addr *addr, const char *host, uint16_t port, uint32_t timeout_ms, struct diag *diag)
{
	uint64_t now = loop_clock(), end = timeout_ms ? now + timeout_ms * MSEC : 0;
	struct resolve_waiter waiter;
	int rc = addr_known(addr, host, port, diag);

	if (rc)
		return rc < 0 ? rc : 0;
	if (process_deadline == RESOLVE_NEVER)
		end = 0;
	else if (process_deadline && (!end || process_deadline < end))
		end = process_deadline > now ? process_deadline : now + 1;
	rc = join(&waiter, host, true, addr, diag);
	if (rc)
		return rc;
	wait_blocking(waiter.fd, end);
	rc = leave(&waiter, host, (uint32_t)((end - now + MSEC - 1) / MSEC), addr, diag);
	addr_set_port(addr, port);
	return rc;
}

int uri_resolve(struct uri *uri, uint16_t default_port, uint32_t timeout_ms, struct addr *addr,
	struct diag *diag)
{
	int err = addr_resolve(
		addr, uri->host, uri->port ? uri->port : default_port, timeout_ms, diag);

	if (!err && uri->host != uri->numeric)
		uri->host = addr_host(addr, uri->numeric);
	return err;
}
