// The story by a client that openapi-typescript and openapi-fetch make from openapi.json alone.
import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const [address, name, ...files] = process.argv.slice(2) as [string, string, ...string[]];
const client = createClient<paths>({ baseUrl: address });
const parent = `collections/${name}`;
const pictures = files.map((file) => ({ key: file.split("/").pop()!, image: readFileSync(file).toString("base64") }));

/** Return the data of a response; throw its refusal. */
async function data<T>(response: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await response;
  if (data === undefined) {
    throw new Error(JSON.stringify(error));
  }
  return data;
}

await data(
  client.POST("/crossview.v1.CollectionService/CreateCollection", {
    body: { collectionId: name, views: ["color", "sift:words=8"] },
  }),
);
await data(
  client.POST("/crossview.v1.CollectionService/FitViews", {
    body: { parent, pictures: pictures.map(({ image }) => ({ image })) },
  }),
);
const report = await data(
  client.POST("/crossview.v1.CollectionService/ImportItems", {
    body: { parent, items: pictures.map((one) => ({ ...one, labels: [one.key.split("-")[0]!] })) },
  }),
);
console.log(`added ${report.added}`);
const space = await data(
  client.POST("/crossview.v1.CollectionService/Train", {
    body: { parent, learner: "cca", views: ["color", "sift"], dim: 2 },
  }),
);
console.log(`trained ${space.spec}`);
const found = await data(
  client.POST("/crossview.v1.SearchService/Search", {
    body: { parent, k: 1, queries: [{ view: "color", image: pictures[0]!.image }], targets: ["color"] },
  }),
);
console.log(`hit ${found.results![0]!.hits![0]!.key}`);
const counted = await data(
  client.GET("/crossview.v1.CollectionService/CountItems", {
    params: { query: { encoding: "json", message: JSON.stringify({ parent }) } },
  }),
);
console.log(`items ${counted.items}`);

const one: components["schemas"]["crossview.v1.Query"] = { key: "a" };
// @ts-expect-error: a query has one input
const two: components["schemas"]["crossview.v1.Query"] = { ...one, key: "a", text: "b" };
void two;
