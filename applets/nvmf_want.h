/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a connection through the kernel is to be like, from options and URIs to one struct
 * nvmf_want. */
#pragma once
#include "applet.h"
#include "kernel_identity.h"
#include "kernel_nvmf.h"
#include "uri.h"

/* The options of nvme-cli's fabrics commands, and ours; NVMF_ROWS() are their rows, this struct
 * being the member `nvmf`. */
struct nvmf_target;
struct nvmf_options {
	const char *value[NVMF_KEYS];
	bool flag[NVMF_KEYS];
	/* [0] the host's, [1] the controller's */
	const char *on_loss, *secret_file[2], *secret_fd[2];
	const char *tls_key_file, *tls_key_fd, *tls_key_identity;
	bool tls_key_compat;
	/* whose key for TLS it is, read already; NULL = nobody's */
	const struct nvmf_target *tls_of;
	bool no_secrets; /* neither files nor the environment are read for them */
};

#define NVMF_ROW_(type, name, letter, key, arg, help)                                              \
	{                                                                                          \
		name, letter, OPT_TEXT, offsetof(type, nvmf.value[key]), arg, help                 \
	}
#define NVMF_FLAG_(type, name, letter, key, help)                                                  \
	{                                                                                          \
		name, letter, OPT_FLAG, offsetof(type, nvmf.flag[key]), NULL, help                 \
	}
#define NVMF_TEXT_(type, name, field, arg, help)                                                   \
	{                                                                                          \
		name, 0, OPT_TEXT, offsetof(type, nvmf.field), arg, help                           \
	}
