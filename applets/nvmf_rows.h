/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Options of nvme-cli's fabrics commands, and ours. */
#pragma once
#include "attach_env.h"
#include "attach_nvme.h"
#include "nvme_rows.h"

struct nvmf_first { /* the first members of the option struct of an applet with NVMF_ROWS */
	struct opt_common common;
	struct nvmf_options nvmf;
};

#define NVMF_ROW_(name, letter, key, arg, help)                                                    \
	{                                                                                          \
		name, letter, OPT_TEXT, offsetof(struct nvmf_first, nvmf.value[key]), arg, help    \
	}
#define NVMF_FLAG_(name, letter, key, help)                                                        \
	{                                                                                          \
		name, letter, OPT_FLAG, offsetof(struct nvmf_first, nvmf.flag[key]), NULL, help    \
	}
#define NVMF_TEXT_(name, field, arg, help)                                                         \
	{                                                                                          \
		name, 0, OPT_TEXT, offsetof(struct nvmf_first, nvmf.field), arg, help              \
	}
#define NVMF_ROWS                                                                                  \
	NVMF_ROW_("transport", 't', NVMF_TRANSPORT, "rdma|tcp", "transport"),                      \
		NVMF_ROW_("traddr", 'a', NVMF_TRADDR, "ADDRESS", "address or name of the target"), \
		NVMF_ROW_("trsvcid", 's', NVMF_TRSVCID, "PORT",                                    \
			"port; default 4420, for discovery over TCP 8009"),                        \
		NVMF_ROW_("host-traddr", 'w', NVMF_HOST_TRADDR, "ADDRESS", "local address"),       \
		NVMF_ROW_(                                                                         \
			"host-iface", 'f', NVMF_HOST_IFACE, "NETDEV", "local network interface"),  \
		NVMF_ROW_("hostnqn", 'q', NVMF_HOSTNQN, "NQN", "host NQN"),                        \
		NVMF_ROW_("hostid", 'I', NVMF_HOSTID, "UUID", "host identifier"),                  \
		NVMF_TEXT_("on-loss", on_loss, "POLICY", OPT_ON_LOSS_HELP),                        \
		NVMF_ROW_("nr-io-queues", 'i', NVMF_NR_IO_QUEUES, "N",                             \
			"I/O queues; default one per CPU"),                                        \
		NVMF_ROW_("nr-write-queues", 'W', NVMF_NR_WRITE_QUEUES, "N",                       \
			"additional queues for writes"),                                           \
		NVMF_ROW_("nr-poll-queues", 'P', NVMF_NR_POLL_QUEUES, "N",                         \
			"additional polled queues"),                                               \
		NVMF_ROW_(                                                                         \
			"queue-size", 'Q', NVMF_QUEUE_SIZE, "N", "entries per queue, 16 to 1024"), \
		NVMF_ROW_("keep-alive-tmo", 'k', NVMF_KEEP_ALIVE_TMO, "SECONDS",                   \
			"time until a silent target is considered lost; 0: off"),                  \
		NVMF_ROW_("reconnect-delay", 'c', NVMF_RECONNECT_DELAY, "SECONDS",                 \
			"time between attempts to reconnect"),                                     \
		NVMF_ROW_("ctrl-loss-tmo", 'l', NVMF_CTRL_LOSS_TMO, "SECONDS",                     \
			"time until a lost controller is removed; 0: at once, -1: never"),         \
		NVMF_ROW_("fast-io-fail-tmo", 'F', NVMF_FAST_IO_FAIL_TMO, "SECONDS",               \
			"time until I/O to a lost target fails; 0: at once, -1: never"),           \
		NVMF_ROW_("tos", 'T', NVMF_TOS, "N", "type of service, 0 to 255"),                 \
		NVMF_FLAG_("duplicate-connect", 'D', NVMF_DUPLICATE_CONNECT,                       \
			"add a connection if one exists"),                                         \
		NVMF_FLAG_("disable-sqflow", 0, NVMF_DISABLE_SQFLOW,                               \
			"no submission queue flow control"),                                       \
		NVMF_FLAG_("hdr-digest", 'g', NVMF_HDR_DIGEST, "header digests (TCP)"),            \
		NVMF_FLAG_("data-digest", 'G', NVMF_DATA_DIGEST, "data digests (TCP)"),            \
		NVMF_TEXT_("dhchap-secret-file", secret_file[0], "FILE",                           \
			"file with this host's DH-HMAC-CHAP key; -: prompt for it"),               \
		NVMF_TEXT_("dhchap-ctrl-secret-file", secret_file[1], "FILE",                      \
			"file with the controller's key; -: prompt for it"),                       \
		NVMF_TEXT_("dhchap-secret-fd", secret_fd[0], "N",                                  \
			"file descriptor with this host's key"),                                   \
		NVMF_TEXT_("dhchap-ctrl-secret-fd", secret_fd[1], "N",                             \
			"file descriptor with the controller's key"),                              \
		NVMF_ROW_("dhchap-secret", 'S', NVMF_DHCHAP_SECRET, "KEY",                         \
			"this host's key; it stays in the shell's history"),                       \
		NVMF_ROW_("dhchap-ctrl-secret", 'C', NVMF_DHCHAP_CTRL_SECRET, "KEY",               \
			"the controller's key; it stays in the shell's history"),                  \
		NVMF_ROW_(                                                                         \
			"kxchap-secret", 0, NVMF_DHCHAP_SECRET, "KEY", "same as --dhchap-secret"), \
		NVMF_ROW_("kxchap-ctrl-secret", 0, NVMF_DHCHAP_CTRL_SECRET, "KEY",                 \
			"same as --dhchap-ctrl-secret"),                                           \
		NVMF_FLAG_("tls", 0, NVMF_TLS, "encrypt with TLS (TCP)"),                          \
		NVMF_FLAG_(                                                                        \
			"concat", 0, NVMF_CONCAT, "encrypt with a key from DH-HMAC-CHAP (TCP)"),   \
		NVMF_TEXT_("tls-key-file", tls_key_file, "FILE",                                   \
			"file with the TLS key, NVMeTLSkey-1:...; -: prompt for it"),              \
		NVMF_TEXT_("tls-key-fd", tls_key_fd, "N", "file descriptor with the TLS key"),     \
		NVMF_ROW_("tls-key", 0, NVMF_TLS_KEY, "SERIAL|KEY",                                \
			"serial number of the TLS key in the kernel, or the key"),                 \
		NVMF_TEXT_("tls-key-identity", tls_key_identity, "IDENTITY",                       \
			"identity of the TLS key in the keyring"),                                 \
		{ "tls-key-compat", 0, OPT_FLAG, offsetof(struct nvmf_first, nvmf.tls_key_compat), \
			NULL, "derive the TLS key as nvme-cli before 2.16" },                      \
		NVMF_ROW_("keyring", 0, NVMF_KEYRING, "NAME|SERIAL",                               \
			"kernel keyring with the TLS key; default .nvme")

