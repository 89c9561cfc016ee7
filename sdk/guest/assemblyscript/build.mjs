// Builds examples/*/NAME.ts, or the files that are named, and puts manifest.json from beside each into the module.
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

// leb writes an unsigned number as WebAssembly does.
function leb(n) {
  const out = [];
  for (; n >= 0x80; n >>>= 7) out.push((n & 0x7f) | 0x80);
  return Buffer.from([...out, n]);
}

// pack appends the manifest as a custom section.
function pack(module, manifest) {
  const name = Buffer.from("mqf.manifest");
  const text = readFileSync(manifest);
  JSON.parse(text);
  const content = Buffer.concat([leb(name.length), name, text]);
  writeFileSync(module, Buffer.concat([readFileSync(module), Buffer.from([0]), leb(content.length), content]));
}

function build(source) {
  const out = source.replace(/\.ts$/, ".wasm");
  const asc = join(here, "node_modules", "assemblyscript", "bin", "asc.js");
  execFileSync(process.execPath, [asc, source, "-O3", "--noAssert", "--runtime", "minimal", "--use", "abort=mqf/stop", "-o", out], { stdio: "inherit", cwd: here });
  pack(join(here, out), join(here, dirname(source), "manifest.json"));
  console.log(basename(out));
}

const named = process.argv.slice(2);
const sources = named.length ? named : readdirSync(join(here, "examples")).map((x) => `examples/${x}/${x}.ts`);
sources.forEach(build);
