/**
 * Host of one bundle: loads it and calls its handler. `frames.ts` describes its messages. It imports nothing but built-in modules, because its process may
 * read no other file. It captures what it uses before the bundle is loaded.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Socket as DatagramSocket } from 'node:dgram';
import { subscribe } from 'node:diagnostics_channel';
import dns from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { Module, syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inspect, types } from 'node:util';
import v8 from 'node:v8';
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

type Request = InvokeFrame['request'] & { body: string };

type Handler = (request: Request, context: Context) => unknown;

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

/** The part of Node's loader that this host uses: Node declares no types for it. */
interface ModuleLoader {
  _cache: Record<string, unknown>;
  _resolveFilename(request: unknown, parent: { filename?: string } | undefined, ...others: unknown[]): string;
  findPackageJSON?: unknown;
  isBuiltin(name: string): boolean;
}

const bundleName = 'bot.cjs';
const orderDescriptor = 3;
const replyDescriptor = 4;
const prefixBytes = 8;
const maxBodyBytes = 5_000_000;
/** Characters of one message, so that no character takes the frame beyond 64 kB. */
const maxTextLength = 16_000;
/** The runner counts output too: this only spares it work. */
const maxOutputBytes = 1_000_000;

const { parse, stringify } = JSON;
// Static methods of Buffer do not use `this`.
// oxlint-disable-next-line typescript/unbound-method
const { from: bytesOf, concat, byteLength } = Buffer;
const { isUint8Array } = types;
const readUInt32BE = methodOf<Buffer['readUInt32BE']>(Buffer.prototype, 'readUInt32BE');
const writeUInt32BE = methodOf<Buffer['writeUInt32BE']>(Buffer.prototype, 'writeUInt32BE');
const subarray = methodOf<(start: number) => Buffer>(Buffer.prototype, 'subarray');
const bufferToString = methodOf<Buffer['toString']>(Buffer.prototype, 'toString');
const slice = methodOf<string['slice']>(String.prototype, 'slice');
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

/** The method as it is before code replaces it. */
function methodOf<Method>(target: unknown, name: string): Method {
  return Reflect.get(target as object, name) as Method;
}

function frameOf(header: Reply, text: string): Buffer {
  const json = bytesOf(stringify(header));
  const body = bytesOf(text);
  const prefix = bytesOf('\0'.repeat(prefixBytes));
  apply(writeUInt32BE, prefix, [json.length, 0]);
  apply(writeUInt32BE, prefix, [body.length, 4]);
  return concat([prefix, json, body]);
}

function reply(header: Reply, text = ''): void {
  write(frameOf(header, text));
}

/** Beginning of a text that code chooses: it may have megabytes. */
function shortened(text: string): string {
  return apply(slice, text, [0, maxTextLength]);
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
  return [messageWithName(error), ...places.map((line) => line.slice(0, 300).replace(filename, bundleName))].join('\n');
}

function messageWithName(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : inspect(error);
}

/** Ends the process after its last words have left. */
function crash(error: unknown): void {
  replies.end(frameOf({ type: 'crashed' }, shortened(textOf(error))), () => exit(1));
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
    if (!invocation || invocation.outputBytes <= maxOutputBytes) sendOutput(stream, invocation?.id, text);
    const callback = typeof encoding === 'function' ? encoding : done;
    if (callback) process.nextTick(callback);
    return true;
  };
}

/** Sends a text in pieces, each of whole characters. */
function sendOutput(stream: 'stdout' | 'stderr', id: string | undefined, text: string): void {
  for (let from = 0; from < text.length;) {
    const piece = apply(slice, text, [from, from + maxTextLength]);
    const isCutInside = from + piece.length < text.length && isHighSurrogate(piece, piece.length - 1);
    const whole = isCutInside ? apply(slice, piece, [0, -1]) : piece;
    reply({ type: 'output', id, stream }, whole);
    from += whole.length;
  }
}

function isHighSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xd8_00 && code <= 0xdb_ff;
}

/** Replaces a property for good. */
function fix(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, configurable: false, writable: false });
}

function refuse(name: string): () => never {
  return () => {
    throw new Error(`${name} is not available to the code of a bot.`);
  };
}

/**
 * Replaces what would end this process, reach another one, or show where the platform is installed. The permission model of
 * Node refuses the rest, and V8 ends a process that changes its flags, which is why code gets an error before.
 */
