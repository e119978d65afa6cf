// ONNX Runtime Web under Node.js as a peer of loopdbg (docs/command_peer.md):
//
//   npm install onnxruntime-web
//   loopdbg diff model.onnx --against 'cmd:node ort_web.mjs {model} {inputs} {outputs}'
//
// Node looks for the package in node_modules next to this script and in the folders above it; ORT_WEB names another
// folder that has node_modules.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(process.env.ORT_WEB ? join(process.env.ORT_WEB, "x.js") : import.meta.url);
const ort = require("onnxruntime-web");

// Element types: of the array file, of ONNX Runtime, and the class that holds them.
const TYPES = [
  ["<f4", "float32", Float32Array],
  ["<f8", "float64", Float64Array],
  ["<i8", "int64", BigInt64Array],
  ["<u8", "uint64", BigUint64Array],
  ["<i4", "int32", Int32Array],
  ["<u4", "uint32", Uint32Array],
  ["<i2", "int16", Int16Array],
  ["<u2", "uint16", Uint16Array],
  ["|i1", "int8", Int8Array],
  ["|u1", "uint8", Uint8Array],
  ["|b1", "bool", Uint8Array],
  ["<f2", "float16", globalThis.Float16Array ?? Uint16Array],
];

function readTensor(path) {
  const file = readFileSync(path);
  // Version 1.0 has a length of two bytes, later ones of four.
  const [start, length] = file[6] === 1 ? [10, file.readUInt16LE(8)] : [12, file.readUInt32LE(8)];
  const header = file.subarray(start, start + length).toString("latin1");
  const descr = /'descr': '([^']*)'/.exec(header)[1];
  const shape = (/'shape': \(([^)]*)\)/.exec(header)[1].match(/\d+/g) ?? []).map(Number);
  const [, type, ArrayClass] = TYPES.find(([name]) => name === descr) ?? [];
  if (!type) throw new Error(`${path}: element type ${descr} is not supported`);
  const data = file.subarray(start + length);
  return new ort.Tensor(type, new ArrayClass(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength)), shape);
}

function writeTensor(path, tensor) {
  const [descr] = TYPES.find(([, type]) => type === tensor.type) ?? [];
  if (!descr) throw new Error(`an output of type ${tensor.type} is not supported`);
  const shape = tensor.dims.length === 1 ? `${tensor.dims[0]},` : tensor.dims.join(", ");
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape}), }`;
  const length = Math.ceil((10 + header.length + 1) / 64) * 64 - 10;
  const start = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, length & 255, length >> 8]);
  const { buffer, byteOffset, byteLength } = tensor.data;
  const text = Buffer.from(header.padEnd(length - 1) + "\n", "latin1");
  writeFileSync(path, Buffer.concat([start, text, Buffer.from(buffer, byteOffset, byteLength)]));
}

async function main([model, inputs, outputs]) {
  const manifest = JSON.parse(readFileSync(join(inputs, "manifest.json"), "utf8"));
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "error";
  const session = await ort.InferenceSession.create(readFileSync(model), {
    executionProviders: ["wasm"],
    graphOptimizationLevel: manifest.optimize ? "all" : "disabled",
  });
  const known = new Set(session.inputNames);
  const feeds = {};
  for (const { name, file } of manifest.inputs) {
    if (!file) throw new Error(`the input ${name} is a sequence, which onnxruntime-web cannot be given`);
    if (known.has(name)) feeds[name] = readTensor(join(inputs, file));
  }
  const results = await session.run(feeds);
  const entries = session.outputNames.map((name, k) => ({ name, file: `${k}.npy` }));
  for (const { name, file } of entries) writeTensor(join(outputs, file), results[name]);
  const runtime = `onnxruntime-web ${ort.env.versions.web ?? ort.env.versions.common}`;
  writeFileSync(join(outputs, "manifest.json"), JSON.stringify({ runtime, outputs: entries }));
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    // Errors of the WebAssembly module are strings or numbers.
    console.error(String(error?.message ?? error));
    process.exit(1);
  },
);
