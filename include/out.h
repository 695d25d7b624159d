/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Results: every row is emitted once and encoded as text or as exactly one JSON document
 * {"schema":"rdmastor.APPLET","version":2,…}, described by doc/schema/APPLET.json. stdout gets
 * results only; messages go to stderr. Each call names the JSON key; `label` is the text form up to
 * the value ("trtype:  "), NULL = this row is for JSON only. Passwords of URIs in texts and lines
 * are left out (uri_hide()). */
#pragma once
#include "diag.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct out {
	FILE *to;
	bool json, opened, closed, comma;
	/* the document is a bare array, as the replaced tool prints it; set before the first row */
	bool array;
	bool dry_run;   /* JSON gets "dry_run":true; set before the first row */
	uint8_t depth;  /* of open lists and objects, the document not counted */
	uint32_t lists; /* bit n: level n is a list */
	const char *schema;
	int err; /* why something could not be written, errno of the first time */
};
/* applet "": the schema is "rdmastor" */
void out_init(struct out *, const char *applet, bool json);
/* Closes the document; on failure (diag with err) JSON gets its "error" object. Returns -errno when
 * stdout is broken. An applet that runs for long calls it when its results are complete; a second
 * call does nothing. */
int out_fini(struct out *, const struct diag *);
/* what has been emitted goes out now; 0 or -errno, which out_fini() gives again */
int out_flush(struct out *);

void out_text(struct out *, const char *key, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* JSON only: in lower case, - for each blank; nothing if empty */
void out_word(struct out *, const char *key, const char *text);
void out_known(struct out *, const char *key, const char *text); /* JSON only; nothing if empty */
void out_u64(struct out *, const char *key, const char *label, uint64_t value);
/* digits behind the point; finite */
void out_real(struct out *, const char *key, const char *label, double value, unsigned digits);
void out_bool(struct out *, const char *key, const char *label, bool value); /* text: yes, no */
/* text: 64 MiB (67108864 bytes) */
void out_size(struct out *, const char *key, const char *label, uint64_t bytes);
/* JSON only: {"code","errno","object","text","hint"}, what is empty left out. Nothing when there is
 * no failure. */
void out_error(struct out *, const char *key, const struct diag *);
/* JSON array; its members are out_object(o, NULL) or values with key NULL */
void out_list(struct out *, const char *key);
void out_object(struct out *, const char *key);
void out_end(struct out *); /* of the innermost list or object */
/* text only: one line; a newline inside it is a control character */
void out_line(struct out *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Messages: to stderr or where out_log_… puts them, from any thread. They don't wait for a reader:
 * what the log has no room for (a full pipe, a stopped terminal, a dead syslog) is dropped and
 * counted, and the next message that fits is preceded by the count. A regular file, also as stderr,
 * blocks as long as its file system does. */

enum out_level { OUT_ERROR, OUT_WARNING, OUT_INFO };
/* One line, as out_plain() has it, without passwords. */
void out_message(enum out_level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A failure of the command and its hint, as out_message(). In the foreground always to stderr, for
 * which it waits. applet NULL: "rdmastor: ..." */
void out_failure(const char *applet, const struct diag *);
void out_lines(const char *text, size_t len); /* as they are; count as one message */
/* Begin each message on stderr with the time, HH:MM:SS.mmm. Before other threads print. */
void out_times(bool on);

/* Append messages to a file, with date and time. It is created with mode 0600. A second call
 * reopens the file; on failure, which names it, the log stays where it was. */
int out_log_file(const char *path, struct diag *);
/* To syslog, as datagrams in the local form of RFC 3164 with facility daemon and their level, and
 * while /dev/log has no reader to the kernel's log. Returns the number of descriptors in use, which
 * a process that closes all others has to keep. */
int out_log_system(int fd[2]);
/* For a process that leaves its terminal: keep a redirected stderr. True: the log is stderr, which
 * is to stay open until nothing reads it any more; false: a file, or instead of a terminal or
 * /dev/null out_log_system(). */
bool out_log_background(void);
/* Show this progress line, cut to the terminal, in place of the last one; "" erases it. Messages
 * appear above it. Erase it before a result: stdout may be the same terminal. */
void out_bar(const char *line);
unsigned out_columns(void); /* of the terminal on stderr */
/* As it is, up to 511 bytes; dropped uncounted. */
void out_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Text for a terminal: control characters and others without a shape, such as those that change the
 * direction of text, become '?': a hostile peer may have put them into a name. In JSON they are
 * escaped. */
void out_plain(FILE *, const char *text);
/* Length of the valid UTF-8 character at the start of a text, 0 = none. */
unsigned out_utf8_len(const char *text);
/* Text as one word for a shell, in single quotes where it needs them, so that what is printed can
 * be pasted. Needs: room for OUT_SHELL(longest text) bytes; what is longer is cut. */
#define OUT_SHELL(len) (4 * (len) + 3)
const char *out_shell(const char *text, char *to, size_t len);
/* Human forms: "64 MiB", "1.5 GiB". */
const char *out_human(uint64_t bytes, char text[16]);

/* Tables in text, with columns as wide as what is in them. Rows are put twice, once to measure and
 * once to print: while (table_pass(&table, head)) table_row(…) for each. */

#define TABLE_COLUMNS 14
#define TABLE_LINE    4096

struct table {
	struct out *out;
	unsigned columns, width[TABLE_COLUMNS], passes;
	bool print; /* false: measure */
};
#define TABLE(out, head)                                                                           \
	{                                                                                          \
		out, sizeof(head) / sizeof(*(head)), { 0 }, 0, false                               \
	}
/* Puts the row of heads. False: both passes are over. */
bool table_pass(struct table *, const char *const *head);
/* "" is printed as "-"; the last column has no width */
void table_row(struct table *, const char *const *cell);
