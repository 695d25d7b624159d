/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logarithm, exponential and the normal distribution by series, to 11 digits or more. */
#include "arith.h"
#include <stdint.h>
#include <string.h>

#define LN2          0.693147180559945309417
#define SQRT2        1.41421356237309504880
#define INV_SQRT_2PI 0.398942280401432677940

double arith_log2(double x)
{
	double exponent = 0, y, sum = 0;
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (double)((int)(bits >> 52 & 0x7ff) - 1023);
	bits = (bits & 0xfffffffffffffull) | 1023ull << 52;
	memcpy(&x, &bits, sizeof(x));
	if (x > SQRT2) {
		x /= 2;
		exponent++;
	}
	y = (x - 1) / (x + 1);
	for (int i = 23; i > 0; i -= 2)
		sum = sum * y * y + 2. / i;
	return exponent + sum * y / LN2;
}

double arith_exp(double x)
{
	double small = x / 1024, sum = 1;

	if (x < -700)
		return 0;
	for (int i = 12; i > 0; i--)
		sum = 1 + sum * small / i;
	for (int i = 0; i < 10; i++)
		sum *= sum;
	return sum;
}

double arith_normal_tail(double z)
{
	double density = INV_SQRT_2PI * arith_exp(-z * z / 2), sum = z, term = z;

	if (z < 2) {
		for (int i = 1; i < 60; i++)
			sum += term *= z * z / (2 * i + 1);
		return 0.5 - density * sum;
	}
	for (int i = 100; i > 0; i--) /* Mills' ratio as a continued fraction */
		sum = z + i / sum;
	return density / sum;
}
