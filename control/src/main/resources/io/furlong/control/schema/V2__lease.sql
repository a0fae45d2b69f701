-- Who leads, when several control planes share the database. The fence rises with each change of leader; a write is
-- accepted only under the fence of its writer. Times are milliseconds by the database's clock.
CREATE TABLE lease (
    name       TEXT   PRIMARY KEY,
    holder     TEXT   NOT NULL,
    fence      BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
