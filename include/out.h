/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Results: each row is emitted once, and encoded as text or as one JSON document
 * {"schema":"rdmastor.APPLET","version":2,…}, described by doc/schema/APPLET.json. stdout gets
 * results only; messages go to stderr. `key` is the JSON key; `label` is the text before the value
 * ("trtype:  "), NULL: the row is for JSON only. Passwords of URIs are left out (uri_hide()). */
#pragma once
#include "diag.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct out {
	FILE *to;
	bool json, opened, closed, comma;
	/* set before the first row: */
	bool array;   /* the document is a bare array, as the replaced tool prints it */
	bool dry_run; /* JSON gets "dry_run":true */

	uint8_t depth;  /* open lists and objects in the document */
	uint32_t lists; /* bit n: level n is a list */
	const char *schema;
	int err; /* errno of the first failed write */
};
/* applet "": the schema is "rdmastor". */
void out_init(struct out *, const char *applet, bool json);
/* Close the document; if diag has an err, JSON gets it as "error". Returns -errno if stdout is
 * broken. An applet that keeps running calls it once its results are complete; further calls do
 * nothing. */
int out_fini(struct out *, const struct diag *);
/* Write what was emitted. Returns 0 or -errno, which out_fini() returns, too. */
int out_flush(struct out *);

void out_text(struct out *, const char *key, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* JSON only: the text in lower case, with - for each blank; nothing if it is empty. */
void out_word(struct out *, const char *key, const char *text);
void out_nonempty(
	struct out *, const char *key, const char *text); /* JSON only; nothing if empty */
void out_u64(struct out *, const char *key, const char *label, uint64_t value);
/* The value must be finite. digits: after the point. */
void out_real(struct out *, const char *key, const char *label, double value, unsigned digits);
void out_bool(struct out *, const char *key, const char *label, bool value); /* text: yes, no */
/* As text: "64 MiB (67108864 bytes)". */
void out_size(struct out *, const char *key, const char *label, uint64_t bytes);
/* JSON only: {"code","errno","object","text","hint"} without empty members; nothing if there is no
 * failure. */
void out_error(struct out *, const char *key, const struct diag *);
/* A JSON array. Its members are out_object(o, NULL) or values with key NULL. */
void out_list(struct out *, const char *key);
void out_object(struct out *, const char *key);
void out_end(struct out *); /* end the innermost list or object */
/* Text only: one line. */
void out_line(struct out *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Text only: one line, with a new secret that the user has asked for. */
void out_secret(struct out *, const char *text);

/* Messages, to stderr or the log, from any thread. They never wait for a reader: if there is no
 * room (a full pipe, a stopped terminal, a dead syslog) they are dropped and counted, and the count
 * precedes the next message. A regular file, also as stderr, blocks as its file system does. */

enum out_level { OUT_ERROR, OUT_WARNING, OUT_INFO };
/* Print one line, filtered by out_plain(), without passwords. */
void out_message(enum out_level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Print the failure of the command and its hint. In the foreground always to stderr, waiting for
 * it. applet NULL: "rdmastor: ..." */
void out_failure(const char *applet, const struct diag *);
/* Messages of a command that are not its failure: "rdmastor NAME: …". */
struct out_notes {
	const char *name; /* of the command */
	bool quiet;       /* print to a log file only */
	bool verbose;     /* the command reports its steps, too */
};
void out_note(const struct out_notes *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* With the prefix "warning: ". */
void out_warn(const struct out_notes *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Print a warning once per process and text, as several protocols and disks may find the same. */
void out_warn_once(const struct out_notes *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Print lines unchanged, as one message. */
void out_lines(const char *text, size_t len);
/* Prefix messages on stderr with the time, HH:MM:SS.mmm. Call before other threads print. */
void out_times(bool on);

/* Append messages to a file, created with mode 0600, with date and time. A second call reopens it.
 * On failure the log stays where it was. */
int out_log_file(const char *path, struct diag *);
/* Log to syslog (RFC 3164 datagrams, facility daemon), and to the kernel's log while /dev/log has
 * no reader. Returns the number of descriptors in use, which a process that closes all others has
 * to keep. */
int out_log_system(int fd[2]);
/* Leave the terminal. True: stderr was redirected and stays the log; keep it open. False: the log
 * is a file or, if stderr is a terminal or /dev/null, out_log_system(). */
bool out_log_background(void);
/* Open now what messages need later, as this process gives up its rights; daemon: it will leave the
 * terminal. */
void out_log_hold(bool daemon);
/* Let the helper reopen this log (helper.h). 0 or -ENOMEM. */
int out_log_allow(const char *path);
/* Replace the progress line, cut to the terminal's width; "" erases it. Messages appear above it.
 * Erase it before results: stdout may be the same terminal. */
void out_bar(const char *line);
unsigned out_columns(void); /* width of the terminal on stderr */
/* Print up to 511 bytes unchanged; if there is no room they are dropped without a count. */
void out_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Print text for a terminal: control and invisible characters, such as those that change the
 * direction of text, become '?', as a hostile peer may have put them into a name. */
void out_plain(FILE *, const char *text);
/* Return the length of the valid UTF-8 character at the start of the text; 0: none. */
unsigned out_utf8_len(const char *text);
/* Count the characters of UTF-8 text: its columns, without support for wide characters. */
unsigned out_characters(const char *text);
/* Quote text as one word for a shell, if necessary. Needs OUT_SHELL(longest text) bytes; longer
 * text is cut. */
#define OUT_SHELL(len) (4 * (len) + 3)
const char *out_shell(const char *text, char *to, size_t len);
/* Print a size: "64 MiB", "1.5 GiB". */
const char *out_human(uint64_t bytes, char text[16]);

/* Text tables with columns as wide as their contents. Emit the rows twice, to measure and to print:
 * while (table_pass(&table, head)) table_row(…) for each. */

#define TABLE_COLUMNS 16
#define TABLE_LINE    4096

struct table {
	struct out *out;
	unsigned columns, width[TABLE_COLUMNS], passes;
	bool print; /* false: measure */
};
#define TABLE(out, head)                                                                           \
	{                                                                                          \
		out, sizeof(head) / sizeof(*(head)),                                               \
			{ TABLE_FITS(sizeof(head) / sizeof(*(head))) }, 0, false                   \
	}
/* 0; with more than TABLE_COLUMNS it does not compile. */
#define TABLE_FITS(columns) (0 * sizeof(char[(columns) <= TABLE_COLUMNS ? 1 : -1]))
/* Start a pass with the row of heads. False: both are done. */
bool table_pass(struct table *, const char *const *head);
/* "" is printed as "-". The last column is not padded. */
void table_row(struct table *, const char *const *cell);
