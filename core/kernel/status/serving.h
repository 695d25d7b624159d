/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What both sides of kernel_serving.h share: the name of the sockets, and an answer. */
#pragma once
#include "kernel_serving.h"
#include <sys/socket.h>
#include <sys/un.h>

#define SERVING_PREFIX "rdmastor/"
socklen_t kernel_serving_address(struct sockaddr_un *, int pid); /* its length */

/* One answer into `process`, which keeps its pid and uid; a failure goes to process->why. For
 * kernel_serving() and tests. */
void kernel_serving_read(struct serving_process *, const char *text, size_t len);
