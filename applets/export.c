/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* export: offer disks to NBD clients or as block devices, until stopped or until its command ends.
 */
#include "daemon.h"
#include "daemon_rows.h"
#include "disk_open.h"
#include "kernel_nbd.h"
#include <errno.h>
#include <string.h>

struct export_options {
	struct opt_common common;
	struct daemon_options life;
	struct export_front_options front;
	bool run;
};

#define AT(field) offsetof(struct export_options, field)
static const struct opt rows[] = {
	{ "nbd", 0, OPT_LIST, AT(front.nbd), "ADDRESS",
		"listen at unix:PATH, HOST:PORT or :PORT; repeatable" },
	{ "name", 0, OPT_LIST, AT(front.name), "NAME", "export name of the next disk; repeatable" },
	{ "allow", 0, OPT_LIST, AT(front.allow), "ADDRESS[/BITS]",
		"address or network allowed to connect over TCP; default any; repeatable" },
	{ "tls-psk-file", 0, OPT_TEXT, AT(front.tls_psk_file), "FILE",
		"NBD over TLS only, with pre-shared keys: lines USER:KEY, as psktool writes them" },
	{ "tls-certificates", 0, OPT_TEXT, AT(front.tls_certificates), "DIR",
		"NBD over TLS only, with server-cert.pem and server-key.pem; ca-cert.pem: clients "
		"need certificates" },
	{ "mode", 0, OPT_TEXT, AT(front.mode), "OCTAL",
		"permissions of a unix socket; default 0600" },
	{ "clients", 0, OPT_U32, AT(front.clients), "N", "largest number of clients; default 64", 1,
		65536 },
	{ "nbd-dev", 0, OPT_MAYBE, AT(front.nbd_dev), "[N]",
		"create block device /dev/nbdN with the kernel's NBD client", 0, NBD_DEV_MAX },
	{ "connections", 0, OPT_U32, AT(front.connections), "N",
		"connections of the NBD device; default 1", 1, KERNEL_NBD_CONNECTIONS },
	{ "ublk", 0, OPT_MAYBE, AT(front.ublk), "[N]", "create block device /dev/ublkbN", 0,
		(1 << 20) - 1 },
	{ "depth", 0, OPT_U32, AT(front.depth), "N", "queue depth of the ublk device; default 64",
		1, 4096 },
	{ "slots", 0, OPT_U32, AT(front.slots), "N",
		"requests in flight per client; default 32, 64 for an NBD device", 2, 1024 },
	{ "buffer", 0, OPT_SIZE, AT(front.buffer), "SIZE", "buffer per request; default 256K",
		64 << 10, 32 << 20 },
	{ "run", 0, OPT_REST, AT(run), "COMMAND",
		"run a command with $uri set; exit with its status" },
	DAEMON_ROWS(struct export_options, life),
	{ 0 },
};
#undef AT

static const struct export_options defaults = { .life = DAEMON_DEFAULTS };

#define ADDRESS_ADVICE "use --nbd HOST:PORT"
#define TLS_ADVICE     "use --tls-psk-file FILE or --tls-certificates DIR, which require TLS"
static const struct opt_foreign foreign[] = {
	{ "qemu-nbd", "-k|--socket", "use --nbd unix:PATH" },
	{ "nbdkit", "-U|--unix", "use --nbd unix:PATH" },
	{ "qemu-nbd", "-p|--port|-b|--bind", ADDRESS_ADVICE },
	{ "nbdkit", "-i|--ipaddr", ADDRESS_ADVICE },
	{ "qemu-nbd", "-r|--read-only", "use --ro" },
	{ "nbdkit", "--readonly", "use --ro" },
	{ "qemu-nbd", "-x|--export-name", "use --name NAME" },
	{ "nbdkit", "--exportname", "use --name NAME" },
	{ "qemu-nbd", "-e|--shared", "use --clients N (default 64)" },
	{ "qemu-nbd", "-c|--connect", "use --nbd-dev N for /dev/nbdN" },
	{ "qemu-nbd", "-d|--disconnect", "use rdmastor detach /dev/nbdN" },
	{ "qemu-nbd", "-t|--persistent", "omit it: export runs until it is stopped" },
	{ "qemu-nbd", "-f|--format",
		"omit it for raw; for other formats run qemu-nbd and export its NBD URI" },
	{ "nbdkit", "--foreground", "omit it: export stays in the foreground without --daemon" },
	{ "qemu-nbd", "--fork", "use --daemon" },
	{ "nbdkit", "-P|--pidfile", "use --pid-file FILE" },
	{ "qemu-nbd", "--tls-creds|--object", TLS_ADVICE },
	{ "nbdkit", "--tls|--tls-psk|--tls-verify-peer", TLS_ADVICE },
	{ 0 },
};

static int export_main(struct call *call)
{
	const struct export_options *opts = call->opts;
	const struct export_front_options *front = &opts->front;
	bool devices = front->ublk.on || front->nbd_dev.on;
	bool nbd = front->nbd.count || (opts->run && !devices);
	const struct front_config fronts[] = {
		{ &front_ublk, front->ublk.on, front },
		{ &front_nbd_dev, front->nbd_dev.on, front },
		{ &front_nbd, nbd, front },
	};

	if (!front->nbd.count && !devices && !opts->run)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no export given: expected --nbd ADDRESS, --nbd-dev, --ublk or --run");
	if (front->nbd_dev.on && front->ublk.on)
		return diag_set(
			call->diag, DIAG_USAGE, EINVAL, "--nbd-dev and --ublk can't be combined");
	if ((front->tls_psk_file || front->tls_certificates) && !nbd)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "%s needs --nbd",
			front->tls_psk_file ? "--tls-psk-file" : "--tls-certificates");
	if (devices && opts->life.user && strcmp(opts->life.user, "root") != 0)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--user %s: block devices of this machine need root", opts->life.user);
	if (front->connections && !front->nbd_dev.on)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "--connections needs --nbd-dev");
	return daemon_run(call, &opts->life, fronts, sizeof(fronts) / sizeof(*fronts));
}

const struct applet applet_export = {
	.name = "export",
	.operands = "URI...",
	.schemes = SCHEME_DISK,
	.keys = disk_keys,
	.summary = "export up to 16 disks over NBD or as block devices",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct export_options),
	.foreign = foreign,
	.examples = "  rdmastor export disk.img --nbd unix:/run/disk.sock\n"
		    "  rdmastor export nvme+tcp://10.0.0.1/nqn.2024-01.com.example:disk1 \\\n"
		    "      --nbd-dev --daemon\n"
		    "  rdmastor export disk.img --ro --run 'nbdinfo \"$uri\"'\n",
	.min = 1,
	.max = 255,
	.run = export_main,
};
