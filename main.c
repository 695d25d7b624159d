/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find the applet by argv[0] or argv[1], run it, and turn its failure into a line, a JSON error and
 * an exit status. core/base/opt.c parses the arguments. */
#include "applet.h"
#include "kernel_identity.h"
#include "resolve.h"
#include "uri.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* rdmastor --install and --cpio, which no link runs */
extern const struct applet applet_install, applet_cpio;

/* Weak: lists the providers that core/net links, and links none itself. */
#define PROVIDERS(X)                                                                               \
	X(bnxt_re)                                                                                 \
	X(cxgb4)                                                                                   \
	X(efa)                                                                                     \
	X(erdma)                                                                                   \
	X(hfi1verbs)                                                                               \
	X(hns)                                                                                     \
	X(ipathverbs)                                                                              \
	X(irdma) X(mana) X(mlx4) X(mlx5) X(mthca) X(ocrdma) X(qedr) X(rxe) X(siw) X(vmw_pvrdma)
#define PROVIDER_DECLARE(name) extern const char verbs_provider_##name[] __attribute__((weak));
#define PROVIDER_ROW(name)     { #name, verbs_provider_##name },
PROVIDERS(PROVIDER_DECLARE)

const char applet_version[] = RDMASTOR_VERSION, applet_libraries[] = DEPS_VERSIONS;

static bool sigpipe_ignored;

