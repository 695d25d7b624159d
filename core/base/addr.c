/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse and print addresses. Host names are resolved by resolve.c. */
#include "out.h"
#include "uri.h"
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

static void set_v4(struct addr *addr, struct in_addr ip, uint16_t port)
{
	struct sockaddr_in *sin = (void *)&addr->ss;

	*addr = (struct addr){ .len = sizeof(*sin) };
	sin->sin_family = AF_INET;
	sin->sin_addr = ip;
	sin->sin_port = htons(port);
}

static void set_v6(struct addr *addr, const struct in6_addr *ip, uint32_t scope, uint16_t port)
{
	struct sockaddr_in6 *sin6 = (void *)&addr->ss;

	*addr = (struct addr){ .len = sizeof(*sin6) };
	sin6->sin6_family = AF_INET6;
	sin6->sin6_addr = *ip;
	sin6->sin6_scope_id = scope;
	sin6->sin6_port = htons(port);
}

bool addr_add(struct addr *addr, const struct sockaddr *sa)
{
	const struct sockaddr_in *in = (const void *)sa;
	const struct sockaddr_in6 *in6 = (const void *)sa;
	struct addr_other *other = &addr->other[addr->others];

	if (addr->others == ADDR_OTHERS || (sa->sa_family != AF_INET && sa->sa_family != AF_INET6))
		return false;
	*other = (struct addr_other){ .v6 = sa->sa_family == AF_INET6 };
	if (other->v6) {
		memcpy(other->ip, &in6->sin6_addr, 16);
		other->scope = in6->sin6_scope_id;
	} else {
		memcpy(other->ip, &in->sin_addr, 4);
	}
	addr->others++;
	return true;
}

bool addr_next(struct addr *addr)
{
	struct addr_other other[ADDR_OTHERS];
	unsigned others = addr->others;
	uint16_t port = addr_port(addr);

	if (!others)
		return false;
	memcpy(other, addr->other, sizeof(other));
	if (other[0].v6) {
		struct in6_addr ip;

		memcpy(&ip, other[0].ip, sizeof(ip));
		set_v6(addr, &ip, other[0].scope, port);
	} else {
		struct in_addr ip;

		memcpy(&ip, other[0].ip, sizeof(ip));
		set_v4(addr, ip, port);
	}
	addr->others = (uint8_t)(others - 1);
	memcpy(addr->other, other + 1, addr->others * sizeof(other[0]));
	return true;
}

void addr_keep_peer(struct addr *addr, const struct addr *peer)
{
	uint16_t port = addr_port(addr);

	if (!addr->others || !peer->ss.ss_family)
		return;
	*addr = *peer;
	addr->others = 0;
	addr_set_port(addr, port);
}

bool addr_filter(struct addr *addr, bool (*keep)(const struct addr *, void *arg), void *arg)
{
	struct addr at = *addr, kept = { 0 };

	do {
		if (!keep(&at, arg))
			continue;
		if (kept.ss.ss_family) {
			addr_add(&kept, (const struct sockaddr *)&at.ss);
		} else {
			kept = at;
			kept.others = 0;
		}
	} while (addr_next(&at));
	if (!kept.ss.ss_family)
		return false;
	*addr = kept;
	return true;
}

static void append(char *text, size_t size, const char *between, const char *more)
{
	size_t at = strlen(text);

	snprintf(text + at, size - at, "%s%s", at ? between : "", more);
}

bool addr_unanswered(const struct diag *why)
{
	return why->code == DIAG_NO_DEVICE || why->code == DIAG_UNREACHABLE ||
	       why->code == DIAG_TIMEOUT || (why->code == DIAG_REFUSED && why->err == ECONNREFUSED);
}

/* The weakest reasons: another address may have had an answer. */
static bool no_route(const struct diag *why)
{
	return why->code == DIAG_NO_DEVICE || why->code == DIAG_UNREACHABLE;
}

void addr_failures_add(struct addr_failures *f, const struct addr *addr, const struct diag *why)
{
	const char *text = diag_errno_text(why->err);
	char at[ADDR_TEXT];

	append(f->object, sizeof(f->object), ", ", addr_text(addr, at));
	if (!strstr(f->text, text))
		append(f->text, sizeof(f->text), "; ", text);
	f->differ |= f->count && strcmp(f->why.text, why->text);
	if (!f->count++ || (no_route(&f->why) && !no_route(why)))
		f->why = *why;
}

void addr_failures_end(struct addr_failures *f)
{
	if (f->count < 2)
		return;
	memcpy(f->why.object, f->object, sizeof(f->object));
	if (f->differ)
		snprintf(f->why.text, sizeof(f->why.text), "%s", f->text);
}