#define NVMF_ROWS(type)                                                                            \
	NVMF_ROW_(type, "transport", 't', NVMF_TRANSPORT, "rdma|tcp", "transport"),                \
		NVMF_ROW_(type, "traddr", 'a', NVMF_TRADDR, "ADDRESS",                             \
			"address or name of the target"),                                          \
		NVMF_ROW_(type, "trsvcid", 's', NVMF_TRSVCID, "PORT",                              \
			"port; default 4420, for discovery over TCP 8009"),                        \
		NVMF_ROW_(type, "host-traddr", 'w', NVMF_HOST_TRADDR, "ADDRESS", "local address"), \
		NVMF_ROW_(type, "host-iface", 'f', NVMF_HOST_IFACE, "NETDEV",                      \
			"local network interface"),                                                \
		NVMF_ROW_(type, "hostnqn", 'q', NVMF_HOSTNQN, "NQN", "host NQN"),                  \
		NVMF_ROW_(type, "hostid", 'I', NVMF_HOSTID, "UUID", "host identifier"),            \
		NVMF_TEXT_(type, "on-loss", on_loss, "POLICY", OPT_ON_LOSS_HELP),                  \
		NVMF_ROW_(type, "nr-io-queues", 'i', NVMF_NR_IO_QUEUES, "N",                       \
			"I/O queues; default one per CPU"),                                        \
		NVMF_ROW_(type, "nr-write-queues", 'W', NVMF_NR_WRITE_QUEUES, "N",                 \
			"additional queues for writes"),                                           \
		NVMF_ROW_(type, "nr-poll-queues", 'P', NVMF_NR_POLL_QUEUES, "N",                   \
			"additional polled queues"),                                               \
		NVMF_ROW_(type, "queue-size", 'Q', NVMF_QUEUE_SIZE, "N",                           \
			"entries per queue, 16 to 1024"),                                          \
		NVMF_ROW_(type, "keep-alive-tmo", 'k', NVMF_KEEP_ALIVE_TMO, "SECONDS",             \
			"time until a silent target is considered lost; 0: off"),                  \
		NVMF_ROW_(type, "reconnect-delay", 'c', NVMF_RECONNECT_DELAY, "SECONDS",           \
			"time between attempts to reconnect"),                                     \
		NVMF_ROW_(type, "ctrl-loss-tmo", 'l', NVMF_CTRL_LOSS_TMO, "SECONDS",               \
			"time until a lost controller is removed; 0: at once, -1: never"),         \
		NVMF_ROW_(type, "fast-io-fail-tmo", 'F', NVMF_FAST_IO_FAIL_TMO, "SECONDS",         \
			"time until I/O to a lost target fails; 0: at once, -1: never"),           \
		NVMF_ROW_(type, "tos", 'T', NVMF_TOS, "N", "type of service, 0 to 255"),           \
		NVMF_FLAG_(type, "duplicate-connect", 'D', NVMF_DUPLICATE_CONNECT,                 \
			"add a connection if one exists"),                                         \
		NVMF_FLAG_(type, "disable-sqflow", 0, NVMF_DISABLE_SQFLOW,                         \
			"no submission queue flow control"),                                       \
		NVMF_FLAG_(type, "hdr-digest", 'g', NVMF_HDR_DIGEST, "header digests (TCP)"),      \
		NVMF_FLAG_(type, "data-digest", 'G', NVMF_DATA_DIGEST, "data digests (TCP)"),      \
		NVMF_TEXT_(type, "dhchap-secret-file", secret_file[0], "FILE",                     \
			"file with this host's DH-HMAC-CHAP key"),                                 \
		NVMF_TEXT_(type, "dhchap-ctrl-secret-file", secret_file[1], "FILE",                \
			"file with the controller's key"),                                         \
		NVMF_TEXT_(type, "dhchap-secret-fd", secret_fd[0], "N",                            \
			"file descriptor with this host's key"),                                   \
		NVMF_TEXT_(type, "dhchap-ctrl-secret-fd", secret_fd[1], "N",                       \
			"file descriptor with the controller's key"),                              \
		NVMF_ROW_(type, "dhchap-secret", 'S', NVMF_DHCHAP_SECRET, "KEY",                   \
			"this host's key; it stays in the shell's history"),                       \
		NVMF_ROW_(type, "dhchap-ctrl-secret", 'C', NVMF_DHCHAP_CTRL_SECRET, "KEY",         \
			"the controller's key; it stays in the shell's history"),                  \
		NVMF_ROW_(type, "kxchap-secret", 0, NVMF_DHCHAP_SECRET, "KEY",                     \
			"same as --dhchap-secret"),                                                \
		NVMF_ROW_(type, "kxchap-ctrl-secret", 0, NVMF_DHCHAP_CTRL_SECRET, "KEY",           \
			"same as --dhchap-ctrl-secret"),                                           \
		NVMF_FLAG_(type, "tls", 0, NVMF_TLS, "encrypt with TLS; requires tlshd (TCP)"),    \
		NVMF_FLAG_(type, "concat", 0, NVMF_CONCAT,                                         \
			"encrypt with a key from DH-HMAC-CHAP (TCP)"),                             \
		NVMF_TEXT_(type, "tls-key-file", tls_key_file, "FILE",                             \
			"file with the TLS key, NVMeTLSkey-1:..."),                                \
		NVMF_TEXT_(                                                                        \
			type, "tls-key-fd", tls_key_fd, "N", "file descriptor with the TLS key"),  \
		NVMF_ROW_(type, "tls-key", 0, NVMF_TLS_KEY, "SERIAL|KEY",                          \
			"serial number of the TLS key in the kernel, or the key"),                 \
		NVMF_TEXT_(type, "tls-key-identity", tls_key_identity, "IDENTITY",                 \
			"identity of the TLS key in the keyring"),                                 \
		{ "tls-key-compat", 0, OPT_FLAG, offsetof(type, nvmf.tls_key_compat), NULL,        \
			"derive the TLS key as nvme-cli before 2.16" },                            \
		NVMF_ROW_(type, "keyring", 0, NVMF_KEYRING, "NAME|SERIAL",                         \
			"kernel keyring with the TLS key; default .nvme")

