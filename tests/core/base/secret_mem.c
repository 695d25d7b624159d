/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory for secrets: locked, in no core dump, wiped; also without a limit that allows locking. */
/* Link: munmap mlock */
#include "secret_mem.h"
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t unmapped; /* bytes that were zero */

int __real_munmap(void *, size_t);
int __wrap_munmap(void *, size_t);

int __wrap_munmap(void *p, size_t len)
{
	const char *bytes = p;

	for (size_t i = 0; i < len && !bytes[i]; i++)
		unmapped++;
	return __real_munmap(p, len);
}

int __wrap_mlock(const void *, size_t);

/* That of the sanitizers' runtime does nothing. */
int __wrap_mlock(const void *p, size_t len)
{
	return (int)syscall(SYS_mlock, p, len);
}

/* Copy the flags of the mapping that holds p (VmFlags in /proc/PID/smaps, proc(5)). */
static void flags_of(const void *p, char flags[256])
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	unsigned long begin, end;
	bool here = false;
	char line[512];

	flags[0] = 0;
	cr_assert(smaps);
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			here = begin <= (uintptr_t)p && (uintptr_t)p < end;
		else if (here && !strncmp(line, "VmFlags:", 8))
			snprintf(flags, 256, "%.*s ", (int)strcspn(line + 8, "\n"), line + 8);
	}
	fclose(smaps);
}

/* Emulation of user processes accepts advice and does nothing. */
static void needs_advice(void)
{
	const size_t len = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char flags[256];

	cr_assert_neq(p, MAP_FAILED);
	cr_assert_eq(madvise(p, len, MADV_DONTDUMP), 0);
	flags_of(p, flags);
	munmap(p, len);
	if (!strstr(flags, " dd "))
		cr_skip_test("madvise() has no effect");
}

static void set_limit(rlim_t bytes)
{
	cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ bytes, bytes }), 0);
}

Test(secret_mem, is_locked_and_not_dumped)
{
	char flags[256], *p;

	needs_advice();
	p = secret_alloc(5000);
	cr_assert(p);
	for (unsigned i = 0; i < 5000; i++)
		cr_assert_eq(p[i], 0);
	flags_of(p, flags);
	cr_assert(strstr(flags, " lo "), "%s", flags);
	cr_assert(strstr(flags, " dd "), "%s", flags);
	flags_of(p + 4999, flags);
	cr_assert(strstr(flags, " lo "), "%s", flags);
	secret_free(p);
}

/* 0: a child finds both as expected. */
static int look(const char *wiped, const char *inherited)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(*wiped || *inherited != 's');
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

Test(secret_mem, children_have_what_they_inherit)
{
	char *wiped = secret_alloc(1), *inherited = secret_alloc(1);

	needs_advice();
	cr_assert(wiped && inherited);
	*wiped = *inherited = 's';
	secret_inherit(inherited);
	cr_assert_eq(look(wiped, inherited), 0);
	cr_assert_eq(*wiped, 's');
	secret_free(wiped);
	secret_free(inherited);
}

Test(secret_mem, is_wiped)
{
	char *p = secret_alloc(5000);

	cr_assert(p);
	memset(p, 's', 5000);
	unmapped = 0;
	secret_free(p);
	cr_assert_geq(unmapped, 5000);
	secret_free(NULL);
}

/* Root is not bound by the limit. */
Test(secret_mem, no_limit_is_needed)
{
	char flags[256], *p;

	needs_advice();
	set_limit(0);
	if (!geteuid())
		cr_assert_eq(syscall(SYS_setresuid, 65534, 65534, 65534), 0);
	p = secret_alloc(1);
	cr_assert(p);
	*p = 's';
	flags_of(p, flags);
	cr_assert(!strstr(flags, " lo "), "%s", flags);
	cr_assert(strstr(flags, " dd "), "%s", flags);
	secret_free(p);
}

Test(secret_mem, what_is_too_large_is_refused)
{
	cr_assert_eq(secret_alloc(SIZE_MAX), NULL);
	cr_assert_eq(secret_alloc(SIZE_MAX / 4), NULL);
}