/* Scope of a link-local address: an interface name or number. */
static int scope_id(const char *scope, uint32_t *id, struct diag *diag)
{
	uint64_t number;

	*id = if_nametoindex(scope);
	if (*id)
		return 0;
	if (parse_u64(scope, 1, UINT32_MAX, &number, NULL))
		return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "no network interface '%s'", scope);
	*id = (uint32_t)number;
	return 0;
}

static int numeric(struct addr *addr, const char *host, uint16_t port, struct diag *diag)
{
	const char *percent = strchr(host, '%');
	size_t len = percent ? (size_t)(percent - host) : strlen(host);
	char text[INET6_ADDRSTRLEN];
	struct in6_addr ip6;
	struct in_addr ip;
	uint32_t scope = 0;

	snprintf(text, sizeof(text), "%.*s", (int)len, host);
	if (!percent && inet_pton(AF_INET, host, &ip) == 1) {
		set_v4(addr, ip, port);
		return 1;
	}
	if (len < sizeof(text) && inet_pton(AF_INET6, text, &ip6) == 1) {
		int rc = percent ? scope_id(percent + 1, &scope, diag) : 0;

		if (rc)
			return rc;
		set_v6(addr, &ip6, scope, port);
		return 1;
	}
	if (percent || strchr(host, ':') || !host[strspn(host, "0123456789.")])
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid IP address '%s'", host);
	return 0;
}

int addr_known(struct addr *addr, const char *host, uint16_t port, struct diag *diag)
{
	*addr = (struct addr){ 0 };
	if (!*host)
		return diag_set(diag, DIAG_USAGE, EINVAL, "no host given");
	if (strlen(host) >= ADDR_HOST)
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG,
			"host name '%.40s...': must be at most %d bytes", host, ADDR_HOST - 1);
	if (strchr(host, '/'))
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid host '%s'", host);
	return numeric(addr, strcasecmp(host, "localhost") ? host : "127.0.0.1", port, diag);
}

int addr_source(struct addr *addr, const char *key, const char *text, struct diag *diag)
{
	int rc = *text ? addr_known(addr, text, 0, diag) : 0;

	return rc > 0 ? 0
	       : rc   ? rc
		      : diag_set(diag, DIAG_USAGE, EINVAL, "%s='%s': expected an IP address", key,
				text);
}

int addr_numeric(struct addr *addr, const char *host, uint16_t port, struct diag *diag)
{
	int rc = numeric(addr, host, port, diag);

	return rc > 0 ? 0
	       : rc   ? rc
		      : diag_set(diag, DIAG_USAGE, EINVAL, "invalid IP address '%s'", host);
}

void addr_set_ib(struct addr *addr, const uint8_t gid[16], uint16_t pkey, uint64_t service)
{
	struct addr_ib *ib = (void *)&addr->ss;

	*addr = (struct addr){ .len = sizeof(*ib) };
	ib->family = ADDR_IB;
	ib->pkey = put_be16(pkey);
	memcpy(ib->gid, gid, sizeof(ib->gid));
	ib->service = put_be64(service);
	ib->service_mask = put_be64(service ? UINT64_MAX : 0);
}

uint64_t addr_service(const struct addr *addr)
{
	const struct addr_ib *ib = (const void *)&addr->ss;

	return ib->family == ADDR_IB ? get_be64(ib->service) : 0;
}

void addr_set_port(struct addr *addr, uint16_t port)
{
	if (addr->ss.ss_family == AF_INET)
		((struct sockaddr_in *)(void *)&addr->ss)->sin_port = htons(port);
	else if (addr->ss.ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)&addr->ss)->sin6_port = htons(port);
}

uint16_t addr_port(const struct addr *addr)
{
	if (addr->ss.ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)(const void *)&addr->ss)->sin_port);
	return addr->ss.ss_family == AF_INET6
		       ? ntohs(((const struct sockaddr_in6 *)(const void *)&addr->ss)->sin6_port)
		       : 0;
}

bool addr_is_any(const struct addr *addr)
{
	const struct sockaddr_in *in = (const void *)&addr->ss;
	const struct sockaddr_in6 *in6 = (const void *)&addr->ss;

	if (addr->ss.ss_family == AF_INET)
		return in->sin_addr.s_addr == htonl(INADDR_ANY);
	return addr->ss.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}

static bool addr_is_link_local(const struct addr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)&addr->ss;

	return addr->ss.ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
}

