-- Run once, by the first start of the database. The service is an ordinary role that owns its database and nothing else.
-- The administrator keeps no password: nobody logs in as postgres over the network, only inside the container.
\set ON_ERROR_STOP on
\set password `cat /run/secrets/database-password`
CREATE ROLE understudy LOGIN PASSWORD :'password';
CREATE DATABASE understudy OWNER understudy;
REVOKE CONNECT, TEMPORARY ON DATABASE understudy FROM PUBLIC;
REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC;
ALTER ROLE postgres PASSWORD NULL;
