-- Corrections and roll-outs: two more reasons (a CHECK can only be changed by making the table
-- anew), in which operation what a parent returned was answered, and how many members of a roll-out
-- may fail before it stops.
ALTER TABLE grp ADD COLUMN stops INTEGER NOT NULL DEFAULT 0 CHECK (stops BETWEEN 0 AND 1);


ALTER TABLE operation RENAME TO operation_before;
CREATE TABLE operation (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    actor TEXT NOT NULL,
    class INTEGER NOT NULL CHECK (class BETWEEN 0 AND 2),
    created_ms INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 5),
    reason INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 36),
    held INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    served INTEGER NOT NULL,
    ended_ms INTEGER NOT NULL,
    total INTEGER NOT NULL,
    done INTEGER NOT NULL,
    failed INTEGER NOT NULL
) STRICT;
INSERT INTO operation
    SELECT id, tenant, realm, kind, title, actor, class, created_ms, state, reason, held, gone, 0,
           served, ended_ms, total, done, failed
    FROM operation_before;
DROP TABLE operation_before;

ALTER TABLE noderole RENAME TO noderole_before;
CREATE TABLE noderole (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    role TEXT NOT NULL,
    node INTEGER NOT NULL,
    first_task INTEGER NOT NULL,
    n_tasks INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    parents BLOB NOT NULL,
    cohort INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 8),
    target INTEGER NOT NULL CHECK (target BETWEEN 0 AND 2),
    reason INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 36),
    mode INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    operation INTEGER NOT NULL,
    grp INTEGER NOT NULL,
    run_count INTEGER NOT NULL,
    data INTEGER NOT NULL,
    inputs INTEGER NOT NULL
) STRICT;
INSERT INTO noderole
    SELECT id, tenant, realm, role, node, first_task, n_tasks, flags, parents, cohort, state,
           target, reason, mode, 0, generation, incarnation, operation, grp, run_count, data, inputs
    FROM noderole_before;
DROP TABLE noderole_before;

ALTER TABLE task RENAME TO task_before;
-- READY (1) is never stored: it follows from the rest and is derived at load.
CREATE TABLE task (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    weight INTEGER NOT NULL,
    span INTEGER NOT NULL,
    deps BLOB NOT NULL,
    rule INTEGER NOT NULL CHECK (rule & 127 BETWEEN 0 AND 7),
    noderole INTEGER NOT NULL,
    def INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 9 AND state <> 1),
    reason INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 36),
    attempt INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    wake_ms INTEGER NOT NULL,
    done_digest INTEGER NOT NULL,
    last INTEGER NOT NULL
) STRICT;
INSERT INTO task
    SELECT id, tenant, realm, weight, span, deps, rule, noderole, def, state, reason, attempt,
           tries, wake_ms, done_digest, last
    FROM task_before;
DROP TABLE task_before;

-- Rows have another form and the engine other rules: what was journalled before cannot be replayed
-- by them.  Without a row of settings the next server begins with a checkpoint of what is stored.
DELETE FROM checkpoint;
DELETE FROM settings;
