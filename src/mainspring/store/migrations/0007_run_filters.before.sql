-- Runs that failed or were cancelled are found among millions that did not. The rows of history do not
-- change when a run ends, so this costs the hot path nothing.
create index run_history_rare on mainspring.run_history (tenant_id, state, id) where state <> 'succeeded';
