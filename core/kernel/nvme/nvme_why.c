/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find out why the kernel did not connect: a write to /dev/nvme-fabrics returns one errno for many
 * causes, the kernel's log distinguishes them. Texts of Linux 4.18 to 6.12,
 * drivers/nvme/host/{fabrics,rdma,tcp,auth}.c. */
#include "nvme.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attempt {
	int root;
	const struct nvmf_params *params;
	struct diag *diag;
};

static const char *given(const struct attempt *a, enum nvmf_key key)
{
	return a->params->value[key] ? a->params->value[key] : "";
}

static void not_allowed(struct attempt *a, const char *at)
{
	(void)at;
	diag_set(a->diag, DIAG_AUTH, EACCES, "subsystem '%s' does not allow host NQN '%s'",
		given(a, NVMF_NQN), given(a, NVMF_HOSTNQN));
	diag_hint(a->diag, "allow this host on the target, or use an allowed one: --hostnqn NQN");
}

static void no_subsystem(struct attempt *a, const char *at)
{
	(void)at;
	diag_set(a->diag, DIAG_NOT_FOUND, ENOENT, "the target has no subsystem '%s'",
		given(a, NVMF_NQN));
	diag_hint(a->diag, "list its subsystems with: rdmastor nvmf-discover -t %s -a %s -s %s",
		given(a, NVMF_TRANSPORT), given(a, NVMF_TRADDR), given(a, NVMF_TRSVCID));
}

static void bad_host(struct attempt *a, const char *at)
{
	(void)at;
	diag_set(a->diag, DIAG_AUTH, EACCES, "target refused the connection: invalid host NQN '%s'",
		given(a, NVMF_HOSTNQN));
}

static void bad_field(struct attempt *a, const char *at)
{
	diag_set(a->diag, DIAG_REFUSED, EINVAL, "target refused the connection: %.200s", at);
}

static void busy(struct attempt *a, const char *at)
{
	(void)at;
	diag_set(a->diag, DIAG_BUSY, EBUSY,
		"the controller is busy: all its connections are in use");
}

static void auth_required(struct attempt *a, const char *at)
{
	(void)at;
	diag_set(a->diag, DIAG_AUTH, EACCES,
		"the target requires authentication (DH-HMAC-CHAP), but no secret was given");
	diag_hint(a->diag, "give the secret with --dhchap-secret-file FILE");
}

static void auth_host(struct attempt *a, const char *at)
{
	(void)at;
	if (!a->params->value[NVMF_DHCHAP_SECRET]) {
		auth_required(a, at);
		return;
	}
	diag_set(a->diag, DIAG_AUTH, EACCES,
		"authentication failed: the target rejected the secret of host '%s'%s",
		given(a, NVMF_HOSTNQN),
		a->params->value[NVMF_DHCHAP_CTRL_SECRET]
			? ", or does not know the controller's secret"
			: "");
}

static void auth_ctrl(struct attempt *a, const char *at)
{
	(void)at;
	diag_set(a->diag, DIAG_AUTH, EACCES,
		"authentication failed: the target does not know the controller's secret "
		"(dhchap_ctrl_secret)");
}

static void auth_setup(struct attempt *a, const char *at)
{
	diag_set(a->diag, DIAG_AUTH, EACCES, "authentication did not start: %.200s", at);
	diag_hint(a->diag, "is CONFIG_NVME_HOST_AUTH (before 6.7: CONFIG_NVME_AUTH) set? see: "
			   "rdmastor doctor");
}

/* Reject reasons of the InfiniBand connection manager (IBA 1.6, 12.6.7.2); iWARP reports errnos. A
 * target's own reason is never 0: that is Linux's if all listeners are at other addresses. */
