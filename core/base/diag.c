/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Fill a struct diag, and describe codes and errnos. The texts are ours because libcs differ. */
#include "diag.h"
#include "uri.h"
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const code_words[] = {
	[DIAG_NONE] = "none",
	[DIAG_USAGE] = "usage",
	[DIAG_REFUSED] = "refused",
	[DIAG_UNREACHABLE] = "unreachable",
	[DIAG_TIMEOUT] = "timeout",
	[DIAG_AUTH] = "auth",
	[DIAG_NOT_FOUND] = "not-found",
	[DIAG_BUSY] = "busy",
	[DIAG_NO_DEVICE] = "no-device",
	[DIAG_NO_MODULE] = "no-module",
	[DIAG_UNSUPPORTED] = "unsupported",
	[DIAG_PROTOCOL] = "protocol",
	[DIAG_PERMISSION] = "permission",
	[DIAG_NO_MEMORY] = "no-memory",
	[DIAG_IO] = "io",
	[DIAG_MISMATCH] = "mismatch",
	[DIAG_CLOSED] = "closed",
	[DIAG_SYSTEM] = "system",
};

static const struct errno_row {
	int err;
	const char *word, *text;
	uint8_t code;
} errno_rows[] = {
#define ROW(e, text, code)                                                                         \
	{                                                                                          \
		e, #e, text, code                                                                  \
	}
	ROW(EPERM, "operation not permitted", DIAG_PERMISSION),
	ROW(ENOENT, "no such file or directory", DIAG_NOT_FOUND),
	ROW(ESRCH, "no such process", DIAG_NOT_FOUND),
	ROW(EINTR, "interrupted", DIAG_SYSTEM),
	ROW(EIO, "input/output error", DIAG_IO),
	ROW(ENXIO, "no such device or address", DIAG_NO_DEVICE),
	ROW(E2BIG, "argument list too long", DIAG_SYSTEM),
	ROW(ENOEXEC, "invalid executable format", DIAG_UNSUPPORTED),
	ROW(ECHILD, "no child process", DIAG_SYSTEM),
	ROW(EBADF, "bad file descriptor", DIAG_SYSTEM),
	ROW(EAGAIN, "resource temporarily unavailable", DIAG_BUSY),
	ROW(ENOMEM, "out of memory", DIAG_NO_MEMORY),
	ROW(EACCES, "permission denied", DIAG_PERMISSION),
	ROW(EFAULT, "bad address", DIAG_SYSTEM),
	ROW(EBUSY, "device or resource busy", DIAG_BUSY),
	ROW(EEXIST, "file exists", DIAG_BUSY),
	ROW(EXDEV, "cross-device link", DIAG_SYSTEM),
	ROW(ENODEV, "no such device", DIAG_NO_DEVICE),
	ROW(ENOTDIR, "not a directory", DIAG_NOT_FOUND),
	ROW(EISDIR, "is a directory", DIAG_UNSUPPORTED),
	ROW(EINVAL, "invalid argument", DIAG_SYSTEM),
	ROW(ENFILE, "too many open files in the system", DIAG_NO_MEMORY),
	ROW(EMFILE, "too many open files", DIAG_NO_MEMORY),
	ROW(ENOTTY, "not supported by this device", DIAG_UNSUPPORTED),
	ROW(ETXTBSY, "file is being executed", DIAG_BUSY),
	ROW(EFBIG, "file too large", DIAG_SYSTEM),
	ROW(ENOSPC, "no space left", DIAG_IO),
	ROW(ESPIPE, "not seekable", DIAG_UNSUPPORTED),
	ROW(EROFS, "read-only file system", DIAG_PERMISSION),
	ROW(EMLINK, "too many links", DIAG_SYSTEM),
	ROW(EPIPE, "broken pipe", DIAG_CLOSED),
	ROW(ERANGE, "out of range", DIAG_USAGE),
	ROW(ENAMETOOLONG, "name too long", DIAG_USAGE),
	ROW(ENOSYS, "not supported by this kernel", DIAG_UNSUPPORTED),
	ROW(ELOOP, "too many symbolic links", DIAG_SYSTEM),
	ROW(EPROTO, "protocol error", DIAG_PROTOCOL),
	ROW(EBADMSG, "corrupted message", DIAG_PROTOCOL),
	ROW(EOVERFLOW, "value too large", DIAG_SYSTEM),
	ROW(ENOTSOCK, "not a socket", DIAG_SYSTEM),
	ROW(EDESTADDRREQ, "destination address required", DIAG_USAGE),
	ROW(EMSGSIZE, "message too long", DIAG_SYSTEM),
	ROW(EPROTONOSUPPORT, "protocol not supported", DIAG_UNSUPPORTED),
	ROW(ENOTSUP, "not supported", DIAG_UNSUPPORTED),
	ROW(EAFNOSUPPORT, "address family not supported", DIAG_UNSUPPORTED),
	ROW(EADDRINUSE, "address in use", DIAG_BUSY),
	ROW(EADDRNOTAVAIL, "address not available on this machine", DIAG_NOT_FOUND),
	ROW(ENETDOWN, "network is down", DIAG_UNREACHABLE),
	ROW(ENETUNREACH, "network unreachable", DIAG_UNREACHABLE),
	ROW(ENETRESET, "connection reset by the network", DIAG_CLOSED),
	ROW(ECONNABORTED, "connection aborted", DIAG_CLOSED),
	ROW(ECONNRESET, "connection reset by the peer", DIAG_CLOSED),
	ROW(ENOBUFS, "no buffer space", DIAG_NO_MEMORY),
	ROW(EISCONN, "already connected", DIAG_BUSY),
	ROW(ENOTCONN, "not connected", DIAG_CLOSED),
	ROW(ESHUTDOWN, "shut down", DIAG_CLOSED),
	ROW(ETIMEDOUT, "timed out", DIAG_TIMEOUT),
	ROW(ECONNREFUSED, "connection refused", DIAG_REFUSED),
	ROW(EHOSTDOWN, "host is down", DIAG_UNREACHABLE),
	ROW(EHOSTUNREACH, "no route to host", DIAG_UNREACHABLE),
	ROW(EALREADY, "already in progress", DIAG_BUSY),
	ROW(EINPROGRESS, "in progress", DIAG_BUSY),
	ROW(ESTALE, "stale file handle", DIAG_SYSTEM),
	ROW(EDQUOT, "quota exceeded", DIAG_IO),
	ROW(ENOMEDIUM, "no medium", DIAG_NO_DEVICE),
	ROW(EMEDIUMTYPE, "wrong medium", DIAG_NO_DEVICE),
	ROW(ECANCELED, "cancelled", DIAG_CLOSED),
	ROW(ENOKEY, "key not available", DIAG_AUTH),
	ROW(EKEYREVOKED, "key revoked", DIAG_AUTH),
	ROW(EKEYREJECTED, "key rejected", DIAG_AUTH),
	ROW(ENOLINK, "link severed", DIAG_CLOSED),
	ROW(EREMOTEIO, "remote input/output error", DIAG_IO),
	ROW(EILSEQ, "checksum mismatch", DIAG_PROTOCOL),
	ROW(ENODATA, "no data", DIAG_NOT_FOUND),
	ROW(ETIME, "timer expired", DIAG_TIMEOUT),
#undef ROW
};

