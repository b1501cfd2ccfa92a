/**
 * Host of one bundle: loads it and calls its handler. It imports nothing but built-in modules, because its process may
 * read no other file. It captures what it uses before the bundle is loaded.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Socket as DatagramSocket } from 'node:dgram';
import { subscribe } from 'node:diagnostics_channel';
import dns from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { Module } from 'node:module';
import net from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import type { AllowedOrigin, InvokeFrame, LoadFrame, Order, Reply } from './frames';

interface Answer {
  status?: number;
  body?: unknown;
  headers?: unknown;
}

interface Context {
  functionName: string;
  functionVersion: string;
  memoryLimitInMB: string;
  getRemainingTimeInMillis(): number;
}

type Handler = (request: InvokeFrame['request'], context: Context) => unknown;

interface Bundle {
  handler?: unknown;
  default?: { handler?: unknown };
}

interface LoadableModule {
  filename: string;
  paths: string[];
  exports: Bundle;
  _compile(code: string, filename: string): void;
}

const orderDescriptor = 3;
const replyDescriptor = 4;
const maxBodyBytes = 5_000_000;
/** The runner counts output too: this only spares it work. */
const maxOutputBytes = 1_000_000;

const { parse, stringify } = JSON;
const { apply } = Reflect;
const { isArray } = Array;
const [toText, toNumber] = [String, Number];
const { lookup: lookupName } = dns;
const { BlockList, isIP, Server, Socket } = net;
/** `process.exit` would call what is replaced below. */
const exit = (process as unknown as { reallyExit: (code: number) => void }).reallyExit.bind(process);
const now = performance.now.bind(performance);
const invocations = new AsyncLocalStorage<{ id: string; apiHeaders: InvokeFrame['apiHeaders']; outputBytes: number }>();
const orders = new Socket({ fd: orderDescriptor, readable: true, writable: false });
const replies = new Socket({ fd: replyDescriptor, readable: false, writable: true });
const write = replies.write.bind(replies);
const runInvocation = invocations.run.bind(invocations);
const currentInvocation = invocations.getStore.bind(invocations);
let handler: Handler | undefined;

function reply(message: Reply): void {
  write(`${stringify(message)}\n`);
}

const { value: errorToString } = Object.getOwnPropertyDescriptor(Error.prototype, 'toString') as {
  value: () => string;
};

/** Stack traces end with the frames of the bundle: those of this host would show where the platform is installed. */
Error.prepareStackTrace = (error, frames) => {
  const isHost = (frame: NodeJS.CallSite) => frame.getFileName() === __filename;
  const lastOfBundle = frames.findLastIndex((frame) => !isHost(frame) && !frame.getFileName()?.startsWith('node:'));
  const firstHost = frames.findIndex((frame, index) => index > lastOfBundle && isHost(frame));
  const shown = frames.filter((frame, index) => !isHost(frame) && (firstHost < 0 || index < firstHost));
  return [
    apply(errorToString, error, []),
    ...shown.map((frame: { toString(): string }) => `    at ${frame.toString()}`),
  ].join('\n');
};

/** Message and stack of whatever was thrown. */
function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : inspect(error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : inspect(error);
}

/** Message with the place in the bundle. Lines of the source are left out: they may have a megabyte. */
function loadFailureOf(error: unknown, filename: string): string {
  const lines = error instanceof Error ? (error.stack ?? '').split('\n') : [];
  const places = lines.filter((line) => line.includes(filename)).slice(0, 3);
  return [messageWithName(error), ...places.map((line) => line.slice(0, 300).replace(filename, 'bot.cjs'))].join('\n');
}

function messageWithName(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : inspect(error);
}

/** Ends the process after its last words have left. */
function crash(error: unknown): void {
  replies.end(`${stringify({ type: 'crashed', message: textOf(error) } satisfies Reply)}\n`, () => exit(1));
}

/** Sends what the bundle prints, with the invocation that printed it. */
function captureOutput(stream: 'stdout' | 'stderr'): void {
  process[stream].write = (
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | (() => void),
    done?: () => void,
  ): boolean => {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const invocation = currentInvocation();
    if (invocation) invocation.outputBytes += text.length;
    if (!invocation || invocation.outputBytes <= maxOutputBytes)
      reply({ type: 'output', id: invocation?.id, stream, text });
    const callback = typeof encoding === 'function' ? encoding : done;
    if (callback) process.nextTick(callback);
    return true;
  };
}

