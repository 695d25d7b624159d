/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An applet: a name, option rows, and a function. The rows drive parsing, --help, --complete and
 * the lint of the man pages. main.c dispatches, parses, prints the failure; the applet turns
 * options into one core request and prints through out.h. */
#pragma once
#include "diag.h"
#include "loop.h"
#include "out.h"
#include "uri.h"
#include <stdbool.h>
#include <stdint.h>

enum opt_type {
	OPT_FLAG, /* bool */
	OPT_TEXT, /* const char * */
	OPT_LIST, /* struct opt_list: repeatable */
	OPT_PART, /* bool; what is in lists behind it belongs to it. Its number is the row's min */
	/* Numbers, which need a range */
	OPT_U32,   /* uint32_t, whole number */
	OPT_SIZE,  /* uint64_t, K M G T */
	OPT_MSEC,  /* uint32_t milliseconds; seconds, fractions of one, or "500ms" */
	OPT_MAYBE, /* struct opt_maybe: a flag that a number may follow, "--ublk", "--ublk=3",
		    * "--ublk 3"; its row's arg is "[N]". What follows and begins with a digit must
		    * be one: an operand that does is written ./3.img or comes first */
	/* bool; and every word after it is an operand from call->rest on (`--run CMD ARG…`), at
	   least one */
	OPT_REST,
};

/* Upper limits of what has none of its own; --help does not show them. */
#define OPT_U32_MAX  INT32_MAX
#define OPT_SIZE_MAX ((uint64_t)INT64_MAX)
#define OPT_MSEC_MAX PARSE_MSEC_MAX

/* The help of --on-loss, the same in all applets that have it. */
#define OPT_ON_LOSS_HELP                                                                           \
	"how long I/O waits for a lost target: fail-fast, wait=SECONDS, SECONDS or forever; "      \
	"default wait=60"

/* The row of --retry, the same in all applets that have it. */
#define OPT_RETRY_ROW(type, field)                                                                 \
	{                                                                                          \
		"retry", 0, OPT_MSEC, offsetof(type, field), "SECONDS",                            \
			"retry this long if a disk can't be reached at first; default 0", 0,       \
			OPT_MSEC_MAX                                                               \
	}

#define OPT_LIST_MAX 32
struct opt_list {
	const char *item[OPT_LIST_MAX];
	uint8_t part[OPT_LIST_MAX]; /* the number of the last OPT_PART before it; 0: none */
	unsigned count;
};

struct opt_maybe {
	bool on, given; /* the option; the number */
	uint32_t number;
};

struct opt {
	const char *name; /* long name; '_' and '-' are the same when typed */
	char letter;      /* 0 = none */
	uint8_t type;
	uint16_t at; /* offset in the applet's option struct */
	/* name of the argument in --help ("SECONDS"); "rdma|tcp": exactly these words, checked and
	 * completed; "FILE", "DIR": completed as paths */
	const char *arg;
	const char *help;
	/* of a number: accepted values, of OPT_MSEC in milliseconds; max 0 = not a number */
	uint64_t min, max;
};

/* Every applet has these: first member of its option struct. A row of the applet with the name of a
 * common one replaces it (`--output text|json|normal`). */
struct opt_common {
	const char *output; /* text|json|normal */
	bool json, verbose, quiet, dry_run;
	bool never;          /* --timeout 0 was given */
	uint32_t timeout_ms; /* bounds the command, or getting ready; 0 = none */
};

/* Options of another tool, for the hint of an unknown option, or of a value that an option of ours
 * lacks. Ends with a row without tool. */
struct opt_foreign {
	/* "qemu-nbd", "-k|--socket" or "-t st", "use --nbd unix:PATH" */
	const char *tool, *options, *advice;
};

struct call { /* one run of an applet */
	const struct applet *applet;
	const char *name; /* as called: the applet's own or a replaced tool's */
	bool linked;      /* by a link of that name, and not as a word behind our own */
	const void *opts; /* its option struct, filled */
	char **operand;
	unsigned operands;
	/* operands from this index on came after an OPT_REST option; == operands when there was
	 * none */
	unsigned rest;
	struct out *out;
	struct diag *diag;        /* the failure main prints */
	struct loop_options loop; /* poll_us, verbose, name ready for loop_new() */
	/* Set by the applet: when all is printed, main ends the process by this signal. SIGPIPE:
	 * nothing is printed. */
	int signo;
	bool sigpipe_ignored; /* at the start, as by nohup: EPIPE is an error like others */
};