static void rejected(struct attempt *a, const char *at)
{
	int status = atoi(at + strlen("Connect rejected: status "));
	const char *text = strchr(at, '(');

	if (status == 8 || status == -ECONNREFUSED || status == ECONNREFUSED) {
		diag_set(a->diag, DIAG_REFUSED, ECONNREFUSED,
			"connection refused: no RDMA listener on port %s", given(a, NVMF_TRSVCID));
	} else if (strstr(at, "nvme status 0")) {
		diag_set(a->diag, DIAG_REFUSED, ECONNREFUSED,
			"connection refused: no RDMA listener at %s on port %s",
			given(a, NVMF_TRADDR), given(a, NVMF_TRSVCID));
	} else if (status == 10) {
		diag_set(a->diag, DIAG_BUSY, ECONNRESET,
			"the target still holds an older connection of this host (stale "
			"connection)");
		diag_hint(a->diag, "the target will drop it soon: try again");
	} else if (strstr(at, "nvme status")) {
		text = text ? strrchr(at, '(') + 1 : strstr(at, "nvme status");
		diag_set(a->diag, DIAG_REFUSED, ECONNRESET,
			"the target rejected the connection: %.*s", (int)strcspn(text, ")"), text);
	} else {
		diag_set(a->diag, DIAG_REFUSED, ECONNRESET,
			"the target rejected the connection: %.*s (%d)",
			text ? (int)strcspn(text + 1, ")") : 0, text ? text + 1 : "", status);
	}
}

static int number_behind(const char *at, const char *mark)
{
	const char *found = strstr(at, mark);

	return found ? abs(atoi(found + strlen(mark))) : 0;
}

static void connect_failed(struct attempt *a, int err, const char *at)
{
	const char *how = !strcmp(given(a, NVMF_TRANSPORT), "rdma") ? "RDMA" : "TCP";

	switch (err) {
	case ECONNREFUSED:
		if (!strcmp(how, "TCP"))
			diag_connect(a->diag, err);
		else
			diag_set(a->diag, DIAG_REFUSED, err,
				"connection refused: no RDMA listener on port %s",
				given(a, NVMF_TRSVCID));
		break;
	case ENODEV:
		diag_set(a->diag, DIAG_NO_DEVICE, err, "no RDMA device routes to %s",
			given(a, NVMF_TRADDR));
		diag_hint(a->diag, "select a local address with --host-traddr, or use nvme+tcp://");
		break;
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ETIMEDOUT:
	case ECONNRESET:
	case EHOSTDOWN:
		diag_set(a->diag, DIAG_UNREACHABLE, err, "no answer from %s over %s",
			given(a, NVMF_TRADDR), how);
		break;
	case EADDRNOTAVAIL:
		diag_set(a->diag, DIAG_NOT_FOUND, err,
			"host_traddr '%s' is not an address of this machine",
			given(a, NVMF_HOST_TRADDR));
		break;
	default:
		diag_sys(a->diag, err ? err : EIO, "%.200s", at);
	}
}

static void socket_failed(struct attempt *a, const char *at)
{
	connect_failed(a, number_behind(at, "socket: "), at);
}

static void bind_failed(struct attempt *a, const char *at)
{
	int err = number_behind(at, " err ");

	if (strstr(at, "interface"))
		diag_set(a->diag, DIAG_NOT_FOUND, err ? err : ENODEV,
			"bind to host_iface '%s' failed", given(a, NVMF_HOST_IFACE));
	else
		diag_set(a->diag, DIAG_NOT_FOUND, EADDRNOTAVAIL,
			"host_traddr '%s' is not an address of this machine",
			given(a, NVMF_HOST_TRADDR));
}

static void cm_failed(struct attempt *a, const char *at)
{
	connect_failed(a, number_behind(at, " failed ("), at);
}

static void unknown_option(struct attempt *a, const char *at)
{
	const char *quote = strchr(at, '\'');

	diag_set(a->diag, DIAG_UNSUPPORTED, EINVAL, "this kernel does not support %.*s",
		quote ? (int)strcspn(quote + 1, "='") : 0, quote ? quote + 1 : "");
}

static void wrong_option(struct attempt *a, const char *at)
{
	const char *quote = strchr(at, '\'');

	diag_set(a->diag, DIAG_UNSUPPORTED, EINVAL, "this kernel does not support %.*s over %s",
		quote ? (int)strcspn(quote + 1, "='") : 0, quote ? quote + 1 : "",
		given(a, NVMF_TRANSPORT));
}

static void wrong_secret_form(struct attempt *a, const char *at)
{
	(void)at;
	diag_set(a->diag, DIAG_USAGE, EINVAL, "the kernel rejected the format of the secret");
}

