/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* URIs as rdmastor-uri(7) says, and the other spellings of the same thing: SPDK transport ids
 * ("trtype:RDMA traddr:… subnqn:…"), "transport=…;traddr=…", ib_srp's "id_ext=…,ioc_guid=…",
 * dracut's "iscsi:HOST:…", plain paths. One parse into fixed fields; what a scheme means is left to
 * its owner. */
#pragma once
#include "diag.h"
#include "wire.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define URI_MAX        2048
#define URI_KEYS       24
#define URI_PATHS      8
#define URI_ASKED      40
#define ADDR_TEXT      128
#define ADDR_HOST      256  /* a host name and its end */
#define ADDR_LOOKUP_MS 5000 /* usual limit of a lookup that blocks */

struct uri_key {
	const char *name, *value; /* into text; value "" when there was no '=' */
	bool used;
};

struct uri_asked { /* names of keys, literals */
	const char *name[URI_ASKED];
	unsigned count;
};

struct uri {
	/* storage behind the pointers: percent-decoded. So a struct uri is never copied */
	char text[URI_MAX];
	char spelling[URI_MAX];      /* as the user wrote it, password removed: for messages */
	const char *scheme;          /* "nvme+rdma", "file", … lower case */
	const char *user, *password; /* NULL when absent */
	const char *host;            /* without brackets; "" when absent */
	uint16_t port;               /* 0 = not given */
	/* after the authority, without the first '/'; the whole rest for file:, ram:, null: */
	const char *path;
	/* the path's bytes before its last '/' that is not "%2F": the name of an NVMe or iSCSI
	 * target, whose namespace or LUN is uri_unit() */
	size_t name_len;
	struct uri_key key[URI_KEYS];
	unsigned keys;
	struct uri_asked asked;  /* looked up so far: what uri_done() can suggest */
	char numeric[ADDR_TEXT]; /* where host points once uri_resolve() has found it */
};
/* Errors: usage, naming the part that is wrong. The standard input or output, "-", is scheme "-",
 * which nobody can type. */
int uri_parse(struct uri *, const char *text, struct diag *);
/* Add the hint how to list the disks of a host, if the text names one where a disk is expected. */
void uri_hint_host(const char *text, struct diag *);
/* With "://", or one of the other spellings; no path, file:, ram: or null:. */
bool uri_is_address(const char *text);
/* "iscsi:[user:secret[:user:secret]@][host]:[protocol]:[port]:[[iface]:[netdev]:][lun]:name"
 * (dracut.cmdline(7), RFC 4173); "iser:…": over iSER, as it is with "iser" for the interface. Here
 * the host may be missing. The target's user and secret are the keys target_user and
 * target_password, netdev is the key iface. */
#define URI_ISCSI_SECRET 256         /* bytes of a user or secret at most */
bool uri_is_iscsi(const char *text); /* and no URI, "iscsi://…" */
/* Words in its place that stand for the firmware's targets: nothing, "iscsi", "ibft". An error for
 * uri_parse(). */
bool uri_is_firmware(const char *text);
/* Appends text as it is written in a path or a key's value: percent-encoded but for letters, digits
 * and -._~/: */
void uri_encode(char text[URI_MAX], const char *from);
/* Appends a target's name as one segment of a path: a '/' in it is encoded, too. */
void uri_encode_name(char text[URI_MAX], const char *name);
/* Appends name and unit of the URI. */
void uri_encode_target(char text[URI_MAX], const struct uri *);
/* What follows the name in the path, "" if nothing does. */
const char *uri_unit(const struct uri *);
/* Copies the name; false: it needs more than room. */
bool uri_name(const struct uri *, char *name, size_t room);
/* Appends a key to a URI whose names are encoded, as "?src=10.0.0.1" or "&tos=8". */
void uri_encode_key(char text[URI_MAX], const char *name, const char *value);
/* Appends those of the names (the last is NULL) that the URI has. */
void uri_add_keys(char text[URI_MAX], struct uri *, const char *const *names);
/* Cuts passwords out of a text that is or contains URIs, in place; what becomes free at the end is
 * zeroed. */
void uri_hide(char *text);
/* The process holds secrets from now on: no core dump, and no access by other processes of its user
 * (PR_SET_DUMPABLE). */
