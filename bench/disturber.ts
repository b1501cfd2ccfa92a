import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type ClientRequest, request, type RequestOptions } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { newToken } from '@parley/secrets/token';
import { type Disturbance, tokenPlaceholder, uniquePlaceholder } from './disturbance';
import { HttpConnection } from './http-connection';
import { httpRequest } from './load';

// Noisy neighbour in a separate process, so that its own CPU time does not slow the measured requests.

const uniqueBytes = 32;
const answers: Record<string, number> = {};
let isStopping = false;

function count(answer: string): void {
  answers[answer] = (answers[answer] ?? 0) + 1;
}

function targetOf({ url, line }: Disturbance): RequestOptions {
  const { hostname, port } = new URL(url);
  const [method, path] = line.split(' ');
  return { hostname, port, method, path, agent: false };
}

/** Status of the answer, or the error. A server may answer before it has received the whole body, and close. */
async function statusOf(outgoing: ClientRequest): Promise<string> {
  return new Promise((resolve) => {
    outgoing.on('response', (response) => {
      const status = String(response.statusCode);
      response.resume();
      response.once('close', () => resolve(status));
    });
    outgoing.on('error', (error) => resolve(error.message));
  });
}

async function sendBodies(disturbance: Disturbance & { kind: 'bodies' }): Promise<void> {
  const body = await readFile(disturbance.bodyFile);
  const headers = { ...disturbance.headers, 'content-type': 'application/json', 'content-length': body.length };
  const worker = async () => {
    while (!isStopping) {
      const outgoing = request({ ...targetOf(disturbance), headers });
      const answered = statusOf(outgoing);
      outgoing.end(body);
      count(await answered);
    }
  };
  await Promise.all(Array.from({ length: disturbance.connections }, worker));
}

/** Sends one byte of a chunked body on each socket, stays silent, and reconnects after being disconnected. */
async function holdSockets({ url, line, headers, sockets }: Disturbance & { kind: 'silent sockets' }): Promise<void> {
  const { hostname, port } = new URL(url);
  const all = { ...headers, 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const head = `${line} HTTP/1.1\r\nhost: bench\r\n${lines.join('\r\n')}\r\n\r\n1\r\n{\r\n`;
  const worker = async () => {
    while (!isStopping) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      socket.write(head);
      socket.once('data', (data: Buffer) => {
        count(data.toString('latin1', 9, 12));
        socket.destroy();
      });
      await once(socket, 'close');
      count('closed');
    }
  };
  await Promise.all(Array.from({ length: sockets }, worker));
}

/** By connections that stay open. A connection that the server closes is opened again. */
async function sendRequests(disturbance: Disturbance & { kind: 'requests' }): Promise<void> {
  const { url, line, headers, body, connections, pauseMs, isOnce } = disturbance;
  const text = httpRequest(line, headers, body);
  const worker = async () => {
    let connection = await HttpConnection.open(url);
    while (!isStopping) {
      try {
        const unique = randomBytes(uniqueBytes).toString('base64url');
        const request = text.replaceAll(uniquePlaceholder, unique).replaceAll(tokenPlaceholder, () => newToken('pat'));
        count(String(await connection.send(request)));
      } catch (error) {
        count((error as Error).message);
        connection = await HttpConnection.open(url);
      }
      if (isOnce) return;
      if (pauseMs) await sleep(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
}

const disturb: { [Kind in Disturbance['kind']]: (disturbance: Disturbance & { kind: Kind }) => Promise<void> } = {
  bodies: sendBodies,
  'silent sockets': holdSockets,
  requests: sendRequests,
};

const disturbance = JSON.parse(process.env['DISTURBANCE'] ?? 'null') as Disturbance;
process.on('SIGTERM', () => {
  isStopping = true;
  console.log(JSON.stringify(answers));
  process.exit();
});
console.log('Disturbing');
void (disturb[disturbance.kind] as (disturbance: Disturbance) => Promise<void>)(disturbance);