static void no_handler(struct attempt *a, const char *at)
{
	(void)at;
	diag_set(a->diag, DIAG_NO_MODULE, ENOENT, "the kernel has no driver nvme-%s",
		given(a, NVMF_TRANSPORT));
}

static void same_host(struct attempt *a, const char *at)
{
	diag_set(a->diag, DIAG_MISMATCH, EINVAL,
		"another connection of this machine uses %s: %.200s",
		strstr(at, "same hostid") ? "this host ID with another host NQN"
					  : "this host NQN with another host ID",
		at);
	diag_hint(a->diag, "use the host NQN and host ID of that connection: --hostnqn, --hostid");
}

/* "Duplicate cntlid 1 with nvme0, subsys nqn.x, rejecting": one subsystem numbers its controllers
 * (Base 2.1, 3.1.1), so these are two of one name, unless the other one is lost: a target that was
 * restarted gives its number again. */
static void duplicate_cntlid(struct attempt *a, const char *at)
{
	const char *with = strstr(at, " with ");
	char name[24] = "another connection", state[16] = "";

	if (with && sscanf(with, " with %15[a-z0-9]", name) == 1)
		kernel_nvmf_state(a->root, name, state);
	if (strcmp(state, "live")) {
		diag_set(a->diag, DIAG_BUSY, EBUSY,
			"%s still has the controller ID that the target gave (its state is %s)",
			name, state[0] ? state : "unknown");
		diag_hint(a->diag, "it reconnects or ends: try again");
		return;
	}
	diag_set(a->diag, DIAG_MISMATCH, EXDEV,
		"not a path to the subsystem of %s: it is another one with the same NQN", name);
	diag_hint(a->diag,
		"to use this one instead, end the other connection: rdmastor nvmf-disconnect %s",
		name);
}

static void one_controller(struct attempt *a, const char *at)
{
	(void)at;
	diag_set(a->diag, DIAG_UNSUPPORTED, EINVAL,
		"this subsystem takes one connection: it does not report multiple controllers");
}

static void no_tls_key(struct attempt *a, const char *at)
{
	(void)at;
	diag_set(a->diag, DIAG_AUTH, ENOKEY,
		"no TLS key for host '%s' and subsystem '%s' in the kernel", given(a, NVMF_HOSTNQN),
		given(a, NVMF_NQN));
	diag_hint(a->diag, "add it with --tls-key-file FILE");
}

/* The kernel leaves the handshake to a process that listens for requests
 * (Documentation/networking/tls-handshake.rst). */
static void no_handshake(struct attempt *a, const char *at)
{
	int err = number_behind(at, "TLS: ");

	if (err != ESRCH) {
		diag_sys(a->diag, err ? err : EIO, "start the TLS handshake");
		return;
	}
	diag_set(a->diag, DIAG_NOT_FOUND, err, "no TLS handshake: no process answers the kernel");
	diag_hint(a->diag, "start one: rdmastor tls-daemon --daemon, or systemctl start tlshd");
}

static void no_agreement(struct attempt *a, const char *at)
{
	int err = number_behind(at, "error ");

	diag_set(a->diag, DIAG_AUTH, err ? err : EACCES,
		"the TLS handshake failed: the target rejected the key or has no TLS");
}

static void handshake_failed(struct attempt *a, const char *at)
{
	int err = number_behind(at, "error ");

	if (err == ETIMEDOUT)
		diag_set(a->diag, DIAG_TIMEOUT, err, "the TLS handshake timed out");
	else
		diag_sys(a->diag, err ? err : EIO, "TLS handshake");
}

static void quote_line(struct attempt *a, const char *at)
{
	diag_set(a->diag, DIAG_UNSUPPORTED, EINVAL, "%.300s", at);
}

