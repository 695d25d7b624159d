/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A resolver of the test's own. For programs linked with --wrap=getaddrinfo,--wrap=freeaddrinfo. */
#pragma once
#include <stdbool.h>

/* What a lookup gives from now on: an IPv4 address, or with ip NULL the error eai. A name that was
 * not set is EAI_NONAME. */
void names_set(const char *host, const char *ip, int eai);
/* its lookups, begun or not, do not end until false */
void names_hold(const char *host, bool hold);
unsigned names_asked(const char *host); /* lookups begun */
unsigned names_running(void);           /* lookups begun and not ended */
unsigned names_most(void);              /* the most of those at any time */
