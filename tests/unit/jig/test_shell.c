/* test_shell.c - programs under the runner: what they get, what they answer, how they are ended */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>
#include <sys/stat.h>

#include "jig/bench.h"
#include "sys/runlock.h"

static char *lock_path(const struct bench *b)
{
    struct buf p = {0};
    buf_printf(&p, "%s/%s/%u", b->dir, JIG_LOCK_DIR, b->task);
    return buf_take(&p, NULL);
}

static void test_forms(struct bench *b)
{
    b->task = 1;
    is_int(bench_run(b, "shell", "{\"command\":[\"echo\",\"a  b\",\"$HOME\",\"\"]}"), OUTCOME_OK,
           "a command");
    is_text(TEXT(b->log[0]), "a  b $HOME \n", "is run as it stands, without a shell");
    is_int(bench_run(b, "shell", "{\"script\":\"x=1\\necho $((x + 1)); echo no >&2\\n\"}"),
           OUTCOME_OK, "a script");
    is_text(TEXT(b->log[0]), "2\n", "is run by a shell");
    is_text(TEXT(b->log[1]), "no\n", "with its errors apart");
    char *prog = fs_join(b->dir, "prog");
    struct err e;
    const char *text = "#!/bin/sh\necho \"$0 got $# $2\"\nexit 4\n";
    is_int(fs_write_atomic(prog, text, strlen(text), 0755, &e), 0, "a program");
    SCOPED_BUF(params);
    buf_printf(&params,
               "{\"file\":\"%s\",\"args\":[\"x\",\"y z\"],\"script\":\"mine\",\"command\":8}",
               prog);
    is_int(bench_run(b, "script", params.data), OUTCOME_FAILED, "is run by its path");
    has_text(TEXT(b->log[0]), "prog got 2 y z",
             "with its arguments, other parameters being its own");
    is_int(b->r.exit_code, 4, "and its status is told");
    is_text(b->r.text, "exit status 4", "in words too");
    free(prog);
}

static void test_surroundings(struct bench *b)
{
    setenv("SERVER_SECRET", "hush", 1);
    b->task = 2;
    b->attempt = 3;
    b->ask = 2;
    is_int(
        bench_start(b, "shell",
                    "{\"script\":\"cat; pwd; env | sort\",\"env\":{\"A\":\"x y\",\"LANG\":\"de\"},"
                    "\"cwd\":\"/usr\",\"n\":007}",
                    ""),
        -1000, "(JSON is JSON)");
    is_int(
        bench_start(b, "shell",
                    "{\"script\":\"cat; pwd; env | sort\",\"env\":{\"A\":\"x y\",\"LANG\":\"de\"},"
                    "\"cwd\":\"/usr\",\"n\":1.50}",
                    "{\"d\" : \"\\u00e9\"}"),
        0, "a task with data");
    bench_end(b);
    const char *log = TEXT(b->log[0]);
    has_text(log, "{\"params\":{\"script\":", "standard input has the parameters");
    has_text(log, "\"n\":1.50},", "byte for byte");
    has_text(log, ",\"data\":{\"d\" : \"\\u00e9\"},", "and the data");
    has_text(
        log,
        "\"task\":{\"id\":2,\"name\":\"a \\\"task\\\"\",\"attempt\":3,\"ask\":2,\"key\":\"key-1\"}",
        "and the task");
    has_text(log, "\"node\":{\"name\":\"n1.example\",\"address\":\"10.0.0.9\"}}\n", "and the node");
    has_text(log, "\n/usr\n", "the directory is the given one");
    has_text(log, "\nA=x y\n", "so is the environment");
    has_text(log, "\nLANG=de\n", "which wins over ours");
    has_text(log, "\nANNEAL_TASK=2\n", "ANNEAL_TASK");
    has_text(log, "\nANNEAL_ATTEMPT=3\n", "ANNEAL_ATTEMPT");
    has_text(log, "\nANNEAL_ASK=2\n", "ANNEAL_ASK");
    has_text(log, "\nANNEAL_KEY=key-1\n", "ANNEAL_KEY");
    has_text(log, "\nANNEAL_NODE=n1.example\n", "ANNEAL_NODE");
    has_text(log, "\nANNEAL_ADDRESS=10.0.0.9\n", "ANNEAL_ADDRESS");
    has_text(log, "\nPATH=", "PATH");
    ok(!strstr(log, "SERVER_SECRET"), "nothing else of our own environment");
    is_int(bench_run(b, "shell", "{\"script\":\"exit 0\",\"cwd\":\"/no/such\"}"), -ERR_NOT_FOUND,
           "a directory that does not exist");
    b->attempt = 4;
    b->ask = 0;
    is_int(bench_run(b, "shell", "{\"script\":\"pwd; cat /proc/$PPID/cmdline /proc/$$/cmdline\"}"),
           OUTCOME_OK, "arguments");
    ok(!strncmp(TEXT(b->log[0]), "/\n", 2), "the default directory is /");
    ok(!memmem(TEXT(b->log[0]), b->log[0].len, "cat /proc", 9), "and the script is in no argument");
    b->attempt = 1;
}