static int exit_status(const struct diag *diag)
{
	return diag->code == DIAG_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

/* Whether the applet was called by the name of a tool that it replaces. */
static bool is_replacement(const struct applet *applet, const char *name)
{
	return applet->replaces && !strcmp(applet->replaces, name);
}

/* Messages quote arguments: remove passwords from them. */
static void hide_secrets(struct diag *diag)
{
	uri_hide(diag->object);
	uri_hide(diag->text);
	uri_hide(diag->hint);
}

/* End the results. If they could not be written, the command fails. */
static int end_output(const char *applet, struct out *out, struct diag *diag, int status)
{
	struct diag why = { 0 };

	hide_secrets(diag);
	int rc = out_fini(out, status == EXIT_DONE ? NULL : diag);

	if (status != EXIT_DONE && diag->err)
		out_failure(applet, diag);
	if (!rc)
		return status;
	diag_sys(&why, -rc, "write");
	diag_ctx(&why, "standard output");
	out_failure(applet, &why);
	return status == EXIT_DONE ? EXIT_FAILED : status;
}

static int show_version(char **word, struct diag *diag)
{
	static const struct {
		const char *name, *builtin;
	} providers[] = { PROVIDERS(PROVIDER_ROW) };
	bool any = false;

	(void)word;
	(void)diag;
	printf("rdmastor %s\nlibraries: %s\nRDMA providers:", applet_version, applet_libraries);
	for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
		if (providers[i].builtin) {
			printf(" %s", providers[i].name);
			any = true;
		}
	puts(any ? "" : " none");
	return 0;
}

static bool is_version_request(const struct applet *applet, const char *name, int argc, char **argv)
{
	bool is_long = argc == 2 && !strcmp(argv[1], "--version");

	if (is_replacement(applet, name))
		return applet->replaced_version &&
		       (is_long || (argc == 2 && !strcmp(argv[1], "-V")));
	return is_long && (!applet->read_args || applet->subs);
}

static int run_applet(
	const struct applet *applet, const char *name, int argc, char **argv, bool by_link)
{
	char trace_name[64], schema[32];
	struct diag diag = { 0 };
	struct out out;
	struct call call = {
		.applet = applet,
		.name = name,
		.out = &out,
		.diag = &diag,
		.by_link = by_link,
		.sigpipe_ignored = sigpipe_ignored,
	};
	bool help = false, foreign = by_link && applet->read_args;

	snprintf(trace_name, sizeof(trace_name), "rdmastor %s", name);
	snprintf(schema, sizeof(schema), "%s", applet->name + strspn(applet->name, "-"));
	schema[strcspn(schema, " ")] = schema[strcspn(schema, " ")] ? '-' : 0;
	out_init(&out, schema, false);
	if (argc > 1 && !strcmp(argv[1], "--complete")) {
		argv[1] = (char *)applet->name;
		opt_complete(argc - 1, argv + 1, stdout);
		return end_output(name, &out, &diag, EXIT_DONE);
	}
	if (is_version_request(applet, name, argc, argv)) {
		show_version(NULL, &diag);
		return end_output(name, &out, &diag, EXIT_DONE);
	}
	if (argc == 2 && !strcmp(argv[1], "--option-rows")) {
		opt_rows(applet, stdout);
		return end_output(name, &out, &diag, EXIT_DONE);
	}
	struct opt_common *opts = calloc(1, applet->opts_size);

	if (!opts) {
		diag_sys(&diag, ENOMEM, "options");
		return end_output(name, &out, &diag, EXIT_FAILED);
	}
	if (applet->defaults)
		memcpy(opts, applet->defaults, applet->opts_size);
	call.opts = opts;
	int rc = foreign ? applet->read_args(&call, argc, argv, opts)
			 : opt_parse(&call, argc, argv, opts, &help);

	if (is_replacement(applet, name) && (help || rc)) {
		fprintf(stderr, "Usage: %s %s\n", argv[0], applet->replaced_usage);
		rc = EXIT_FAILED;
	} else if (help) {
		opt_help(applet, stdout);
		rc = 0;
	} else {
		out_times(opts->verbose);
		out.json = opts->json;
		out.dry_run = opts->dry_run;
		call.loop = (struct loop_options){ .verbose = opts->verbose, .name = trace_name };
		call.notes = (struct out_notes){
			.name = name, .quiet = opts->quiet, .verbose = opts->verbose
		};
		if (opts->timeout_ms)
			resolve_set_deadline(loop_clock() + opts->timeout_ms * UINT64_C(1000000));
		else if (opts->no_timeout)
			resolve_set_deadline(RESOLVE_NEVER);
		if (!rc)
			rc = applet->run(&call);
	}
	if (rc < 0 && !diag.err)
		diag_sys(&diag, -rc, "%s", name);
	if (rc < 0)
		rc = is_replacement(applet, name) ? EXIT_FAILED : exit_status(&diag);
	if (call.signo != SIGPIPE)
		rc = end_output(name, &out, &diag, rc);
	if (call.signo)
		end_by_signal(call.signo);
	free(opts);
	return rc;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int unknown(const char *word, struct diag *diag)
{
	const char *near = *word == '-' ? NULL : applet_suggest(word),
		   *use = applet_replacement(word);

	if (use) {
		diag_set(diag, DIAG_USAGE, EINVAL, "use %s", use);
		return diag_ctx(diag, "%s", word);
	}
	diag_set(diag, DIAG_USAGE, EINVAL,
		*word == '-' ? "unknown option '%s'" : "unknown applet '%s'", word);
	if (near)
		return diag_hint(diag, "did you mean %s?", near);
	return diag_hint(diag, "list the applets with: rdmastor --help");
}

static int show_help(char **word, struct diag *diag)
{
	const struct applet *applet = *word ? applet_find(*word) : NULL;

	if (*word && !strcmp(*word, "uri")) {
		fputs(applet_uri_help, stdout);
		return 0;
	}
	if (*word && !applet)
		return unknown(*word, diag);
	if (applet) {
		opt_help(applet, stdout);
		return 0;
	}
	printf("Usage: rdmastor APPLET [OPTION...] OPERAND...\n"
	       "       rdmastor help [APPLET|uri]\n"
	       "       rdmastor --list | --version | --install DIR | --cpio\n"
	       "Discover, attach, copy, export, serve and measure remote disks over RDMA and TCP.\n"
	       "A link to rdmastor with the name of an applet runs that applet.\n\n");
	for (const struct applet *const *p = applets; *p; p++)
		printf("  %-18s %s\n", (*p)->name, (*p)->summary);
	printf("\nHelp on URIs: rdmastor help uri; on kernel parameters: rdmastor help boot\n");
	return 0;
}

static int show_list(char **word, struct diag *diag)
{
	(void)word;
	(void)diag;
	for (const struct applet *const *p = applets; *p; p++)
		puts((*p)->name);
	return 0;
}

static int show_rows(char **word, struct diag *diag)
{
	(void)word;
	(void)diag;
	opt_rows(NULL, stdout);
	return 0;
}

static int complete(char **word, struct diag *diag)
{
	int count = 0;

	(void)diag;
	while (word[count])
		count++;
	opt_complete(count, word, stdout);
	return 0;
}

static const struct own_option {
	const char *name;
	int (*run)(char **word, struct diag *);
	int args; /* limit of arguments; -1: none */
} own_options[] = {
	{ "help", show_help, 1 },
	{ "--help", show_help, 1 },
	{ "-h", show_help, 1 },
	{ "--list", show_list, 0 },
	{ "--version", show_version, 0 },
	{ "--option-rows", show_rows, 0 },
	{ "--complete", complete, -1 },
};

static int run_own_option(int argc, char **argv, struct diag *diag)
{
	for (size_t i = 0; i < sizeof(own_options) / sizeof(own_options[0]); i++) {
		const struct own_option *own = &own_options[i];

		if (strcmp(argv[0], own->name))
			continue;
		if (own->args >= 0 && argc - 1 > own->args)
			return diag_set(diag, DIAG_USAGE, EINVAL, "%s: unexpected operand '%s'",
				own->name, argv[1 + own->args]);
		return own->run(argv + 1, diag);
	}
	return unknown(argv[0], diag);
}

/* The first word is not an applet: run a command of our own. */
static int run_first_word(int argc, char **argv)
{
	struct diag diag = { 0 };
	struct out out;
	int rc;

	out_init(&out, "", false);
	for (int i = 0; i < argc; i++)
		out.json |= !strcmp(argv[i], "--json");
	if (!argc) {
		rc = show_help(&(char *){ NULL }, &diag);
	} else if (strcmp(argv[0], "--json") || argc > 1) {
		uri_hide(argv[0]);
		rc = run_own_option(argc, argv, &diag);
	} else {
		rc = diag_set(&diag, DIAG_USAGE, EINVAL, "no applet given");
		diag_hint(&diag, "list the applets with: rdmastor --help");
	}
	out.json &= rc != 0;
	return end_output(NULL, &out, &diag, rc ? exit_status(&diag) : EXIT_DONE);
}

/* Open closed standard descriptors, so that no other file becomes one of them. Read-only, so that
 * writing still fails. */
static void fill_standard_descriptors(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", O_RDONLY);
}

/* Find the applet and the index of its name: argv[0] of a link, else the first argument, or a
 * later one if that selects an applet of *of (else NULL). */
static const struct applet *find_called(int argc, char **word, int *at, const struct applet **of)
{
	const struct applet *applet = argc ? applet_find(base_name(word[0])) : NULL, *sub;

	*at = applet ? 0 : 1;
	*of = NULL;
	if (!applet && argc > 1)
		applet = !strcmp(word[1], applet_install.name) ? &applet_install
			 : !strcmp(word[1], applet_cpio.name)  ? &applet_cpio
							       : applet_find(word[1]);
	while (applet && *at + 1 < argc && (sub = applet_sub(applet, word[*at + 1]))) {
		++*at;
		*of = applet;
		applet = sub;
	}
	return applet;
}

/* Copy the arguments into one block, then remove the secrets from the originals, which other users
 * can see in ps(1). */
static char **copy_args(int argc, char **argv, size_t *all)
{
	size_t pointers = ((size_t)argc + 1) * sizeof(char *), len = pointers;
	bool secret = false;

	for (int i = 0; i < argc; i++)
		len += strlen(argv[i]) + 1;
	char **word = calloc(1, len);
	char *text = (char *)word + pointers;

	for (int i = 0; word && i < argc; i++) {
		word[i] = text;
		text = stpcpy(text, argv[i]) + 1;
		uri_hide(argv[i]);
	}
	int at;
	const struct applet *of, *applet = word ? find_called(argc, word, &at, &of) : NULL;

	if (applet && applet->hide)
		applet->hide(argc - at, argv + at);
	for (int i = 0; word && i < argc; i++)
		secret |= strcmp(word[i], argv[i]) != 0;
	if (secret)
		secret_disable_dumps();
	*all = len;
	return word;
}

/* Move variables that may hold secrets, so that getenv() finds them but /proc/PID/environ does not
 * show them. False: no memory. */
static bool move_environment(void)
{
	for (char **at = environ; at && *at; at++) {
		char *copy;

		if ((strncmp(*at, "RDMASTOR_", 9) && strncmp(*at, "LIBISCSI_", 9)) ||
			!strncmp(*at, "RDMASTOR_RUN_ID=", 16))
			continue;
		copy = strdup(*at);
		if (!copy)
			return false;
		explicit_bzero(*at, strlen(*at));
		*at = copy;
		secret_disable_dumps();
	}
	return true;
}

int applet_main(int argc, char **word)
{
	const struct applet *of, *applet;
	char name[64];
	int at, status;

	applet = find_called(argc, word, &at, &of);
	if (argc && (!applet || at) && applet_replacement(base_name(word[0]))) {
		word[0] = (char *)base_name(word[0]);
		return run_first_word(argc, word);
	}
	if (!applet)
		return run_first_word(argc - 1, word + 1);
	snprintf(name, sizeof(name), "%s%s%s", of ? of->name : "", of ? " " : "",
		base_name(word[at]));
	status = run_applet(applet, name, argc - at, word + at, !at);
	return status && (of || applet->subs) && applet_find(base_name(word[0])) ? EXIT_FAILED
										 : status;
}

/* Everyone can read the command line of a new program. */
static bool has_secret(int argc, char **word)
{
	char copy[URI_MAX];

	for (int i = 0; i < argc; i++) {
		snprintf(copy, sizeof(copy), "%s", word[i]);
		uri_hide(copy);
		if (strcmp(copy, word[i]))
			return true;
	}
	return false;
}

int applet_exec(int argc, char **word)
{
	char **argv = has_secret(argc, word) ? NULL : calloc((size_t)argc + 2, sizeof(*argv));

	if (argv) {
		kernel_identity_pass();
		argv[0] = "rdmastor";
		memcpy(argv + 1, word, (size_t)argc * sizeof(*argv));
		execv("/proc/self/exe", argv);
	}
	free(argv);
	return applet_main(argc, word);
}

int main(int argc, char **argv)
{
	/* so that usual results are written by one fflush(), which knows why it failed */
	static char results[65536];
	/* one write per line, so that lines of several processes do not mix */
	static char messages[1024];

	fill_standard_descriptors();
	setvbuf(stderr, messages, _IOLBF, sizeof(messages));
	if (!isatty(STDOUT_FILENO))
		setvbuf(stdout, results, _IOFBF, sizeof(results));
	/* writes fail with EPIPE and EFBIG instead */
	sigpipe_ignored = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
	signal(SIGXFSZ, SIG_IGN);
	/* inherited as ignored it would keep our children's statuses from us */
	signal(SIGCHLD, SIG_DFL);
	size_t len;
	char **word = copy_args(argc, argv, &len);

	if (!word || argc < 1 || !move_environment()) {
		fputs("rdmastor: arguments: out of memory\n", stderr);
		return EXIT_FAILED;
	}
	int status = applet_main(argc, word);

	secret_forget();
	explicit_bzero(word, len);
	free(word);
	return status;
}
