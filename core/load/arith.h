/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Functions of libm, with which the program is not linked. */
#pragma once

double arith_log2(double x);        /* x > 0 */
double arith_exp(double x);         /* of at most 700; 0 below -700 */
double arith_normal_tail(double z); /* probability of a standard normal value above z >= 0 */
