// Serves Perfetto's WebAssembly trace processor over the HTTP API of the native shell.
//
//   node trace_processor.mjs --wasm-dir DIR [--http-port PORT] [--small-trace]
//
// DIR holds trace_processor.wasm and engine_bundle.node.js. With --small-trace, nothing is
// compiled a second time for speed, as the trace isn't worth it. The first line on standard
// output is "READY <port>"; port 0 (the default) takes a free one. Only 127.0.0.1 is served.
//
// One process is one session. Endpoints: /status /parse /notify_eof /query /rpc, with protobuf
// bodies as in the native shell. Nothing here survives an abort of the engine (usually its
// 4 GiB heap is full): the request is answered with status 500 and the reason, and the process
// ends.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import v8 from 'node:v8';
import vm from 'node:vm';

// The optimising compiler takes over a function after it has run through so many bytes. With
// the default, a hundredth of it, compiling took longer than all else on a capture of a few
// megabytes; with ten times as much, captures of a million events take longer. SQLite's largest
// functions reach any number while the engine starts, and compiling these takes as long as all
// else of a small trace: only function 0, which is imported, may then be taken over.
v8.setFlagsFromString(process.argv.includes('--small-trace')
  ? '--wasm-tier-up-filter=0' : '--wasm-tiering-budget=240000000');

// The engine reads requests from one fixed buffer; larger messages go through it in pieces.
const REQUEST_BUFFER = 32 << 20;
const STDERR_LINES_KEPT = 20;
const REASON_LENGTH = 200;

// Numbers of TraceProcessorRpc.TraceProcessorMethod, with the fields that carry the
// argument and the result of each.
const METHODS = {
  parse: {method: 1, argument: 101, result: 201},
  notifyEof: {method: 2, argument: null, result: 212},
  query: {method: 3, argument: 103, result: 203},
  status: {method: 10, argument: null, result: 210},
};
const FIELD_MESSAGE = 1;
const FIELD_METHOD = 2;
const FIELD_INVALID_REQUEST = 4;
const FIELD_FATAL_ERROR = 5;

class EngineAborted extends Error {}

// ---- protobuf wire format ----------------------------------------------------------

function encodeVarint(value) {
  const bytes = [];
  while (value > 127) {
    bytes.push((value % 128) | 128);
    value = Math.floor(value / 128);
  }
  bytes.push(value);
  return Buffer.from(bytes);
}

function encodeBytes(field, payload) {
  return Buffer.concat([encodeVarint(field * 8 + 2), encodeVarint(payload.length), payload]);
}

function decodeVarint(buffer, position) {
  let value = 0;
  let scale = 1;
  let byte;
  do {
    byte = buffer[position++];
    value += (byte & 127) * scale;
    scale *= 128;
  } while (byte & 128);
  return [value, position];
}

const FIXED_WIDTH = {1: 8, 5: 4};

/** Yields [field number, value] of a message; length-delimited values are views. */
function* decodeFields(buffer) {
  let position = 0;
  while (position < buffer.length) {
    let tag, size, value;
    [tag, position] = decodeVarint(buffer, position);
    const wireType = tag % 8;
    if (wireType === 0) {
      [value, position] = decodeVarint(buffer, position);
      yield [Math.floor(tag / 8), value];
      continue;
    }
    if (wireType === 2) [size, position] = decodeVarint(buffer, position);
    else size = FIXED_WIDTH[wireType];
    if (size === undefined) throw new Error(`unexpected wire type ${wireType}`);
    yield [Math.floor(tag / 8), buffer.subarray(position, position + size)];
    position += size;
  }
}

// ---- the engine --------------------------------------------------------------------

/** The bundle exports a whole worker; only its module factory for wasm32 is wanted. */
function moduleFactory(directory) {
  const file = path.join(directory, 'engine_bundle.node.js');
  const source = fs.readFileSync(file, 'utf8');
  const end = source.indexOf('var engineExports = requireEngine();');
  if (end < 0) throw new Error(`${file} is not the engine bundle this harness knows`);
  globalThis.self ??= globalThis;
  globalThis.WorkerGlobalScope ??= class {};
  globalThis.location ??= {href: `file://${file}`};
  const patched = `${source.slice(0, end)}return requireTrace_processor();\n})();\nengine`;
  const exported = vm.runInThisContext(patched, {filename: file});
  return exported.default ?? exported;
}

class Engine {
  static async create(directory) {
    const engine = new Engine();
    engine.stderr = [];
    engine.replies = [];
    let initialised;
    const ready = new Promise((resolve) => { initialised = resolve; });
    const keep = (line) => {
      engine.stderr.push(line);
      if (engine.stderr.length > STDERR_LINES_KEPT) engine.stderr.shift();
    };
    const module = moduleFactory(directory)({
      wasmBinary: fs.readFileSync(path.join(directory, 'trace_processor.wasm')),
      locateFile: (name) => name,
      print: keep,
      printErr: keep,
      onRuntimeInitialized: () => initialised(),
    });
    if (typeof module?.then === 'function') engine.module = await module;
    else [engine.module] = [module, await ready];
    engine.openChannel();
    return engine;
  }