static const struct errno_row *find_errno(int err)
{
	static const struct errno_row other = { 0, "EUNKNOWN", "unknown error", DIAG_SYSTEM };
	for (size_t i = 0; i < sizeof(errno_rows) / sizeof(errno_rows[0]); i++)
		if (errno_rows[i].err == err)
			return &errno_rows[i];
	return &other;
}

const char *diag_code_word(enum diag_code code)
{
	return code < sizeof(code_words) / sizeof(code_words[0]) ? code_words[code] : "system";
}

const char *diag_errno_word(int err)
{
	return find_errno(err)->word;
}

const char *diag_errno_text(int err)
{
	return find_errno(err)->text;
}

int diag_set(struct diag *diag, enum diag_code code, int err, const char *fmt, ...)
{
	va_list args;
	if (!diag)
		return -err;
	*diag = (struct diag){ .err = err, .code = (uint8_t)code };
	va_start(args, fmt);
	vsnprintf(diag->text, sizeof(diag->text), fmt, args);
	va_end(args);
	return -err;
}

int diag_sys(struct diag *diag, int err, const char *fmt, ...)
{
	const struct errno_row *row = find_errno(err);
	char what[400];
	va_list args;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return diag_set(diag, row->code, err, "%s: %s", what, row->text);
}

int diag_connect(struct diag *diag, int err)
{
	switch (err) {
	case ECONNREFUSED:
		return diag_set(diag, DIAG_REFUSED, err, "connection refused: " DIAG_NO_LISTENER);
	case ETIMEDOUT:
		return diag_set(diag, DIAG_TIMEOUT, err, "connect: no answer");
	case EHOSTUNREACH:
		return diag_set(diag, DIAG_UNREACHABLE, err,
			"connect: no route to host (no ARP or NDP reply, or an ICMP error)");
	default:
		return diag_sys(diag, err, "connect");
	}
}

