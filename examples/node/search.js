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

import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

import { parsed, print, searchRequest } from "./arguments.js";

const PROTO = fileURLToPath(new URL("../../proto", import.meta.url));
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

const given = parsed("search.js", "ca");
const client = connect(given.address, given.ca);
try {
  print(await search(client, searchRequest(given, (bytes) => bytes)));
} catch (error) {
  console.error(`${grpc.status[error.code] ?? "ERROR"}: ${error.details ?? error.message}`);
  process.exitCode = 1;
} finally {
  client.close();
}
