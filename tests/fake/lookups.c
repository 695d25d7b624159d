/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "lookups.h"
#include "resolve.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAMES (RESOLVE_NAMES + 16)

int __wrap_getaddrinfo(const char *, const char *, const struct addrinfo *, struct addrinfo **);
void __wrap_freeaddrinfo(struct addrinfo *);

struct name {
	char host[64], ip[16];
	int eai;
	bool hold;
	unsigned asked;
};

struct answer {
	struct addrinfo info;
	struct sockaddr_in addr;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct name name[NAMES];
	unsigned running, most;
} names = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Under the lock. */
static struct name *find(const char *host)
{
	struct name *name = names.name;

	while (name->host[0] && strcasecmp(name->host, host))
		name++;
	if (name == names.name + NAMES - 1)
		abort();
	if (!name->host[0]) {
		snprintf(name->host, sizeof(name->host), "%s", host);
		name->eai = EAI_NONAME;
	}
	return name;
}

void names_set(const char *host, const char *ip, int eai)
{
	struct name *name;

	pthread_mutex_lock(&names.lock);
	name = find(host);
	snprintf(name->ip, sizeof(name->ip), "%s", ip ? ip : "");
	name->eai = ip ? 0 : eai;
	pthread_mutex_unlock(&names.lock);
}

void names_hold(const char *host, bool hold)
{
	pthread_mutex_lock(&names.lock);
	find(host)->hold = hold;
	pthread_cond_broadcast(&names.changed);
	pthread_mutex_unlock(&names.lock);
}

unsigned names_asked(const char *host)
{
	unsigned asked;

	pthread_mutex_lock(&names.lock);
	asked = find(host)->asked;
	pthread_mutex_unlock(&names.lock);
	return asked;
}

unsigned names_running(void)
{
	unsigned running;

	pthread_mutex_lock(&names.lock);
	running = names.running;
	pthread_mutex_unlock(&names.lock);
	return running;
}

unsigned names_most(void)
{
	unsigned most;

	pthread_mutex_lock(&names.lock);
	most = names.most;
	pthread_mutex_unlock(&names.lock);
	return most;
}

int __wrap_getaddrinfo(
	const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	struct name *name;
	int eai;

	(void)service;
	(void)hints;
	if (!answer)
		return EAI_MEMORY;
	answer->info = (struct addrinfo){ .ai_addr = (struct sockaddr *)&answer->addr,
		.ai_addrlen = sizeof(answer->addr) };
	answer->addr.sin_family = AF_INET;
	pthread_mutex_lock(&names.lock);
	name = find(host);
	name->asked++;
	if (++names.running > names.most)
		names.most = names.running;
	while (name->hold)
		pthread_cond_wait(&names.changed, &names.lock);
	names.running--;
	eai = name->eai;
	if (!eai)
		inet_pton(AF_INET, name->ip, &answer->addr.sin_addr);
	pthread_mutex_unlock(&names.lock);
	if (eai)
		free(answer);
	else
		*list = &answer->info;
	return eai;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
	free(list);
}