/* Known causes, the most specific first, as one attempt logs several lines. */
static const struct row {
	const char *text;
	void (*explain)(struct attempt *, const char *at);
} rows[] = {
	{ "is not allowed, hostnqn:", not_allowed },
	{ "Connect Invalid Data Parameter, subsysnqn", no_subsystem },
	{ "Connect Invalid Data Parameter, hostnqn", bad_host },
	{ "Connect Invalid Data Parameter", bad_field },
	{ "Connect Invalid SQE Parameter", bad_field },
	{ "Connect incompatible format", bad_field },
	{ "controller is busy or not available", busy },
	{ "controller authentication failed", auth_ctrl },
	{ "controller did not authenticate", auth_ctrl },
	{ "no key", auth_host },
	{ "authentication setup failed", auth_setup },
	{ "setting up authentication", auth_setup },
	{ "authentication required", auth_required },
	{ "authentication failed", auth_host },
	{ "Invalid DH-CHAP secret", wrong_secret_form },
	{ "Connect rejected: status ", rejected },
	{ "failed to connect socket: ", socket_failed },
	{ "failed to bind", bind_failed },
	{ "rdma_resolve_addr failed (", cm_failed },
	{ "rdma_resolve_route failed (", cm_failed },
	{ "rdma connection establishment failed (", cm_failed },
	{ "unknown parameter or missing value", unknown_option },
	{ "invalid parameter '", wrong_option },
	{ "found same host", same_host },
	{ "Duplicate cntlid", duplicate_cntlid },
	{ "does not support multiple controllers", one_controller },
	{ "no handler found for transport", no_handler },
	{ "TLS handshake failed", handshake_failed },
	{ "TLS handshake complete, error -", no_agreement },
	{ "failed to start TLS", no_handshake },
	{ "no valid PSK found", no_tls_key },
	{ "TLS is not supported", quote_line },
	{ "secure concatenation is not supported", quote_line },
	{ "Memory registrations not supported", quote_line },
	{ "Invalid MNAN value", quote_line },
	{ "digest mismatch", quote_line },
	{ "host path error", quote_line },
};

/* Find the first line that contains this text. */
static const char *find_line(const char *lines, const char *text, char line[512])
{
	for (const char *at = lines; *at;) {
		size_t len = strcspn(at, "\n");

		snprintf(line, 512, "%.*s", (int)len, at);
		at += len + (at[len] == '\n');
		if (strstr(line, text))
			return strstr(line, text);
	}
	return NULL;
}

/* Hide secrets: the kernel quotes what it does not understand, and that may be a key. */
static void hide_secrets(char *text)
{
	static const char *const marks[] = { "DHHC-1:", "NVMeTLSkey-1:" };

	for (unsigned i = 0; i < 2; i++)
		for (char *at = strstr(text, marks[i]); at; at = strstr(at + 1, marks[i]))
			for (char *p = at + strlen(marks[i]);
				*p && *p != '\n' && *p != '\'' && *p != ' '; p++)
				*p = '*';
}

static int explain_errno(struct attempt *a, int err)
{
	if (a->params->value[NVMF_TLS] && (err == EACCES || err == EIO)) {
		no_agreement(a, "");
		return -a->diag->err;
	}
	switch (err) {
	case EALREADY:
		return diag_set(a->diag, DIAG_BUSY, err, "already connected with other parameters");
	case EINVAL:
		diag_set(a->diag, DIAG_USAGE, err, "the kernel rejected an option");
		return diag_hint(a->diag, "see the kernel's log: dmesg");
	case ENOKEY:
		return diag_set(
			a->diag, DIAG_AUTH, err, "the kernel did not find the key or keyring");
	case ENODEV:
	case ECONNREFUSED:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ETIMEDOUT:
	case ECONNRESET:
	case EADDRNOTAVAIL:
		connect_failed(a, err, "");
		return -a->diag->err;
	default:
		diag_sys(a->diag, err, "the kernel did not connect");
		return diag_hint(a->diag, "see the kernel's log: dmesg");
	}
}

int kernel_nvme_why(
	int root, int err, char *text, const struct nvmf_params *params, struct diag *diag)
{
	struct diag own = { 0 };
	struct attempt attempt = { root, params, diag ? diag : &own };
	char line[512];

	hide_secrets(text);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *at = find_line(text, rows[i].text, line);

		if (!at)
			continue;
		rows[i].explain(&attempt, at);
		return -attempt.diag->err;
	}
	return explain_errno(&attempt, err);
}