void secret_held(void);
struct call;
/* Read the first line of the descriptor `number`, or else of the file at `path`; longer than room:
 * -E2BIG. A descriptor or pipe is read once: it gives the same line to every call for this option,
 * a string that stays. Errors never quote the line, as it may be a secret all the same. A file that
 * other users can read is noted, unless call is NULL. */
int secret_read(const struct call *, const char *option, const char *number, const char *path,
	char *secret, size_t room, struct diag *);
/* Warn once per run if the file with a secret is readable by other users. */
void secret_check_file(const struct call *, const char *path);

/* Key look-up; marks it used. NULL when absent. */
const char *uri_value(struct uri *, const char *name);
/* Whether there is this key, for an error that names it: it does not become a known one. */
bool uri_has(const struct uri *, const char *name);
/* For repeatable keys: index 0, 1, … */
const char *uri_value_nth(struct uri *, const char *name, unsigned nth);
/* keeps *value when absent */
int uri_u32(
	struct uri *, const char *name, uint32_t min, uint32_t max, uint32_t *value, struct diag *);
/* 0 1 no yes off on; bare key = yes */
int uri_bool(struct uri *, const char *name, bool *value, struct diag *);
/* seconds, or "500ms"; more than 0 */
int uri_msec(struct uri *, const char *name, uint32_t *ms, struct diag *);
/* Call once all known keys were asked for: an unused key is an error that names it. */
int uri_done(struct uri *, struct diag *);
/* A key that is never known: uri_done() refuses a URI that ends in "?" URI_UNKNOWN_KEY, once its
 * reader has asked for all keys, and before anything is opened. */
#define URI_UNKNOWN_KEY "-"
/* Refuse a key of the URI that its reader doesn't know. `keys` lists what it knows of a text that
 * ends in URI_UNKNOWN_KEY; if it lists nothing, or is NULL, the reader has to find out itself. */
int uri_check_keys(const char *text, void (*keys)(const char *text, struct uri_asked *),
	struct diag *);

/* Numbers and sizes as options and URIs write them, parsed whole ("10x" is an error). K M G T are
 * powers of 1024. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *, struct diag *);
int parse_size(const char *text, uint64_t *, struct diag *);
#define PARSE_MSEC_MAX UINT32_C(4294967000)
/* "30", "0.5", "500ms"; a part of a millisecond counts as one */
int parse_msec(const char *text, uint32_t *ms, struct diag *);

/* Addresses. On a loop that serves others a name is for resolve.h; these block the caller, at most
 * timeout_ms (0 = as long as the resolver takes) and at most until resolve_bound(). */
#define ADDR_OTHERS 7
struct addr {
	struct sockaddr_storage ss; /* ss_family 0 = none */
	socklen_t len;
	/* Where a name has several addresses: those to be tried after this one, with its port. */
	uint8_t others;
	struct addr_other {
		bool v6;
		uint8_t ip[16];
		uint32_t scope;
	} other[ADDR_OTHERS];
};
/* Go on to the next one; false: there is none. */
bool addr_next(struct addr *);
/* Of several, keep the one that has answered, `peer`; family 0: none has. */
void addr_settle(struct addr *, const struct addr *peer);
bool addr_add(struct addr *, const struct sockaddr *); /* as another one; false: no room */
/* Why each address of a name could not be reached. One: as it failed. Several: their list is the
 * object, and the text has each reason once. */
struct addr_failures {
	struct diag why; /* of all, once ended */
	unsigned count;
	char object[256], text[400];
};
void addr_failures_add(struct addr_failures *, const struct addr *, const struct diag *);
void addr_failures_end(struct addr_failures *);
/* A service of a port on InfiniBand, without IP, in a struct addr: struct sockaddr_ib of Linux. Its
 * host is the port's GID, and it has no port number. */
#define ADDR_IB 27 /* AF_IB */
struct addr_ib {
	uint16_t family;
	be16 pkey;
	be32 flow;
	uint8_t gid[16];
	be64 service, service_mask;
	uint64_t scope;
};
/* service 0: any, to connect from */
void addr_set_ib(struct addr *, const uint8_t gid[16], uint16_t pkey, uint64_t service);
uint64_t addr_service(const struct addr *); /* its ID; 0: not of InfiniBand */
/* host may be "fe80::1%eth0" */
int addr_resolve(
	struct addr *, const char *host, uint16_t port, uint32_t timeout_ms, struct diag *);