  openChannel() {
    const onReply = this.module.addFunction((pointer, size) => {
      const start = Number(pointer) >>> 0;
      if (size) this.replies.push(Buffer.from(this.module.HEAPU8.slice(start, start + size)));
    }, 'vpi');
    const buffer = this.module.ccall(
      'trace_processor_rpc_init', 'pointer', ['pointer', 'number'], [onReply, REQUEST_BUFFER]);
    this.requestPointer = Number(buffer) >>> 0;
  }

  /** Sends parts of a TraceProcessorRpcStream; returns the bytes of the answering one. */
  exchange(parts) {
    this.replies = [];
    for (const part of parts) {
      for (let start = 0; start < part.length; start += REQUEST_BUFFER) {
        this.feed(part.subarray(start, start + REQUEST_BUFFER));
      }
    }
    const replies = this.replies;
    this.replies = [];
    return replies.length === 1 ? replies[0] : Buffer.concat(replies);
  }

  feed(piece) {
    this.module.HEAPU8.set(piece, this.requestPointer);
    try {
      this.module.ccall('trace_processor_on_rpc_request', 'void', ['number'], [piece.length]);
    } catch (error) {
      throw new EngineAborted(this.reason(error));
    }
  }

  /** The engine's last complaint before it aborted, in one line. */
  reason(error) {
    // For instance "[011.062] utils.cc:355 PERFETTO_CHECK(res) (errno: 48, Out of memory)".
    if (this.stderr.some((line) => /out of memory/i.test(line))) return 'its 4 GiB heap is full';
    const complaint = this.stderr.find((line) => / \S+\.(cc|h):\d+ /.test(line));
    return (complaint ?? String(error.message ?? error)).trim().slice(0, REASON_LENGTH);
  }

  /** Runs one method. Results that come in several messages are joined, which merges them. */
  call({method, argument, result}, body) {
    const head = Buffer.concat([encodeVarint(FIELD_METHOD * 8), encodeVarint(method)]);
    const open = argument === null
      ? head : Buffer.concat([head, encodeVarint(argument * 8 + 2), encodeVarint(body.length)]);
    const payload = argument === null ? [] : [body];
    const size = open.length + payload.reduce((sum, part) => sum + part.length, 0);
    const frame = Buffer.concat([encodeVarint(FIELD_MESSAGE * 8 + 2), encodeVarint(size), open]);
    return this.results(this.exchange([frame, ...payload]), method, result);
  }

  results(stream, method, result) {
    const found = [];
    for (const [, message] of decodeFields(stream)) {
      for (const [field, value] of decodeFields(message)) {
        if (field === FIELD_FATAL_ERROR) throw new EngineAborted(value.toString());
        if (field === FIELD_INVALID_REQUEST) throw new Error(`unknown method ${method}`);
        if (field === result) found.push(value);
      }
    }
    return found.length === 1 ? found[0] : Buffer.concat(found);
  }
}

// ---- HTTP --------------------------------------------------------------------------

function routes(engine) {
  return {
    '/status': () => engine.call(METHODS.status),
    '/parse': (body) => engine.call(METHODS.parse, body),
    '/notify_eof': () => engine.call(METHODS.notifyEof),
    '/query': (body) => engine.call(METHODS.query, body),
    '/rpc': (body) => engine.exchange([body]),
  };
}

function answer(response, status, type, body) {
  response.writeHead(status, {'Content-Type': type, 'Content-Length': body.length});
  response.end(body);
}

function respond(handler, body, response) {
  if (!handler) return answer(response, 404, 'text/plain', Buffer.from('no such endpoint'));
  try {
    return answer(response, 200, 'application/x-protobuf', handler(body));
  } catch (error) {
    // The owner reads the reason from the answer; then nothing is left to serve.
    if (error instanceof EngineAborted) response.on('finish', () => process.exit(1));
    return answer(response, 500, 'text/plain', Buffer.from(String(error.message)));
  }
}

function serve(engine, port) {
  const handlers = routes(engine);
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => respond(handlers[request.url], Buffer.concat(chunks), response));
  });
  // The owner keeps one connection open for as long as it lives.
  server.requestTimeout = server.headersTimeout = server.keepAliveTimeout = server.timeout = 0;
  server.listen(port, '127.0.0.1', () => console.log(`READY ${server.address().port}`));
}

function option(name, fallback) {
  const at = process.argv.indexOf(name);
  return at < 0 ? fallback : process.argv[at + 1];
}

try {
  serve(await Engine.create(option('--wasm-dir', '.')), Number(option('--http-port', 0)));
} catch (error) {
  console.error(String(error.message)); // the owner shows this line, not a stack
  process.exit(1);
}
