/* chain_tool.c - packs chains for the shell test of the runner
 *
 *   chain_tool runner                      the runner's text, as it is sent
 *   chain_tool command ID                  what a node without a runner is asked to run
 *   chain_tool pack ID [OPTION...]         an archive on standard output
 *   chain_tool full ID [OPTION...]         the same with the runner in it
 *
 * Options come step by step; -x or -p ends a step, and all but the task's attempt start anew:
 *   -t TASK -a ATTEMPT -f FENCE -k ASK -s STEP -g GRACE_S -l LIMIT_S -o SINCE_S -i INPUT
 *   -e NAME=VALUE -c CWD
 *   -x SCRIPT      a script          -p WORD,WORD   a program
 *   -u PATH=TEXT   a file to put, mode 0644, directories 0755    -m PATH,PATH   paths to sum
 *   -U PATH=TEXT   the same, and there are more
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "reach/reach_i.h"

enum { ENV_MAX = 16, WORDS_MAX = 64, PUTS_MAX = 16 };
struct made {
    struct reach_variable env[ENV_MAX];
    const char *words[WORDS_MAX];
    struct reach_put puts[PUTS_MAX];
};

static uint32_t number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

static const char **split(const char **words, char *text, size_t *ret_n)
{
    size_t n = 0;
    for (char *at; (at = strsep(&text, ",")) && n + 1 < WORDS_MAX;)
        words[n++] = at;
    words[n] = NULL;
    *ret_n = n;
    return words;
}

/* True if the option ends the step. */
static bool option(int c, struct reach_step *s, struct made *m)
{
    size_t n;
    char *eq = strchr(optarg, '=');
    switch (c) {
    case 't': s->run.task = number(optarg); return false;
    case 'a': s->run.attempt = number(optarg); return false;
    case 'f': s->run.fence = number(optarg); return false;
    case 'k': s->run.ask = number(optarg); return false;
    case 's': s->run.step = number(optarg); return false;
    case 'g': s->grace_s = number(optarg); return false;
    case 'l': s->limit_s = number(optarg); return false;
    case 'o': s->since_s = number(optarg); return false;
    case 'i': s->input = str_of(optarg); return false;
    case 'c': s->cwd = optarg; return false;
    case 'e':
        *eq = '\0';
        m->env[s->env_n++] = (struct reach_variable){optarg, eq + 1};
        s->env = m->env;
        return false;
    case 'x':
        s->kind = REACH_SCRIPT;
        s->script = str_of(optarg);
        return true;
    case 'p':
        s->kind = REACH_ARGV;
        s->argv = split(m->words, optarg, &n);
        return true;
    case 'U':
    case 'u':
        *eq = '\0';
        m->puts[s->puts_n++] = (struct reach_put){
            .path = optarg, .content = str_of(eq + 1), .mode = 0644, .dir_mode = 0755};
        s->kind = REACH_PUT;
        s->puts = m->puts;
        return c == 'u';
    case 'm':
        s->kind = REACH_SUM;
        s->paths = split(m->words, optarg, &s->paths_n);
        return true;
    default: exit(2);
    }
}

int main(int argc, char **argv)
{
    static struct reach_step steps[REACH_STEPS_MAX + 1];
    static struct made made[REACH_STEPS_MAX + 1];
    struct reach_name name = {.nonce = "00112233445566778899aabbccddeeff"};
    SCOPED_BUF(archive);
    struct err e;
    size_t n = 0;
    if (argc == 2 && !strcmp(argv[1], "runner"))
        return fwrite(reach_runner_text().s, 1, reach_runner_text().n, stdout) == 0;
    if (argc < 3 || !reach_id_valid(argv[2]))
        return 2;
    if (!strcmp(argv[1], "command")) {
        reach_command_unpack(&archive, &(struct reach_options){0}, argv[2]);
        return puts(archive.data) < 0;
    }
    bool full = !strcmp(argv[1], "full");
    if (!full && strcmp(argv[1], "pack") != 0)
        return 2;
    memcpy(name.chain, argv[2], sizeof name.chain);
    optind = 3;
    steps[0] = (struct reach_step){.run = {.attempt = 1}, .umask_bits = 022};
    for (int c; (c = getopt(argc, argv, "t:a:f:k:s:g:l:o:i:e:c:x:p:U:u:m:")) != -1;) {
        if (n < REACH_STEPS_MAX && option(c, &steps[n], &made[n]))
            steps[++n] = (struct reach_step){.run = {.attempt = 1}, .umask_bits = 022};
    }
    if (reach_pack(steps, n, &name, full, &archive, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    return fwrite(archive.data, 1, archive.len, stdout) != archive.len;
}
