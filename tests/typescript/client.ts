// A program of somebody else's: its types are made of the published description.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const [baseUrl, token, sku] = process.argv.slice(2) as [string, string, string];
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

// What may be left out is left out, and a number may look like 2.0 in other languages.
const body: components["schemas"]["OrderIn"] = {
  customer: { name: "Ada Lovelace", email: "ada@example.org", address: "12 St James's Square\nLondon" },
  lines: [{ sku, quantity: 2 }],
};
const key = (value: string) => ({ header: { "Idempotency-Key": value } });

const placed = await client.POST("/api/v1/orders", { params: key("ts-1"), body });
assert.equal(placed.response.status, 201, JSON.stringify(placed.error));
assert(placed.data);
const order = placed.data;
const state: "pending" | "processing" | "processed" | "error" | "compensating" | "compensated" | "cancelled" =
  order.state;
assert.equal(state, "pending");
assert.equal(placed.response.headers.get("Location"), `/api/v1/orders/${order.id}`);
assert.equal(placed.response.headers.get("Cache-Control"), "no-store");

const again = await client.POST("/api/v1/orders", { params: key("ts-1"), body });
assert.equal(again.response.status, 200);
assert.equal(again.data?.id, order.id);

const other = await client.POST("/api/v1/orders", { params: key("ts-1"), body: { ...body, reference: "x" } });
assert.equal(other.response.status, 422);
assert.equal(other.error?.code, "key-reused");

const refused = await client.POST("/api/v1/orders", {
  params: key("ts-2"),
  body: { ...body, lines: [{ sku, quantity: 0 }] },
});
assert.equal(refused.error?.errors?.[0]?.field, "lines.0.quantity");
const page = await fetch(new URL(refused.error!.type, baseUrl));
assert.equal(page.status, 200);
assert.match(await page.text(), /fields-invalid/);

const path = { public_id: order.id.toUpperCase() };
const shown = await client.GET("/api/v1/orders/{public_id}", { params: { path, query: { wait: 0.1 } } });
assert.equal(shown.data?.steps[0]?.failure_count, 0);

const journal = await client.GET("/api/v1/orders/{public_id}/journal", { params: { path } });
assert.equal(journal.data?.events[0]?.event, "submitted");

const listed = await client.GET("/api/v1/orders", { params: { query: { state: "pending", limit: 1 } } });
assert.deepEqual(listed.data?.orders.map((one) => one.number), [order.number]);

const cancelled = await client.POST("/api/v1/orders/{public_id}/cancel", { params: { path } });
assert.equal(cancelled.response.status, 202, JSON.stringify(cancelled.error));

const answer: components["schemas"]["CallbackIn"] = { fault: { kind: "refused", code: "no" , message: "" } };
const unknown = await client.POST("/api/v1/callbacks/{token}", { params: { path: { token: "none" } }, body: answer });
assert.equal(unknown.error?.code, "not-found");

console.log("done");
