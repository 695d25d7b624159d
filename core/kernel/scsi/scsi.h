/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logical units in /sys. */
#pragma once
#include "kernel_scsi.h"

#define SCSI_UNITS "sys/class/scsi_device"
