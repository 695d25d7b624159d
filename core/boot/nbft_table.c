/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse an NBFT as the firmware left it, with every offset and length checked. Extended
 * information is not read: it holds nothing that is used here. */
#include "nbft_table.h"
#include "names.h"
#include "uapi/nbft.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NO_SECURITY "its security profile is missing or invalid"

struct table {
	const uint8_t *at;
	size_t len, heap, heap_end;
	struct nbft *to;
	const char *kind; /* of the descriptor at hand */
	unsigned index;
};

static int damaged(struct diag *diag, const char *what)
{
	return diag_set(diag, DIAG_PROTOCOL, EBADMSG, "invalid NBFT of the firmware: %s", what);
}

static void add_damage(const struct table *t, const char *object, const char *what)
{
	struct nbft_damage *to = &t->to->damage[t->to->damages];

	if (t->to->damages == NBFT_LIST)
		return;
	to->code = DIAG_PROTOCOL;
	to->err = EBADMSG;
	snprintf(to->object, sizeof(to->object), "%s", object);
	snprintf(to->text, sizeof(to->text), "invalid NBFT of the firmware: %s", what);
	t->to->damages++;
}

/* Leave out the descriptor at hand, or a part of it; false. */
static bool leave_out(const struct table *t, const char *what)
{
	char object[32];

	snprintf(object, sizeof(object), "%s %u", t->kind, t->index);
	add_damage(t, object, what);
	return false;
}

/* A heap object of at least `least` bytes; NULL: outside the heap, or shorter. */
static const void *object(const struct table *t, struct nbft_ref ref, size_t least)
{
	size_t offset = get_le32(ref.offset), len = get_le16(ref.length);

	return len < least || offset < t->heap || offset > t->heap_end || len > t->heap_end - offset
		       ? NULL
		       : t->at + offset;
}

/* Copy a text of printable characters without blanks; some firmware counts the NUL. */
static bool parse_text(const struct table *t, struct nbft_ref ref, char *to, size_t room)
{
	size_t len = get_le16(ref.length);
	const char *text = len ? object(t, ref, 1) : "";

	*to = 0;
	while (text && len && !text[len - 1])
		len--;
	if (!text || len >= room)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)text[i]))
			return false;
	memcpy(to, text, len);
	to[len] = 0;
	return true;
}

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static void parse_addr(const uint8_t addr[16], char text[NBFT_ADDR])
{
	static const uint8_t none[16];

	*text = 0;
	if (!memcmp(addr, none, 16) || (!memcmp(addr, mapped, 12) && !memcmp(addr + 12, none, 4)))
		return;
	if (!memcmp(addr, mapped, 12))
		inet_ntop(AF_INET, addr + 12, text, NBFT_ADDR);
	else
		inet_ntop(AF_INET6, addr, text, NBFT_ADDR);
}

/* An interface that DHCP is yet to configure has no address: "::" then means IPv6, unless another
 * address of the interface is of IPv4. */
static bool is_v6(const struct nbft_hfi_info *hfi, const struct nbft_hfi_tcp *tcp)
{
	const char *const addrs[] = { hfi->addr, hfi->dhcp, hfi->gateway, hfi->dns[0],
		hfi->dns[1] };

	for (unsigned i = 0; i < sizeof(addrs) / sizeof(*addrs); i++)
		if (*addrs[i])
			return strchr(addrs[i], ':');
	return memcmp(tcp->addr, mapped, sizeof(mapped));
}

static bool parse_host(struct table *t, const struct nbft_control *control, const char **what)
{
	size_t offset = get_le32(control->host.offset);
	const struct nbft_host *host = (const void *)(t->at + offset);
	static const uint8_t none[16];

	*what = "host descriptor beyond the end";
	if (offset > t->len || t->len - offset < sizeof(*host) ||
		get_le16(control->host.length) < sizeof(*host))
		return false;
	*what = "no valid host descriptor";
	if (host->id != NBFT_HOST || !(host->flags & NBFT_VALID))
		return false;
	*what = "host NQN";
	if (!parse_text(t, host->nqn, t->to->hostnqn, sizeof(t->to->hostnqn)) ||
		(t->to->hostnqn[0] && !nqn_valid(t->to->hostnqn)))
		return false;
	if (memcmp(host->hostid, none, 16))
		uuid_text(t->to->hostid, host->hostid);
	return true;
}