/* Options of nvme-cli's fabrics commands that no applet has. */
#define NVMF_NO_PERSISTENT                                                                         \
	"connect to the discovery controller with: rdmastor nvmf-connect -n "                      \
	"nqn.2014-08.org.nvmexpress.discovery"
#define NVMF_FOREIGN                                                                               \
	{ "nvme-cli", "-r", "use --json" }, { "nvme-cli", "--raw", "use --json" },                 \
		{ "nvme-cli", "-O",                                                                \
			"no configuration is dumped; nvmf-connect --dry-run shows what would be "  \
			"connected" },                                                             \
		{ "nvme-cli", "--dump-config",                                                     \
			"no configuration is dumped; nvmf-connect --dry-run shows what would be "  \
			"connected" },                                                             \
		{ "nvme-cli", "-d", "give the target instead: --transport and --traddr" },         \
		{ "nvme-cli", "--device", "give the target instead: --transport and --traddr" },   \
		{ "nvme-cli", "--nbft",                                                            \
			"not supported; --config FILE reads a configuration file" },               \
		{ "nvme-cli", "--no-nbft", "omit it: the NBFT is not read" },                      \
		{ "nvme-cli", "--nbft-path",                                                       \
			"not supported; --config FILE reads a configuration file" },               \
	{                                                                                          \
		"nvme-cli", "--context", "omit it: connections have no context"                    \
	}

#define NVMF_SECRET      160
#define NVMF_OPTION_NAME 40
/* One connection that is wanted, with what its values point to. Not to be copied. */
struct nvmf_target {
	struct uri uri;
	struct nvmf_want want;
	struct nvmf_route route;
	struct identity who;
	char nqn[256], port[8], traddr[ADDR_TEXT], hostid[40], iface[32], number[4][16],
		secret[2][NVMF_SECRET];
	const char *secret_from[2]; /* NULL = there is none */
	struct {
		struct nvmf_psk psk; /* len 0: there is none */
		const char *from, *identity, *ring;
		bool old;
		char number[2][12]; /* of the keyring and the key, once it is there */
	} tls;
	uint32_t nsid, timeout_ms; /* nsid 0 = all */
	char uuid[40];             /* of the namespace that is wanted; "" = all */
	/* "wait=60", "fail-fast", "forever"; "" = the timeouts were given one by one */
	char policy[LOSS_TEXT];
};
/* From the options, and from the URI (may be NULL), whose keys come after them. Without an NQN it
 * is the discovery controller's, with its port. Errors: usage. Resolves names. */
int nvmf_target_read(struct nvmf_target *, const struct call *, int root,
	const struct nvmf_options *, const char *uri, struct diag *);
/* Warns about secrets in the command line. */
void nvmf_warn_secrets(const struct call *, const struct nvmf_options *);
/* --verbose: the host NQN and where it comes from; a random one in any case. */
void nvmf_show_identity(const struct call *, const struct nvmf_target *);
void nvmf_target_wipe(struct nvmf_target *); /* of secrets */
/* "--queue-size" */
const char *nvmf_option_name(enum nvmf_key, char name[NVMF_OPTION_NAME]);
/* Check the values of options alone, so that errors name the option as typed, and not the kernel's
 * key as those of URIs and files do. A TLS key and the name of a keyring are left to
 * nvmf_target_read(). */
int nvmf_options_check(const struct nvmf_options *, struct diag *);
/* A usage error unless the scheme is one of NVMe-oF. */
int nvmf_target_scheme(const struct uri *, struct diag *);
/* A usage error that names the option that is missing. */
int nvmf_target_named(const char *transport, const char *traddr, struct diag *);
bool nvmf_target_discovery(const struct nvmf_target *);
/* its value comes from the loss policy */
bool nvmf_target_by_policy(const struct nvmf_target *, enum nvmf_key);
/* "nvme+tcp://10.0.0.1:4420/NQN"; without a port or an NQN when it is NULL, and without the
 * discovery NQN. */
const char *nvmf_uri(const char *const value[NVMF_KEYS], char uri[URI_MAX]);
