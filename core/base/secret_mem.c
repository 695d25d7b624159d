/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory for secrets: pages of its own, so that locking and unlocking concern nothing else. */
#include "secret_mem.h"
#include <stdalign.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

struct head {
	alignas(max_align_t) size_t len; /* of the mapping, this struct included */
};

void *secret_alloc(size_t len)
{
	size_t all;
	struct head *head;

	if (__builtin_add_overflow(len, sizeof(*head), &all))
		return NULL;
	head = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (head == MAP_FAILED)
		return NULL;
	madvise(head, all, MADV_DONTDUMP);
	madvise(head, all, MADV_WIPEONFORK);
	mlock(head, all); /* may exceed the limit */
	head->len = all;
	return head + 1;
}

void secret_inherit(void *p)
{
	struct head *head = (struct head *)p - 1;

	madvise(head, head->len, MADV_KEEPONFORK);
}

void secret_free(void *p)
{
	struct head *head = p;
	size_t all;

	if (!p)
		return;
	head--;
	all = head->len;
	explicit_bzero(head, all);
	munmap(head, all);
}
