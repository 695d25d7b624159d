/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections of the kernel's SRP initiator, ib_srp, and its settings. */
#include "grow.h"
#include "kernel_srp.h"
#include "kernel_sys.h"
#include "names.h"
#include "srp_dest.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOSTS     "sys/class/scsi_host"
#define MODULE    "sys/module/ib_srp/parameters"
#define RULES     "etc/srp_daemon.conf"
#define RULES_MAX (1 << 20)

static bool read_hex(int root, const char *host, const char *name, uint64_t *value)
{
	char text[64];

	if (kernel_sys_read(root, text, sizeof(text), HOSTS "/%s/%s", host, name) <= 0)
		return false;
	*value = strtoull(text, NULL, 16);
	return true;
}

static bool read_gid(int root, const char *host, const char *name, uint8_t gid[16])
{
	char text[64];

	return kernel_sys_read(root, text, sizeof(text), HOSTS "/%s/%s", host, name) > 0 &&
	       gid_parse(gid, text);
}

struct walk {
	int root;
	const struct kernel_srp *match; /* NULL: all */
	struct kernel_srp *list;
	unsigned count;
	bool failed;
};

/* Read the path to the target; over RDMA/CM there is none. False: it is incomplete. */
static bool read_path(int root, const char *name, struct kernel_srp *host)
{
	bool service = read_hex(root, name, "service_id", &host->service_id);
	uint64_t pkey;

	host->by_cm = !read_hex(root, name, "pkey", &pkey) && !service;
	if (host->by_cm)
		return true;
	host->pkey = (uint16_t)pkey;
	/* dgid changes when the connection manager redirects; kernels before 2.6.24 have only
	 * dgid */
	return service && (read_gid(root, name, "orig_dgid", host->dgid) ||
				  read_gid(root, name, "dgid", host->dgid));
}

/* The list has every SCSI host; only those of ib_srp have SRP attributes. */
static void add_host(const char *name, void *arg)
{
	struct walk *walk = arg;
	struct kernel_srp host = { 0 }, *more;
	char text[16];

	if (!read_hex(walk->root, name, "id_ext", &host.id_ext) ||
		(walk->match && host.id_ext != walk->match->id_ext) ||
		!read_hex(walk->root, name, "ioc_guid", &host.ioc_guid) ||
		!read_path(walk->root, name, &host))
		return;
	more = grow(walk->list, walk->count);
	if (!more) {
		walk->failed = true;
		return;
	}
	snprintf(host.host, sizeof(host.host), "%s", name);
	kernel_sys_read(walk->root, host.dev, sizeof(host.dev), HOSTS "/%s/local_ib_device", name);
	if (kernel_sys_read(walk->root, text, sizeof(text), HOSTS "/%s/local_ib_port", name) > 0)
		host.port = (unsigned)strtoul(text, NULL, 10);
	*more = host;
}

static int list_hosts(int root, const struct kernel_srp *match, struct kernel_srp **list,
	unsigned *count, struct diag *diag)
{
	struct walk walk = { .root = root, .match = match };

	kernel_sys_list(root, HOSTS, add_host, &walk);
	*list = walk.list;
	*count = walk.count;
	if (!walk.failed)
		return 0;
	free(walk.list);
	*list = NULL;
	*count = 0;
	return diag_sys(diag, ENOMEM, "list of SRP connections");
}

static int by_number(const void *a, const void *b)
{
	const struct kernel_srp *left = a, *right = b;

	return kernel_srp_number(left->host) - kernel_srp_number(right->host);
}

int kernel_srp_list(int root, struct kernel_srp **list, unsigned *count, struct diag *diag)
{
	int err = list_hosts(root, NULL, list, count, diag);

	if (!err && *count)
		qsort(*list, *count, sizeof(**list), by_number);
	return err;
}

const struct kernel_srp *kernel_srp_find(const struct kernel_srp *list, unsigned count,
	const struct kernel_srp *match, bool any_pkey)
{
	for (unsigned i = 0; i < count; i++) {
		const struct kernel_srp *host = &list[i];

		if (host->id_ext != match->id_ext || host->ioc_guid != match->ioc_guid ||
			(host->dev[0] && strcmp(host->dev, match->dev)) ||
			(host->port && host->port != match->port))
			continue;
		if (host->by_cm || (host->service_id == match->service_id &&
					   (any_pkey || host->pkey == match->pkey) &&
					   !memcmp(host->dgid, match->dgid, sizeof(host->dgid))))
			return host;
	}
	return NULL;
}

bool kernel_srp_connected(int root, const struct kernel_srp *match, bool any_pkey, char host[24])
{
	const struct kernel_srp *found;
	struct kernel_srp *list;
	unsigned count;

	host[0] = 0;
	if (list_hosts(root, match, &list, &count, NULL))
		return false;
	found = kernel_srp_find(list, count, match, any_pkey);
	if (found)
		snprintf(host, 24, "%s", found->host);
	free(list);
	return found;
}

bool kernel_srp_host_matches(
	int root, const char *host, const struct kernel_srp *match, bool any_pkey)
{
	struct walk walk = { .root = root, .match = match };
	bool matches;

	add_host(host, &walk);
	matches = kernel_srp_find(walk.list, walk.count, match, any_pkey);
	free(walk.list);
	return matches;
}

int kernel_srp_number(const char *host)
{
	unsigned number;
	char end;

	return sscanf(host, "host%u%c", &number, &end) == 1 && number <= INT32_MAX ? (int)number
										   : -1;
}

