/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Certificates of P-256 and one of RSA, valid until 2120 but for the expired one, which has the key
 * of the server. The server's names are disk.example and 10.0.0.1. The list revokes the client's
 * certificate. */
#pragma once

#define CERT_CA                                                                                    \
	"-----BEGIN CERTIFICATE-----\n"                                                            \
	"MIIBKzCB0qADAgECAgEBMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCWF1dGhvcml0\n"                       \
	"eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFDESMBAGA1UEAwwJ\n"                       \
	"YXV0aG9yaXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEGqOGicmLCBGBoI5u\n"                       \
	"iy3PBkcG/KX7WXet02YgeZEs1EbH26Iybz4jBS3qR1og4Rdco1UEoMD/MdyQU6xB\n"                       \
	"qP4F1qMTMBEwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAoZI2\n"                       \
	"ZeZfx/HVy3yOpJWuvCutA5+QSAM1qDdWz87HB6YCIDz+9LxzLt5qRjJV3VbZAV3t\n"                       \
	"D8ldywByzjujdM5vESNj\n"                                                                   \
	"-----END CERTIFICATE-----\n"
#define CERT_OTHER_CA                                                                              \
	"-----BEGIN CERTIFICATE-----\n"                                                            \
	"MIIBJzCBzqADAgECAgEBMAoGCCqGSM49BAMCMBIxEDAOBgNVBAMMB2Fub3RoZXIw\n"                       \
	"IBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBIxEDAOBgNVBAMMB2Fu\n"                       \
	"b3RoZXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAR50PBlSwD8SALNGnB/v/TY\n"                       \
	"copAcMKPO0ID72Asse5Y+dAIZG3P0S7if/uiMRYCKN+JMrrWNqmh1w0HEDNaJ9CE\n"                       \
	"oxMwETAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIBodoehCU5rn\n"                       \
	"uGim4dJKQtP27pDgIx4E8d0ZQs6ekZmUAiEAs04IQ36zzdB57P9rl18EsYP6rNK4\n"                       \
	"HUjoSI5dJCqmdi4=\n"                                                                       \
	"-----END CERTIFICATE-----\n"
#define CERT_CRL                                                                                   \
	"-----BEGIN X509 CRL-----\n"                                                               \
	"MIGzMFsCAQEwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJYXV0aG9yaXR5Fw0yMDAx\n"                       \
	"MDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFDASAgEEFw0yMDAxMDEwMDAwMDBa\n"                       \
	"MAoGCCqGSM49BAMCA0gAMEUCIAszU1JXaWzC2Glkq+jc0Msg543UzJP7oKu91xEq\n"                       \
	"r1BNAiEAxHFKKHHiBiJtQTKsUK7T8fy7CQspNMx36Z2KivuravE=\n"                                   \
	"-----END X509 CRL-----\n"
#define CERT_SERVER                                                                                \
	"-----BEGIN CERTIFICATE-----\n"                                                            \
	"MIIBNTCB3aADAgECAgECMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCWF1dGhvcml0\n"                       \
	"eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowETEPMA0GA1UEAwwG\n"                       \
	"c2VydmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqORaR287rDeUawCHSgB4\n"                       \
	"y7V3bbT57MNuh5FreAfuV5FihHH02C4Rd9+r9930BpjN95aRC6sxrMgRFcFcinRZ\n"                       \
	"DaMhMB8wHQYDVR0RBBYwFIIMZGlzay5leGFtcGxlhwQKAAABMAoGCCqGSM49BAMC\n"                       \
	"A0cAMEQCIBUthThPfvdSU7s2SaTMKJOfeL81LFn3exxiPFO4xfY1AiA+2m6ArzfL\n"                       \
	"Q5g2984LA1ILUcnpbHIcm8vNphfzeoa61w==\n"                                                   \
	"-----END CERTIFICATE-----\n"
#define CERT_SERVER_EXPIRED                                                                        \
	"-----BEGIN CERTIFICATE-----\n"                                                            \
	"MIIBNTCB3KADAgECAgEFMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCWF1dGhvcml0\n"                       \
	"eTAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEwMDAwMDBaMBIxEDAOBgNVBAMMB2V4\n"                       \
	"cGlyZWQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASo5FpHbzusN5RrAIdKAHjL\n"                       \
	"tXdttPnsw26HkWt4B+5XkWKEcfTYLhF336v33fQGmM33lpELqzGsyBEVwVyKdFkN\n"                       \
	"oyEwHzAdBgNVHREEFjAUggxkaXNrLmV4YW1wbGWHBAoAAAEwCgYIKoZIzj0EAwID\n"                       \
	"SAAwRQIgLmY6bbfy3KqF7kg6oNGc4hnGs1y6tfE9A27379t7zWMCIQDnLRvJ72sb\n"                       \
	"xHyUcPRQw8WcHNwd4svO66xuqILMwf0E0g==\n"                                                   \
	"-----END CERTIFICATE-----\n"