static bool parse_hfi(struct table *t, const void *at)
{
	const struct nbft_hfi *hfi = at;
	const struct nbft_hfi_tcp *tcp;
	struct nbft_hfi_info *to = &t->to->hfi[t->to->hfis];

	t->index = hfi->index;
	if (!(hfi->flags & NBFT_VALID))
		return false;
	if (hfi->id != NBFT_HFI)
		return leave_out(t, "not an HFI descriptor");
	if (hfi->trtype != NBFT_TRTYPE_TCP)
		return leave_out(t, "the transport is not TCP");
	tcp = object(t, hfi->transport, sizeof(*tcp));
	if (!tcp)
		return leave_out(t, "transport information outside the heap");
	if (tcp->id != NBFT_HFI_TCP || tcp->version != 1 || !(tcp->flags & NBFT_VALID) ||
		tcp->trtype != NBFT_TRTYPE_TCP)
		return leave_out(t, "no valid transport information");
	*to = (struct nbft_hfi_info){ .index = hfi->index,
		.vlan = get_le16(tcp->vlan) & 0xfff,
		.prefix = tcp->prefix,
		.origin = tcp->origin };
	parse_addr(tcp->addr, to->addr);
	parse_addr(tcp->gateway, to->gateway);
	parse_addr(tcp->dns[0], to->dns[0]);
	parse_addr(tcp->dns[1], to->dns[1]);
	if (tcp->flags & NBFT_HFI_DHCP)
		parse_addr(tcp->dhcp, to->dhcp);
	snprintf(to->mac, sizeof(to->mac), "%02x:%02x:%02x:%02x:%02x:%02x", tcp->mac[0],
		tcp->mac[1], tcp->mac[2], tcp->mac[3], tcp->mac[4], tcp->mac[5]);
	to->v6 = is_v6(to, tcp);
	if (to->prefix > (to->v6 ? 128 : 32))
		return leave_out(t, "prefix length");
	if (!parse_text(t, tcp->host, to->host, sizeof(to->host)))
		to->host[0] = 0;
	t->to->hfis++;
	return true;
}

/* A reserved value counts as required: what it asks for is not known. */
static bool parse_security(struct table *t, const void *at)
{
	const struct nbft_security *security = at;
	struct nbft_security_info *to = &t->to->security[t->to->securities];
	unsigned flags = get_le16(security->flags), tls = flags & NBFT_SECURITY_TLS,
		 auth = flags & NBFT_SECURITY_AUTH;

	t->index = security->index;
	if (!(flags & NBFT_VALID))
		return false;
	if (security->id != NBFT_SECURITY)
		return leave_out(t, "not a security profile");
	*to = (struct nbft_security_info){ .index = security->index,
		.tls = tls != NBFT_SECURITY_TLS_NONE && tls != NBFT_SECURITY_TLS_OPTIONAL,
		.auth = auth != NBFT_SECURITY_AUTH_NONE && auth != NBFT_SECURITY_AUTH_OPTIONAL,
		.ciphers = flags & NBFT_SECURITY_CIPHERS,
		.groups = flags & NBFT_SECURITY_GROUPS,
		.hashes = flags & NBFT_SECURITY_HASHES,
		.key = get_le16(security->secret.length) };
	t->to->securities++;
	return true;
}

static const struct nbft_security_info *find_security(const struct nbft *nbft, unsigned index)
{
	for (unsigned i = 0; i < nbft->securities; i++)
		if (nbft->security[i].index == index)
			return &nbft->security[i];
	return NULL;
}

static void add_hfi(const struct table *t, struct nbft_ssns_info *to, uint8_t index)
{
	if (kernel_nbft_hfi(t->to, index) && to->hfis < NBFT_LIST &&
		!memchr(to->hfi, index, to->hfis))
		to->hfi[to->hfis++] = index;
}

static bool parse_ssns(struct table *t, const void *at)
{
	const struct nbft_ssns *ssns = at;
	struct nbft_ssns_info *to = &t->to->ssns[t->to->ssnses];
	unsigned flags = get_le16(ssns->flags), transport = get_le16(ssns->transport_flags);
	const uint8_t *more, *addr;
	size_t more_len = get_le16(ssns->more_hfis.length);
	uint64_t port;

	t->index = get_le16(ssns->index);
	if (!(flags & NBFT_VALID))
		return false;
	if (ssns->id != NBFT_SSNS)
		return leave_out(t, "not an SSNS descriptor");
	if (ssns->trtype != NBFT_TRTYPE_TCP)
		return leave_out(t, "the transport is not TCP");
	*to = (struct nbft_ssns_info){ .index = t->index,
		.nsid = get_le32(ssns->nsid) == UINT32_MAX ? 0 : get_le32(ssns->nsid),
		.unavailable = (flags & NBFT_SSNS_AVAILABILITY) == NBFT_SSNS_UNAVAILABLE };
	if (flags & NBFT_SSNS_SECURITY) {
		to->security = find_security(t->to, ssns->security);
		if (!to->security)
			return leave_out(t, NO_SECURITY);
	}
	if (transport & NBFT_VALID) {
		to->hdr_digest = transport & NBFT_SSNS_HDR_DIGEST;
		to->data_digest = transport & NBFT_SSNS_DATA_DIGEST;
	}
	addr = object(t, ssns->addr, 16);
	if (addr)
		parse_addr(addr, to->addr);
	if (!to->addr[0])
		return leave_out(t, "no address of the subsystem");
	if (!parse_text(t, ssns->port, to->port, sizeof(to->port)) ||
		(to->port[0] && parse_u64(to->port, 1, UINT16_MAX, &port, NULL)))
		return leave_out(t, "port of the subsystem");
	if (!parse_text(t, ssns->nqn, to->nqn, sizeof(to->nqn)) || !to->nqn[0])
		return leave_out(t, "NQN of the subsystem");
	more = more_len ? object(t, ssns->more_hfis, 1) : NULL;
	add_hfi(t, to, ssns->hfi);
	for (size_t i = 0; more && i < more_len; i++)
		add_hfi(t, to, more[i]);
	if (!to->hfis)
		return leave_out(t, "no valid HFI");
	t->to->ssnses++;
	return more || !more_len ? true : leave_out(t, "list of further HFIs outside the heap");
}

