// The arguments of both programs, and the lines that they print.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

/** Return the arguments of the command line; exit with the usage of a program if they are wrong. */
export function parsed(program, ...further) {
  const usage =
    `usage: node ${program} ADDRESS COLLECTION (--vector NUMBERS --view VIEW | --image FILE) [--view VIEW] ` +
    "[--space SPACE] [-k HITS]" + further.map((name) => ` [--${name} FILE]`).join("");
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        ...Object.fromEntries(["vector", "image", "view", "space", ...further].map((name) => [name, { type: "string" }])),
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
    console.error(`${error.message}\n${usage}`);
    process.exit(2);
  }
}

/** Return the request of a search; `encode` makes the field of a picture from its bytes. */
export function searchRequest(given, encode) {
  const input = given.image
    ? { image: encode(readFileSync(given.image)) }
    : { vector: { values: given.vector.split(",").map(Number) } };
  return {
    parent: `collections/${given.collection}`,
    space: given.space,
    k: Number(given.k),
    queries: [{ view: given.view, ...input }],
  };
}

/** Print a line for each hit of the response to a search. */
export function print({ results }) {
  for (const { target, hits } of results) {
    for (const hit of hits ?? []) {
      const labels = (hit.labels ?? []).join(" ");
      console.log([(hit.distance ?? 0).toFixed(4), hit.key, hit.target || target, labels].join("\t"));
    }
  }
}