/* The address of the URI's host and port. Found once: `host` is numeric from then on. */
int uri_resolve(
	struct uri *, uint16_t default_port, uint32_t timeout_ms, struct addr *, struct diag *);
/* Without a lookup. 1: numeric, or "localhost"; 0: a name; -errno: neither. */
int addr_known(struct addr *, const char *host, uint16_t port, struct diag *);
/* An own address to connect from: numeric or "localhost", never a name. */
int addr_source(struct addr *, const char *text, struct diag *);
/* 0 or -errno: of a name, too, -EINVAL */
int addr_numeric(struct addr *, const char *host, uint16_t port, struct diag *);
/* "unix:PATH" or "[HOST]:PORT", "HOST:PORT", ":PORT" (= any address), as --nbd takes it. */
int addr_parse(struct addr *, const char *text, uint16_t default_port, struct diag *);
/* What may follow an ADDRESS for RDMA, "?rdma=verbs|iwarp|auto" and "crc=0", joined by '&': cuts it
 * off the text. */
struct addr_rdma {
	bool verbs, iwarp; /* both: auto */
	bool no_crc;       /* software iWARP: CRCs only if the peer wants them */
};
int addr_rdma(struct addr_rdma *, char *text, struct diag *);
/* "10.0.0.1:4420", "[fe80::1%2]:4420", "unix:/run/x", "fe80::7 service 13f1234" */
const char *addr_text(const struct addr *, char out[ADDR_TEXT]);
/* JSON: transport, and traddr and trsvcid, or path. */
struct out;
void addr_show(struct out *, const char *transport, const struct addr *);
const char *addr_host(const struct addr *, char out[ADDR_TEXT]); /* without the port and brackets */
/* Interface numbers are each machine's own. Without the one of a link-local address, for peers to
 * read, and an IPv4 address that a socket for IPv6 and IPv4 shows as ::ffff:a.b.c.d as IPv4: */
struct addr addr_unscoped(const struct addr *);
/* and a numeric address that a peer reported, who was reached by `via`, as it is here: a link-local
 * one has the scope of via, and the unspecified one is via. Others and names stay. */
void addr_localize(char *host, size_t room, const struct addr *via);
void addr_set_port(struct addr *, uint16_t port);
uint16_t addr_port(const struct addr *); /* 0 = none */
bool addr_is_any(const struct addr *);   /* 0.0.0.0 or :: */
bool addr_is_local(const struct addr *); /* only this machine reaches it: loopback, a unix socket */

/* The URI schemes that the command line accepts: for completion, hints, and errors about a scheme.
 */

enum {                        /* what a scheme can be used for */
	SCHEME_DISK = 1 << 0, /* opened in userspace */
	/* the kernel's initiators, as the applets of that family drive them */
	SCHEME_NVMF = 1 << 1,
	SCHEME_ISCSI = 1 << 2,
	SCHEME_SRP = 1 << 3,
	SCHEME_NFS = 1 << 4,
	SCHEME_ATTACH = SCHEME_NVMF | SCHEME_ISCSI | SCHEME_SRP | SCHEME_NFS,
	SCHEME_ALL = SCHEME_DISK | SCHEME_ATTACH,
};

struct scheme {            /* the part of a struct proto that needs no bdev */
	const char *start; /* "nvme+tcp://", as it is typed */
	const char *about; /* "NVMe over TCP: HOST[:PORT]/NQN[/NSID]"; NULL: not offered */
	uint8_t uses;
	const char *applet; /* attaches it through the kernel, where nothing here does */
};
/* proto/list.c: the head of each struct proto (session.h); NULL ends it. */
extern const struct scheme *const schemes[];
const struct scheme *scheme_find(const char *name); /* "nvme+tcp"; NULL: unknown */
/* The error for it, whose hint lists the schemes with one of these uses, and `also`: "a path". */
int scheme_unknown(const char *name, unsigned uses, const char *also, struct diag *);
