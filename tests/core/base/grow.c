/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Arrays that grow: zeroed elements, and nothing lost when memory is short. */
#include "grow.h"
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* A product that wraps ends in NULL, not in a report. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static bool no_memory;

/* The C library's, unless memory is short. */
void *reallocarray(void *array, size_t count, size_t each)
{
	void *(*real)(void *, size_t, size_t);

	*(void **)&real = dlsym(RTLD_NEXT, "reallocarray");
	return no_memory ? NULL : real(array, count, each);
}

struct item {
	char name[13];
	uint64_t value;
};

Test(grow, elements_are_appended_zeroed)
{
	struct item *list = NULL, *one;
	unsigned count = 0;

	for (unsigned i = 0; i < 5000; i++) {
		one = grow(list, count);
		cr_assert_not_null(one);
		cr_assert_eq(count, i + 1);
		cr_assert_eq(one, &list[i]);
		cr_assert(!one->name[0] && !one->name[12] && !one->value);
		one->name[12] = 'x';
		one->value = i;
	}
	for (unsigned i = 0; i < count; i++)
		cr_assert(list[i].value == i && list[i].name[12] == 'x', "%u", i);
	free(list);
}

Test(grow, several_at_once)
{
	struct item *list = NULL, *first;
	unsigned count = 0;

	cr_assert_not_null(grow_by(list, count, 0), "an empty array is one");
	cr_assert_eq(count, 0);
	grow(list, count)->value = 7;
	first = grow_by(list, count, 300);
	cr_assert_eq(first, &list[1]);
	cr_assert_eq(count, 301);
	cr_assert_eq(list[0].value, 7);
	for (unsigned i = 1; i < count; i++)
		cr_assert(!list[i].value, "%u", i);
	free(list);
}

Test(grow, what_does_not_fit_leaves_array_and_count)
{
	struct item *list = NULL, *before;
	unsigned count = 0;

	grow(list, count)->value = 7;
	before = list;
	cr_assert_null(grow_by(list, count, SIZE_MAX), "the sum wraps");
	cr_assert_null(grow_by(list, count, UINT_MAX), "the count wraps");
	cr_assert_null(grow_array(&list, &count, 0xffff, SIZE_MAX / 0x8000), "the product wraps");
	no_memory = true;
	cr_assert_null(grow(list, count));
	cr_assert_eq(list, before);
	cr_assert_eq(count, 1);
	cr_assert_eq(list[0].value, 7);
	free(list);
}
