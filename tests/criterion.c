/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Linked to all programs that use Criterion's library. It begins a process for each test, where
 * libgit2, which it uses to show differences, parses all certificates of the system by mbedTLS. A
 * third of the CPU time of most tests went there. */

int mbedtls_x509_crt_parse_file(void *chain, const char *path);

int mbedtls_x509_crt_parse_file(void *chain, const char *path)
{
	(void)chain;
	(void)path;
	return 0;
}