static int parse_unix(struct addr *addr, const char *path, struct diag *diag)
{
	struct sockaddr_un *sun = (void *)&addr->ss;
	size_t len = strlen(path);

	*addr = (struct addr){ 0 };
	if (!len)
		return diag_set(diag, DIAG_USAGE, EINVAL, "no path after 'unix:'");
	if (len >= sizeof(sun->sun_path))
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG,
			"path of a unix socket '%s': must be at most %zu bytes", path,
			sizeof(sun->sun_path) - 1);
	sun->sun_family = AF_UNIX;
	memcpy(sun->sun_path, path, len + 1);
	addr->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	return 0;
}

/* The wildcard address: IPv6's covers both families, but the kernel may lack IPv6. */
static void set_any(struct addr *addr, uint16_t port)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		set_v4(addr, (struct in_addr){ INADDR_ANY }, port);
		return;
	}
	close(fd);
	set_v6(addr, &in6addr_any, 0, port);
}

/* Parse the port after ':', or take the default port if there is no ':'. */
static int parse_port(const char *text, const char *colon, uint16_t default_port, uint16_t *port,
	struct diag *diag)
{
	uint64_t number;

	if (!colon && !default_port)
		return diag_set(diag, DIAG_USAGE, EINVAL, "no port in '%s'", text);
	if (colon && parse_u64(colon + 1, 0, UINT16_MAX, &number, NULL))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid port '%s' in '%s': must be 0 to 65535", colon + 1, text);
	*port = colon ? (uint16_t)number : default_port;
	return 0;
}

int addr_parse(struct addr *addr, const char *text, uint16_t default_port, struct diag *diag)
{
	const char *close_at = strchr(text, ']'), *colon = strchr(text, ':'), *end;
	bool bracket = *text == '[';
	struct in6_addr ip6;
	char host[ADDR_HOST];
	uint16_t port = default_port;

	if (!strncmp(text, "unix:", 5))
		return parse_unix(addr, text + 5, diag);
	if (!*text)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"empty address: expected [HOST]:PORT or unix:PATH");
	if (strchr(text, '/')) {
		diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid address '%s': expected [HOST]:PORT or unix:PATH", text);
		if (*text == '/' || *text == '.')
			diag_hint(diag, "unix:%s", text);
		return -EINVAL;
	}
	if (bracket && (!close_at || (close_at[1] && close_at[1] != ':')))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid address '%s': expected [ADDRESS]:PORT", text);
	if (bracket)
		colon = close_at[1] ? close_at + 1 : NULL;
	else if (colon && strchr(colon + 1, ':') && inet_pton(AF_INET6, text, &ip6) == 1)
		colon = NULL;
	else if (colon && strchr(colon + 1, ':')) {
		diag_set(
			diag, DIAG_USAGE, EINVAL, "invalid address '%s': expected HOST:PORT", text);
		return diag_hint(diag, "write an IPv6 address in brackets: [::1]:4420");
	}
	int rc = parse_port(text, colon, default_port, &port, diag);

	if (rc)
		return rc;
	end = bracket ? close_at : colon ? colon : text + strlen(text);
	if (snprintf(host, sizeof(host), "%.*s", (int)(end - text - bracket), text + bracket) >=
		(int)sizeof(host))
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG,
			"host name in '%.40s...': must be at most %d bytes", text, ADDR_HOST - 1);
	if (!*host && !bracket) {
		set_any(addr, port);
		return 0;
	}
	if (bracket && !strchr(host, ':'))
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid IPv6 address '%s'", host);
	return addr_resolve(addr, host, port, ADDR_LOOKUP_MS, diag);
}

const char *addr_host(const struct addr *addr, char out[ADDR_TEXT])
{
	const struct sockaddr_in6 *sin6 = (const void *)&addr->ss;
	const struct sockaddr_in *sin = (const void *)&addr->ss;
	const struct sockaddr_un *sun = (const void *)&addr->ss;
	char text[INET6_ADDRSTRLEN] = "";

	out[0] = 0;
	if (addr->ss.ss_family == AF_INET) {
		inet_ntop(AF_INET, &sin->sin_addr, out, ADDR_TEXT);
	} else if (addr->ss.ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &sin6->sin6_addr, text, sizeof(text));
		if (sin6->sin6_scope_id)
			snprintf(out, ADDR_TEXT, "%s%%%u", text, sin6->sin6_scope_id);
		else
			snprintf(out, ADDR_TEXT, "%s", text);
	} else if (addr->ss.ss_family == ADDR_IB) {
		inet_ntop(AF_INET6, ((const struct addr_ib *)sun)->gid, out, ADDR_TEXT);
	} else if (addr->ss.ss_family == AF_UNIX) {
		snprintf(out, ADDR_TEXT, "%.*s", (int)sizeof(sun->sun_path), sun->sun_path);
	}
	return out;
}

