/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The name of the sockets, for both sides of kernel_serving.h. */
#pragma once
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SERVING_PREFIX "rdmastor/"
socklen_t kernel_serving_address(struct sockaddr_un *, int pid); /* its length */
