-- What each role of PostgreSQL may do: run it as the owner after every `migrate`.
-- Web.
GRANT SELECT ON ALL TABLES IN SCHEMA public TO shop_web;
GRANT INSERT, UPDATE ON
  desk_bulkitem, desk_bulkjob, desk_delivery, desk_incident, desk_preferences, desk_route,
  desk_savedview,
  orders_apiclient, orders_apitoken, orders_product, orders_ratecount,
  workers_alert, workers_lease, workers_process, workers_sink, workers_step, workers_undorequest
  TO shop_web;
GRANT UPDATE ON workers_child, workers_childgroup TO shop_web;
GRANT INSERT ON
  desk_note, orders_order, orders_orderline, workers_attribute, workers_hold,
  workers_receivedwebhook, workers_spec
  TO shop_web;
-- Made at run time, and steered by operators.
GRANT INSERT, UPDATE, DELETE ON workers_limitedkey, workers_schedule TO shop_web;
GRANT UPDATE (customer_address, customer_email) ON orders_order TO shop_web;
GRANT UPDATE (state, corrected, resolved_at, resolved_by, comment, order_id)
  ON orders_deadletter TO shop_web;
GRANT UPDATE ON workers_flow TO shop_web;
GRANT UPDATE (ended_at, ended_by) ON workers_hold TO shop_web;
GRANT UPDATE (author_id) ON desk_note TO shop_web;
GRANT INSERT ON workers_journal TO shop_web;
GRANT DELETE ON
  desk_delivery, desk_preferences, desk_route, desk_savedview, orders_product, workers_attribute
  TO shop_web;
GRANT INSERT, UPDATE, DELETE ON
  auth_group, auth_group_permissions, auth_user, auth_user_groups, auth_user_user_permissions,
  axes_accessattempt, axes_accessattemptexpiration, axes_accessfailurelog, axes_accesslog,
  django_admin_log, django_session,
  django_celery_beat_clockedschedule, django_celery_beat_crontabschedule,
  django_celery_beat_intervalschedule, django_celery_beat_periodictask,
  django_celery_beat_periodictasks, django_celery_beat_solarschedule
  TO shop_web;
GRANT USAGE ON SEQUENCE orders_order_number_seq TO shop_web, shop_consumer, shop_worker;

-- For the triggers of steps.
GRANT SELECT, INSERT, UPDATE, DELETE ON workers_live TO shop_web, shop_worker;
GRANT SELECT, INSERT, UPDATE (agent, state, turn, not_before, look_at, is_deferred, limit_key)
  ON workers_live TO shop_consumer;

-- Workers.
GRANT SELECT, INSERT, UPDATE ON
  desk_delivery, workers_child, workers_childgroup, workers_lease, workers_process, workers_sink,
  workers_step
  TO shop_worker;
GRANT SELECT, INSERT ON
  desk_incident, desk_release, workers_alert, workers_attribute, workers_journal, workers_spec
  TO shop_worker;
GRANT SELECT ON
  desk_bulkitem, desk_bulkjob, workers_flow, workers_hold, workers_receivedwebhook
  TO shop_worker;
GRANT SELECT ON workers_installation TO shop_worker, shop_beat, shop_consumer;
GRANT UPDATE ON workers_installation TO shop_worker;
-- It may hold everything when commits may be lost; lifting is an operator's.
GRANT INSERT ON workers_hold TO shop_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON
  desk_gauge, desk_minute, desk_proberesult, workers_schedule, workers_worker
  TO shop_worker;
GRANT UPDATE (times, params, last_raised_at, resolved_at, acknowledged_at, group_id, money)
  ON workers_alert TO shop_worker;
GRANT UPDATE (state, params, members, total, money, last_at, snooze_until, resolved_at, reopened)
  ON desk_incident TO shop_worker;
