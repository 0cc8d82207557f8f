-- Signed-in browsers. The cookie holds 256 random bits, of which only the hash is kept. A session ends with the key that opened it.
CREATE TABLE web_sessions (
    hash BYTEA PRIMARY KEY,
    credential TEXT NOT NULL REFERENCES credentials (id),
    created_at BIGINT NOT NULL,
    used_at BIGINT NOT NULL
);
CREATE INDEX web_sessions_by_use ON web_sessions (used_at);

-- One-time links that open a session. A ticket is spent by the form on its page, never by the link alone.
CREATE TABLE web_tickets (
    hash BYTEA PRIMARY KEY,
    credential TEXT NOT NULL REFERENCES credentials (id),
    expires_at BIGINT NOT NULL
);
CREATE INDEX web_tickets_by_end ON web_tickets (expires_at);
