-- The first schema.  Columns follow src/model/rows.h, which says what they mean; numbers in CHECK
-- follow src/model/states.h; a test compares both.  Every table is keyed by the rowid, so that rows
-- written together lie together.  A 64-bit number is kept as the signed number of the same bits.
--
-- There is no index on a state: states change with every step, and the server finds what it wants
-- in memory.

CREATE TABLE meta (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    group_no INTEGER NOT NULL,
    journal_seq INTEGER NOT NULL,
    now_ms INTEGER NOT NULL,
    next_node INTEGER NOT NULL,
    next_noderole INTEGER NOT NULL,
    next_task INTEGER NOT NULL,
    next_operation INTEGER NOT NULL,
    next_def INTEGER NOT NULL,
    next_span INTEGER NOT NULL,
    next_pool INTEGER NOT NULL,
    next_group INTEGER NOT NULL,
    next_deployment INTEGER NOT NULL,
    next_token INTEGER NOT NULL,
    catalog INTEGER NOT NULL,
    suspect INTEGER NOT NULL,
    run_no INTEGER NOT NULL,
    tenant_floor INTEGER NOT NULL,
    capacity INTEGER NOT NULL,
    freeze INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    engine TEXT NOT NULL
) STRICT;

CREATE TABLE tenant (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    name TEXT NOT NULL,
    served INTEGER NOT NULL,
    floor INTEGER NOT NULL,
    share INTEGER NOT NULL,
    wish INTEGER NOT NULL,
    gone INTEGER NOT NULL
) STRICT;

CREATE TABLE token (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    revoked INTEGER NOT NULL CHECK (revoked BETWEEN 0 AND 1)
) STRICT;
CREATE UNIQUE INDEX token_hash ON token (hash);

CREATE TABLE deployment (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    name TEXT NOT NULL,
    parent INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX deployment_name ON deployment (tenant, name);

CREATE TABLE catalog (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    digest TEXT NOT NULL,
    origin TEXT NOT NULL,
    loaded_ms INTEGER NOT NULL,
    files TEXT NOT NULL
) STRICT;

CREATE TABLE jig (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    name TEXT NOT NULL,
    active INTEGER NOT NULL,
    slots INTEGER NOT NULL
) STRICT;

CREATE TABLE pool (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    elsewhere INTEGER NOT NULL,
    closed INTEGER NOT NULL CHECK (closed BETWEEN 0 AND 1),
    note TEXT NOT NULL
) STRICT;

CREATE TABLE grp (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    name TEXT NOT NULL,
    may_fail INTEGER NOT NULL
) STRICT;

CREATE TABLE node (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    name TEXT NOT NULL,
    available INTEGER NOT NULL CHECK (available BETWEEN 0 AND 1),
    alive INTEGER NOT NULL CHECK (alive BETWEEN 0 AND 3),
    slots INTEGER NOT NULL,
    machine INTEGER NOT NULL,
    boot INTEGER NOT NULL,
    silent_ms INTEGER NOT NULL,
    probes INTEGER NOT NULL,
    away_until_ms INTEGER NOT NULL,
    gone INTEGER NOT NULL CHECK (gone BETWEEN 0 AND 1)
) STRICT;
CREATE UNIQUE INDEX node_name ON node (tenant, name) WHERE gone = 0;

CREATE TABLE node_body (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    deployment INTEGER NOT NULL,
    leaving INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE def (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    jig INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    repeat INTEGER NOT NULL CHECK (repeat BETWEEN 0 AND 2),
    hold INTEGER NOT NULL CHECK (hold BETWEEN 0 AND 1),
    flags INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    backoff_ms INTEGER NOT NULL,
    timeout_ms INTEGER NOT NULL,
    deadline_ms INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

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
    reason INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 34),
    held INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    served INTEGER NOT NULL,
    ended_ms INTEGER NOT NULL,
    total INTEGER NOT NULL,
    done INTEGER NOT NULL,
    failed INTEGER NOT NULL
) STRICT;

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
    reason INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 34),
    mode INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    operation INTEGER NOT NULL,
    grp INTEGER NOT NULL,
    run_count INTEGER NOT NULL,
    data INTEGER NOT NULL,
    inputs INTEGER NOT NULL
) STRICT;

CREATE TABLE document (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    deployment INTEGER NOT NULL,
    user TEXT NOT NULL,
    system TEXT NOT NULL,
    wall TEXT NOT NULL,
    lens INTEGER NOT NULL
) STRICT;

CREATE TABLE lens (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE span (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    pools BLOB NOT NULL,
    held INTEGER NOT NULL
) STRICT;

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
    reason INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 34),
    attempt INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    wake_ms INTEGER NOT NULL,
    done_digest INTEGER NOT NULL,
    last INTEGER NOT NULL
) STRICT;