function restrictProcess(bundle: object): void {
  for (const name of ['abort', 'dlopen', 'exit', 'kill', 'reallyExit', '_kill', '_debugProcess'])
    fix(process, name, refuse(`process.${name}`));
  for (const name of ['setFlagsFromString', 'setHeapSnapshotNearHeapLimit', 'writeHeapSnapshot'])
    fix(v8, name, refuse(`v8.${name}`));
  fix(v8, 'startupSnapshot', undefined);
  fix(process, 'report', undefined);
  const shown = { argv: ['node', bundleName], execArgv: [], execPath: 'node', mainModule: bundle };
  for (const [name, value] of Object.entries(shown)) fix(process, name, value);
  fix(os, 'hostname', () => 'code');
}

/** Modules of Node and files of the folder can be required: other paths would tell which files exist. */
function restrictModules(): void {
  const modules = Module as unknown as ModuleLoader;
  const resolveFilename = methodOf<ModuleLoader['_resolveFilename']>(modules, '_resolveFilename');
  const folder = join(process.cwd(), sep);
  const restricted: ModuleLoader['_resolveFilename'] = function (this: unknown, request, parent, ...others) {
    const text = toText(request);
    const isOwnFile =
      /^\.{0,2}\//.test(text) && resolve(parent?.filename ? dirname(parent.filename) : folder, text).startsWith(folder);
    if (isOwnFile || modules.isBuiltin(text)) return apply(resolveFilename, this, [text, parent, ...others]);
    throw Object.assign(new Error(`Cannot find module '${text}'. Bundle all packages into the code.`), {
      code: 'MODULE_NOT_FOUND',
    });
  };
  fix(modules, '_resolveFilename', restricted);
  fix(modules, '_findPath', refuse('Module._findPath'));
  if (modules.findPackageJSON) fix(modules, 'findPackageJSON', refuse('Module.findPackageJSON'));
  delete modules._cache[__filename];
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
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  privateNetworks.addSubnet(address, prefix, 'ipv4');
for (const [address, prefix] of [
  ['::', 96],
  ['64:ff9b::', 96],
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  privateNetworks.addSubnet(address, prefix, 'ipv6');

// Public addresses of this machine have its local ports too.
for (const own of Object.values(os.networkInterfaces()))
  for (const { address, family } of own ?? []) privateNetworks.addAddress(address, family === 'IPv6' ? 'ipv6' : 'ipv4');

const isListed = privateNetworks.check.bind(privateNetworks);

/** False for a name. */
function isPrivate(host: string): boolean {
  const family = isIP(host);
  return family !== 0 && isListed(host, family === 6 ? 'ipv6' : 'ipv4');
}

function refusal(target: string): Error {
  return Object.assign(new Error(`connect EACCES ${target}: code of bots may not connect to private addresses.`), {
    code: 'EACCES',
  });
}

/** Resolves names as `lookup` does, and refuses private addresses. The answer is copied: code may have given it. */
function publicLookup(lookup: net.LookupFunction, isAllowed: (address: string) => boolean): net.LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found, foundFamily) => {
      if (error) return callback(error, []);
      const given = isArray(found) ? found : [{ address: found, family: foundFamily }];
      const addresses: dns.LookupAddress[] = [];
      for (let index = 0; index < given.length; index += 1) {
        const address = `${given[index]!.address}`;
        if (isPrivate(address) && !isAllowed(address)) return callback(refusal(`${hostname} (${address})`), []);
        addresses[index] = { address, family: isIP(address) };
      }
      if (options.all) return callback(null, addresses);
      callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
}

interface Target {
  host?: string;
  port?: number | string;
  path?: string;
  lookup?: net.LookupFunction;
}

/**
 * Sends requests through the proxies, also those with agents that code makes. Agents that connect by themselves (`connect` of
 * agent-base) keep their own proxy. `process.env` stays without proxies: older axios would send each request through them twice.
 */
function useProxies(proxyEnv: Record<string, string>): void {
  http.setGlobalProxyFromEnv(proxyEnv);
  for (const module of [http, https]) {
    const construct = (target: typeof http.Agent, [options]: object[], type: typeof http.Agent): http.Agent => {
      const isOwn = 'connect' in type.prototype;
      return Reflect.construct(target, [isOwn ? options : { proxyEnv, ...options }], type) as http.Agent;
    };
    Object.assign(module, { Agent: new Proxy(module.Agent, { construct }) });
  }
}

/** Refuses proxied requests to private addresses that are no names: the proxy resolves those. */
function restrictProxiedRequests(isRefused: (host: string, port: string | number) => boolean): void {
  const { prototype } = http.Agent;
  const addRequest = methodOf<(...given: unknown[]) => void>(prototype, 'addRequest');
  fix(prototype, 'addRequest', function (this: http.Agent, request: http.ClientRequest, ...others: unknown[]): void {
    const { host = 'localhost', port } = others[0] as { host?: string; port: number };
    if (!isRefused(host, port)) return apply(addRequest, this, [request, ...others]);
    const socket = new Socket();
    request.onSocket(socket);
    socket.destroy(refusal(`${host}:${port}`));
  });
  const dispatcher = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.2')) as object;
  const dispatch = methodOf<(...given: unknown[]) => unknown>(dispatcher, 'dispatch');
  fix(dispatcher, 'dispatch', (options: { origin: string | URL }, ...others: unknown[]) => {
    const { hostname, port, protocol } = new URL(options.origin);
    const [host, actualPort] = [hostname.replace(/^\[|\]$/g, ''), port || (protocol === 'https:' ? 443 : 80)];
    if (isRefused(host, actualPort)) throw refusal(`${host}:${actualPort}`);
    return apply(dispatch, dispatcher, [options, ...others]);
  });
}

type Connect = (this: net.Socket, ...given: unknown[]) => net.Socket;

/**
 * Hinders connections to private addresses. It is no boundary: native handles of Node remain within reach. It reads each
 * value once and calls no method that code may have replaced.
 */
function restrictNetwork(allowed: readonly AllowedOrigin[], hasProxies: boolean): void {
  const isAllowed = Object.create(null) as Record<string, true | undefined>;
  for (const { hostname, port } of allowed) isAllowed[`${hostname}:${port}`] = true;
  if (hasProxies) restrictProxiedRequests((host, port) => isPrivate(host) && !isAllowed[`${host}:${port}`]);
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
    // undici names the target where it connects to the address of a proxy, with a look-up that answers this address.
    const { lookup = lookupName } = target;
    const checkedLookup = publicLookup(lookup, (address) => isAllowed[`${address}:${port}`] === true);
    const options = isAllowed[`${host}:${port}`] ? target : { ...target, lookup: checkedLookup };
    let callback: unknown;
    for (let index = 0; index < list.length; index += 1) if (typeof list[index] === 'function') callback = list[index];
    return apply(connect, this, callback ? [options, callback] : [options]);
  };
  fix(Socket.prototype, 'connect', checked);
  const refuseServer = () => {
    throw refusal('a server');
  };
  fix(Server.prototype, 'listen', refuseServer);
  for (const name of ['bind', 'connect', 'send']) fix(DatagramSocket.prototype, name, refuseServer);
  for (const resolver of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype])
    restrictNameServers(resolver);
}

