-- One row a registration. The document holds all of it; the columns are what is searched by.
CREATE TABLE registration (
    id       TEXT   PRIMARY KEY,
    name     TEXT   NOT NULL,
    tenant   TEXT   NOT NULL,
    ordinal  BIGINT NOT NULL UNIQUE,
    live     INTEGER NOT NULL,
    save     TEXT   NOT NULL,
    document TEXT   NOT NULL
);
-- At most one live registration a name.
CREATE UNIQUE INDEX registration_live_name ON registration (name) WHERE live = 1;
CREATE INDEX registration_name ON registration (name, ordinal);
CREATE INDEX registration_ended ON registration (live, ordinal);
CREATE INDEX registration_tenant ON registration (tenant, live, ordinal);
CREATE INDEX registration_save ON registration (save, ordinal);

-- One row a committed step: the version it made, its checkpoint, the ledger and the dataset's cursor as of then.
CREATE TABLE version (
    registration TEXT   NOT NULL REFERENCES registration (id),
    version      BIGINT NOT NULL,
    step         BIGINT NOT NULL,
    state        TEXT   NOT NULL,
    document     TEXT   NOT NULL,
    committed_at BIGINT NOT NULL,
    in_force_at  BIGINT,
    PRIMARY KEY (registration, version)
);

CREATE TABLE event (
    id           BIGINT PRIMARY KEY,
    at           BIGINT NOT NULL,
    tenant       TEXT   NOT NULL,
    adapter      TEXT   NOT NULL,
    registration TEXT   NOT NULL,
    kind         TEXT   NOT NULL,
    detail       TEXT   NOT NULL
);
CREATE INDEX event_tenant ON event (tenant, id);
CREATE INDEX event_adapter ON event (adapter, id);

CREATE TABLE tenant (
    name           TEXT    PRIMARY KEY,
    max_adapters   INTEGER NOT NULL,
    max_slots      INTEGER NOT NULL,
    tokens_per_day BIGINT  NOT NULL
);

-- Tokens are kept as SHA-256 only.
CREATE TABLE token (
    sha256     TEXT   PRIMARY KEY,
    tenant     TEXT   NOT NULL,
    label      TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

-- Generated tokens a tenant, adapter and day (UTC), as far as committed.
CREATE TABLE token_use (
    tenant  TEXT   NOT NULL,
    day     TEXT   NOT NULL,
    adapter TEXT   NOT NULL,
    tokens  BIGINT NOT NULL,
    PRIMARY KEY (tenant, day, adapter)
);

-- Requests that are to register at most once.
CREATE TABLE once (
    tenant       TEXT NOT NULL,
    key          TEXT NOT NULL,
    digest       TEXT NOT NULL,
    registration TEXT NOT NULL REFERENCES registration (id),
    PRIMARY KEY (tenant, key)
);
