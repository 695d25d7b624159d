/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* System calls that this process is refused from now on, as by a container's seccomp profile. */
#pragma once
#include <sys/syscall.h>

void forbid(long call, int err);
void forbid_io_uring(void); /* as containers do it: their default profiles refuse it since 2023 */