/* A word behind an applet's name that selects another applet: "nvme discover". */
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
	/* command lines for the end of --help: "  rdmastor …\n", up to 80 columns; or NULL */
	const char *examples;
	const char *notes; /* follows them: a title and lines, as wide; or NULL */
	uint16_t opts_size;
	uint8_t schemes;         /* SCHEME_… that its operands accept */
	uint8_t min, max;        /* operands before an OPT_REST option; max 255 = any number */
	bool changes;            /* takes --dry-run */
	const char *own_letters; /* letters among "ovq" the applet gives another meaning (cli.md) */
	const struct applet_sub *subs; /* or NULL. By a link every failure then ends with 1 */
	/* a link of this name runs the applet with that tool's exit statuses: wrong calls give 1 */
	const char *replaces;
	const char *replaced_usage; /* what follows the name in that tool's usage line */
	bool replaced_version;      /* by that name -V and --version print the version */
	/* For the applet that has the name of the tool it replaces. By a link of that name its
	 * words are read as the tool does: 0, or what to exit with, which was told. */
	int (*words)(struct call *, int argc, char **argv, void *opts);
	/* cuts secrets out of words that everybody sees; argv[0] is the applet's name. Always,
	 * before all else */
	void (*hide)(int argc, char **argv);
	/* exit status, or -errno with call->diag set (→ 1, or 2 for DIAG_USAGE) */
	int (*run)(struct call *);
	/* Which keys the URIs of its operands may have: reads the text, which ends in
	 * URI_UNKNOWN_KEY, as run does, without opening anything. NULL: none are completed. */
	void (*keys)(const char *text, struct uri_asked *);
};

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_PARTLY = 3 };

extern const struct applet *const applets[]; /* applets/list.c; NULL ends it */

extern const char applet_version[], applet_libraries[]; /* main.c */

/* Run an applet with these words, its name and arguments, as main() does once it has hidden its
 * own; returns the exit status. For applets that run others in child processes. */
int applet_main(int argc, char **word);
/* its own name, its alias, or the one it replaces; NULL = there is none */
const struct applet *applet_find(const char *name);
/* The command that does the work of a tool of others; NULL: not known. */
const char *applet_instead(const char *tool);
extern const char applet_uri_help[]; /* rdmastor help uri */
/* The names of links: of the applets, of the tools they replace ("replacements"), or both (NULL).
 */
void applet_names(const char *only, void (*each)(const char *name, void *arg), void *arg);
const struct applet *applet_sub(const struct applet *, const char *word); /* NULL = none */
/* the name that was perhaps meant; NULL = none is near */
const char *applet_near(const char *typed);
/* Fills opts (preset with the defaults) and call->operand, operands, rest; argv[0] is skipped, the
 * operands are gathered in argv itself. On failure the first error is in call->diag and the rest is
 * parsed nevertheless, so that --json counts wherever it stands. *help: --help was given, nothing
 * else needs to be right. */
int opt_parse(struct call *, int argc, char **argv, void *opts, bool *help);
void opt_help(const struct applet *, FILE *);
/* One candidate a line, "word\tdescription", for the words so far; the last is the one being typed.
 * The first is the applet's name. A line ":file" or ":dir" asks the shell to complete paths there.
 */
void opt_complete(int words, char **word, FILE *);
/* One row a line, for lints and tests: "--name\t-l\tARG\tMIN MAX", of times "MIN MAX ms", of no
 * number "". NULL = the common rows. */
void opt_rows(const struct applet *, FILE *);
/* Messages for the user that are not the failure: "rdmastor APPLET: …", silent with --quiet, except
 * in a log file. A warning has "warning: " before its text. */
void call_note(const struct call *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void call_warn(const struct call *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Not again in this process with the same text: for what several protocols and disks find out. */
void call_warn_once(const struct call *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A command that runs on a loop of its own until it is done, a signal arrives, or --timeout. */

struct task {
	struct loop *loop;
	/* Set by the owner while there are results to save: a signal then sets stop. Without it,
	 * and the second time, a signal ends the process. */
	bool running;
	bool timed_out; /* stop is set, too */
	int stop;
	int signo; /* of the signal that set stop */
	struct loop_signal signal;
	struct loop_timer timeout;
};
int task_begin(struct task *, const struct call *, const struct loop_options *);
void task_end(struct task *);
int task_timed_out(const struct call *); /* Set the failure. */
/* End the process by the signal's default action, so that a shell sees it and ends its loops. */
_Noreturn void end_by_signal(int signo);