static void test_answers(struct bench *b)
{
    static const struct {
        const char *script, *returns;
        enum outcome outcome;
        int again_ms;
        const char *text;
    } cases[] = {
        {"echo '{\\\"port\\\":1}' >&3", "{\"port\":1}", OUTCOME_OK, 0, ""},
        {"echo '{\\\"port\\\":2}' >$ANNEAL_RESULT_FILE", "{\"port\":2}", OUTCOME_OK, 0, ""},
        {"echo '{\\\"a\\\":1}' >&3; echo '{}' >$ANNEAL_RESULT_FILE", "{\"a\":1}", OUTCOME_OK, 0,
         ""},
        {"exit 75", "", OUTCOME_AGAIN, 5000, ""},
        {"echo '{\\\"again_ms\\\":120}' >&3; exit 75", "{\"again_ms\":120}", OUTCOME_AGAIN, 120,
         ""},
        {"echo '{\\\"again_ms\\\":-5}' >&3; exit 75", "{\"again_ms\":-5}", OUTCOME_AGAIN, 5000, ""},
        {"echo nonsense >&3; exit 75", "", OUTCOME_AGAIN, 5000, ""},
        {"echo '[1]' >&3", "", OUTCOME_FAILED, 0, "unusable: a list, not a map"},
        {"echo '{\\\"a\\\":' >&3", "", OUTCOME_FAILED, 0, "what it returned is unusable"},
        {"head -c 1048577 /dev/zero >&3", "", OUTCOME_FAILED, 0, "more than 1048576 bytes"},
        {"head -c 1048577 /dev/zero >$ANNEAL_RESULT_FILE", "", OUTCOME_FAILED, 0,
         "larger than 1048576"},
        {"mkdir $ANNEAL_RESULT_FILE", "", OUTCOME_FAILED, 0, "not a regular file"},
        {"echo '{\\\"why\\\":1}' >&3; exit 3", "{\"why\":1}", OUTCOME_FAILED, 0, "exit status 3"},
        {"echo first >&2; echo '  ' >&2; printf 'no\\\\tspace' >&2; exit 9", "", OUTCOME_FAILED, 0,
         "exit status 9: no space"},
        {"echo only >&2; echo >&2; exit 9", "", OUTCOME_FAILED, 0, "exit status 9: only"},
        {"kill -SEGV $$", "", OUTCOME_FAILED, 0, "ended by signal 11"},
        {"exit 125", "", OUTCOME_FAILED, 0, "exit status 125"},
        {"exec /no/such", "", OUTCOME_FAILED, 0, "exit status 127"},
    };
    b->task = 3;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        SCOPED_BUF(params);
        b->attempt = (uint32_t)i + 1;
        buf_printf(&params, "{\"script\":\"%s\"}", cases[i].script);
        is_int(bench_run(b, "shell", params.data), cases[i].outcome, "outcome of: %s",
               cases[i].script);
        is_int(b->r.again_ms, cases[i].again_ms, "again in");
        is_text(TEXT(b->returns), cases[i].returns, "returns");
        has_text(b->r.text, cases[i].text, "says: %s", cases[i].text);
        is_int(b->finished, 1, "one result");
    }
    b->attempt = 40;
    is_int(bench_run(b, "shell", "{\"command\":[\"/no/such/program\"]}"), OUTCOME_FAILED,
           "a program that does not exist");
    has_text(b->r.text, "cannot run /no/such/program", "is named");
    char **names, *scratch = fs_join(b->dir, JIG_SCRATCH_DIR);
    size_t n;
    struct err e;
    is_int(fs_list(scratch, &names, &n, &e), 0, "the scratch directory");
    is_int(n, 1, "holds nothing but the directory that a task put there");
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    free(scratch);
    b->attempt = 1;
}

