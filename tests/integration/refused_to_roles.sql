-- What would make whoever breaks into a process a client, an operator, a forger or a spy.

-- shop_web
UPDATE workers_journal SET actor = 'nobody';
DELETE FROM workers_journal;
DELETE FROM orders_order;
DELETE FROM orders_deadletter;
DELETE FROM workers_step;
DELETE FROM desk_note;
DELETE FROM workers_receivedwebhook;
DROP TABLE workers_step;
CREATE TABLE mine (id int);
UPDATE orders_order SET total = 1;
UPDATE orders_order SET submitter = 'mine';
UPDATE orders_orderline SET quantity = 1;
UPDATE orders_deadletter SET body = '';
UPDATE orders_deadletter SET sender = 'acme';
INSERT INTO orders_deadletter (sender) VALUES ('acme');
UPDATE orders_droppedletters SET count = 0;
UPDATE orders_reservation SET quantity = 0;
INSERT INTO orders_reservation (key) VALUES ('mine');
UPDATE workers_hold SET began_by = 'ann';
UPDATE workers_hold SET reason = 'none';
UPDATE desk_note SET text = 'all is well';
UPDATE workers_receivedwebhook SET message_id = 'mine';
INSERT INTO workers_flow (agent) VALUES ('mine');
UPDATE desk_minute SET at = now();
UPDATE desk_proberesult SET level = 'ok';

-- shop_worker
SELECT password FROM auth_user;
SELECT digest FROM orders_apitoken;
SELECT session_key FROM django_session;
SELECT body FROM orders_deadletter;
SELECT reason FROM workers_undorequest;
SELECT text FROM desk_note;
UPDATE workers_journal SET actor = 'nobody';
DELETE FROM workers_process;
DELETE FROM workers_step;
DELETE FROM workers_hold;
DELETE FROM workers_flow;
DELETE FROM orders_order;
CREATE TABLE mine (id int);
UPDATE orders_product SET price = 1;
UPDATE orders_order SET total = 1;
UPDATE orders_reservation SET quantity = 0;
UPDATE orders_apiclient SET webhook_secret = 'mine';
UPDATE workers_hold SET ended_at = now();
INSERT INTO workers_receivedwebhook (provider) VALUES ('mine');
UPDATE workers_receivedwebhook SET message_id = 'mine';
INSERT INTO workers_flow (agent) VALUES ('mine');
UPDATE workers_flow SET "window" = 9999;
UPDATE workers_flow SET rate_per_second = NULL;
UPDATE workers_flow SET forced = 'closed';
INSERT INTO desk_bulkjob (verb) VALUES ('cancel');
UPDATE desk_bulkjob SET verb = 'cancel';
UPDATE desk_bulkjob SET actor = 'ann';
UPDATE desk_bulkjob SET reason = 'none';
INSERT INTO desk_bulkitem (job_id) VALUES (1);
UPDATE desk_bulkitem SET process_id = 1;
UPDATE workers_alert SET code = 'noise';
UPDATE workers_alert SET acknowledged_by_id = 1;
UPDATE workers_alert SET comment = 'all is well';
UPDATE desk_incident SET assignee_id = 1;
UPDATE desk_incident SET severity = 1;
UPDATE desk_route SET address = 'mine@example.org';
INSERT INTO workers_undorequest (verb) VALUES ('cancel');
UPDATE workers_undorequest SET state = 'approved';
UPDATE django_celery_beat_periodictask SET task = 'mine';

-- shop_beat
SELECT input FROM workers_process;
SELECT password FROM auth_user;
SELECT customer_email FROM orders_order;
INSERT INTO django_celery_beat_intervalschedule (every) VALUES (1);
INSERT INTO workers_journal (actor) VALUES ('ann');
CREATE TABLE mine (id int);

-- shop_consumer
SELECT webhook_secret FROM orders_apiclient;
SELECT old_webhook_secret FROM orders_apiclient;
SELECT secret FROM orders_order;
SELECT customer_email FROM orders_order;
SELECT input FROM workers_process;
SELECT result FROM workers_step;
SELECT actor FROM workers_journal;
SELECT comment FROM workers_alert;
SELECT password FROM auth_user;
SELECT session_key FROM django_session;
INSERT INTO orders_apitoken (prefix) VALUES ('mine');
INSERT INTO orders_product (sku) VALUES ('MINE');
INSERT INTO workers_hold (kind) VALUES ('everything');
CREATE TABLE mine (id int);
