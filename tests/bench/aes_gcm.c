/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Seal TLS records of 16 KiB and print the MiB done in one second of CPU time. Usage: aes-gcm
 * KEY-BITS SECONDS, where SECONDS of CPU time are measured. */
#include "aes_gcm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RECORD  16384
#define BATCH   64
#define AD      5
#define PER_MIB (1048576 / RECORD)

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static uint8_t record[RECORD], key[32], nonce[AES_GCM_NONCE], tag[AES_GCM_TAG];
	unsigned bits = argc == 3 ? (unsigned)atoi(argv[1]) : 0;
	double seconds = argc == 3 ? atof(argv[2]) : 0, start, took;
	unsigned long long records = 0;
	struct aes_gcm *gcm;

	if ((bits != 128 && bits != 256) || seconds <= 0) {
		fprintf(stderr, "aes-gcm: usage: aes-gcm 128|256 SECONDS\n");
		return 2;
	}
	gcm = aes_gcm_new(key, bits / 8);
	if (!gcm)
		return 1;
	start = cpu_seconds();
	do {
		for (unsigned i = 0; i < BATCH; i++) {
			records++;
			memcpy(nonce, &records, sizeof(records));
			aes_gcm_start(gcm, nonce, "\27\3\3\100\21", AD, true);
			aes_gcm_update(gcm, record, record, sizeof(record));
			aes_gcm_finish(gcm, tag);
		}
		took = cpu_seconds() - start;
	} while (took < seconds);
	printf("%.0f\n", (double)records / PER_MIB / took);
	aes_gcm_free(gcm);
	return 0;
}
