/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keys of NVMe-oF in the form that hosts and targets exchange: nvme gen-dhchap-key, gen-tls-key and
 * what checks them; nvme-cli 3 has them as nvme keys. */
#include "applet.h"
#include "attach_nvme.h"
#include "kernel_nvmf.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>

struct key_options {
	struct opt_common common;
	uint32_t hash, len; /* len 0: that of the hash */
	const char *file, *fd, *key, *hostnqn, *nqn;
};
#define AT(field) offsetof(struct key_options, field)

static const char *const hash_names[] = { "none", "SHA-256", "SHA-384", "SHA-512" };
static const unsigned hash_len[] = { 32, 32, 48, 64 };

static int generate(struct call *call, enum nvme_key_kind kind)
{
	const struct key_options *opts = call->opts;
	unsigned len = opts->len ? opts->len : hash_len[opts->hash];
	char text[NVME_KEY_TEXT];
	int err;

	if ((len != 32 && len != 48 && len != 64) || (opts->hash && len != hash_len[opts->hash]))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--key-length %u: --hmac %u needs %s", len, opts->hash,
			opts->hash == 0   ? "32, 48 or 64"
			: opts->hash == 1 ? "32"
			: opts->hash == 2 ? "48"
					  : "64");
	if (call->out->json)
		return diag_set(
			call->diag, DIAG_USAGE, EINVAL, "a new key is printed as text only");
	err = nvme_key_new(text, kind, opts->hash, len, call->diag);
	if (err)
		return err;
	out_secret(call->out, text);
	explicit_bzero(text, sizeof(text));
	return EXIT_DONE;
}

static int run_gen_dhchap(struct call *call)
{
	return generate(call, NVME_KEY_DHCHAP);
}

static int run_gen_tls(struct call *call)
{
	return generate(call, NVME_KEY_TLS);
}

static int read_key(struct call *call, char text[NVMF_SECRET])
{
	const struct key_options *opts = call->opts;
	int given = (opts->file != NULL) + (opts->fd != NULL) + (opts->key != NULL);

	if (given != 1) {
		diag_set(call->diag, DIAG_USAGE, EINVAL, "%s",
			given ? "more than one key given" : "no key given");
		return diag_hint(
			call->diag, "use --key-file FILE, or --key-file - for standard input");
	}
	if (!opts->key)
		return secret_read(&call->notes, "--key-fd", opts->fd, opts->file, text,
			NVMF_SECRET, call->diag);
	if (strlen(opts->key) >= NVMF_SECRET)
		return diag_set(call->diag, DIAG_USAGE, E2BIG, "--key: too long");
	strcpy(text, opts->key);
	call_warn(call, "the key was visible in the process list and stays in the shell's history: "
			"use --key-file");
	return 0;
}

static int check(struct call *call, enum nvme_key_kind kind, struct nvme_key *key)
{
	char text[NVMF_SECRET];
	int err = read_key(call, text);

	if (!err)
		err = nvme_key_parse(key, kind, "key", text, call->diag);
	explicit_bzero(text, sizeof(text));
	if (err)
		return err;
	out_text(call->out, "hash", NULL, "%s", hash_names[key->hash]);
	out_u64(call->out, "length", NULL, key->len);
	out_line(call->out, "Key is valid (HMAC %u, length %u)", key->hash, key->len);
	return 0;
}

static int run_check_dhchap(struct call *call)
{
	struct nvme_key key;
	int err = check(call, NVME_KEY_DHCHAP, &key);

	explicit_bzero(&key, sizeof(key));
	return err ? err : EXIT_DONE;
}

static int print_identity(struct call *call, const struct nvme_key *psk)
{
	const struct key_options *opts = call->opts;
	struct nvme_psk tls;
	int err;

	if (!opts->hostnqn && !opts->nqn)
		return 0;
	if (!opts->hostnqn || !opts->nqn)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"the identity needs --hostnqn and --subsysnqn");
	err = nvme_psk_derive(psk, opts->hostnqn, opts->nqn, &(struct nvme_psk_form){ 0 }, &tls);
	if (err)
		return diag_set(call->diag, DIAG_USAGE, -err, "an NQN is too long");
	out_text(call->out, "psk_identity", "", "%s", tls.identity);
	explicit_bzero(&tls, sizeof(tls));
	return 0;
}

static int run_check_tls(struct call *call)
{
	struct nvme_key psk;
	int err = check(call, NVME_KEY_TLS, &psk);

	if (!err)
		err = print_identity(call, &psk);
	explicit_bzero(&psk, sizeof(psk));
	return err ? err : EXIT_DONE;
}

