/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse addresses as other tools write them: SPDK's transport IDs ("trtype:RDMA traddr:10.0.0.1
 * …"), "transport=rdma;traddr=…" of the kernel and nvme-cli, and what is written to ib_srp's
 * add_target ("id_ext=…,ioc_guid=…,dgid=…"). The result is the struct uri of the same URI. */
#include "names.h"
#include "uri_fill.h"
#include "word.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum trid_word {
	TRID_TRANSPORT,
	TRID_FAMILY,
	TRID_HOST,
	TRID_PORT,
	TRID_NQN,
	TRID_NS,
	TRID_SRC,
	TRID_IFACE,
	SRP_ID_EXT, /* of SRP from here on */
	SRP_IOC,
	SRP_GID,
	SRP_DEST,
	TRID_WORDS
};

static const struct {
	const char *name;
	uint8_t word;
} names[] = {
	{ "trtype", TRID_TRANSPORT },
	{ "transport", TRID_TRANSPORT },
	{ "adrfam", TRID_FAMILY },
	{ "traddr", TRID_HOST },
	{ "trsvcid", TRID_PORT },
	{ "subnqn", TRID_NQN },
	{ "nqn", TRID_NQN },
	{ "ns", TRID_NS },
	{ "nsid", TRID_NS },
	{ "host_traddr", TRID_SRC },
	{ "hostaddr", TRID_SRC },
	{ "host_iface", TRID_IFACE },
	{ "id_ext", SRP_ID_EXT },
	{ "ioc_guid", SRP_IOC },
	{ "dgid", SRP_GID },
	{ "dest", SRP_DEST },
};

static const char separators[] = " \t\n;,";

struct piece {
	const char *at;
	size_t len;
};

static enum trid_word word_of(const char *name, size_t len)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*s", (int)len, name);
	for (unsigned i = 0; len < sizeof(text) && i < sizeof(names) / sizeof(names[0]); i++)
		if (word_same(text, names[i].name))
			return names[i].word;
	return TRID_WORDS;
}

