/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The generic netlink family "handshake" as of Linux 6.12 (Documentation/netlink/specs/handshake.yaml
 * there): the kernel asks a process for the TLS handshake on a socket of its own. In names of our
 * own, as a build machine's header may be older. Attributes are 32-bit integers of the machine. */
#pragma once

#define HANDSHAKE_NL_FAMILY  "handshake"
#define HANDSHAKE_NL_VERSION 1
#define HANDSHAKE_NL_GROUP   "tlshd" /* of READY */

#define HANDSHAKE_NL_TLS 1 /* handler class */

enum handshake_nl_command {
	HANDSHAKE_NL_READY = 1, /* from the kernel: a request waits */
	HANDSHAKE_NL_ACCEPT,    /* take it: the answer has the ACCEPT attributes */
	HANDSHAKE_NL_DONE,      /* end it */
};
enum handshake_nl_accept_attr {
	HANDSHAKE_NL_ACCEPT_FD = 1,
	HANDSHAKE_NL_ACCEPT_CLASS,
	HANDSHAKE_NL_ACCEPT_TYPE,
	HANDSHAKE_NL_ACCEPT_TIMEOUT, /* ms; absent: none */
	HANDSHAKE_NL_ACCEPT_AUTH,
	HANDSHAKE_NL_ACCEPT_PEER, /* serial number of a key to offer; may repeat */
};
enum handshake_nl_done_attr {
	HANDSHAKE_NL_DONE_STATUS = 1, /* 0 or a positive errno */
	HANDSHAKE_NL_DONE_FD,
	HANDSHAKE_NL_DONE_PEER, /* serial number of the key that the peer has */
};
enum handshake_nl_type { HANDSHAKE_NL_CLIENT = 1, HANDSHAKE_NL_SERVER };
enum handshake_nl_auth { HANDSHAKE_NL_ANONYMOUS = 1, HANDSHAKE_NL_PSK, HANDSHAKE_NL_X509 };
