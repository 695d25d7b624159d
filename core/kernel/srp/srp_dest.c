/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find the addresses of connections by RDMA/CM in the kernel's log, as sysfs lacks them. ib_srp
 * logs each at the end of its login (Linux 5.1 to 6.18, add_target_store()). */
#include "srp_dest.h"
#include "kernel_log.h"
#include "kernel_srp.h"
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool srp_dest_parse(uint8_t ip[16], const char *text)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool v6 = strchr(text, ':') != strrchr(text, ':');
	char host[64];

	text += *text == '[';
	snprintf(host, sizeof(host), "%.*s", (int)strcspn(text, v6 ? "]% " : ": "), text);
	if (v6)
		return inet_pton(AF_INET6, host, ip) == 1;
	memcpy(ip, mapped, sizeof(mapped));
	return inet_pton(AF_INET, host, ip + sizeof(mapped)) == 1;
}

struct search {
	struct kernel_srp *list;
	unsigned count;
};

static struct kernel_srp *find_host(const struct search *search, int number)
{
	for (unsigned i = 0; i < search->count; i++)
		if (search->list[i].by_cm && kernel_srp_number(search->list[i].host) == number)
			return &search->list[i];
	return NULL;
}

/* "ib_srp: new target: id_ext 1 ioc_guid 2 sgid fe80:… dest 10.0.0.1" */
static void read_dest(struct kernel_srp *host, const char *text)
{
	const char *dest = strstr(text, " dest ");
	uint64_t id_ext, ioc_guid;

	memset(host->dest, 0, sizeof(host->dest));
	if (dest &&
		sscanf(text, "ib_srp: new target: id_ext %" SCNx64 " ioc_guid %" SCNx64, &id_ext,
			&ioc_guid) == 2 &&
		id_ext == host->id_ext && ioc_guid == host->ioc_guid &&
		!srp_dest_parse(host->dest, dest + 6))
		memset(host->dest, 0, sizeof(host->dest));
}

/* Numbers of hosts are reused: "scsi host6: SRP.T10:…" is the first line of a new one. */
static void read_line(const char *line, void *arg)
{
	struct kernel_srp *host;
	int number, at = 0;

	if (sscanf(line, "scsi host%d: %n", &number, &at) != 1 || !at)
		return;
	host = find_host(arg, number);
	line += at;
	if (host && (!strncmp(line, "SRP.T10:", 8) || !strncmp(line, "ib_srp: new target: ", 20)))
		read_dest(host, line);
}

void kernel_srp_set_dests(int root, struct kernel_srp *list, unsigned count)
{
	struct search search = { list, count };
	bool by_cm = false;

	for (unsigned i = 0; i < count; i++)
		by_cm |= list[i].by_cm;
	if (by_cm)
		kernel_log_each(root, read_line, &search);
}