static uint64_t hex(const char *text)
{
	return strtoull(text, NULL, 16);
}

static bool same_path(const struct kernel_srp *host, const struct srp_params *params)
{
	char gid[33];

	return (!params->value[SRP_OPT_DGID][0] ||
		       !strcmp(hex_text(gid, host->dgid, 16), params->value[SRP_OPT_DGID])) &&
	       (!params->value[SRP_OPT_SERVICE_ID][0] ||
		       host->service_id == hex(params->value[SRP_OPT_SERVICE_ID]));
}

bool kernel_srp_path_known(const struct kernel_srp *host)
{
	static const uint8_t none[sizeof(host->dest)];

	return !host->by_cm || memcmp(host->dest, none, sizeof(none)) != 0;
}

static bool may_be_at(const struct kernel_srp *host, const char *dest)
{
	uint8_t ip[16];

	return !kernel_srp_path_known(host) || !srp_dest_parse(ip, dest) ||
	       !memcmp(host->dest, ip, sizeof(ip));
}

bool kernel_srp_same_target(const struct kernel_srp *host, const struct srp_params *params,
	const struct srp_local *local)
{
	return host->id_ext == hex(params->value[SRP_OPT_ID_EXT]) &&
	       host->ioc_guid == hex(params->value[SRP_OPT_IOC_GUID]) &&
	       (!local || !host->dev[0] ||
		       (!strcmp(host->dev, local->dev) && host->port == local->port));
}

bool kernel_srp_fits(const struct kernel_srp *host, const struct srp_params *params,
	const struct srp_local *local)
{
	bool cm = params->value[SRP_OPT_DEST][0];

	return kernel_srp_same_target(host, params, local) &&
	       (cm ? host->by_cm && may_be_at(host, params->value[SRP_OPT_DEST])
		   : !host->by_cm && same_path(host, params));
}

bool kernel_srp_stays(int root, const char *host)
{
	char state[16];

	return kernel_sys_read(root, state, sizeof(state), HOSTS "/%s/state", host) <= 0 ||
	       !strcmp(state, "running") || !strcmp(state, "recovery");
}

uint32_t kernel_srp_imm_data(int root)
{
	char text[16];

	if (kernel_sys_read(root, text, sizeof(text), MODULE "/use_imm_data") <= 0 ||
		text[0] != 'Y')
		return 0;
	if (kernel_sys_read(root, text, sizeof(text), MODULE "/max_imm_data") <= 0)
		return 0;
	return (uint32_t)strtoul(text, NULL, 10);
}

static int no_rules(int err, const char *name, struct diag *diag)
{
	diag_sys(diag, err, "read the rules");
	return diag_ctx(diag, "%s", name);
}

/* A pipe can't be read a second time. */
static int is_stored(int fd, const char *name, struct diag *diag)
{
	struct stat st;

	if (fstat(fd, &st))
		return no_rules(errno, name, diag);
	if (S_ISREG(st.st_mode))
		return 0;
	diag_set(diag, DIAG_UNSUPPORTED, ESPIPE, "can't reread the rules: not a regular file");
	return diag_ctx(diag, "%s", name);
}

int kernel_srp_rules(int root, const char *file, bool reread, char *name, size_t name_len,
	char **text, size_t *len, struct diag *diag)
{
	int flags = O_RDONLY | O_CLOEXEC | (reread ? O_NONBLOCK : 0);
	int fd = file ? open(file, flags) : openat(root, RULES, flags), err = errno;
	char part[4096];
	ssize_t got;

	snprintf(name, name_len, "%s", file ? file : "/" RULES);
	*text = NULL;
	*len = 0;
	if (fd < 0)
		return file || err != ENOENT ? no_rules(err, name, diag) : 0;
	err = reread ? is_stored(fd, name, diag) : 0;
	if (err) {
		close(fd);
		return err;
	}
	while (!err && (got = read(fd, part, sizeof(part)))) {
		char *more = got < 0            ? NULL
			     : *len > RULES_MAX ? NULL
						: realloc(*text, *len + (size_t)got);

		if (!more) {
			err = got < 0 ? errno : *len > RULES_MAX ? EFBIG : ENOMEM;
			continue;
		}
		*text = more;
		memcpy(more + *len, part, (size_t)got);
		*len += (size_t)got;
	}
	close(fd);
	if (!err && !*text && !(*text = malloc(1)))
		err = ENOMEM;
	if (!err)
		return 0;
	free(*text);
	*text = NULL;
	return no_rules(err, name, diag);
}

int kernel_srp_lock(int root, const char *dev, unsigned port, struct diag *diag)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char name[128];
	int fd, err;

	snprintf(name, sizeof(name), "run/srp_daemon_%s_%u", dev, port);
	fd = openat(root, name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return diag_sys(diag, errno, "open the lock /%s", name);
	if (!fcntl(fd, F_SETLK, &lock))
		return fd;
	err = errno;
	if (err != EACCES && err != EAGAIN) {
		close(fd);
		return diag_sys(diag, err, "lock /%s", name);
	}
	if (fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK || lock.l_pid <= 0)
		diag_set(diag, DIAG_BUSY, EBUSY, "another daemon holds the lock /%s of this port",
			name);
	else
		diag_set(diag, DIAG_BUSY, EBUSY, "process %d holds the lock /%s of this port",
			(int)lock.l_pid, name);
	close(fd);
	return -EBUSY;
}