#define KEY_ROWS                                                                                   \
	{ "key-file", 'f', OPT_TEXT, AT(file), "FILE",                                             \
		"check the first line of this file; -: prompt for the key" },                      \
		{ "key-fd", 0, OPT_TEXT, AT(fd), "N",                                              \
			"check the first line of this file descriptor; 0: standard input" },       \
	{                                                                                          \
		"key", 'k', OPT_TEXT, AT(key), "KEY", "check this key; other users can see it"     \
	}

static const struct opt gen_dhchap_rows[] = {
	{ "hmac", 'm', OPT_U32, AT(hash), "0|1|2|3",
		"hash that transforms the key: none, SHA-256, SHA-384, SHA-512", 0, 3 },
	{ "key-length", 'l', OPT_U32, AT(len), "BYTES", "32, 48 or 64; default: that of the hash",
		32, 64 },
	{ 0 },
};
static const struct opt gen_tls_rows[] = {
	{ "hmac", 'm', OPT_U32, AT(hash), "1|2", "hash of the key: SHA-256 or SHA-384", 1, 2 },
	{ 0 },
};
static const struct opt check_dhchap_rows[] = { KEY_ROWS, { 0 } };
static const struct opt check_tls_rows[] = {
	KEY_ROWS,
	{ "keydata", 'd', OPT_TEXT, AT(key), "KEY", "same as --key" },
	{ "hostnqn", 'n', OPT_TEXT, AT(hostnqn), "NQN", "print the identity of this host's key" },
	{ "subsysnqn", 'c', OPT_TEXT, AT(nqn), "NQN", "the subsystem of that identity" },
	{ 0 },
};

const struct applet applet_nvme_gen_dhchap = {
	.name = "nvme gen-dhchap-key",
	.operands = "",
	.summary = "print a new key for authentication (DH-HMAC-CHAP)",
	.examples = "  (umask 077; nvme gen-dhchap-key -m 1 >host.key)\n",
	.opts = gen_dhchap_rows,
	.opts_size = sizeof(struct key_options),
	.run = run_gen_dhchap,
};

const struct applet applet_nvme_check_dhchap = {
	.name = "nvme check-dhchap-key",
	.operands = "",
	.summary = "check the form and checksum of a key for authentication",
	.examples = "  nvme check-dhchap-key -f host.key\n",
	.opts = check_dhchap_rows,
	.opts_size = sizeof(struct key_options),
	.run = run_check_dhchap,
};

const struct applet applet_nvme_gen_tls = {
	.name = "nvme gen-tls-key",
	.operands = "",
	.summary = "print a new key for TLS",
	.examples = "  (umask 077; nvme gen-tls-key >tls.key)\n",
	.opts = gen_tls_rows,
	.defaults = &(const struct key_options){ .hash = 1 },
	.opts_size = sizeof(struct key_options),
	.run = run_gen_tls,
};

const struct applet applet_nvme_check_tls = {
	.name = "nvme check-tls-key",
	.operands = "",
	.summary = "check the form and checksum of a key for TLS",
	.examples = "  nvme check-tls-key -f tls.key -n HOSTNQN -c NQN\n",
	.opts = check_tls_rows,
	.opts_size = sizeof(struct key_options),
	.run = run_check_tls,
};

/* The names of nvme-cli 3, and the shorter ones of its betas, which scripts still use. */
static const struct applet_sub keys_subs[] = {
	{ "gen-kxchap-secret", &applet_nvme_gen_dhchap },
	{ "check-kxchap-secret", &applet_nvme_check_dhchap },
	{ "gen-tls-psk", &applet_nvme_gen_tls },
	{ "check-tls-psk", &applet_nvme_check_tls },
	{ "gen-kxchap", &applet_nvme_gen_dhchap },
	{ "check-kxchap", &applet_nvme_check_dhchap },
	{ "gen-tls", &applet_nvme_gen_tls },
	{ "check-tls", &applet_nvme_check_tls },
	{ 0 },
};

static int run_keys(struct call *call)
{
	diag_set(call->diag, DIAG_USAGE, EINVAL,
		"'%s' is not supported by rdmastor: install nvme-cli for it", call->operand[0]);
	return diag_hint(call->diag, "list rdmastor's commands with: nvme help keys");
}

const struct applet applet_nvme_keys = {
	.name = "nvme keys",
	.operands = "COMMAND",
	.summary = "make and check keys, with the names of nvme-cli 3",
	.examples = "  nvme keys gen-tls-psk\n",
	.opts = gen_tls_rows + 1,
	.opts_size = sizeof(struct opt_common),
	.min = 1,
	.max = UINT8_MAX,
	.subs = keys_subs,
	.run = run_keys,
};
