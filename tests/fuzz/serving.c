/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/inspect */
/* What any process may answer to `status`: every string ends, every number was checked, and a
 * failure leaves no list. */
#include "../../core/inspect/served.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ENDS(text) (strnlen(text, sizeof(text)) < sizeof(text))

static void check_front(const struct serving_front *front)
{
	if (!ENDS(front->protocol) ||
		(front->read_bytes > UINT64_C(1) << 53 && front->read_bytes != SERVING_UNKNOWN))
		abort();
	for (unsigned i = 0; i < front->disks; i++) {
		const struct serving_disk *disk = &front->disk[i];

		if (!ENDS(disk->uri) || !ENDS(disk->subnqn) || !ENDS(disk->name) ||
			!ENDS(disk->device) || disk->holders.count > HOLDERS)
			abort();
		for (unsigned h = 0; h < disk->holders.count; h++)
			if (!ENDS(disk->holders.item[h].kind) ||
				!ENDS(disk->holders.item[h].name) ||
				!ENDS(disk->holders.item[h].label))
				abort();
	}
	for (unsigned i = 0; i < front->listeners; i++) {
		const struct serving_listener *listener = &front->listener[i];

		if (!ENDS(listener->transport) || !ENDS(listener->traddr) ||
			!ENDS(listener->trsvcid) || !ENDS(listener->path))
			abort();
	}
	if (front->hosts > SERVING_HOSTS || front->nbd_clients > SERVING_HOSTS)
		abort();
	for (unsigned i = 0; i < front->nbd_clients; i++) {
		const struct serving_nbd_client *client = &front->nbd_client[i];

		if (!ENDS(client->name) || !ENDS(client->transport) || !ENDS(client->traddr) ||
			!ENDS(client->trsvcid) || !ENDS(client->security) ||
			!ENDS(client->tls_version) || !ENDS(client->tls_cipher) ||
			!ENDS(client->tls_identity))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct serving_process process = { .pid = 1, .uid = 2 };

	kernel_serving_read(&process, (const char *)data, size);
	if (process.pid != 1 || process.uid != 2 || !ENDS(process.applet) ||
		!(process.seconds >= 0) || (process.why.err && process.fronts))
		abort();
	for (unsigned i = 0; i < process.fronts; i++)
		check_front(&process.front[i]);
	kernel_serving_clear(&process);
	return 0;
}
