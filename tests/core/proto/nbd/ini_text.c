/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reasons for failed requests: the error, with the server's message as long as it is kept. */
#include "ini.h"
#include "says.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static uint32_t keep(const char *text)
{
	return nbd_ini_text_store(text, strlen(text));
}

static const char *show(uint32_t error, uint32_t text)
{
	return nbd_ini_status_text(nbd_ini_detail(error, text, 0));
}

Test(nbd_ini_text, an_error_with_and_without_a_message)
{
	cr_assert_eq(keep(""), 0);
	text_says(show(NBD_EIO, 0), "EIO");
	cr_assert_null(strchr(show(NBD_EIO, 0), '\''));
	text_says(show(NBD_ENOSPC, keep("pool 'a' is full")), "ENOSPC 'pool 'a' is full'");
	text_says(show(0xfffffff0, keep("odd")), "unknown error 'odd'");
	text_says(nbd_ini_status_text(nbd_ini_detail(NBD_EINVAL, keep("align"), 321)),
		"last 321 bytes 'align'");
}

Test(nbd_ini_text, equal_messages_are_kept_once)
{
	uint32_t first = keep("same");

	cr_assert_neq(keep("other"), first);
	for (unsigned i = 0; i < 100; i++)
		cr_assert_eq(keep("same"), first);
}

Test(nbd_ini_text, what_others_have_displaced_is_not_mixed_up)
{
	uint32_t first = keep("first");
	char text[16];

	for (unsigned i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "no %u", i);
		text_says(show(NBD_EIO, keep(text)), text);
	}
	cr_assert_null(strchr(show(NBD_EIO, first), '\''));
	for (unsigned i = 0; i < 70000; i++) {
		snprintf(text, sizeof(text), "no %u", i);
		cr_assert_neq(keep(text), 0);
	}
	text_says(show(NBD_EIO, keep(text)), "EIO 'no 69999'");
}
