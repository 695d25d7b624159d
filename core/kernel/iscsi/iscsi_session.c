/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the sessions of the kernel's iSCSI initiators from sysfs (Linux 6.12,
 * drivers/scsi/scsi_transport_iscsi.c), and write the one attribute that is writable. */
#include "grow.h"
#include "kernel_iscsi.h"
#include "kernel_sys.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSIONS     "sys/class/iscsi_session"
#define CONNECTIONS  "sys/class/iscsi_connection"
#define SESSIONS_MAX 4096
#define LENGTH_MAX   0xffffff /* RFC 7143, 13.12 to 13.14 */
#define SECONDS_MAX  2147483  /* more would overflow the kernel's int of jiffies */
#define UNSET        "(null)" /* the kernel's text for an unset value */

/* Read a text without blanks and control characters that is not truncated. */
static bool read_word(int root, char *text, size_t len, const char *dir, const char *name)
{
	ssize_t got = kernel_sys_read(root, text, len, "%s/%s", dir, name);

	for (ssize_t i = 0; i < got; i++)
		if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
			got = 0;
	if (got <= 0 || (size_t)got >= len - 1 || !strcmp(text, UNSET))
		text[0] = 0;
	return text[0] != 0;
}

static int read_number(int root, const char *dir, const char *name, int max)
{
	char text[24], *end;
	long value;

	if (!read_word(root, text, sizeof(text), dir, name) || text[0] < '0' || text[0] > '9')
		return VALUE_UNKNOWN;
	errno = 0;
	value = strtol(text, &end, 10);
	return *end || errno || value > max ? VALUE_UNKNOWN : (int)value;
}

static int read_recovery(int root, const char *dir)
{
	char text[24];

	if (read_word(root, text, sizeof(text), dir, "recovery_tmo") &&
		(!strcmp(text, "off") || text[0] == '-'))
		return VALUE_OFF;
	return read_number(root, dir, "recovery_tmo", INT32_MAX);
}

static void read_address(int root, const char *dir, const char *host, const char *port,
	char text[ADDR_TEXT], uint16_t *number)
{
	int value = read_number(root, dir, port, UINT16_MAX);

	read_word(root, text, ADDR_TEXT, dir, host);
	*number = value > 0 && text[0] ? (uint16_t)value : 0;
}

struct connections {
	struct kernel_iscsi_session *session;
	char name[32]; /* the first entry; "" = none */
};

static void add_connection(const char *name, void *arg)
{
	struct connections *all = arg;
	struct kernel_iscsi_session *session = all->session;
	unsigned sid, cid;
	char end;

	if (sscanf(name, "connection%u:%u%c", &sid, &cid, &end) != 2 || sid != session->sid)
		return;
	session->connections++;
	if (all->name[0] && cid > session->cid)
		return;
	session->cid = cid;
	snprintf(all->name, sizeof(all->name), "%.31s", name);
}

static void read_connection(int root, struct kernel_iscsi_session *session)
{
	struct connections all = { .session = session };
	struct kernel_iscsi_agreed_params *agreed = &session->agreed;
	char dir[80];

	kernel_sys_list(root, CONNECTIONS, add_connection, &all);
	if (!all.name[0])
		snprintf(all.name, sizeof(all.name), "none"); /* a path that does not exist */
	snprintf(dir, sizeof(dir), CONNECTIONS "/%s", all.name);
	read_word(root, session->connection_state, sizeof(session->connection_state), dir, "state");
	read_address(root, dir, "persistent_address", "persistent_port", session->portal,
		&session->portal_port);
	read_address(root, dir, "address", "port", session->address, &session->port);
	agreed->header_digest = read_number(root, dir, "header_digest", 1);
	agreed->data_digest = read_number(root, dir, "data_digest", 1);
	agreed->max_recv = read_number(root, dir, "max_recv_dlength", LENGTH_MAX);
	agreed->max_xmit = read_number(root, dir, "max_xmit_dlength", LENGTH_MAX);
	session->tmo.recv = read_number(root, dir, "recv_tmo", INT32_MAX);
	session->tmo.ping = read_number(root, dir, "ping_tmo", INT32_MAX);
}