GRANT UPDATE (state, refusal) ON desk_bulkitem TO shop_worker;
GRANT UPDATE (state, done, refused, tokens, refilled_at, ended_at, steered_by)
  ON desk_bulkjob TO shop_worker;
-- Breaker and tokens; windows and rates are an operator's.
GRANT UPDATE (unavailable_streak, opened_at, open_until, tokens, refilled_at)
  ON workers_flow TO shop_worker;
GRANT SELECT, INSERT (key, agent, next_at, full_at), UPDATE (next_at, full_at), DELETE
  ON workers_limitedkey TO shop_worker;
GRANT SELECT, UPDATE (muted_until) ON desk_route TO shop_worker;
GRANT SELECT (id, incident_id), DELETE ON desk_note TO shop_worker;
GRANT SELECT (id, process_id, state, sequence, asked_at), DELETE ON workers_undorequest
  TO shop_worker;
GRANT DELETE ON
  desk_bulkitem, desk_bulkjob, desk_delivery, desk_incident,
  workers_alert, workers_attribute, workers_journal, workers_receivedwebhook, workers_sink,
  orders_deadletter, orders_ratecount, django_session
  TO shop_worker;
GRANT SELECT ON
  orders_apiclient, orders_order, orders_orderline, orders_product, orders_ratecount,
  orders_reservation, orders_return
  TO shop_worker;
-- Deleted by date, unread: a session's key is its visitor's login.
GRANT SELECT (id, resolved_at, state, sender) ON orders_deadletter TO shop_worker;
GRANT SELECT (expire_date) ON django_session TO shop_worker;
GRANT UPDATE (stock) ON orders_product TO shop_worker;
GRANT INSERT, UPDATE (released_at) ON orders_reservation TO shop_worker;

GRANT SELECT ON django_migrations TO shop_worker, shop_beat, shop_consumer;

-- Beat.
GRANT SELECT ON
  django_celery_beat_clockedschedule, django_celery_beat_intervalschedule,
  django_celery_beat_solarschedule
  TO shop_beat;
GRANT SELECT, INSERT ON django_celery_beat_crontabschedule TO shop_beat;
GRANT SELECT, INSERT, UPDATE ON
  django_celery_beat_periodictask, django_celery_beat_periodictasks
  TO shop_beat;

-- Consumer.
GRANT SELECT ON orders_apitoken, orders_deadletter, orders_product, workers_hold TO shop_consumer;
GRANT UPDATE (last_used_at) ON orders_apitoken TO shop_consumer;
GRANT UPDATE (properties) ON orders_deadletter TO shop_consumer;
-- Clients without webhook secrets, orders without customers.
GRANT SELECT (id, name, is_active, requests_per_minute, old_webhook_secret_until, created_at)
  ON orders_apiclient TO shop_consumer;
GRANT SELECT (number, public_id, process_id, source, submitter, body_hash,
  reference, total, created_at) ON orders_order TO shop_consumer;
GRANT SELECT (id, uid, workflow, version, subject, state, lane, turn, submission_key, key_use,
  key_until, created_at, finished_at) ON workers_process TO shop_consumer;
GRANT SELECT (id) ON orders_orderline, workers_sink TO shop_consumer;
GRANT SELECT (digest) ON workers_spec TO shop_consumer;
GRANT SELECT (key, "window", rate_per_second, next_at) ON workers_limitedkey TO shop_consumer;
GRANT SELECT (sender, count, bytes), UPDATE (count, bytes, last_at)
  ON orders_droppedletters TO shop_consumer;
GRANT SELECT (cause, process_id, acknowledged_at, times, params, last_raised_at, group_id),
  UPDATE (times, params, last_raised_at, group_id)
  ON workers_alert TO shop_consumer;
GRANT INSERT ON
  orders_deadletter, orders_droppedletters, orders_order, orders_orderline,
  workers_alert, workers_attribute, workers_journal, workers_process, workers_sink, workers_spec,
  workers_step
  TO shop_consumer;