#define CERT_SERVER_KEY                                                                            \
	"-----BEGIN PRIVATE KEY-----\n"                                                            \
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0PQ3ewrOEG+lcFdn\n"                       \
	"GUmGFmb6mTbk9U7uLlp1OIHQjmOhRANCAASo5FpHbzusN5RrAIdKAHjLtXdttPns\n"                       \
	"w26HkWt4B+5XkWKEcfTYLhF336v33fQGmM33lpELqzGsyBEVwVyKdFkN\n"                               \
	"-----END PRIVATE KEY-----\n"
#define CERT_RSA                                                                                   \
	"-----BEGIN CERTIFICATE-----\n"                                                            \
	"MIICCjCCAbGgAwIBAgIBAzAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlhdXRob3Jp\n"                       \
	"dHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBoxGDAWBgNVBAMM\n"                       \
	"D3NlcnZlciB3aXRoIFJTQTCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEB\n"                       \
	"AN+G/sVvB27kNeGNy3YkkPevg16Cfp7g6SeVJ6tie06KvUAQL9/pVyOvioT9aJMV\n"                       \
	"LRyVMW6pcZ0oHe+xF47JiYy4lBywQXq4yG8VwD4VhOlfZp1HODGXFa3I4xU9zwKp\n"                       \
	"mEdJuWkzJSsZK0EGcn0zyNKs7mKvftHmTyI1boeub6LBX0y+GHRLedbbvqiTKkkh\n"                       \
	"YS/V9exQMrhoDr/t0wMX1hDvdb4l2e11oVmNoi/rEpO0Mqos8SC00sQC+gqQ3iAe\n"                       \
	"5fE66+uzGpa1Sh5eQHMOM1icnW52MGN/tfxaI80kzo8zeaYJS/TfAi5Vw5vJRhQz\n"                       \
	"frtvs4LbVyLl77zzUygJERUCAwEAAaMhMB8wHQYDVR0RBBYwFIIMZGlzay5leGFt\n"                       \
	"cGxlhwQKAAABMAoGCCqGSM49BAMCA0cAMEQCIGQMgBQIVkxpd0kcsKR2gwfoibVR\n"                       \
	"CfRFcDthZKu6G0OVAiAsmAVrAYn2mkS91V33ttzfgmM5hEgKh6SGFDOuzj6kZA==\n"                       \
	"-----END CERTIFICATE-----\n"
