// The story by a client of Connect, whose code protoc-gen-es makes from the folder proto alone.
import { readFileSync } from "node:fs";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { CollectionService } from "./crossview/v1/collections_pb.js";
import { SearchService } from "./crossview/v1/search_pb.js";

const [address, name, ...files] = process.argv.slice(2);
const transport = createConnectTransport({ baseUrl: address, httpVersion: "1.1", useHttpGet: true });
const [collections, searches] = [createClient(CollectionService, transport), createClient(SearchService, transport)];
const parent = `collections/${name}`;
const pictures = files.map((file) => ({ key: file.split("/").pop(), image: readFileSync(file) }));

async function* messages() {
  yield { parent, pictures: pictures.map(({ image }) => ({ image })) };
}

await collections.createCollection({ collectionId: name, views: ["color", "sift:words=8"] });
await collections.fitViews(messages());
const items = pictures.map((one) => ({ ...one, labels: [one.key.split("-")[0]] }));
console.log(`added ${(await collections.importItems({ parent, items })).added}`);
const space = await collections.train({ parent, learner: "cca", views: ["color", "sift"], dim: 2 });
console.log(`trained ${space.spec}`);
const query = { view: "color", input: { case: "key", value: pictures[0].key } };
const image = { view: "color", input: { case: "image", value: pictures[0].image } };
const found = await searches.search({ parent, k: 1, queries: [image, query], targets: ["color"] });
console.log(`hit ${found.results[0].hits[0].key}`);
let stored;
const onHeader = (headers) => (stored = headers.get("cache-control"));
const counted = await collections.countItems({ parent }, { onHeader });
console.log(`items ${counted.items}`);
console.log(`by GET ${stored}`);