-- Numbered as they start: a task's attempts are found from task.last by way of `previous`.
CREATE TABLE attempt (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    task INTEGER NOT NULL,
    number INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    node INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    operation INTEGER NOT NULL,
    started_ms INTEGER NOT NULL,
    started_wall_ms INTEGER NOT NULL,
    behind INTEGER NOT NULL,
    input INTEGER NOT NULL,
    turn_ms INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    asks INTEGER NOT NULL,
    wake_ms INTEGER NOT NULL,
    deadline_ms INTEGER NOT NULL,
    ended_ms INTEGER NOT NULL,
    exit_code INTEGER NOT NULL,
    phase INTEGER NOT NULL,
    note TEXT NOT NULL
) STRICT;
-- Attempts that have not ended: what a restart must read, however long the history.
CREATE INDEX attempt_open ON attempt (id) WHERE outcome = 255;
-- The history of an operation, in the order in which attempts started; not those sent ahead that never began.
CREATE INDEX attempt_operation ON attempt (operation, id) WHERE behind = 0 OR turn_ms <> 0;

-- How long tasks of a definition take; the id is drawn from its role, name and type.
CREATE TABLE pace (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    expected_us INTEGER NOT NULL,
    runs INTEGER NOT NULL
) STRICT;

-- Rows of noderole and task as bytes, newer than what lies in those tables.  The id is the group's
-- number and, in its lowest 12 bits, which part of it.
CREATE TABLE aside (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE name (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE doc (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE trie (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE snapshot (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    deployment INTEGER NOT NULL,
    number INTEGER NOT NULL,
    author TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    source INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
    root INTEGER NOT NULL,
    base INTEGER NOT NULL,
    catalog INTEGER NOT NULL,
    oldest INTEGER NOT NULL,
    operation INTEGER NOT NULL,
    ended_ms INTEGER NOT NULL,
    message TEXT NOT NULL
) STRICT;

CREATE TABLE role_store (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE overlay (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    scope INTEGER NOT NULL CHECK (scope BETWEEN 0 AND 1),
    barclamp TEXT NOT NULL,
    deployment INTEGER NOT NULL,
    graph TEXT NOT NULL,
    version INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    author TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    message TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;

-- Of a noderole with tasks of a graph: its last deploy, and what its tasks saw when they last
-- succeeded.
CREATE TABLE deploy_run (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    operation INTEGER NOT NULL,
    no_op INTEGER NOT NULL,
    common INTEGER NOT NULL,
    own INTEGER NOT NULL,
    seen TEXT NOT NULL
) STRICT;

CREATE TABLE deploy_doc (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;

-- A deployment that was made from a template; what is wanted of it is in its snapshots.
CREATE TABLE cluster (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    owner TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,
    next_number INTEGER NOT NULL,
    operation INTEGER NOT NULL,
    verb INTEGER NOT NULL,
    waiting TEXT NOT NULL
) STRICT;

-- What tasks told about a node of a cluster.
CREATE TABLE payload (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

-- What was said to providers, and by clusters in confidence; what is sensitive is sealed.
CREATE TABLE provider (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    name TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    type TEXT NOT NULL,
    fields TEXT NOT NULL,
    names TEXT NOT NULL,
    sealed TEXT NOT NULL
) STRICT;

CREATE TABLE credential (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    names TEXT NOT NULL,
    sealed TEXT NOT NULL
) STRICT;

-- Who has joined as a worker, and who may join once; only hashes of their secrets.
CREATE TABLE worker (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    name TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    hash TEXT NOT NULL,
    labels TEXT NOT NULL,
    draining INTEGER NOT NULL
) STRICT;

CREATE TABLE invite (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    hash TEXT NOT NULL,
    name TEXT NOT NULL,
    labels TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    used INTEGER NOT NULL
) STRICT;

-- Versions of what plugins work with; contents are files, named by digest.
CREATE TABLE resource (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    type TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    state INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotent (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    request INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    status INTEGER NOT NULL,
    reply TEXT NOT NULL
) STRICT;

CREATE TABLE plan (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    journal INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    wall_ms INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    actor TEXT NOT NULL,
    input TEXT NOT NULL,
    changes TEXT NOT NULL
) STRICT;

-- A checkpoint is whole once chunks 0, 1, ... up to the one marked last are there.
CREATE TABLE checkpoint (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    last INTEGER NOT NULL CHECK (last BETWEEN 0 AND 1),
    body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX checkpoint_chunk ON checkpoint (seq, chunk);