#define CERT_RSA_KEY                                                                               \
	"-----BEGIN PRIVATE KEY-----\n"                                                            \
	"MIIEvwIBADANBgkqhkiG9w0BAQEFAASCBKkwggSlAgEAAoIBAQDfhv7Fbwdu5DXh\n"                       \
	"jct2JJD3r4Negn6e4OknlSerYntOir1AEC/f6Vcjr4qE/WiTFS0clTFuqXGdKB3v\n"                       \
	"sReOyYmMuJQcsEF6uMhvFcA+FYTpX2adRzgxlxWtyOMVPc8CqZhHSblpMyUrGStB\n"                       \
	"BnJ9M8jSrO5ir37R5k8iNW6Hrm+iwV9Mvhh0S3nW276okypJIWEv1fXsUDK4aA6/\n"                       \
	"7dMDF9YQ73W+JdntdaFZjaIv6xKTtDKqLPEgtNLEAvoKkN4gHuXxOuvrsxqWtUoe\n"                       \
	"XkBzDjNYnJ1udjBjf7X8WiPNJM6PM3mmCUv03wIuVcObyUYUM367b7OC21ci5e+8\n"                       \
	"81MoCREVAgMBAAECggEAB7MdPIzOCz5WMs5RF2E8EyQbGNrS5MMnlOL46ljqmXKD\n"                       \
	"AV1tYL+nbkXCNkGKZCKjGqxy9vZkQP8cRODrSFJd6BiFlZVmtAUAdn8fz6OrH+TW\n"                       \
	"4o0M/PxQ1Vspo1YtNtDDu5TpC5wk6B6mVEeWEwUBImyti32zFyThTfLcO1VBaDBD\n"                       \
	"jgu1xLX/QBcCfwvwS/u4DLbEHpqgr6PTGsLMTfN92hGXYqGzD6APy2TNMBpeRJFR\n"                       \
	"+r+p657yTfXklRpUCxYCCmGY7+2drt07uuEnuUSm8jRzwK0dlzwkH/KksTV+2NjM\n"                       \
	"0V3mQ97a6lTbAf3r/8Vmlvv2vQfL0U3x4OaXx7ZhkwKBgQDzayIKtGtBTZ52SybV\n"                       \
	"hnYPIXfIo2mZdwQMC0vVBNGh7aQP9/G8o6COEzQ0kqbTC1TpyILo7fG38YfhF3t+\n"                       \
	"MzA6I4NF5+UAqjPC/aszRaG/q2LOhffnHXj/IVdLV68uuChHHAdQHy406xEsUK2E\n"                       \
	"Ua3LWNoq8izPXrr4PDa+wyvqJwKBgQDrFKqIg4RfFQglJd1aCtitPLZrueAonn2c\n"                       \
	"d0tnbUJQT5VlaKOfCaJWhqLYZBtTVAc5c4lpEO1pTi14bsGOQlEH9BZqIwpq1jt+\n"                       \
	"KAbXms/SjUI0Yuxd/GdKQ+AhG66oee0Dr6G/wkkfOsn3pNDM9uygddsiu5mDDHy1\n"                       \
	"EXAgsQzcYwKBgQCYOS8YsqtAM2IdZ/HpJiU+YRefiVHIfv0w6v+JP3I5aXtn4Q5z\n"                       \
	"gYAuWSQUnIFnCXcYnCQBtourFIh840p/KVPHh93YIaS8PbQRBMHDVpBIZM1tian2\n"                       \
	"BiBcrGUC4NrUxKWrkoOgP1+OCFK8+9cHIG0m9XG52ajcJcmW41D5CuSzkQKBgQDD\n"                       \
	"w4IADQW+6JTP2qhqw32NRnHjY/b33IReODni92mx15RhzrHzTuKRi60w5qyax+78\n"                       \
	"OOrFRANxHllfYVxuS2uPZAUGfge+0IjalhqckZ9fh6MKXRbZbcfWYI/VAmiAhIiL\n"                       \
	"+UaJmhGqoBpw0B/RkA+d0IecdP1x1IRFhTALCWXcYQKBgQDP0XDIWAiplxK2QirW\n"                       \
	"6V526R6vdZH+dPCfpe/xvqmaZDclusN1Ml46lSFNwr8We+8cXn+BoiHLYR08ObaK\n"                       \
	"SI2lNBzjO2Q6LT0fQC24qGv3ehk3559KBk5M38EjJxjwsG2TW3m+L4cofMamD9x3\n"                       \
	"Hi+kptMihM7yURQHpjbaYh4Jzw==\n"                                                           \
	"-----END PRIVATE KEY-----\n"
#define CERT_CLIENT                                                                                \
	"-----BEGIN CERTIFICATE-----\n"                                                            \
	"MIIBEjCBuaADAgECAgEEMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCWF1dGhvcml0\n"                       \
	"eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowEDEOMAwGA1UEAwwF\n"                       \
	"YWxpY2UwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARy9SPFh6mVdqq2Wx9xa3fs\n"                       \
	"GXldZ303+mkfsVidTW4okelOEhDzAjZOUpBr8eLUkgoqg3EdaDthl6UOZiVdwdPn\n"                       \
	"MAoGCCqGSM49BAMCA0gAMEUCIQCxDeldrGkw0+FD8npxAl6rBlJHi0dfRNh53+0K\n"                       \
	"vP5n7AIgPIV21fWHz6BXCmc2MCUTMxZXZzIrBJWz7yZK/2xYhhs=\n"                                   \
	"-----END CERTIFICATE-----\n"
#define CERT_CLIENT_KEY                                                                            \
	"-----BEGIN PRIVATE KEY-----\n"                                                            \
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgumHoGAO9WZCTMnr8\n"                       \
	"oFw0RXCjiIR8YlgCdBAFNzgu9D+hRANCAARy9SPFh6mVdqq2Wx9xa3fsGXldZ303\n"                       \
	"+mkfsVidTW4okelOEhDzAjZOUpBr8eLUkgoqg3EdaDthl6UOZiVdwdPn\n"                               \
	"-----END PRIVATE KEY-----\n"
