/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* When a TLS monitor is started, and what it logs of a flood. The process itself is a subject of
 * tests/vm. */
/* Link: leap kernel_handshakes_answered kernel_nvmf_any_tls out_warn out_message fork */
#include "tls_monitor.h"
#include "kernel_handshake.h"
#include "kernel_nvmf.h"
#include "leap.h"
#include "out.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static bool any;
static int answered;
static unsigned forks, lines;
static char text[600];

bool __wrap_kernel_nvmf_any_tls(int root);
bool __wrap_kernel_nvmf_any_tls(int root)
{
	(void)root;
	return any;
}

int __wrap_kernel_handshakes_answered(int root);
int __wrap_kernel_handshakes_answered(int root)
{
	(void)root;
	return answered;
}

pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	forks++;
	errno = EAGAIN;
	return -1;
}

static void keep(const char *fmt, va_list args)
{
	vsnprintf(text, sizeof(text), fmt, args);
	lines++;
}

void __wrap_out_warn(const struct out_notes *notes, const char *fmt, ...);
void __wrap_out_warn(const struct out_notes *notes, const char *fmt, ...)
{
	va_list args;

	(void)notes;
	va_start(args, fmt);
	keep(fmt, args);
	va_end(args);
}

void __wrap_out_message(enum out_level level, const char *fmt, ...);
void __wrap_out_message(enum out_level level, const char *fmt, ...)
{
	va_list args;

	(void)level;
	va_start(args, fmt);
	keep(fmt, args);
	va_end(args);
}

static void start(const char *word)
{
	const struct call call = { 0 };

	forks = lines = 0;
	text[0] = 0;
	tls_monitor_start(&call, 0, word);
}

Test(tls_monitor, started_if_it_is_needed)
{
	start(NULL);
	cr_assert(!forks && !lines, "no connection");
	any = true;
	answered = 1;
	start(NULL);
	cr_assert(!forks && !lines, "tlshd");
	start("off");
	cr_assert(!forks && !lines);
	answered = 0;
	start("off");
	cr_assert(!forks);
	text_says(text, "lost will not restored neither tlshd");
	start("on");
	cr_assert_eq(forks, 1);
	text_says(text, "lost will not restored TLS monitor");
	start(NULL);
	cr_assert_eq(forks, 1);
	answered = -EOPNOTSUPP;
	start(NULL);
	cr_assert_eq(forks, 0);
	answered = -EMFILE;
	start(NULL);
	cr_assert_eq(forks, 1, "unknown");
	start("off");
	text_says(text, "lost may not restored tlshd unknown");
}

static void log_end(int err)
{
	const struct diag why = { .err = err, .text = "wrong key" };

	lines = 0;
	tls_monitor_log("test", &(struct tls_upcall_end){ "10.0.0.1:1", "NVMe1R01", true, &why });
}

Test(tls_monitor, a_flood_is_counted)
{
	log_end(0);
	text_says(text, "test: from 10.0.0.1:1 'NVMe1R01'");
	for (unsigned i = 0; i < 10; i++) {
		log_end(EACCES);
		cr_assert_eq(lines, 1);
		text_says(text, "10.0.0.1:1 wrong key");
	}
	for (unsigned i = 0; i < 5; i++) {
		log_end(EACCES);
		cr_assert_eq(lines, 0);
	}
	log_end(0);
	cr_assert_eq(lines, 1, "successes are not limited");
	leap_now += 61 * SEC;
	log_end(EACCES);
	cr_assert_eq(lines, 2, "how many were left out, and this one");
	text_says(text, "wrong key");
}