int diag_ctx(struct diag *diag, const char *fmt, ...)
{
	va_list args;
	if (!diag)
		return -EIO;
	if (!diag->object[0]) {
		char whole[URI_MAX + 256]; /* a secret can't be found once its end is cut off */

		va_start(args, fmt);
		vsnprintf(whole, sizeof(whole), fmt, args);
		va_end(args);
		uri_hide(whole);
		snprintf(diag->object, sizeof(diag->object), "%.*s", (int)sizeof(diag->object) - 1,
			whole);
		explicit_bzero(whole, sizeof(whole));
	}
	return -diag->err;
}

int diag_hint(struct diag *diag, const char *fmt, ...)
{
	va_list args;
	if (!diag)
		return -EIO;
	va_start(args, fmt);
	vsnprintf(diag->hint, sizeof(diag->hint), fmt, args);
	va_end(args);
	return -diag->err;
}

int diag_hint_mtu(struct diag *diag, const char *host)
{
	const bool v6 = strchr(host, ':') != NULL; /* headers of IP and ICMP: 28 or 48 bytes */

	return diag_hint(diag,
		"the host answers, but its first large answer does not arrive: large packets may "
		"be lost (MTU), see: ip link; ping -M do -s %d %s",
		v6 ? 1452 : 1472, host);
}

void diag_both(struct diag *diag, const char *name, const char *text, const char *other_name,
	const char *other)
{
	char both[sizeof(diag->text)];

	if (strstr(other, text))
		snprintf(both, sizeof(both), "%s", other);
	else if (strstr(text, other))
		snprintf(both, sizeof(both), "%s", text);
	else
		snprintf(both, sizeof(both), "%s: %.240s; %s: %.240s", name, text, other_name,
			other);
	memcpy(diag->text, both, sizeof(both));
}

const char *diag_seconds(uint64_t ms, char text[DIAG_SECONDS])
{
	if (ms >= 100 && ms < 1000) /* the rest of a limit: 497 is 500 */
		ms = (ms + 5) / 10 * 10;
	if (ms && ms < 500)
		snprintf(text, DIAG_SECONDS, "%u ms", (unsigned)ms);
	else if (ms < 999500)
		snprintf(text, DIAG_SECONDS, "%.3g s", (double)ms / 1000);
	else
		snprintf(text, DIAG_SECONDS, "%llu s",
			(unsigned long long)(ms / 1000 + (ms % 1000 >= 500)));
	return text;
}