static void read_agreed(int root, const char *dir, struct kernel_iscsi_agreed_params *agreed)
{
	agreed->first_burst = read_number(root, dir, "first_burst_len", LENGTH_MAX);
	agreed->max_burst = read_number(root, dir, "max_burst_len", LENGTH_MAX);
	agreed->initial_r2t = read_number(root, dir, "initial_r2t", 1);
	agreed->immediate_data = read_number(root, dir, "immediate_data", 1);
	agreed->pdu_in_order = read_number(root, dir, "data_pdu_in_order", 1);
	agreed->sequence_in_order = read_number(root, dir, "data_seq_in_order", 1);
	agreed->max_r2t = read_number(root, dir, "max_outstanding_r2t", UINT16_MAX);
	agreed->erl = read_number(root, dir, "erl", 2);
}

static void read_tmo(int root, const char *dir, struct kernel_iscsi_tmo *tmo)
{
	tmo->recovery = read_recovery(root, dir);
	tmo->abort = read_number(root, dir, "abort_tmo", INT32_MAX);
	tmo->lu_reset = read_number(root, dir, "lu_reset_tmo", INT32_MAX);
	tmo->target_reset = read_number(root, dir, "tgt_reset_tmo", INT32_MAX);
}

/* "../../devices/platform/host3/session1/iscsi_session/session1" */
static bool read_host(int root, const char *dir, struct kernel_iscsi_session *session)
{
	char target[400], *at = target, word[32];
	ssize_t len = readlinkat(root, dir, target, sizeof(target) - 1);

	if (len <= 0 || (size_t)len >= sizeof(target) - 1)
		return false;
	target[len] = 0;
	snprintf(word, sizeof(word), "/session%u/", session->sid);
	at = strstr(target, word);
	while (at && at > target && at[-1] != '/')
		at--;
	return at && sscanf(at, "host%u/", &session->host) == 1;
}

/* The driver is iscsi_tcp or iscsi_iser; others keep their own name. */
static void read_host_attrs(int root, struct kernel_iscsi_session *session)
{
	char dir[80], driver[32];

	snprintf(dir, sizeof(dir), "sys/class/scsi_host/host%u", session->host);
	if (read_word(root, driver, sizeof(driver), dir, "proc_name"))
		snprintf(session->transport, sizeof(session->transport), "%.15s",
			driver + (strncmp(driver, "iscsi_", 6) ? 0 : 6));
	snprintf(dir, sizeof(dir), "sys/class/iscsi_host/host%u", session->host);
	if (!read_word(root, session->netdev, sizeof(session->netdev), dir, "netdev") ||
		!strcmp(session->netdev, "default"))
		session->netdev[0] = 0;
	if (session->address[0])
		read_word(root, session->local, sizeof(session->local), dir, "ipaddress");
}

int kernel_iscsi_session(int root, unsigned sid, struct kernel_iscsi_session *session)
{
	int number;
	char dir[80];

	*session = (struct kernel_iscsi_session){ .sid = sid };
	snprintf(dir, sizeof(dir), SESSIONS "/session%u", sid);
	if (!read_host(root, dir, session) ||
		!read_word(root, session->state, sizeof(session->state), dir, "state"))
		return -ENOENT;
	read_word(root, session->target_state, sizeof(session->target_state), dir, "target_state");
	read_word(root, session->target, sizeof(session->target), dir, "targetname");
	read_word(root, session->initiator, sizeof(session->initiator), dir, "initiatorname");
	read_word(root, session->iface, sizeof(session->iface), dir, "ifacename");
	session->tpgt = read_number(root, dir, "tpgt", UINT16_MAX);
	session->fast_abort = read_number(root, dir, "fast_abort", 1);
	number = read_number(root, dir, "creator", INT32_MAX);
	session->creator = number > 0 ? number : 0;
	session->target_id = read_number(root, dir, "target_id", INT32_MAX);
	read_agreed(root, dir, &session->agreed);
	read_tmo(root, dir, &session->tmo);
	read_connection(root, session);
	read_host_attrs(root, session);
	return 0;
}

struct walk {
	int root, err;
	struct kernel_iscsi_session *list;
	unsigned count;
};

static void add_session(const char *name, void *arg)
{
	struct kernel_iscsi_session session, *more;
	struct walk *walk = arg;
	unsigned sid;
	char end;

	if (walk->err || sscanf(name, "session%u%c", &sid, &end) != 1 ||
		kernel_iscsi_session(walk->root, sid, &session))
		return;
	more = walk->count < SESSIONS_MAX ? grow(walk->list, walk->count) : NULL;
	if (!more) {
		walk->err = walk->count < SESSIONS_MAX ? ENOMEM : E2BIG;
		return;
	}
	*more = session;
}

static int by_number(const void *a, const void *b)
{
	const struct kernel_iscsi_session *left = a, *right = b;

	return left->sid < right->sid ? -1 : left->sid > right->sid;
}

