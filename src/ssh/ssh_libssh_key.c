/* ssh_libssh_key.c - private keys and their certificates, kept between connections
 *
 * A thousand connections use one key: it is read once, and again when its file or the certificate
 * beside it changes.  A key with a passphrase is not asked for: nobody is there to answer, and
 * libssh would stop the whole loop at the terminal.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "ssh/ssh_libssh_i.h"

struct stamp { /* what changes when a file is written anew */
    struct timespec at;
    ino_t inode;
    off_t size;
};
struct entry {
    struct stamp key_stamp, cert_stamp;
    ssh_key keys[SSH_LIB_VARIANTS];
    const char *why; /* no plain key */
};
struct ssh_lib_keys {
    struct strmap entries;
};

struct ssh_lib_keys *ssh_lib_keys_new(void)
{
    return xcalloc(1, sizeof(struct ssh_lib_keys));
}

static void entry_clear(struct entry *n)
{
    for (size_t i = 0; i < SSH_LIB_VARIANTS; i++)
        SSH_KEY_FREE(n->keys[i]);
    n->why = NULL;
}

void ssh_lib_keys_free(struct ssh_lib_keys *k)
{
    for (size_t i = 0; i < k->entries.n; i++)
        if (k->entries.at[i].key) {
            struct entry *n = (struct entry *)k->entries.at[i].val;
            entry_clear(n);
            free(n);
        }
    strmap_done(&k->entries);
    free(k);
}

static struct stamp stamp_of(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return (struct stamp){0};
    return (struct stamp){st.st_mtim, st.st_ino, st.st_size};
}

static bool stamp_eq(const struct stamp *a, const struct stamp *b)
{
    return a->at.tv_sec == b->at.tv_sec && a->at.tv_nsec == b->at.tv_nsec && a->inode == b->inode &&
           a->size == b->size;
}

static int no_passphrase(const char *prompt, char *buf, size_t len, int echo, int verify,
                         void *userdata)
{
    (void)prompt, (void)buf, (void)len, (void)echo, (void)verify, (void)userdata;
    return -1;
}

static void entry_load(struct entry *n, const char *path, const char *cert_path)
{
    ssh_key cert = NULL;
    ssh_key *plain = &n->keys[SSH_LIB_PLAIN], *both = &n->keys[SSH_LIB_WITH_CERT];
    entry_clear(n);
    if (!n->key_stamp.inode) {
        n->why = "it is not there";
        return;
    }
    int rc = ssh_pki_import_privkey_file(path, NULL, no_passphrase, NULL, plain);
    if (rc != SSH_OK) {
        *plain = NULL;
        n->why = rc == SSH_EOF ? "it may not be read"
                               : "it is no private key, or one with a passphrase";
        return;
    }
    if (!n->cert_stamp.inode || ssh_pki_import_cert_file(cert_path, &cert) != SSH_OK)
        return;
    *both = ssh_key_dup(*plain);
    if (*both && ssh_pki_copy_cert_to_privkey(cert, *both) != SSH_OK)
        SSH_KEY_FREE(*both);
    ssh_key_free(cert);
}

ssh_key ssh_lib_key_get(struct ssh_lib_keys *k, const char *path, size_t variant,
                        const char **ret_why)
{
    uintptr_t known;
    struct entry *n;
    bool fresh = !strmap_get(&k->entries, str_of(path), &known);
    if (fresh) {
        n = xcalloc(1, sizeof *n);
        strmap_put(&k->entries, str_of(path), (uintptr_t)n);
    } else {
        n = (struct entry *)known;
    }
    SCOPED_BUF(cert);
    buf_printf(&cert, "%s-cert.pub", path);
    struct stamp key_now = stamp_of(path), cert_now = stamp_of(cert.data);
    if (fresh || !stamp_eq(&key_now, &n->key_stamp) || !stamp_eq(&cert_now, &n->cert_stamp)) {
        n->key_stamp = key_now;
        n->cert_stamp = cert_now;
        entry_load(n, path, cert.data);
    }
    *ret_why = variant == SSH_LIB_PLAIN ? n->why : NULL;
    return n->keys[variant];
}
