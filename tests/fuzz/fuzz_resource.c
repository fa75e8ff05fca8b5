/* fuzz_resource.c - any list of resources and any listing of an archive: nothing leads out */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fuzz.h"

#include "plugin/plugin_versions.h"

static int run(const uint8_t *data, size_t size, size_t piece, struct archive_list *l,
               struct err *e)
{
    archive_list_init(l, 1 << 20);
    for (size_t i = 0; i < size; i += piece) {
        size_t n = size - i < piece ? size - i : piece;
        char *exact = malloc(n);
        memcpy(exact, data + i, n);
        archive_list_feed(l, (struct str){exact, n});
        free(exact);
    }
    int rc = archive_list_end(l, e);
    archive_list_done(l);
    return rc;
}

static void named(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    const struct resource_named *all, *again;
    uint32_t n, m;
    struct err e;
    if (resources_read(&mem, (struct str){(const char *)data, size}, &all, &n, &e) < 0)
        return;
    for (uint32_t i = 0; i < n; i++) {
        char file[RESOURCE_FILE_BYTES];
        resource_file_name(&all[i], file);
        fuzz_must(!strchr(file, '/') && strlen(file) > DIGEST_HEX, "a name of one file");
    }
    resources_write(&text, all, n);
    fuzz_must(resources_read(&mem, buf_str(&text), &again, &m, &e) == 0 && m == n,
              "what is written can be read");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct archive_list one, many;
    struct err e = {0}, f = {0};
    int a = run(data, size, size ? size : 1, &one, &e), b = run(data, size, 3, &many, &f);
    fuzz_must(a == b && one.bytes == many.bytes && one.entries == many.entries,
              "pieces do not matter");
    fuzz_must(a == 0 || e.text[0], "a refusal says why");
    fuzz_must(a != 0 || one.bytes <= 1 << 20, "what is let through is in bounds");
    named(data, size);
    return 0;
}