/** Replaces what would end this process or reach another one. The permission model of Node refuses the rest. */
function restrictProcess(): void {
  const refuse = (name: string) => () => {
    throw new Error(`${name} is not available to the code of a bot.`);
  };
  const names = ['abort', 'dlopen', 'exit', 'kill', 'reallyExit', '_kill', '_debugProcess'];
  for (const name of names) {
    Object.defineProperty(process, name, { value: refuse(`process.${name}`), configurable: false, writable: false });
  }
}

const privateNetworks = new BlockList();
for (const [address, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  privateNetworks.addSubnet(address, prefix, 'ipv4');
for (const [address, prefix] of [
  ['::', 128],
  ['::1', 128],
  ['64:ff9b::', 96],
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  privateNetworks.addSubnet(address, prefix, 'ipv6');

const isPrivate = privateNetworks.check.bind(privateNetworks);

function refusal(target: string): Error {
  return Object.assign(new Error(`connect EACCES ${target}: code of bots may not connect to private addresses.`), {
    code: 'EACCES',
  });
}

/** Resolves names as usual, and refuses private addresses. */
const publicLookup: net.LookupFunction = (hostname, options, callback) => {
  lookupName(hostname, { ...options, all: true }, (error, addresses: dns.LookupAddress[]) => {
    if (error) return callback(error, []);
    for (let index = 0; index < addresses.length; index += 1) {
      const { address, family } = addresses[index]!;
      if (isPrivate(address, family === 6 ? 'ipv6' : 'ipv4')) return callback(refusal(`${hostname} (${address})`), []);
    }
    if (options.all) return callback(null, addresses);
    callback(null, addresses[0]!.address, addresses[0]!.family);
  });
};

interface Target {
  host?: string;
  port?: number | string;
  path?: string;
  lookup?: net.LookupFunction;
}

type Connect = (this: net.Socket, ...given: unknown[]) => net.Socket;

/**
 * Hinders connections to private addresses. It is no boundary: native handles of Node remain within reach. It reads each
 * value once and calls no method that code may have replaced.
 */
function restrictNetwork(allowed: readonly AllowedOrigin[]): void {
  const isAllowed = Object.create(null) as Record<string, true | undefined>;
  for (const { hostname, port } of allowed) isAllowed[`${hostname}:${port}`] = true;
  const { value: connect } = Object.getOwnPropertyDescriptor(Socket.prototype, 'connect') as { value: Connect };
  const checked = function (this: net.Socket, ...given: unknown[]): net.Socket {
    // Node's own callers pass the normalized arguments as one array.
    const list = isArray(given[0]) ? (given[0] as unknown[]) : given;
    const target = targetOf(list);
    const { host = 'localhost', port, path } = target;
    const refused = path || isAllowed[`${host}:${port}`] ? path : refusedTarget(host, port);
    if (refused !== undefined) {
      process.nextTick(() => this.destroy(refusal(refused)));
      return this;
    }
    const options = isAllowed[`${host}:${port}`] ? target : { ...target, lookup: publicLookup };
    let callback: unknown;
    for (let index = 0; index < list.length; index += 1) if (typeof list[index] === 'function') callback = list[index];
    return apply(connect, this, callback ? [options, callback] : [options]);
  };
  Object.defineProperty(Socket.prototype, 'connect', { value: checked, configurable: false, writable: false });
  const refuseServer = () => {
    throw refusal('a server');
  };
  Object.defineProperty(Server.prototype, 'listen', { value: refuseServer, configurable: false, writable: false });
  for (const name of ['bind', 'connect', 'send'])
    Object.defineProperty(DatagramSocket.prototype, name, {
      value: refuseServer,
      configurable: false,
      writable: false,
    });
}

/** Copy, whose properties do not change after they were checked. */
function targetOf(list: unknown[]): Target {
  const first = list[0];
  const given: Record<string, unknown> =
    typeof first === 'object' && first !== null
      ? { ...first }
      : { port: first, host: typeof list[1] === 'string' ? list[1] : undefined };
  const { host, port, path } = given;
  return {
    ...given,
    host: host === undefined || host === null ? undefined : `${host as string}`,
    port: typeof port === 'number' ? port : toNumber(port),
    path: path ? `${path as string}` : undefined,
  };
}

/** Text of a private address, which is refused without a look-up of its name. */
function refusedTarget(host: string, port: Target['port']): string | undefined {
  const family = isIP(host);
  return family !== 0 && isPrivate(host, family === 6 ? 'ipv6' : 'ipv4') ? `${host}:${port}` : undefined;
}

/** Requests to the API carry the headers of the invocation that makes them. */
function passHeadersOn(apiUrl: string): void {
  const { host, origin } = new URL(apiUrl);
  for (const module of [http, https]) {
    const { request } = module;
    const passing = (...given: unknown[]): http.ClientRequest => {
      const sent = apply(request, module, given) as http.ClientRequest;
      if (sent.getHeader('host') === host && !sent.headersSent) addHeaders((name, text) => sent.setHeader(name, text));
      return sent;
    };
    const get = (...given: unknown[]) => {
      const sent = passing(...given);
      sent.end();
      return sent;
    };
    Object.assign(module, { request: passing, get });
  }
  subscribe('undici:request:create', (message) => {
    const { request } = message as { request: { origin: string; addHeader(name: string, text: string): void } };
    if (request.origin === origin) addHeaders((name, text) => request.addHeader(name, text));
  });
}

function addHeaders(add: (name: string, text: string) => void): void {
  const headers = currentInvocation()?.apiHeaders ?? {};
  for (const [name, text] of Object.entries(headers)) add(name, text);
}

function load({ code, env, allowedOrigins }: LoadFrame): void {
  Object.assign(process.env, env);
  captureOutput('stdout');
  captureOutput('stderr');
  restrictProcess();
  if (env['BP_API_URL']) passHeadersOn(env['BP_API_URL']);
  if (allowedOrigins) restrictNetwork(allowedOrigins);
  const filename = join(process.cwd(), 'bot.cjs');
  try {
    const bundle = new Module(filename) as unknown as LoadableModule;
    bundle.filename = filename;
    bundle.paths = [];
    bundle._compile(code, filename);
    handler = handlerOf(bundle.exports);
    reply({ type: 'loaded' });
  } catch (error) {
    reply({ type: 'not loadable', message: loadFailureOf(error, filename) });
  }
}

function handlerOf(bundle: Bundle): Handler {
  if (typeof bundle.handler === 'function') return bundle.handler as Handler;
  const instance = bundle.default;
  if (typeof instance?.handler === 'function') return (instance.handler as Handler).bind(instance);
  throw new Error(
    'The bundle exports no handler: it must export `handler`, or a default export with a method `handler`.',
  );
}

function invoke({ id, isConfirmed, apiHeaders, request, timeoutMs, ...called }: InvokeFrame): void {
  if (isConfirmed) reply({ type: 'begun', id });
  const endsAt = now() + timeoutMs;
  const context: Context = {
    functionName: called.functionName,
    functionVersion: called.functionVersion,
    memoryLimitInMB: toText(called.memoryMb),
    getRemainingTimeInMillis: () => Math.max(0, Math.round(endsAt - now())),
  };
  void runInvocation({ id, apiHeaders, outputBytes: 0 }, () => run(id, request, context));
}

/** Native promises only: code may have replaced the global one. */
async function run(id: string, request: InvokeFrame['request'], context: Context): Promise<void> {
  try {
    answered(id, ((await handler!(request, context)) as Answer | undefined) ?? {});
  } catch (error) {
    process.stderr.write(`${textOf(error)}\n`);
    reply({ type: 'failed', id, message: messageOf(error) });
  }
}

function answered(id: string, { status = 200, body, headers }: Answer): void {
  const text = typeof body === 'string' ? body : (stringify(body ?? undefined) ?? '');
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBodyBytes) reply({ type: 'too large', id, bytes });
  else reply({ type: 'answered', id, status: toNumber(status), body: text, headers: headersOf(headers) });
}

/** Texts only: the runner checks them again. */
function headersOf(given: unknown): Record<string, string> | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given))
    if (typeof value === 'string' || typeof value === 'number') headers[name] = toText(value);
  return headers;
}

function obey(order: Order): void {
  if (order.type === 'load') load(order);
  else if (order.type === 'invoke') invoke(order);
  else reply({ type: 'pong' });
}

process.on('uncaughtException', crash);
process.on('unhandledRejection', crash);
let parts: string[] = [];
orders.setEncoding('utf8').on('data', (text: string) => {
  const [first, ...others] = text.split('\n');
  parts.push(first!);
  for (const line of others) {
    obey(parse(parts.join('')) as Order);
    parts = [line];
  }
});
// The runner has ended.
orders.on('end', () => exit(0));
replies.on('error', () => exit(0));
