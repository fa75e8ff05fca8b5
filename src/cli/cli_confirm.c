/* cli_confirm.c - a question before something is destroyed
 *
 * Asked only where somebody can answer: a script that says `delete` means it, and must not hang.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "cli/cli_i.h"
#include "cli/term_i.h"

bool cli_confirm_wanted(const struct cli *c)
{
    return c->env->in_tty && c->env->err_tty && !cli_has(c, "yes");
}

int cli_confirm(struct cli *c, const char *question, struct err *e)
{
    SCOPED_BUF(clean);
    char answer[16] = "";
    term_clean(&clean, question, strlen(question), 0);
    (void)fflush(c->env->out);
    (void)fprintf(c->env->err, "%s [y/N] ", buf_str(&clean).s);
    (void)fflush(c->env->err);
    bool answered = fgets(answer, sizeof answer, c->env->in) != NULL;
    if (!answered)
        (void)fputc('\n',
                    c->env->err); /* whoever ended the input is still on the question's line */
    answer[strcspn(answer, "\r\n")] = '\0';
    if (!strcasecmp(answer, "y") || !strcasecmp(answer, "yes"))
        return 0;
    err_set(e, ERR_REFUSED, "not confirmed; nothing was changed");
    return err_hint(e, "--yes goes on without a question");
}