static void test_records(struct bench *b)
{
    b->task = 4;
    char *path = lock_path(b);
    int fd;
    struct run_record rec = {.task = 4, .attempt = 5, .runner = 1, .state = RUN_ENDED};
    is_int(bench_run(b, "shell", "{\"script\":\"test -s $ANNEAL_LOCK\"}"), OUTCOME_OK,
           "under a lock");
    ok(!fs_exists(path), "which a success removes");
    fd = runlock_open(path);
    is_int(runlock_write(fd, &rec), 0, "a record of attempt 5");
    b->attempt = 4;
    is_int(bench_run(b, "shell", "{\"script\":\"exit 0\"}"), OUTCOME_REFUSED,
           "attempt 4 is refused");
    has_text(b->r.text, "attempt 5 was started after this one", "and told why");
    b->attempt = 5;
    is_int(bench_run(b, "shell", "{\"script\":\"exit 0\"}"), OUTCOME_LOST,
           "attempt 5 is lost: it was started, by somebody else");
    rec.step = 2;
    is_int(runlock_write(fd, &rec), 0, "a record of its third step");
    b->step = 1;
    is_int(bench_run(b, "shell", "{\"script\":\"exit 0\"}"), OUTCOME_LOST,
           "its second one is lost: it was started too");
    b->step = 3;
    is_int(bench_run(b, "shell", "{\"script\":\"exit 3\"}"), OUTCOME_FAILED, "the fourth may run");
    is_int(bench_run(b, "shell", "{\"script\":\"exit 0\"}"), OUTCOME_LOST, "once");
    b->step = rec.step = 0;
    rec.state = RUN_HELD;
    is_int(runlock_write(fd, &rec), 0, "a record of attempt 5, never started");
    is_int(bench_run(b, "shell", "{\"script\":\"exit 0\"}"), OUTCOME_OK, "then it may run");
    close(fd);
    is_int(mkdir(path, 0700), 0, "a directory in the place of the lock");
    is_int(bench_run(b, "shell", "{\"script\":\"exit 0\"}"), OUTCOME_FAILED, "is a failure");
    has_text(b->r.text, "not started: anneal-runner: cannot open", "told as such");
    rmdir(path);
    free(path);
    b->attempt = 1;
    b->runner = "/no/runner";
    is_int(bench_run(b, "shell", "{\"script\":\"exit 0\"}"), -ERR_NOT_FOUND, "no runner, no start");
    b->runner = RUNNER_PATH;
}

static void cancel_now(struct bench *b)
{
    b->on_log = NULL;
    b->jig->cancel(b->run, 60000);
    b->jig->cancel(b->run, 60000);
}

static void cancel_hard(struct bench *b)
{
    b->on_log = NULL;
    b->jig->cancel(b->run, 60000);
    b->jig->cancel(b->run, 30);
}