/* No URI scheme and hardly any file name begins with one of these words. */
bool uri_is_trid(const char *text)
{
	static const char *const first[] = { "trtype:", "trtype=", "transport=", "transport:",
		"traddr:", "traddr=", "adrfam:", "subnqn:", "id_ext=", "ioc_guid=", "dgid=",
		"dest=", "initiator_ext=" };

	text += strspn(text, separators);
	for (unsigned i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (!strncasecmp(text, first[i], strlen(first[i])))
			return true;
	return false;
}

/* Split the text. Words that are not part of the address become keys of the URI with the same
 * name. */
static int split(struct uri_fill *fill, const char *text, struct piece part[TRID_WORDS])
{
	for (const char *p = text + strspn(text, separators); *p; p += strspn(p, separators)) {
		size_t len = strcspn(p, separators), name_len = strcspn(p, ":=");

		if (!name_len || name_len + 1 >= len)
			return diag_set(fill->diag, DIAG_USAGE, EINVAL,
				"'%.*s': expected NAME:VALUE", (int)len, p);
		enum trid_word word = word_of(p, name_len);
		struct piece value = { p + name_len + 1, len - name_len - 1 };

		if (word == TRID_WORDS) {
			const char *key = uri_fill_text(fill, "key", p, name_len, false);
			int rc = key ? uri_fill_plain_key(fill, key, value.at, value.len) : -EINVAL;

			if (rc)
				return rc;
		} else if (part[word].at) {
			return diag_set(fill->diag, DIAG_USAGE, EINVAL, "duplicate '%.*s'",
				(int)name_len, p);
		} else {
			part[word] = value;
		}
		p += len;
	}
	return 0;
}

static bool piece_is(struct piece piece, const char *word)
{
	return piece.len == strlen(word) && !strncasecmp(piece.at, word, piece.len);
}

static int fill_transport(struct uri_fill *fill, struct piece piece)
{
	if (!piece.at)
		return diag_set(fill->diag, DIAG_USAGE, EINVAL,
			"no transport given: expected trtype:RDMA or trtype:TCP");
	if (!piece_is(piece, "rdma") && !piece_is(piece, "tcp"))
		return diag_set(fill->diag, DIAG_USAGE, EINVAL,
			"invalid transport '%.*s': expected RDMA or TCP", (int)piece.len, piece.at);
	fill->uri->scheme = piece_is(piece, "rdma") ? "nvme+rdma" : "nvme+tcp";
	return 0;
}

static int fill_address(struct uri_fill *fill, struct piece host, struct piece family)
{
	if (!host.at)
		return diag_set(fill->diag, DIAG_USAGE, EINVAL,
			"no address given: expected traddr:ADDRESS");
	bool v6 = memchr(host.at, ':', host.len),
	     must_be_v6 = family.at && piece_is(family, "ipv6");

	if (family.at && !must_be_v6 && !piece_is(family, "ipv4"))
		return diag_set(fill->diag, DIAG_USAGE, EINVAL,
			"invalid address family '%.*s': expected IPv4 or IPv6", (int)family.len,
			family.at);
	if (family.at && v6 != must_be_v6)
		return diag_set(fill->diag, DIAG_USAGE, EINVAL,
			"address '%.*s': not in address family %.*s", (int)host.len, host.at,
			(int)family.len, family.at);
	if (v6 && *host.at == '[' && host.at[host.len - 1] == ']')
		host = (struct piece){ host.at + 1, host.len - 2 };
	return uri_fill_host(fill, host.at, host.len, v6);
}

static int fill_path(struct uri_fill *fill, struct piece nqn, struct piece ns)
{
	char path[URI_MAX];

	if (ns.at && !nqn.at)
		return diag_set(fill->diag, DIAG_USAGE, EINVAL, "a namespace requires subnqn:NQN");
	int len = snprintf(path, sizeof(path), "%.*s", (int)nqn.len, nqn.at ? nqn.at : "");

	if (ns.at)
		len += snprintf(
			path + len, sizeof(path) - (size_t)len, "/%.*s", (int)ns.len, ns.at);

	fill->uri->path = uri_fill_text(fill, "path", path, (size_t)len, false);
	fill->uri->name_len = nqn.len;
	return fill->uri->path ? 0 : -EINVAL;
}

static int fill_nvme(struct uri_fill *fill, const struct piece part[TRID_WORDS])
{
	int rc = fill_transport(fill, part[TRID_TRANSPORT]);

	if (!rc)
		rc = fill_address(fill, part[TRID_HOST], part[TRID_FAMILY]);
	if (!rc && part[TRID_PORT].at)
		rc = uri_fill_port(fill, part[TRID_PORT].at, part[TRID_PORT].len);
	if (!rc)
		rc = fill_path(fill, part[TRID_NQN], part[TRID_NS]);
	if (!rc)
		rc = uri_fill_plain_key(fill, "src", part[TRID_SRC].at, part[TRID_SRC].len);
	return rc ? rc
		  : uri_fill_plain_key(fill, "iface", part[TRID_IFACE].at, part[TRID_IFACE].len);
}

static int fill_gid(struct uri_fill *fill, struct piece piece)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t gid[16];

	snprintf(text, sizeof(text), "%.*s", (int)piece.len, piece.at);
	if (piece.len >= sizeof(text) || !gid_parse(gid, text))
		return diag_set(fill->diag, DIAG_USAGE, EINVAL,
			"invalid dgid '%.*s': must be 32 hexadecimal digits", (int)piece.len,
			piece.at);
	inet_ntop(AF_INET6, gid, text, sizeof(text));
	return uri_fill_host(fill, text, strlen(text), true);
}

static int fill_srp(struct uri_fill *fill, const struct piece part[TRID_WORDS])
{
	struct piece ext = part[SRP_ID_EXT], ioc = part[SRP_IOC], dest = part[SRP_DEST];
	char path[URI_MAX];

	for (unsigned i = 0; i < SRP_ID_EXT; i++)
		if (part[i].at)
			return diag_set(fill->diag, DIAG_USAGE, EINVAL,
				"NVMe parameters in an add_target string");
	if (!ext.at || !ioc.at || !dest.at == !part[SRP_GID].at)
		return diag_set(fill->diag, DIAG_USAGE, EINVAL,
			"incomplete address: expected id_ext=, ioc_guid=, and dgid= or dest=");
	fill->uri->scheme = dest.at ? "srp+cm" : "srp";
	snprintf(path, sizeof(path), "%.*s/%.*s", (int)ioc.len, ioc.at, (int)ext.len, ext.at);
	fill->uri->path = uri_fill_text(fill, "path", path, strlen(path), false);
	if (!fill->uri->path)
		return -EINVAL;
	fill->uri->name_len = ioc.len;
	return dest.at ? uri_fill_host_port(fill, dest.at, dest.len)
		       : fill_gid(fill, part[SRP_GID]);
}

int uri_parse_trid(struct uri_fill *fill, const char *text)
{
	struct piece part[TRID_WORDS] = { 0 };
	bool srp = false;
	int rc = split(fill, text, part);

	for (unsigned i = SRP_ID_EXT; i < TRID_WORDS; i++)
		srp |= part[i].at != NULL;
	return rc ? rc : srp ? fill_srp(fill, part) : fill_nvme(fill, part);
}
