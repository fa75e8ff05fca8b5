/* jig_i.h - the jigs of this directory and the checks they share */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JIG_JIG_I_H
#define JIG_JIG_I_H

#include "jig/jig.h"

extern const struct jig jig_callback, jig_copy_files, jig_master_shell, jig_noop, jig_plugin,
    jig_puppet, jig_reboot, jig_rsync, jig_script, jig_shell, jig_test, jig_upload,
    jig_upload_files;

enum jig_param_type {
    PARAM_STRING,
    PARAM_STRINGS,
    PARAM_STRING_MAP,
    PARAM_MAP,
    PARAM_MAPS, /* a list of maps */
    PARAM_UINT,
    PARAM_BOOL
};
struct jig_param {
    const char *name;
    enum jig_param_type type;
};
/* The listed parameters have their types, if they are there; others are refused if `closed`, with
 * the nearest listed name as the hint.  Errors are at the JSON pointer of the parameter. */
int jig_params_check(const struct value *params, const struct jig_param *table, size_t n,
                     bool closed, struct err *e);
/* ERR_INVALID, "NAME WHY", at that parameter. */
int jig_param_refuse(struct err *e, const char *name, const char *why);

#endif
