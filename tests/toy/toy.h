/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A block protocol as small as one can be, to show what a protocol needs on core/target and what it
 * gets there for nothing. One disk over TCP. Both sides send frames of 16 bytes, some with bytes
 * behind them:
 *
 *  host     HELLO (len: of its name, which follows)
 *  target   WELCOME (len: block size, off: disk size)
 *  host     READ, WRITE (flag 1: on stable storage), FLUSH: tag, off, len
 *  target   GRANT: tag, off (in the command's data), len: the host may send that much
 *  host     DATA: tag, len; as much as the grant, in as many frames as it likes
 *  target   DATA: tag, off, len
 *  target   DONE: tag, len: 0 or an errno */
#pragma once
#include "target.h"
#include "wire.h"

#define TOY_NAME  32
#define TOY_DEPTH 16           /* commands at once on one connection */
#define TOY_MOST  (512u << 10) /* bytes of one command */

enum toy_what {
	TOY_HELLO = 1,
	TOY_WELCOME,
	TOY_READ,
	TOY_WRITE,
	TOY_FLUSH,
	TOY_GRANT,
	TOY_DATA,
	TOY_DONE
};
#define TOY_FUA 1

struct toy_frame {
	uint8_t what, flags;
	be16 tag;
	be32 len;
	be64 off;
};

struct toy_target {
	struct target target; /* first */
};
extern const struct target_proto toy_proto;
