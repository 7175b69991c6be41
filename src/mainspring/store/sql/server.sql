-- What the server stores for itself: tokens, and answers to requests that may be repeated.

-- name: create_token
-- A secret that is made of a salt may be made twice: then it is the same token.
-- $1 tenant  $2 kind  $3 role  $4 queues  $5 name  $6 digest  $7 by  $8 lives for so many seconds, or null
with made as (
  insert into mainspring.token (tenant_id, kind, role, queues, name, digest, created_by, expires_at)
  values ($1, $2::text::mainspring.token_kind, $3::text::mainspring.role, $4, $5, $6, $7,
    clock_timestamp() + $8::float8 * interval '1 second')
  on conflict (digest) do nothing
  returning id, name, role::text as role, queues, created_at, created_by, expires_at, revoked_at)
select * from made
union all
select id, name, role::text, queues, created_at, created_by, expires_at, revoked_at
from mainspring.token where digest = $6;

-- name: find_token
-- Who holds this secret, if it still counts. A link is no pass: it has to be exchanged.  $1 digest
select id, tenant_id, kind::text as kind, role::text as role, queues, name
from mainspring.token
where digest = $1 and kind <> 'link' and revoked_at is null
  and (expires_at is null or expires_at > clock_timestamp());

-- name: list_tokens
-- $1 tenant  $2 limit
select id, name, role::text as role, queues, created_at, created_by, expires_at, revoked_at
from mainspring.token where tenant_id = $1 and kind = 'token'
order by id desc limit $2;

-- name: revoke_token
-- Also says so of one that was revoked before.  $1 tenant  $2 its id
update mainspring.token set revoked_at = coalesce(revoked_at, clock_timestamp())
where tenant_id = $1 and id = $2 and kind = 'token'
returning id, name, role::text as role, queues, created_at, created_by, expires_at, revoked_at;

-- name: exchange_link
-- The link goes, a session comes: of two that use one link, the second finds none.
-- $1 digest of the link  $2 digest of the session  $3 the session lives for so many seconds
with link as (
  delete from mainspring.token
  where digest = $1 and kind = 'link' and revoked_at is null and expires_at > clock_timestamp()
  returning tenant_id, role, queues, name, created_by)
insert into mainspring.token (tenant_id, kind, role, queues, name, digest, created_by, expires_at)
select tenant_id, 'session', role, queues, name, $2, created_by,
  clock_timestamp() + $3::float8 * interval '1 second'
from link
returning id;

-- name: begin_answer
-- The key is this request's, if nobody had it, or had it so long ago without an answer that whoever
-- asked must be dead. Otherwise no row: `read_answer` tells.
-- $1 token  $2 key  $3 digest  $4 salt  $5 given up after so many seconds
insert into mainspring.answer as a (token_id, key, digest, salt) values ($1, $2, $3, $4)
on conflict (token_id, key) do update set begun_at = clock_timestamp()
where a.status is null and a.digest = excluded.digest
  and a.begun_at < clock_timestamp() - $5::float8 * interval '1 second'
returning salt;

-- name: read_answer
-- $1 token  $2 key
select digest, salt, status, content from mainspring.answer where token_id = $1 and key = $2;

-- name: keep_answer
-- $1 token  $2 key  $3 status  $4 content
update mainspring.answer set status = $3, content = $4
where token_id = $1 and key = $2 and status is null;

-- name: drop_answer
-- The request failed and may be tried again.  $1 token  $2 key
delete from mainspring.answer where token_id = $1 and key = $2 and status is null;

-- name: forget_answers
-- $1 begun before  $2 limit
with gone as (
  delete from mainspring.answer where ctid = any (array(
    select ctid from mainspring.answer where begun_at < $1 order by begun_at limit $2))
  returning 1)
select count(*)::int as forgotten from gone;

-- name: forget_sessions
-- $1 expired before  $2 limit
with gone as (
  delete from mainspring.token where ctid = any (array(
    select ctid from mainspring.token
    where kind <> 'token' and expires_at < $1 order by expires_at limit $2))
  returning 1)
select count(*)::int as forgotten from gone;
