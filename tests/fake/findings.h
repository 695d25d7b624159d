/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asserts what an examination found, on a root of its own. */
#pragma once
#include "find.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* The only finding of this check about the object; object NULL: any. NULL: none. */
static inline const struct finding *find_it(
	const struct doctor *doctor, const char *check, const char *object)
{
	const struct finding *it = NULL;

	for (unsigned i = 0; i < doctor->findings; i++) {
		const struct finding *one = &doctor->finding[i];

		if (strcmp(one->check, check) || (object && strcmp(one->object, object)))
			continue;
		cr_assert_null(it, "two findings %s: %s; %s", check, it ? it->text : "", one->text);
		it = one;
	}
	return it;
}

/* It is in that state, and its text and hint have the words. What is not ok has a hint. */
#define found_it(doctor_, check_, object_, state_, words_)                                         \
	do {                                                                                       \
		const struct finding *it_ = find_it(doctor_, check_, object_);                     \
		char all_[sizeof(it_->text) + sizeof(it_->hint) + 2];                              \
		cr_assert_not_null(it_, "no finding %s", check_);                                  \
		strcat(strcat(strcpy(all_, it_->text), " "), it_->hint);                           \
		cr_assert_eq(it_->state, (state_), "%s of %s: state %d: %s", check_, it_->object,  \
			it_->state, all_);                                                         \
		cr_assert((state_) == DOCTOR_OK ? !it_->hint[0] : it_->hint[0] != 0,               \
			"%s: hint '%s'", check_, it_->hint);                                       \
		text_says(all_, words_);                                                           \
	} while (0)

/* The value of a key, as text; "" = none. */
static inline const char *fact_of(const struct finding *it, const char *key)
{
	static char number[24];

	for (unsigned i = 0; it && i < it->facts; i++) {
		if (strcmp(it->fact[i].key, key))
			continue;
		snprintf(number, sizeof(number), "%llu", (unsigned long long)it->fact[i].number);
		return it->fact[i].is_text ? it->fact[i].text : number;
	}
	return "";
}

struct examined {
	struct tree tree;
	struct doctor doctor;
	struct uri uri;
};

/* uri NULL: none */
static inline void examined_init(struct examined *e, const char *uri)
{
	e->tree = tree_new();
	e->doctor = (struct doctor){ .root = e->tree.root, .uri = uri };
	strcpy(e->doctor.release, "6.1");
	if (!uri)
		return;
	cr_assert_eq(uri_parse(&e->uri, uri, NULL), 0);
	e->doctor.parsed = &e->uri;
}

static inline void examined_free(struct examined *e)
{
	free(e->doctor.finding);
	tree_free(&e->tree);
}
