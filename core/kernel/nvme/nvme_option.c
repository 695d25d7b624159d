/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The options of a fabrics connection: names, valid values, and transports. nvme_connect.c uses
 * them. */
#include "nvme.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { WORD, NUMBER, FLAG, SECRET };
enum { RDMA = 1, TCP = 2, BOTH = 3 };

static const struct row {
	const char *name;
	uint8_t kind, transports;
	int min, max;
} rows[NVMF_KEYS] = {
	[NVMF_TRANSPORT] = { "transport", WORD, BOTH, 0, 0 },
	[NVMF_TRADDR] = { "traddr", WORD, BOTH, 0, 0 },
	[NVMF_TRSVCID] = { "trsvcid", NUMBER, BOTH, 1, 65535 },
	[NVMF_NQN] = { "nqn", WORD, BOTH, 0, 0 },
	[NVMF_HOSTNQN] = { "hostnqn", WORD, BOTH, 0, 0 },
	[NVMF_HOSTID] = { "hostid", WORD, BOTH, 0, 0 },
	[NVMF_HOST_TRADDR] = { "host_traddr", WORD, BOTH, 0, 0 },
	[NVMF_HOST_IFACE] = { "host_iface", WORD, BOTH, 0, 0 },
	[NVMF_QUEUE_SIZE] = { "queue_size", NUMBER, BOTH, 16, 1024 },
	[NVMF_NR_IO_QUEUES] = { "nr_io_queues", NUMBER, BOTH, 1, 65535 },
	[NVMF_NR_WRITE_QUEUES] = { "nr_write_queues", NUMBER, BOTH, 1, 65535 },
	[NVMF_NR_POLL_QUEUES] = { "nr_poll_queues", NUMBER, BOTH, 1, 65535 },
	[NVMF_RECONNECT_DELAY] = { "reconnect_delay", NUMBER, BOTH, 1, 86400 },
	[NVMF_CTRL_LOSS_TMO] = { "ctrl_loss_tmo", NUMBER, BOTH, -1, INT_MAX },
	[NVMF_FAST_IO_FAIL_TMO] = { "fast_io_fail_tmo", NUMBER, BOTH, -1, INT_MAX },
	[NVMF_KEEP_ALIVE_TMO] = { "keep_alive_tmo", NUMBER, BOTH, 0, 65535 },
	[NVMF_TOS] = { "tos", NUMBER, BOTH, 0, 255 },
	[NVMF_DUPLICATE_CONNECT] = { "duplicate_connect", FLAG, BOTH, 0, 0 },
	[NVMF_DISABLE_SQFLOW] = { "disable_sqflow", FLAG, BOTH, 0, 0 },
	[NVMF_HDR_DIGEST] = { "hdr_digest", FLAG, TCP, 0, 0 },
	[NVMF_DATA_DIGEST] = { "data_digest", FLAG, TCP, 0, 0 },
	[NVMF_DISCOVERY] = { "discovery", FLAG, BOTH, 0, 0 },
	[NVMF_CONCAT] = { "concat", FLAG, TCP, 0, 0 },
	[NVMF_TLS] = { "tls", FLAG, TCP, 0, 0 },
	[NVMF_KEYRING] = { "keyring", NUMBER, TCP, 1, INT_MAX },
	[NVMF_TLS_KEY] = { "tls_key", NUMBER, TCP, 1, INT_MAX },
	[NVMF_DHCHAP_SECRET] = { "dhchap_secret", SECRET, BOTH, 0, 0 },
	[NVMF_DHCHAP_CTRL_SECRET] = { "dhchap_ctrl_secret", SECRET, BOTH, 0, 0 },
};

const char *kernel_nvmf_key_name(enum nvmf_key key)
{
	return rows[key].name;
}

bool kernel_nvmf_key_flag(enum nvmf_key key)
{
	return rows[key].kind == FLAG;
}

static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if ((*a == '-' ? '_' : *a) != *b)
			return false;
	return !*a && !*b;
}