/** Questions to a name server are UDP to an address of its choice. */
function restrictNameServers(resolver: { setServers(servers: readonly string[]): void }): void {
  const setServers = methodOf<(servers: string[]) => void>(resolver, 'setServers');
  fix(resolver, 'setServers', function (this: unknown, servers: unknown) {
    const copies: string[] = [];
    for (let index = 0; index < (servers as string[]).length; index += 1) {
      const server = `${(servers as string[])[index]!}`;
      const host = isIP(server) === 0 ? server.replace(/:\d+$/, '').replace(/^\[|\]$/g, '') : server;
      if (isIP(host) === 0 || isPrivate(host)) throw refusal(server);
      copies[index] = server;
    }
    return apply(setServers, this, [copies]) as unknown;
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
  return isPrivate(host) ? `${host}:${port}` : undefined;
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

function load({ env, allowedOrigins, certificates, proxyEnv }: LoadFrame, code: string): void {
  Object.assign(process.env, env);
  if (certificates && certificates.length > 0) setDefaultCACertificates([...getCACertificates(), ...certificates]);
  captureOutput('stdout');
  captureOutput('stderr');
  const filename = join(process.cwd(), bundleName);
  const bundle = new Module(filename) as unknown as LoadableModule;
  restrictProcess(bundle);
  restrictModules();
  if (env['BP_API_URL']) passHeadersOn(env['BP_API_URL']);
  if (proxyEnv) useProxies(proxyEnv);
  if (allowedOrigins) restrictNetwork(allowedOrigins, proxyEnv !== undefined);
  // Modules that are imported, not required, have copies of the properties that were replaced.
  syncBuiltinESMExports();
  try {
    bundle.filename = filename;
    bundle.paths = [];
    bundle._compile(code, filename);
    handler = handlerOf(bundle.exports);
    reply({ type: 'loaded' });
  } catch (error) {
    reply({ type: 'not loadable' }, shortened(loadFailureOf(error, filename)));
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

function invoke({ id, isConfirmed, apiHeaders, request, timeoutMs, ...called }: InvokeFrame, body: string): void {
  if (isConfirmed) reply({ type: 'begun', id });
  const endsAt = now() + timeoutMs;
  const context: Context = {
    functionName: called.functionName,
    functionVersion: called.functionVersion,
    memoryLimitInMB: toText(called.memoryMb),
    getRemainingTimeInMillis: () => Math.max(0, Math.round(endsAt - now())),
  };
  void runInvocation({ id, apiHeaders, outputBytes: 0 }, () => run(id, { ...request, body }, context));
}

/** Native promises only: code may have replaced the global one. */
async function run(id: string, request: Request, context: Context): Promise<void> {
  try {
    answered(id, ((await handler!(request, context)) as Answer | undefined) ?? {});
  } catch (error) {
    process.stderr.write(`${textOf(error)}\n`);
    reply({ type: 'failed', id }, shortened(messageOf(error)));
  }
}

function answered(id: string, { status = 200, body, headers }: Answer): void {
  const isBytes = isUint8Array(body);
  const text = isBytes ? toBase64(body) : typeof body === 'string' ? body : (stringify(body ?? undefined) ?? '');
  const bytes = byteLength(text);
  if (bytes > maxBodyBytes) return reply({ type: 'too large', id, bytes });
  const given = headersOf(headers);
  const sent = isBytes ? { 'x-bp-body-encoding': 'base64', ...given } : given;
  reply({ type: 'answered', id, status: toNumber(status), headers: sent }, text);
}

/** Texts only: the runner checks them again. */
function headersOf(given: unknown): Record<string, string> | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given))
    if (typeof value === 'string' || typeof value === 'number') headers[name] = toText(value);
  return headers;
}

function obey(order: Order, body: string): void {
  if (order.type === 'load') load(order, body);
  else if (order.type === 'invoke') invoke(order, body);
  else reply({ type: 'pong' });
}

/** Length of the frame that begins here, or of its prefix while that is incomplete. */
function frameBytes(bytes: Buffer): number {
  return bytes.length < prefixBytes ? prefixBytes : prefixBytes + uint32At(bytes, 0) + uint32At(bytes, 4);
}

function toBase64(bytes: Uint8Array): string {
  return apply(bufferToString, bytesOf(bytes), ['base64']);
}

function uint32At(bytes: Buffer, at: number): number {
  return apply(readUInt32BE, bytes, [at]);
}

function textAt(bytes: Buffer, start: number, end: number): string {
  return apply(bufferToString, bytes, ['utf8', start, end]);
}

process.on('uncaughtException', crash);
process.on('unhandledRejection', crash);
let received: Buffer[] = [];
let receivedBytes = 0;
let wantedBytes = prefixBytes;
orders.on('data', (chunk: Buffer) => {
  received[received.length] = chunk;
  receivedBytes += chunk.length;
  if (receivedBytes < wantedBytes) return;
  let bytes: Buffer = concat(received);
  for (;;) {
    wantedBytes = frameBytes(bytes);
    if (bytes.length < wantedBytes) break;
    const bodyStart = prefixBytes + uint32At(bytes, 0);
    obey(parse(textAt(bytes, prefixBytes, bodyStart)) as Order, textAt(bytes, bodyStart, wantedBytes));
    bytes = apply(subarray, bytes, [wantedBytes]);
  }
  received = [bytes];
  receivedBytes = bytes.length;
});
// The runner has ended.
orders.on('end', () => exit(0));
replies.on('error', () => exit(0));
reply({ type: 'ready' });
