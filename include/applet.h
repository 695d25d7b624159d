/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An applet: a name, option rows and a function. The rows drive parsing, --help, --complete and the
 * lint of the man pages. main.c finds the applet, parses and prints the failure; the applet turns
 * options into a request to core and prints through out.h. */
#pragma once
#include "loop.h"
#include "opt_list.h"
#include "out.h"
#include "uri.h"

enum opt_type {
	OPT_FLAG, /* bool */
	OPT_TEXT, /* const char * */
	OPT_LIST, /* struct opt_list: repeatable */
	OPT_PART, /* bool; lists after it belong to it; row->min is its number */
	/* numbers, which need a range: */
	OPT_U32,  /* uint32_t, whole number */
	OPT_SIZE, /* uint64_t, K M G T */
	OPT_MSEC, /* uint32_t milliseconds; seconds, fractions of one, or "500ms" */
	/* struct opt_maybe: a flag with an optional number, "--ublk", "--ublk=3", "--ublk 3"; the
	 * row's arg is "[N]". A next word that begins with a digit must be a number: an operand
	 * that does is written ./3.img or comes first. */
	OPT_MAYBE,
	OPT_REST, /* bool; all words after it (at least one) are operands from call->rest on */
};

/* Default upper limits; --help does not show them. */
#define OPT_U32_MAX  INT32_MAX
#define OPT_SIZE_MAX ((uint64_t)INT64_MAX)
#define OPT_MSEC_MAX PARSE_MSEC_MAX

/* The help of --on-loss, the same in all applets that have it. */
#define OPT_ON_LOSS_HELP                                                                           \
	"how long I/O waits for a lost target: fail-fast, wait=SECONDS, SECONDS or forever; "      \
	"default wait=60"

struct opt_maybe {
	bool on, has_number;
	uint32_t number;
};

struct opt {
	const char *name; /* long name; the user may type '_' for '-' */
	char letter;      /* 0: none */
	uint8_t type;
	uint16_t at; /* offset in the applet's option struct */
	/* name of the argument in --help ("SECONDS"); "rdma|tcp": only these words are valid;
	 * "FILE", "DIR": completed as paths */
	const char *arg;
	const char *help; /* NULL: for our own children, so shown nowhere */
	/* range of a number, of OPT_MSEC in milliseconds; max 0: not a number */
	uint64_t min, max;
};

/* Common options: the first member of each applet's option struct. A row of the applet with the
 * same name replaces a common one (`--output text|json|normal`). */
struct opt_common {
	const char *output; /* text|json|normal */
	bool json, verbose, quiet, dry_run;
	bool no_timeout;     /* --timeout 0 */
	uint32_t timeout_ms; /* of the command, or until it is ready; 0: none */
};

/* Options of another tool, for hints at unknown ones. A row without tool ends the list. */
struct opt_foreign {
	const char *tool, *options, *advice; /* "qemu-nbd", "-t st", "use --nbd unix:PATH" */
};

struct call { /* one run of an applet */
	const struct applet *applet;
	const char *name; /* as called: the applet's own or a replaced tool's */
	bool by_link;     /* called by a link of that name, not as `rdmastor NAME` */
	const void *opts; /* its option struct, filled in */
	char **operand;
	unsigned operands;
	unsigned rest; /* index of the first operand after an OPT_REST option; operands: none */
	struct out *out;
	struct diag *diag;        /* the failure, printed by main */
	struct loop_options loop; /* poll_us, verbose, name, for loop_new() */
	struct out_notes notes;   /* for out_note(), from name and options */
	/* Set by the applet: main ends the process by this signal after printing. SIGPIPE: prints
	 * nothing. */
	int signo;
	bool sigpipe_ignored; /* at the start, as by nohup: EPIPE is an error like others */
};

/* A word after an applet's name that selects another applet: "nvme discover". */
struct applet_sub {
	const char *word; /* NULL ends the list */
	const struct applet *applet;
};

struct applet {
	const char *name, *operands, *summary; /* "nvmf-discover", "[URI]", one line */
	const char *alias;                     /* another name of the same applet, or NULL */
	const struct opt *opts;                /* ends with a row without name */
	const void *defaults;
	const struct opt_foreign *foreign; /* or NULL */
	/* NULL, or command lines for the end of --help: "  rdmastor …\n", up to 80 columns */
	const char *examples;
	const char *notes; /* NULL, or a title and lines after them, as wide */
	uint16_t opts_size;
	uint8_t schemes;         /* SCHEME_… that its operands accept */
	uint8_t min, max;        /* operands before an OPT_REST option; max 255: no limit */
	bool has_dry_run;        /* supports --dry-run */
	const char *own_letters; /* letters of "ovq" that have another meaning in this applet */
	const struct applet_sub *subs; /* or NULL. By a link, every failure then exits with 1 */
	/* Called by a link of this name, the applet exits as that tool does: 1 for wrong usage. */
	const char *replaces;
	const char *replaced_usage; /* the rest of that tool's usage line */
	bool replaced_version;      /* by that name -V and --version print the version */
	/* NULL, or parse the arguments as the tool of the applet's name does, if called by a link.
	 * Returns 0, or the exit status after printing the failure. */
	int (*read_args)(struct call *, int argc, char **argv, void *opts);
	/* NULL, or remove secrets from the arguments, which other users can see. Called first. */
	void (*hide)(int argc, char **argv);
	/* Returns the exit status, or -errno with call->diag set: exit status 1, or 2 for
	 * DIAG_USAGE. */
	int (*run)(struct call *);
	/* NULL, or list the URI keys of operands, for completion: parses the text, which ends in
	 * URI_UNKNOWN_KEY, as run does, without opening anything. */
	void (*keys)(const char *text, struct uri_key_names *);
};

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_PARTLY = 3 };