static void kill_runner(struct bench *b)
{
    b->on_log = NULL;
    kill((pid_t)atoi(TEXT(b->log[0])), SIGKILL);
}

static void test_cancel(struct bench *b)
{
    b->task = 5;
    b->on_log = cancel_now;
    is_int(bench_run(b, "shell", "{\"script\":\"echo go; exec sleep 1000\"}"), OUTCOME_CANCELLED,
           "a cancelled program is ended");
    b->attempt = 2;
    b->on_log = cancel_now;
    is_int(
        bench_run(b, "shell",
                  "{\"script\":\"trap 'echo {} >&3; exit 0' TERM; echo go; sleep 1000 & wait\"}"),
        OUTCOME_OK, "one that succeeds all the same has succeeded");
    b->attempt = 3;
    b->on_log = cancel_now;
    is_int(
        bench_run(b, "shell", "{\"script\":\"trap 'exit 75' TERM; echo go; sleep 1000 & wait\"}"),
        OUTCOME_CANCELLED, "one that says not yet is not asked again");
    b->attempt = 4;
    b->on_log = cancel_hard;
    is_int(
        bench_run(b, "shell", "{\"script\":\"trap '' TERM; setsid sleep 1000 & echo $!; wait\"}"),
        OUTCOME_CANCELLED, "one that ignores TERM is killed after the shorter grace");
    ok(scratch_gone((pid_t)atoi(TEXT(b->log[0]))), "with all it has started");
    b->attempt = 5;
    b->on_log = kill_runner;
    is_int(bench_run(b, "shell", "{\"script\":\"echo $PPID; exec sleep 1000\"}"), OUTCOME_LOST,
           "if a stranger kills the runner, nobody knows");
    has_text(b->r.text, "the runner was ended by signal 9", "but that");
    for (b->attempt = 6; b->attempt < 16; b->attempt++) {
        b->on_log = NULL;
        is_int(bench_start(b, "shell", "{\"script\":\"exec sleep 1000\"}", ""), 0, "one more");
        b->jig->cancel(b->run, 60000);
        bench_end(b);
        is_int(b->r.outcome, OUTCOME_CANCELLED, "cancelled at once, before its runner is ready: %s",
               b->r.text);
    }
    b->attempt = 1;
}

static void test_caps(struct bench *b)
{
    b->task = 6;
    b->max_output = 100;
    is_int(bench_run(b, "shell", "{\"script\":\"head -c 5000 /dev/zero; echo x >&2\"}"), OUTCOME_OK,
           "caps");
    ok(b->r.truncated && b->log[0].len == 100 && b->log[1].len == 2, "hold for each stream");
    b->max_output = 1 << 20;
}

static void test_no_room(struct bench *b)
{
    struct rlimit old, small = {4096, RLIM_INFINITY};
    SCOPED_BUF(params);
    b->task = 7;
    buf_puts(&params, "{\"script\":\"");
    for (int i = 0; i < 10000; i++)
        buf_puts(&params, ":;");
    buf_puts(&params, "\"}");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    int rc = bench_run(b, "shell", TEXT(params));
    setrlimit(RLIMIT_FSIZE, &old);
    is_int(rc, -ERR_IO, "a script that cannot be written is not started");
    has_text(b->e.text, "cannot write", "and says so");
    char *scratch = fs_join(b->dir, JIG_SCRATCH_DIR);
    struct err e;
    is_int(fs_remove_tree(scratch, &e), 0, "no scratch directory");
    is_int(bench_run(b, "shell", "{\"script\":\":\"}"), -ERR_IO, "no place for a script");
    has_text(b->e.text, "cannot create", "which is told");
    free(scratch);
}

int main(void)
{
    struct bench b;
    bench_init(&b, RUNNER_PATH);
    test_forms(&b);
    test_surroundings(&b);
    test_answers(&b);
    test_records(&b);
    test_cancel(&b);
    test_caps(&b);
    test_no_room(&b);
    bench_done(&b);
    return tap_done();
}
