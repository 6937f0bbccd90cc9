// Searches a collection of a crossview server by a vector or by a picture, and prints a line for each hit.
//
//     npm install
//     node search.js localhost:50051 pets --vector 0.1,0.7,0.2 --view clip
//     node search.js localhost:50051 pets --image cat.jpg -k 3
//
// The environment variable CROSSVIEW_KEY has the key of a server with keys. With --ca FILE, the connection uses TLS,
// and the server must have a certificate that an authority of the file signed.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const PROTO = fileURLToPath(new URL("../../proto", import.meta.url));
const USAGE =
  "usage: node search.js ADDRESS COLLECTION (--vector NUMBERS --view VIEW | --image FILE) [--view VIEW] [--space SPACE] " +
  "[-k HITS] [--ca FILE]";
const SECONDS = 30;

/** Return the client of the search service at an address. */
function connect(address, ca) {
  const options = { includeDirs: [PROTO], keepCase: true, defaults: true, enums: String, longs: String, oneofs: true };
  const { crossview } = grpc.loadPackageDefinition(loadSync("crossview/v1/search.proto", options));
  const credentials = ca ? grpc.credentials.createSsl(readFileSync(ca)) : grpc.credentials.createInsecure();
  return new crossview.v1.SearchService(address, credentials);
}

/** Return the response to a search; reject with the status of the server. */
function search(client, request) {
  const headers = new grpc.Metadata();
  if (process.env.CROSSVIEW_KEY) {
    headers.set("authorization", `Bearer ${process.env.CROSSVIEW_KEY}`);
  }
  const deadline = Date.now() + 1000 * SECONDS;
  return new Promise((resolve, reject) => {
    client.Search(request, headers, { deadline }, (error, response) => (error ? reject(error) : resolve(response)));
  });
}

/** Return the arguments of the command line; exit with the usage if they are wrong. */
function parsed() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        ...Object.fromEntries(["vector", "image", "view", "space", "ca"].map((name) => [name, { type: "string" }])),
        k: { type: "string", short: "k", default: "10" },
      },
    });
    const [address, collection, ...others] = positionals;
    if (!collection || others.length || Boolean(values.vector) === Boolean(values.image)) {
      throw new Error("give an address, a collection, and either --vector or --image");
    }
    if (!Number.isInteger(Number(values.k))) {
      throw new Error(`-k must be a whole number, not ${values.k}`);
    }
    if (values.vector && !values.view) {
      throw new Error("--vector needs the --view that it is a row of");
    }
    return { address, collection, ...values };
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

const given = parsed();
const input = given.image
  ? { image: readFileSync(given.image) }
  : { vector: { values: given.vector.split(",").map(Number) } };
const client = connect(given.address, given.ca);
try {
  const { results } = await search(client, {
    parent: `collections/${given.collection}`,
    space: given.space,
    k: Number(given.k),
    queries: [{ view: given.view, ...input }],
  });
  for (const { target, hits } of results) {
    for (const hit of hits) {
      console.log([hit.distance.toFixed(4), hit.key, hit.target || target, hit.labels.join(" ")].join("\t"));
    }
  }
} catch (error) {
  console.error(`${grpc.status[error.code] ?? "ERROR"}: ${error.details ?? error.message}`);
  process.exitCode = 1;
} finally {
  client.close();
}
