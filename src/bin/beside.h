/* beside.h - what lies beside a program, or where it was installed */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BIN_BESIDE_H
#define BIN_BESIDE_H

char *beside_runner(void);  /* path of anneal-runner; heap */
char *beside_plugins(void); /* directory of the plugins that came with us; heap */
void beside_log_level(const char *name);
void beside_descriptors(void); /* as many as we may have */

#endif