extern const struct applet *const applets[]; /* applets/list.c; NULL ends it */

extern const char applet_version[], applet_libraries[]; /* main.c */

/* Run an applet as main() does and return the exit status. word: name and arguments, whose secrets
 * are hidden already. For child processes that run applets. */
int applet_main(int argc, char **word);
/* Run an applet as applet_main() does, but in a new image of this process, if /proc is mounted and
 * no word has a secret: for a child of a process that has threads, which may hold locks, or open
 * RDMA devices. Returns only without a new image. */
int applet_exec(int argc, char **word);
/* Find an applet by its name, its alias or the name of the tool it replaces. NULL: none. */
const struct applet *applet_find(const char *name);
/* Return the command that replaces a foreign tool; NULL: unknown. */
const char *applet_replacement(const char *tool);
extern const char applet_uri_help[]; /* rdmastor help uri */
/* List names of links: "applets", "replacements" (the tools they replace), or NULL for both. */
void applet_names(const char *only, void (*each)(const char *name, void *arg), void *arg);
const struct applet *applet_sub(const struct applet *, const char *word); /* NULL: none */
/* Return the applet's name that is most like the typed one; NULL: none is similar. */
const char *applet_suggest(const char *typed);
/* Parse options into opts, preset with the defaults, and operands into call->operand, operands and
 * rest (in argv itself). argv[0] is skipped. Returns the first error, which is in call->diag; the
 * other arguments are parsed, too, so that --json counts anywhere. *help: --help was found; errors
 * do not count then. */
int opt_parse(struct call *, int argc, char **argv, void *opts, bool *help);
/* Arguments one by one, as glibc's getopt_long() parses them: names may be abbreviated, operands
 * are skipped. For applets whose arguments are those of another tool. */
struct opt_getopt {
	/* set by the owner, the rest zeroed */
	const struct opt *rows; /* those with a letter; -h, --help is added */
	int argc;
	char **argv;
	bool quiet; /* print no messages */

	const struct opt *row; /* of this option */
	char *value;           /* its argument; NULL: it takes none */
	int at;                /* the word that it is in */
	char *letters;         /* the rest of that word; NULL: none */
};
/* Return the letter of the next option; 0: the end; '?': an invalid one, after printing glibc's
 * message on stderr, with '_' for '-' in names. */
int opt_getopt(struct opt_getopt *);
void opt_help(const struct applet *, FILE *);
/* Print completions of the last word, a line "word\tdescription" each. The first word is the
 * applet's name. A line ":file" or ":dir" asks the shell to complete paths. */
void opt_complete(int count, char **word, FILE *);
/* Print option rows for lints and tests: "--name\t-l\tARG\tMIN MAX", of times "MIN MAX ms". NULL:
 * the common rows. */
void opt_rows(const struct applet *, FILE *);
#define call_note(call, ...)      out_note(&(call)->notes, __VA_ARGS__)
#define call_warn(call, ...)      out_warn(&(call)->notes, __VA_ARGS__)
#define call_warn_once(call, ...) out_warn_once(&(call)->notes, __VA_ARGS__)

/* A command that runs on a loop of its own until it is done, a signal arrives, or --timeout. */
struct task {
	struct loop *loop;
	/* Set by the owner while there are results to save: the first signal sets stop. Otherwise,
	 * and the second time, a signal ends the process. */
	bool running;
	/* NULL, or set by the owner while something must be undone before the process ends: called
	 * for further signals instead. */
	void (*repeated)(struct task *);
	bool timed_out; /* then stop is set, too */
	int stop;
	int signo; /* of the signal that set stop */
	struct loop_signal signal;
	struct loop_timer timeout;
};
/* Create the loop, catch SIGINT, SIGTERM and SIGHUP, start --timeout. On failure, with the error in
 * call->diag, there is no task to end. The task is zeroed before. */
int task_begin(struct task *, const struct call *, const struct loop_options *);
void task_end(struct task *);
int task_timed_out(const struct call *); /* set call->diag and return -ETIMEDOUT */
/* End the process by the signal's default action, so that a shell ends its loops. */
_Noreturn void end_by_signal(int signo);