#define NVMF_MONITOR_ROW(type, member)                                                             \
	{                                                                                          \
		"monitor", 0, OPT_TEXT, offsetof(type, member), "on|off",                          \
			"with TLS and without tlshd: start a background process that restores "    \
			"lost connections; default on"                                             \
	}

/* Options of nvme-cli's fabrics commands that no applet has. */
#define NVMF_NO_PERSISTENT                                                                         \
	"connect to the discovery controller with: rdmastor nvmf-connect -n "                      \
	"nqn.2014-08.org.nvmexpress.discovery"
#define NVMF_FOREIGN                                                                               \
	{ "nvme-cli", "-r|--raw", "use --json" },                                                  \
		{ "nvme-cli", "-O|--dump-config",                                                  \
			"no configuration is dumped; nvmf-connect --dry-run shows what would be "  \
			"connected" },                                                             \
		{ "nvme-cli", "-d|--device",                                                       \
			"give the target instead: --transport and --traddr" },                     \
		{ "nvme-cli", "--nbft", "use: rdmastor nvmf-connect-all --nbft" },                 \
		{ "nvme-cli", "--nbft-path", "omit it: /sys/firmware/acpi/tables is read" },       \
		{ "nvme-cli", "--no-nbft", "omit it: only --nbft reads the NBFT" },                \
	{                                                                                          \
		"nvme-cli", "--context", "omit it: connections have no context"                    \
	}
