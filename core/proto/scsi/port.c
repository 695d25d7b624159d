/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Unique numbers for initiator ports. */
#include "disk.h"
#include <errno.h>
#include <pthread.h>
#include <sys/random.h>

/* Ports of the disks open in this process, on any thread. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct scsi_port *ports;

static uint64_t mix(uint64_t hash, const char *text) /* FNV-1a */
{
	while (*text)
		hash = (hash ^ (uint8_t)*text++) * 0x100000001b3;
	return hash;
}

static bool is_used(uint64_t number)
{
	const struct scsi_port *port = ports;

	while (port && (port->number ^ number) & SCSI_PORT_MASK)
		port = port->next;
	return port;
}

int scsi_port_acquire(struct scsi_port *port, const struct uri *uri, struct diag *diag)
{
	static uint64_t process;
	uint64_t own = __atomic_load_n(&process, __ATOMIC_RELAXED), none = 0;

	if (!own) {
		if (getrandom(&own, sizeof(own), GRND_NONBLOCK) != sizeof(own))
			return diag_sys(diag, EAGAIN, "read random numbers");
		own |= 1;
		if (!__atomic_compare_exchange_n(
			    &process, &none, own, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			own = none;
	}
	port->number = mix(mix(own ^ uri->port, uri->spelling), uri->host);
	pthread_mutex_lock(&lock);
	while (is_used(port->number))
		port->number++;
	port->next = ports;
	ports = port;
	pthread_mutex_unlock(&lock);
	return 0;
}

void scsi_port_release(const struct scsi_port *port)
{
	struct scsi_port **at = &ports;

	pthread_mutex_lock(&lock);
	while (*at && *at != port)
		at = &(*at)->next;
	if (*at)
		*at = port->next;
	pthread_mutex_unlock(&lock);
}