int kernel_nvmf_key_find(const char *name)
{
	for (int i = 0; i < NVMF_KEYS; i++)
		if (same_name(name, rows[i].name))
			return i;
	return -1;
}

static int check_number(
	const struct row *row, const char *name, const char *text, struct diag *diag)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (isspace((unsigned char)*text) || *text == '+' || end == text || *end)
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "%s: '%s' is not a whole number", name, text);
	if (errno || value < row->min || value > row->max)
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s: must be %d to %d%s", name,
			row->min < 0 ? 0 : row->min, row->max,
			row->min < 0 ? ", or -1 for never" : "");
	return 0;
}

/* The kernel parses one line of values separated by commas. */
static int check_word(const char *name, const char *text, struct diag *diag)
{
	if (!*text)
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s is empty", name);
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == ',' || *p == 0x7f)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"%s '%s': must not contain commas, blanks or control characters",
				name, text);
	return 0;
}

int kernel_nvmf_key_check(enum nvmf_key key, const char *name, const char *value, struct diag *diag)
{
	struct addr addr;
	struct nvme_key secret;
	int err;

	switch ((enum kind)rows[key].kind) {
	case WORD:
		err = check_word(name, value, diag);
		return err || key != NVMF_HOST_TRADDR ? err : addr_source(&addr, name, value, diag);
	case NUMBER:
		return check_number(&rows[key], name, value, diag);
	case SECRET:
		err = nvme_key_parse(&secret, NVME_KEY_DHCHAP, name, value, diag);
		explicit_bzero(&secret, sizeof(secret));
		return err;
	case FLAG:
		break;
	}
	return 0;
}

static int number(const struct nvmf_params *params, enum nvmf_key key)
{
	return params->value[key] ? atoi(params->value[key]) : VALUE_UNKNOWN;
}

/* Check combinations of options: what Base 2.1, 4.7 (NQNs) and the kernel require. */
static int check_together(const struct nvmf_params *params, struct diag *diag)
{
	static const enum nvmf_key nqns[] = { NVMF_NQN, NVMF_HOSTNQN };
	int loss = number(params, NVMF_CTRL_LOSS_TMO), fail = number(params, NVMF_FAST_IO_FAIL_TMO);

	for (unsigned i = 0; i < 2; i++)
		if (params->value[nqns[i]] && strlen(params->value[nqns[i]]) > 223)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"%s: exceeds the limit of 223 bytes", rows[nqns[i]].name);
	if (loss >= 0 && fail > loss)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"fast_io_fail_tmo (%d) must not exceed ctrl_loss_tmo (%d)", fail, loss);
	if (params->value[NVMF_DHCHAP_CTRL_SECRET] && !params->value[NVMF_DHCHAP_SECRET])
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "dhchap_ctrl_secret requires dhchap_secret");
	if (params->value[NVMF_TLS_KEY] && !params->value[NVMF_TLS] && !params->value[NVMF_CONCAT])
		return diag_set(diag, DIAG_USAGE, EINVAL, "tls_key requires tls");
	return 0;
}

int kernel_nvmf_check(const struct nvmf_params *params, struct diag *diag)
{
	static const enum nvmf_key needed[] = { NVMF_TRANSPORT, NVMF_TRADDR, NVMF_NQN };
	const char *transport = params->value[NVMF_TRANSPORT];
	unsigned is;
	int err = 0;

	for (unsigned i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!params->value[needed[i]])
			return diag_set(
				diag, DIAG_USAGE, EINVAL, "%s is missing", rows[needed[i]].name);
	is = !strcmp(transport, "rdma") ? RDMA : !strcmp(transport, "tcp") ? TCP : 0;
	if (!is)
		return diag_set(diag, DIAG_USAGE, EINVAL, "transport '%s': expected rdma or tcp",
			transport);
	for (int i = 0; i < NVMF_KEYS && !err; i++) {
		if (!params->value[i])
			continue;
		if (!(rows[i].transports & is))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"%s requires TCP, but the transport is %s", rows[i].name,
				transport);
		err = kernel_nvmf_key_check(i, rows[i].name, params->value[i], diag);
	}
	return err ? err : check_together(params, diag);
}
