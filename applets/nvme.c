/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The link named nvme: nvme-cli's commands for fabrics, which are our own applets, and for lists
 * (nvme_list.c). */
#include "applet.h"
#include "kernel_identity.h"
#include "names.h"
#include "nvme_rows.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct applet applet_nvme_check_dhchap, applet_nvme_check_tls,
	applet_nvme_disconnect_all, applet_nvme_gen_dhchap, applet_nvme_gen_tls, applet_nvme_keys,
	applet_nvme_list, applet_nvme_list_subsys, applet_nvmf_connect, applet_nvmf_connect_all,
	applet_nvmf_disconnect, applet_nvmf_discover;

static const struct opt list_rows[] = { NVME_OUTPUT_ROWS, { 0 } };

static int run_show_hostnqn(struct call *call)
{
	struct identity identity;
	int root = kernel_root(), err = root < 0 ? diag_sys(call->diag, errno, "open /") : 0;

	if (!err)
		err = kernel_identity(root, NULL, NULL, &identity, call->diag);
	if (!err) {
		out_text(call->out, "hostnqn", "", "%s", identity.hostnqn);
		if (identity.random)
			call_warn(call, "random host NQN: this machine has no /etc/nvme/hostnqn, "
					"DMI UUID or machine-id");
	}
	if (root >= 0)
		close(root);
	return err;
}

static int run_gen_hostnqn(struct call *call)
{
	char text[NQN_UUID_TEXT];
	uint8_t uuid[16];

	kernel_identity_random(uuid);
	out_text(call->out, "hostnqn", "", "%s", nqn_of_uuid(text, uuid));
	return EXIT_DONE;
}

static int run_version(struct call *call)
{
	/* the release whose output the lists have */
	out_text(call->out, "nvme_cli", NULL, "2.5");
	out_text(call->out, "rdmastor", NULL, "%s", applet_version);
	out_line(call->out, "nvme version 2.5 (rdmastor %s)", applet_version);
	return EXIT_DONE;
}

static const struct applet gen_hostnqn_applet = {
	.name = "nvme gen-hostnqn",
	.operands = "",
	.summary = "print a new host NQN",
	.examples = "  nvme gen-hostnqn >/etc/nvme/hostnqn\n",
	.opts = list_rows,
	.opts_size = sizeof(struct opt_common),
	.run = run_gen_hostnqn,
};

static const struct applet show_hostnqn_applet = {
	.name = "nvme show-hostnqn",
	.operands = "",
	.summary = "print the host NQN of this machine",
	.examples = "  nvme show-hostnqn\n",
	.opts = list_rows,
	.opts_size = sizeof(struct opt_common),
	.run = run_show_hostnqn,
};

static const struct applet version_applet = {
	.name = "nvme version",
	.operands = "",
	.summary = "print the version",
	.examples = "  nvme version\n",
	.opts = list_rows,
	.opts_size = sizeof(struct opt_common),
	.run = run_version,
};

static const struct applet_sub subs[] = {
	{ "discover", &applet_nvmf_discover },
	{ "connect-all", &applet_nvmf_connect_all },
	{ "connect", &applet_nvmf_connect },
	{ "disconnect", &applet_nvmf_disconnect },
	{ "disconnect-all", &applet_nvme_disconnect_all },
	{ "list", &applet_nvme_list },
	{ "list-subsys", &applet_nvme_list_subsys },
	{ "gen-hostnqn", &gen_hostnqn_applet },
	{ "show-hostnqn", &show_hostnqn_applet },
	{ "gen-dhchap-key", &applet_nvme_gen_dhchap },
	{ "check-dhchap-key", &applet_nvme_check_dhchap },
	{ "gen-tls-key", &applet_nvme_gen_tls },
	{ "check-tls-key", &applet_nvme_check_tls },
	{ "keys", &applet_nvme_keys },
	{ "version", &version_applet },
	{ 0 },
};

/* Every word is an operand: commands that only nvme-cli has come with its options. */
static int read_args(struct call *call, int argc, char **argv, void *options)
{
	struct opt_common *opts = options;

	call->operand = argv + 1;
	call->operands = argc > 0 ? (unsigned)argc - 1 : 0;
	for (unsigned i = 0; i < call->operands; i++) {
		const char *word = call->operand[i], *value = strchr(word, '=');

		if (!strcmp(word, "-o") || !strcmp(word, "--output-format") ||
			!strcmp(word, "--output"))
			value = i + 1 < call->operands ? call->operand[i + 1] : "";
		else
			value = value && !strncmp(word, "--output", 8) ? value + 1 : "";
		opts->json |= !strcmp(word, "--json") || !strcmp(word, "-ojson") ||
			      !strcmp(value, "json");
	}
	return 0;
}

static int run_nvme(struct call *call)
{
	const char *word = call->operands ? call->operand[0] : call->out->json ? "--json" : "help";
	const struct applet *applet =
		call->operands > 1 ? applet_sub(call->applet, call->operand[1]) : NULL;
	bool help = !strcmp(word, "help") || !strcmp(word, "-h");

	for (unsigned i = 0; i < call->operands; i++)
		help |= !strcmp(call->operand[i], "--help");
	if (help) {
		opt_help(applet && *word != '-' ? applet : call->applet, stdout);
		call->out->json = false;
		return EXIT_DONE;
	}
	if (*word == '-' && call->operands < 2) {
		diag_set(call->diag, DIAG_USAGE, EINVAL, "no command given");
		return diag_hint(call->diag, "list the commands with: nvme help");
	}
	diag_set(call->diag, DIAG_USAGE, EINVAL,
		"'%s' is not supported by rdmastor: install nvme-cli for it", word);
	return diag_hint(call->diag, "list rdmastor's commands with: nvme help");
}

const struct applet applet_nvme = {
	.name = "nvme",
	.operands = "COMMAND",
	.summary = "run discover, connect, list and others with nvme-cli's options",
	.examples = "  rdmastor nvme list\n"
		    "  rdmastor nvme discover -t tcp -a 10.0.0.1 -s 8009\n",
	.opts = list_rows + sizeof(list_rows) / sizeof(*list_rows) - 1,
	.opts_size = sizeof(struct opt_common),
	.max = UINT8_MAX,
	.subs = subs,
	.read_args = read_args,
	.run = run_nvme,
};
