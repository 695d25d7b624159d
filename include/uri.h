/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* URIs (rdmastor-uri(7)), and other spellings of the same: SPDK transport IDs ("trtype:RDMA
 * traddr:… subnqn:…"), "transport=…;traddr=…", ib_srp's "id_ext=…,ioc_guid=…", dracut's
 * "iscsi:HOST:…", plain paths. All are parsed into the same fields, which the scheme's owner
 * interprets. Also addresses, and secrets from files. */
#pragma once
#include "diag.h"
#include "wire.h"
#include <netinet/in.h>
#include <sys/socket.h>

#define URI_MAX        2048
#define URI_KEYS       24
#define URI_PATHS      8
#define URI_KEY_NAMES  40
#define ADDR_TEXT      128
#define ADDR_HOST      256  /* a host name and NUL */
#define ADDR_LOOKUP_MS 5000 /* usual timeout of a blocking lookup */

struct uri_key {
	const char *name, *value; /* into text; value "" without a '=' */
	bool used;
};

struct uri_key_names { /* string literals */
	const char *name[URI_KEY_NAMES];
	unsigned count;
};

struct uri {
	char text[URI_MAX];     /* percent-decoded. Pointers refer to it: never copy a struct uri */
	char spelling[URI_MAX]; /* as the user typed it, without the password: for messages */
	const char *scheme;     /* "nvme+rdma", "file", … in lower case */
	const char *user, *password; /* NULL: none */
	const char *host;            /* without brackets; "": none */
	uint16_t port;               /* 0: none */
	/* after the authority, without the first '/'; all after "file:", "ram:", "null:" */
	const char *path;
	/* length of the path before its last '/' that was not "%2F": the name of an NVMe or iSCSI
	 * target, followed by uri_unit(), its namespace or LUN */
	size_t name_len;
	struct uri_key key[URI_KEYS];
	unsigned keys;
	struct uri_key_names known; /* looked up so far, for the hints of uri_done() */
	char numeric[ADDR_TEXT];    /* `host` after uri_resolve() */
};
/* Parse a URI. -EINVAL, -ENAMETOOLONG: the diag names the invalid part. "-", standard input or
 * output, is scheme "-". */
int uri_parse(struct uri *, const char *text, struct diag *);
/* Parse into a struct on the heap, as it is some kilobytes; the caller frees it. NULL: not a URI,
 * or no memory. */
struct uri *uri_new(const char *text);
/* If text is a host where a disk is expected, add the hint how to list its disks. */
void uri_hint_host(const char *text, struct diag *);
/* Whether it has "://" or is one of the other spellings; not a path, file:, ram: or null:. */
bool uri_is_address(const char *text);
/* Whether it is "iscsi:[user:secret[:user:secret]@][host]:[protocol]:[port]:[[iface]:[netdev]:]
 * [lun]:name" (dracut.cmdline(7), RFC 4173), or "iser:…", which is iSER, as "iser" for the
 * interface is. It becomes an iscsi or iser URI: the target's user and secret are the keys
 * target_user and target_password, netdev is the key iface. The host may be missing. */
bool uri_is_iscsi(const char *text);
#define URI_ISCSI_SECRET 256 /* longest user or secret in it, bytes */
/* Whether it is one of the words for the firmware's targets: "", "iscsi", "ibft". uri_parse()
 * rejects them. */
bool uri_is_firmware(const char *text);
/* Print "scheme://host:port"; an address of IPv6 gets brackets. port 0: none. The functions below
 * append to that, and cut what exceeds it. */
void uri_start(char text[URI_MAX], const char *scheme, const char *host, unsigned port);
/* The same with "user@"; user NULL: none. */
void uri_start_user(
	char text[URI_MAX], const char *scheme, const char *user, const char *host, unsigned port);
/* Percent-encode for a path or a key's value: all but letters, digits and -._~/: */
void uri_encode(char text[URI_MAX], const char *from);
/* "/" and a target's name as one segment: '/' is encoded, too. */
void uri_add_name(char text[URI_MAX], const char *name);
/* "/0": a LUN or namespace. */
void uri_add_unit(char text[URI_MAX], uint64_t unit);
/* "/", name and unit of the URI; only "/" if it has none. */
void uri_add_target(char text[URI_MAX], const struct uri *);
/* A key: "?src=10.0.0.1" or "&tos=8". */
void uri_add_key(char text[URI_MAX], const char *name, const char *value);
/* Those of the keys (NULL ends the names) that the URI has. */
void uri_add_keys(char text[URI_MAX], struct uri *, const char *const *names);
/* Return the part of the path after the name; "": none. */
const char *uri_unit(const struct uri *);
/* Copy the name. False: it does not fit. */
bool uri_name(const struct uri *, char *name, size_t room);
/* Remove passwords from a text that is or contains URIs, in place; the end is zeroed. */
void uri_hide(char *text);
/* Disable core dumps and access by other processes of this user (PR_SET_DUMPABLE), as this process
 * holds secrets. */
void secret_disable_dumps(void);
/* From now on secret_read() does not wait for the writer of a named pipe: -EAGAIN, try again. */
void secret_never_wait(void);
struct out_notes;
/* Read a secret: the first line of descriptor `number` if not NULL, else of the file at `path`, "-"
 * for standard input. Of a terminal, the line is asked for by the name of the option. -E2BIG:
 * longer than room; -EINVAL: empty, or a terminal after secret_never_wait(). Pipes, terminals and
 * descriptors are read once and their line is cached by option, which must be a literal such as
 * "--tls-key-fd". Errors never quote the line. Warns if other users can read the file, unless notes
 * is NULL. */
int secret_read(const struct out_notes *, const char *option, const char *number, const char *path,
	char *secret, size_t room, struct diag *);
/* Let the helper open this file for secret_read() (helper.h). 0 or -ENOMEM. */
int secret_allow(const char *path);
/* Erase the lines of pipes and descriptors that secret_read() has kept for further targets. */
void secret_forget(void);
/* Warn once per run if other users can read the file of a secret. */
void secret_check_file(const struct out_notes *, const char *path);

/* Look up a key, which becomes known and used; name must be a string literal. The value is in
 * uri->text. NULL: absent. */
const char *uri_value(struct uri *, const char *name);
/* Whether the key is present, for errors: it does not become known. */
bool uri_has(const struct uri *, const char *name);
/* Look up a repeatable key; nth: 0, 1, … */
const char *uri_value_nth(struct uri *, const char *name, unsigned nth);
/* These leave the value unchanged if the key is absent. -EINVAL: invalid; -ERANGE: not min to max,
 * both allowed. */
int uri_u32(
	struct uri *, const char *name, uint32_t min, uint32_t max, uint32_t *value, struct diag *);
/* 0 1 no yes off on false true; without a value: yes */
int uri_bool(struct uri *, const char *name, bool *value, struct diag *);
/* Seconds, or "500ms"; must not be 0. */
int uri_msec(struct uri *, const char *name, uint32_t *ms, struct diag *);
/* Check for other keys, after all known ones were looked up. -EINVAL: unknown, or a duplicate. */
int uri_done(struct uri *, struct diag *);
/* A key that is never known: it makes uri_done() fail, after the reader has looked up all its keys
 * and before anything is opened. */
#define URI_UNKNOWN_KEY "-"
/* Refuse a key that the reader of such URIs doesn't know. `keys` lists the known ones, and gets the
 * URI without its keys: a value may name a file with a secret, perhaps a pipe that can be read only
 * once. If it lists none, or is NULL, nothing is refused. */
int uri_check_keys(
	const char *text, void (*keys)(const char *text, struct uri_key_names *), struct diag *);

/* Parse numbers, also hexadecimal (0x), and sizes of options and URIs; trailing characters are an
 * error. K M G T P E are powers of 1024. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *, struct diag *);
int parse_size(const char *text, uint64_t *, struct diag *);
#define PARSE_MSEC_MAX UINT32_C(4294967000)
/* "30", "0.5", "500ms"; rounded up. */
int parse_msec(const char *text, uint32_t *ms, struct diag *);

/* Addresses. addr_resolve(), uri_resolve() and addr_parse() block, at most timeout_ms (0: the
 * resolver's own limit) and until resolve_set_deadline(); on a loop use resolve.h. */
#define ADDR_OTHERS 7
struct addr {
	struct sockaddr_storage ss; /* ss_family 0: none */
	socklen_t len;
	uint8_t others; /* further addresses of the name, to try after this one, with its port */
	struct addr_other {
		bool v6;
		uint8_t ip[16];
		uint32_t scope;
	} other[ADDR_OTHERS];
};
/* Replace the address by the next one. False: there is none. */
bool addr_next(struct addr *);
/* Of several addresses keep only `peer`, which answered; family 0: none did. */
void addr_keep_peer(struct addr *, const struct addr *peer);
/* Keep those addresses for which keep() returns true. False: there is none; *addr is unchanged. */
bool addr_filter(struct addr *, bool (*keep)(const struct addr *, void *arg), void *arg);
/* Append another address. False: no room. */
bool addr_add(struct addr *, const struct sockaddr *);
/* Return true if a connection failed so without an answer, as far as is known: no RDMA device, no
 * route, no listener, or too late. Another address may have one. */
bool addr_unanswered(const struct diag *);
/* Collect why each address of a name failed. Of several, the object lists the addresses, and the
 * text has each reason once. */
struct addr_failures {
	struct diag why; /* valid after addr_failures_end() */
	unsigned count;
	bool differ; /* the reasons */
	char object[256], text[400];
};
void addr_failures_add(struct addr_failures *, const struct addr *, const struct diag *);
void addr_failures_end(struct addr_failures *);
/* An InfiniBand address in a struct addr (Linux's struct sockaddr_ib): GID and service ID, no port
 * number. */
#define ADDR_IB 27 /* AF_IB */
struct addr_ib {
	uint16_t family;
	be16 pkey;
	be32 flow;
	uint8_t gid[16];
	be64 service, service_mask;
	uint64_t scope;
};
/* service 0: any, as a source. */
void addr_set_ib(struct addr *, const uint8_t gid[16], uint16_t pkey, uint64_t service);
uint64_t addr_service(const struct addr *); /* service ID; 0: not InfiniBand */
/* Resolve a host; "fe80::1%eth0" is numeric. */
int addr_resolve(
	struct addr *, const char *host, uint16_t port, uint32_t timeout_ms, struct diag *);
/* Resolve the URI's host, which is numeric from then on. */
int uri_resolve(
	struct uri *, uint16_t default_port, uint32_t timeout_ms, struct addr *, struct diag *);
/* Parse without a lookup. 1: numeric or "localhost"; 0: a name; -errno: invalid. */
int addr_known(struct addr *, const char *host, uint16_t port, struct diag *);
/* Parse a source address, the value of this key: numeric or "localhost". */
int addr_source(struct addr *, const char *key, const char *text, struct diag *);
/* Parse a numeric address. -EINVAL also for a name. */
int addr_numeric(struct addr *, const char *host, uint16_t port, struct diag *);
/* Parse "unix:PATH", "[HOST]:PORT", "HOST:PORT" or ":PORT" (any address). */
int addr_parse(struct addr *, const char *text, uint16_t default_port, struct diag *);
/* Parse and cut off the RDMA keys after an address, "?rdma=verbs|iwarp|auto&crc=0". */
struct addr_rdma {
	bool verbs, iwarp; /* both: auto */
	bool no_crc;       /* software iWARP: use CRCs only if the peer requests them */
};
int addr_rdma(struct addr_rdma *, char *text, struct diag *);
/* "10.0.0.1:4420", "[fe80::1%2]:4420", "unix:/run/x", "fe80::7 service 13f1234" */
const char *addr_text(const struct addr *, char out[ADDR_TEXT]);
/* Emit JSON: transport, and traddr and trsvcid, or path. */
struct out;
void addr_show(struct out *, const char *transport, const struct addr *);
const char *addr_host(const struct addr *, char out[ADDR_TEXT]); /* without the port and brackets */
/* Return the address for use by peers: without a scope, which is local to each host, and with
 * ::ffff:a.b.c.d as IPv4. */
struct addr addr_unscoped(const struct addr *);
/* Translate a numeric address reported by the peer at `via` for use here: a link-local one gets the
 * scope of via, the unspecified one becomes via. Others and names are unchanged. */
void addr_localize(char *host, size_t room, const struct addr *via);
/* Whether an address that the peer at `via` reports, after addr_localize(), may be one of its own:
 * of one host, with a port and, if link-local, an interface; a loopback address only if via is. */
bool addr_is_of_peer(const struct addr *, const struct addr *via);
bool addr_same(const struct addr *, const struct addr *); /* IP address, interface and port */
void addr_set_port(struct addr *, uint16_t port);
uint16_t addr_port(const struct addr *); /* 0: none */
bool addr_is_any(const struct addr *);   /* 0.0.0.0 or :: */
bool addr_is_local(const struct addr *); /* loopback or a unix socket */

/* The URI schemes that the command line accepts, for completion, hints and errors. */

enum {                        /* uses of a scheme, flags */
	SCHEME_DISK = 1 << 0, /* opened in userspace */
	/* attached by a kernel initiator: */
	SCHEME_NVMF = 1 << 1,
	SCHEME_ISCSI = 1 << 2,
	SCHEME_SRP = 1 << 3,
	SCHEME_NFS = 1 << 4,
	SCHEME_ATTACH = SCHEME_NVMF | SCHEME_ISCSI | SCHEME_SRP | SCHEME_NFS,
	SCHEME_ALL = SCHEME_DISK | SCHEME_ATTACH,
};

struct scheme {            /* the part of a struct proto that needs no bdev.h */
	const char *start; /* "nvme+tcp://" */
	const char *about; /* "NVMe over TCP: HOST[:PORT]/NQN[/NSID]"; NULL: not offered */
	uint8_t uses;
	const char *applet; /* attaches it through the kernel, if it has no initiator here */
};
/* The head of each struct proto (protocol.h); NULL ends it. In core/proto/list.c. */
extern const struct scheme *const schemes[];
const struct scheme *scheme_find(const char *name); /* "nvme+tcp"; NULL: unknown */
/* Set the error for an unknown scheme. The hint lists the schemes with these uses, and `also`: "a
 * path". Returns -EINVAL. */
int scheme_unknown(const char *name, unsigned uses, const char *also, struct diag *);