struct addr addr_unscoped(const struct addr *addr)
{
	struct sockaddr_in6 *in6;
	struct addr bare = *addr;
	struct in_addr ip;

	in6 = (void *)&bare.ss;
	if (addr->ss.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		memcpy(&ip, &in6->sin6_addr.s6_addr[12], sizeof(ip));
		set_v4(&bare, ip, addr_port(addr));
	} else if (addr->ss.ss_family == AF_INET6) {
		in6->sin6_scope_id = 0;
	}
	return bare;
}

void addr_localize(char *host, size_t room, const struct addr *via)
{
	const struct sockaddr_in6 *via6 = (const void *)&via->ss;
	bool v6 = via->ss.ss_family == AF_INET6;
	char text[ADDR_TEXT];
	struct addr addr;

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(host, "%"), host);
	if (numeric(&addr, text, 0, NULL) <= 0)
		return;
	if (addr_is_any(&addr) && (v6 || via->ss.ss_family == AF_INET)) {
		addr = *via;
	} else if (addr_is_link_local(&addr)) {
		((struct sockaddr_in6 *)(void *)&addr.ss)->sin6_scope_id =
			v6 ? via6->sin6_scope_id : 0;
	} else {
		return;
	}
	snprintf(host, room, "%s", addr_host(&addr, text));
}

bool addr_is_of_peer(const struct addr *addr, const struct addr *via)
{
	const struct sockaddr_in6 *in6 = (const void *)&addr->ss;
	const struct sockaddr_in *in = (const void *)&addr->ss;

	if (!addr_port(addr) || addr_is_any(addr) || (addr_is_local(addr) && !addr_is_local(via)))
		return false;
	if (addr->ss.ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) < INADDR_UNSPEC_GROUP;
	return addr->ss.ss_family == AF_INET6 && !IN6_IS_ADDR_MULTICAST(&in6->sin6_addr) &&
	       (in6->sin6_scope_id || !addr_is_link_local(addr));
}

bool addr_same(const struct addr *a, const struct addr *b)
{
	const struct sockaddr_in6 *a6 = (const void *)&a->ss, *b6 = (const void *)&b->ss;
	const struct sockaddr_in *a4 = (const void *)&a->ss, *b4 = (const void *)&b->ss;

	if (a->ss.ss_family != b->ss.ss_family || addr_port(a) != addr_port(b))
		return false;
	if (a->ss.ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a->ss.ss_family == AF_INET6 && a6->sin6_scope_id == b6->sin6_scope_id &&
	       IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr);
}

const char *addr_text(const struct addr *addr, char out[ADDR_TEXT])
{
	const struct sockaddr_in6 *sin6 = (const void *)&addr->ss;
	const struct sockaddr_in *sin = (const void *)&addr->ss;
	char host[ADDR_TEXT];

	addr_host(addr, host);
	if (addr->ss.ss_family == AF_INET)
		snprintf(out, ADDR_TEXT, "%.15s:%u", host, ntohs(sin->sin_port));
	else if (addr->ss.ss_family == AF_INET6)
		snprintf(out, ADDR_TEXT, "[%.60s]:%u", host, ntohs(sin6->sin6_port));
	else if (addr->ss.ss_family == ADDR_IB)
		snprintf(out, ADDR_TEXT, addr_service(addr) ? "%.60s service %" PRIx64 : "%.60s",
			host, addr_service(addr));
	else
		snprintf(out, ADDR_TEXT, "%s%.110s", *host ? "unix:" : "", host);
	return out;
}

bool addr_is_local(const struct addr *addr)
{
	const struct sockaddr_in *in = (const void *)&addr->ss;
	const struct sockaddr_in6 *in6 = (const void *)&addr->ss;

	if (addr->ss.ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return addr->ss.ss_family == AF_UNIX ||
	       (addr->ss.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr));
}

void addr_show(struct out *out, const char *transport, const struct addr *addr)
{
	char text[ADDR_TEXT];

	out_text(out, "transport", NULL, "%s", transport);
	if (addr->ss.ss_family == AF_UNIX) {
		out_text(out, "path", NULL, "%s", addr_host(addr, text));
	} else {
		out_text(out, "traddr", NULL, "%s", addr_host(addr, text));
		if (addr_service(addr))
			out_text(out, "service_id", NULL, "%016" PRIx64, addr_service(addr));
		else
			out_text(out, "trsvcid", NULL, "%u", addr_port(addr));
	}
}
