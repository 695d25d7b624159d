/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who answers handshakes is unknown where the kernel can't be asked: that is not "nobody". */
/* Link: socket */
#include "kernel_handshake.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/socket.h>

int __wrap_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol)
{
	(void)family;
	(void)type;
	(void)protocol;
	errno = EMFILE;
	return -1;
}

Test(handshake, unknown_without_a_socket)
{
	cr_assert_eq(kernel_handshakes_answered(AT_FDCWD), -EMFILE);
	cr_assert(kernel_handshakes_unanswered(AT_FDCWD), "we answer them ourselves");
}
