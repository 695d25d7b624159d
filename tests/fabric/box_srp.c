/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* add_target of ib_srp: what Linux 6.1 takes and refuses (drivers/infiniband/ulp/srp/ib_srp.c,
 * srp_parse_options), and the SCSI host it makes. No connection is made. */
#include "box.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum kind { TEXT, HEX64, HEX16, NUMBER, GID };
enum { ID_EXT, IOC_GUID, DGID, PKEY, SERVICE_ID, INITIATOR_EXT, IO_CLASS, OTHERS };

static const struct key {
	const char *name;
	enum kind kind;
	uint64_t min, max;
} keys[] = {
	[ID_EXT] = { "id_ext", HEX64, 0, UINT64_MAX },
	[IOC_GUID] = { "ioc_guid", HEX64, 0, UINT64_MAX },
	[DGID] = { "dgid", GID, 0, 0 },
	[PKEY] = { "pkey", HEX16, 0, UINT32_MAX },
	[SERVICE_ID] = { "service_id", HEX64, 0, UINT64_MAX },
	[INITIATOR_EXT] = { "initiator_ext", HEX64, 0, UINT64_MAX },
	[IO_CLASS] = { "io_class", HEX16, 0x0100, 0xff00 },
	[OTHERS] = { "max_sect", NUMBER, 0, INT32_MAX },
	{ "max_cmd_per_lun", NUMBER, 1, INT32_MAX },
	{ "target_can_queue", NUMBER, 1, INT32_MAX },
	{ "cmd_sg_entries", NUMBER, 1, 255 },
	{ "allow_ext_sg", NUMBER, 0, INT32_MAX },
	{ "sg_tablesize", NUMBER, 1, 2048 },
	{ "comp_vector", NUMBER, 0, INT32_MAX },
	{ "tl_retry_count", NUMBER, 2, 7 },
	{ "queue_size", NUMBER, 1, INT32_MAX },
	{ "max_it_iu_size", NUMBER, 0, INT32_MAX },
	{ "ch_count", NUMBER, 1, INT32_MAX },
};
#define KEYS  (sizeof(keys) / sizeof(*keys))
#define NEEDS (1 << ID_EXT | 1 << IOC_GUID | 1 << DGID | 1 << PKEY | 1 << SERVICE_ID)

struct target {
	uint64_t value[OTHERS];
	char gid[40]; /* in groups */
	unsigned given;
};

static bool read_gid(struct target *target, const char *text)
{
	char *to = target->gid;

	if (strlen(text) != 32 || strspn(text, "0123456789abcdefABCDEF") != 32)
		return false;
	for (unsigned i = 0; i < 32; i++) {
		if (i && i % 4 == 0)
			*to++ = ':';
		*to++ = (char)tolower((unsigned char)text[i]);
	}
	*to = 0;
	return true;
}

static bool read_key(struct target *target, const struct key *key, const char *text)
{
	uint64_t value;
	char *end;

	if (key->kind == GID)
		return read_gid(target, text);
	if (!isxdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &end, key->kind == NUMBER ? 10 : 16);
	if (*end || errno || value < key->min || value > key->max)
		return false;
	if (key - keys == IO_CLASS && value != key->min && value != key->max)
		return false;
	if (key - keys < OTHERS)
		target->value[key - keys] = value;
	return true;
}

static bool read_line(struct target *target, char *line)
{
	char *save, *word;

	for (word = strtok_r(line, ",\n", &save); word; word = strtok_r(NULL, ",\n", &save)) {
		char *value = strchr(word, '=');
		unsigned i = 0;

		if (!value)
			return false;
		*value++ = 0;
		while (i < KEYS && strcmp(keys[i].name, word))
			i++;
		if (i == KEYS || !read_key(target, &keys[i], value))
			return false;
		target->given |= 1u << i;
	}
	return (target->given & NEEDS) == NEEDS;
}

/* Two connections from one port to one target are distinguished by the initiator's extension alone.
 */
static bool is_connected(
	const struct box *box, const struct port *port, const struct target *target)
{
	char path[96], text[96], expected[96];
	bool same = false;

	snprintf(expected, sizeof(expected), "%u %" PRIx64 " %" PRIx64 " %" PRIx64, port->number,
		target->value[ID_EXT], target->value[IOC_GUID], target->value[INITIATOR_EXT]);
	for (unsigned i = 0; i < box->hosts && !same; i++) {
		FILE *from;

		snprintf(path, sizeof(path), "/proc/self/fd/%d/scsi_host/host%u/.key", box->sys, i);
		from = fopen(path, "re");
		same = from && fgets(text, sizeof(text), from) && !strcmp(text, expected);
		if (from)
			fclose(from);
	}
	return same;
}

static void make_host(struct box *box, const struct port *port, const struct target *target)
{
	char path[96];
	unsigned host = box->hosts++;

#define PUT(name, ...)                                                                             \
	(snprintf(path, sizeof(path), "scsi_host/host%u/" name, host),                             \
		sys_write(box->sys, path, __VA_ARGS__))
	PUT(".key", "%u %" PRIx64 " %" PRIx64 " %" PRIx64, port->number, target->value[ID_EXT],
		target->value[IOC_GUID], target->value[INITIATOR_EXT]);
	PUT("id_ext", "0x%016" PRIx64 "\n", target->value[ID_EXT]);
	PUT("ioc_guid", "0x%016" PRIx64 "\n", target->value[IOC_GUID]);
	PUT("service_id", "0x%016" PRIx64 "\n", target->value[SERVICE_ID]);
	PUT("pkey", "0x%04x\n", (unsigned)target->value[PKEY]);
	PUT("dgid", "%s\n", target->gid);
	PUT("orig_dgid", "%s\n", target->gid);
	PUT("local_ib_device", "ibsim%u\n", port->number);
	PUT("local_ib_port", "1\n");
	PUT("proc_name", "ib_srp\n");
#undef PUT
}

int srp_add_target(struct box *box, struct port *port, char *line)
{
	struct target target = { 0 };
	int err = 0;
	char *copy;

	line[strcspn(line, "\n")] = 0;
	copy = strdup(line);
	if (!copy)
		box_die("out of memory");
	if (!read_line(&target, copy))
		err = -EINVAL;
	else if (is_connected(box, port, &target))
		err = -EEXIST;
	else
		make_host(box, port, &target);
	free(copy);
	box_log(box, "add_target %s ibsim%u %s", err ? strerrorname_np(-err) : "ok", port->number,
		line);
	return err;
}
