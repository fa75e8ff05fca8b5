/* jig.c - the table of jigs */
/* SPDX-License-Identifier: Apache-2.0 */
#include "jig/jig.h"

#include "jig/jig_i.h"

static const struct jig *const jigs[] = {
    &jig_callback, &jig_copy_files, &jig_master_shell, &jig_noop,   &jig_plugin,
    &jig_puppet,   &jig_reboot,     &jig_rsync,        &jig_script, &jig_shell,
    &jig_test,     &jig_upload,     &jig_upload_files};

const struct jig *jig_at(size_t i)
{
    return i < sizeof jigs / sizeof jigs[0] ? jigs[i] : NULL;
}

const struct jig *jig_find(struct str name)
{
    for (size_t i = 0; i < sizeof jigs / sizeof jigs[0]; i++)
        if (str_is(name, jigs[i]->name))
            return jigs[i];
    return NULL;
}
