// Searches a collection of a crossview server over HTTP, with JSON and without a package; otherwise as search.js.
//
//     node fetch.js http://localhost:8080 pets --vector 0.1,0.7,0.2 --view clip
//     node fetch.js https://pictures.example.org:8080 pets --image cat.jpg -k 3
//
// The environment variable CROSSVIEW_KEY has the key of a server with keys. NODE_EXTRA_CA_CERTS names a file of
// authorities that Node trusts besides its own.
import { parsed, print, searchRequest } from "./arguments.js";

const SECONDS = 30;

const given = parsed("fetch.js");
const headers = { "content-type": "application/json" };
if (process.env.CROSSVIEW_KEY) {
  headers.authorization = `Bearer ${process.env.CROSSVIEW_KEY}`;
}
try {
  const response = await fetch(new URL("/crossview.v1.SearchService/Search", given.address), {
    method: "POST",
    headers,
    body: JSON.stringify(searchRequest(given, (bytes) => bytes.toString("base64"))),
    signal: AbortSignal.timeout(1000 * SECONDS),
  });
  const body = await response.json();
  if (!response.ok) {
    throw new Error(`${body.code}: ${body.message}`);
  }
  print(body);
} catch (error) {
  console.error(error.cause ? `unavailable: ${error.cause.message}` : error.message);
  process.exitCode = 1;
}