int kernel_iscsi_sessions(
	int root, struct kernel_iscsi_session **list, unsigned *count, struct diag *diag)
{
	struct walk walk = { .root = root };

	kernel_sys_list(root, SESSIONS, add_session, &walk);
	if (walk.err) {
		free(walk.list);
		*list = NULL;
		*count = 0;
		diag_sys(diag, walk.err, "iSCSI sessions");
		return -walk.err;
	}
	if (walk.count)
		qsort(walk.list, walk.count, sizeof(*walk.list), by_number);
	*list = walk.list;
	*count = walk.count;
	return 0;
}

static bool same_place(const char *host, uint16_t port, const struct addr *portal)
{
	char left[ADDR_TEXT], right[ADDR_TEXT];
	struct addr here, at = *portal;
	bool same;

	if (!host[0] || addr_numeric(&here, host, port, NULL))
		return false;
	addr_text(&here, left);
	do {
		same = !strcmp(left, addr_text(&at, right));
	} while (!same && addr_next(&at));
	return same;
}

const struct kernel_iscsi_session *kernel_iscsi_session_find(
	const struct kernel_iscsi_session *list, unsigned count, const char *initiator,
	const char *transport, const char *target, const struct addr *portal)
{
	for (unsigned i = 0; i < count; i++)
		if ((!initiator || !list[i].initiator[0] ||
			    !strcmp(list[i].initiator, initiator)) &&
			!strcmp(list[i].transport, transport) && !strcmp(list[i].target, target) &&
			(same_place(list[i].portal, list[i].portal_port, portal) ||
				same_place(list[i].address, list[i].port, portal)))
			return &list[i];
	return NULL;
}

/* Read it exactly, as trailing blanks are part of a secret. */
static int read_secret(int root, unsigned sid, const char *name, char text[KERNEL_ISCSI_SECRET])
{
	char path[100], line[KERNEL_ISCSI_SECRET + 1];
	ssize_t len;
	int fd, err = 0;

	snprintf(path, sizeof(path), SESSIONS "/session%u/%s", sid, name);
	fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno;
	len = read(fd, line, sizeof(line));
	if (len < 0)
		err = errno;
	close(fd);
	if (len > 0 && line[len - 1] == '\n')
		len--;
	if (len >= KERNEL_ISCSI_SECRET)
		err = EOVERFLOW;
	text[0] = 0;
	if (!err && (len != strlen(UNSET) || memcmp(line, UNSET, strlen(UNSET)))) {
		memcpy(text, line, (size_t)len);
		text[len] = 0;
	}
	explicit_bzero(line, sizeof(line));
	return err;
}

int kernel_iscsi_secrets(
	int root, unsigned sid, struct kernel_iscsi_secrets *secrets, struct diag *diag)
{
	static const char *const names[] = { "username", "password", "username_in", "password_in" };
	char *const texts[] = { secrets->user, secrets->secret, secrets->target_user,
		secrets->target_secret };

	secret_disable_dumps();
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int err = read_secret(root, sid, names[i], texts[i]);

		if (!err)
			continue;
		explicit_bzero(secrets, sizeof(*secrets));
		if (err == EACCES)
			diag_set(diag, DIAG_PERMISSION, EACCES,
				"only root can read the %s of session%u", names[i], sid);
		else
			diag_sys(diag, err, "%s of session%u", names[i], sid);
		return -err;
	}
	return 0;
}

int kernel_iscsi_recovery_set(int root, unsigned sid, int seconds, struct diag *diag)
{
	char path[80], text[16];
	int fd, err = 0;

	if (seconds != VALUE_OFF && (seconds < 0 || seconds > SECONDS_MAX))
		return diag_set(diag, DIAG_USAGE, ERANGE,
			"recovery timeout: must be 0 to %d, or off", SECONDS_MAX);
	snprintf(path, sizeof(path), SESSIONS "/session%u/recovery_tmo", sid);
	snprintf(text, sizeof(text), seconds < 0 ? "off" : "%d", seconds);
	fd = openat(root, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err = errno;
	if (fd >= 0)
		close(fd);
	if (!err)
		return 0;
	if (err == ENOENT || err == ENODEV)
		diag_set(diag, DIAG_NOT_FOUND, err, "session%u does not exist", sid);
	else if (err == EBUSY)
		diag_set(diag, DIAG_BUSY, err,
			"session%u: the recovery timeout can't change while the connection is lost",
			sid);
	else
		diag_sys(diag, err, "recovery timeout of session%u", sid);
	return -err;
}