static bool parse_discovery(struct table *t, const void *at)
{
	const struct nbft_discovery *discovery = at;
	struct nbft_discovery_info *to = &t->to->discovery[t->to->discoveries];

	t->index = discovery->index;
	if (!(discovery->flags & NBFT_VALID))
		return false;
	if (discovery->id != NBFT_DISCOVERY)
		return leave_out(t, "not a discovery descriptor");
	*to = (struct nbft_discovery_info){ .index = discovery->index,
		.hfi = discovery->hfi,
		.security =
			discovery->security ? find_security(t->to, discovery->security) : NULL };
	if (discovery->security && !to->security)
		return leave_out(t, NO_SECURITY);
	if (!parse_text(t, discovery->uri, to->uri, sizeof(to->uri)) || !to->uri[0])
		return leave_out(t, "URI of the discovery controller");
	if (!parse_text(t, discovery->nqn, to->nqn, sizeof(to->nqn)))
		return leave_out(t, "NQN of the discovery controller");
	t->to->discoveries++;
	return true;
}

/* Take at most NBFT_LIST descriptors. Later versions may have longer ones. */
static void parse_list(struct table *t, const char *kind, struct nbft_list list, size_t least,
	bool (*parse)(struct table *, const void *))
{
	size_t offset = get_le32(list.offset), each = get_le16(list.length);
	char object[32];

	t->kind = kind;
	if (!list.count)
		return;
	if (each < least || offset > t->len || each * list.count > t->len - offset) {
		snprintf(object, sizeof(object), "%s descriptors", kind);
		add_damage(t, object, "list beyond the end, or of short descriptors");
		return;
	}
	for (unsigned i = 0; i < list.count && i < NBFT_LIST; i++)
		parse(t, t->at + offset + i * each);
	t->index = NBFT_LIST;
	if (list.count > NBFT_LIST)
		leave_out(t, "too many descriptors: those from this one on are left out");
}

static uint8_t sum(const uint8_t *at, size_t len)
{
	uint8_t all = 0;

	while (len--)
		all += at[len];
	return all;
}

/* Firmware of the same major version may append fields, so a later minor one is read. */
int kernel_nbft_table(const void *bytes, size_t len, struct nbft *nbft, struct diag *diag)
{
	const struct nbft_header *header = bytes;
	const struct nbft_control *control = (const void *)(header + 1);
	struct table t = { .at = bytes, .to = nbft };
	const char *what;
	size_t heap_len;

	*nbft = (struct nbft){ .name = "NBFT" };
	if (len < sizeof(*header) + sizeof(*control) || memcmp(header->signature, "NBFT", 4))
		return damaged(diag, "too short, or no NBFT signature");
	t.len = get_le32(header->length);
	if (t.len > len || t.len < sizeof(*header) + sizeof(*control))
		return damaged(diag, "length in the header");
	if (sum(bytes, t.len))
		return damaged(diag, "wrong checksum");
	if (header->major != 1)
		return damaged(diag, "expected major version 1");
	t.heap = get_le32(header->heap);
	heap_len = get_le32(header->heap_length);
	if (t.heap > t.len || heap_len > t.len - t.heap)
		return damaged(diag, "heap beyond the end");
	t.heap_end = t.heap + heap_len;
	if (control->id != NBFT_CONTROL || get_le16(control->length) < sizeof(*control))
		return damaged(diag, "no control descriptor");
	if (!(control->flags & NBFT_VALID))
		return damaged(diag, "the control descriptor is not marked valid");
	if (!parse_host(&t, control, &what))
		return damaged(diag, what);
	parse_list(&t, "HFI", control->hfi, sizeof(struct nbft_hfi), parse_hfi);
	parse_list(&t, "security profile", control->security, sizeof(struct nbft_security),
		parse_security);
	parse_list(&t, "discovery", control->discovery, sizeof(struct nbft_discovery),
		parse_discovery);
	parse_list(&t, "SSNS", control->ssns, sizeof(struct nbft_ssns), parse_ssns);
	return 0;
}
