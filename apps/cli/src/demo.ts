import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type File } from '@botpress/client';
import { lookup } from 'mime-types';
import { progressText, type ShownProgress } from '@parley/contracts/progress-text';
import { CommandFailed, endWithReader } from './output';
import { readKeptFile } from './kept-file';

const botName = 'demo';
const pollMs = 300;
/** Between two lines about a long file where no line is overwritten. */
const lineMs = 10_000;
const shownPassages = 5;

/** With the field that Parley adds. */
type ShownFile = File & { indexing?: ShownProgress };

interface Credentials {
  url: string;
  workspaceId: string;
  token: string;
}

/** Uploads files through the public client, waits until they are indexed, and prints their passages. */
async function demo(paths: string[]): Promise<void> {
  if (paths.length === 0) throw new Error('Name one or more files: npm run demo -- README.md');
  const contents = await Promise.all(paths.map(readDocument));
  const { url, workspaceId, token } = JSON.parse(
    readKeptFile('credentials.json', 'set PARLEY_DATA_DIR to its data folder'),
  ) as Credentials;
  const admin = new Client({ apiUrl: url, workspaceId, token });
  const botId = await findOrCreateBot(admin);
  const client = new Client({ apiUrl: url, workspaceId, token, botId });
  for (const [index, path] of paths.entries()) {
    const id = await upload(client, path, contents[index]!);
    await waitUntilIndexed(client, id, path);
    await printPassages(client, id);
  }
}

async function findOrCreateBot(client: Client): Promise<string> {
  const bots = await client.list.bots({}).collect();
  const known = bots.find(({ name }) => name === botName);
  if (known) return known.id;
  const { bot } = await client.createBot({ name: botName });
  process.stdout.write(`Created the bot ${bot.id}\n`);
  return bot.id;
}

function readDocument(path: string): Promise<Buffer> {
  return readFile(path).catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new CommandFailed(code === 'ENOENT' ? `File ${path} not found.` : `Cannot read ${path}: ${message}`);
  });
}

async function upload(client: Client, path: string, content: Buffer): Promise<string> {
  const contentType = lookup(path) || 'text/plain';
  const { file } = await client.uploadFile({ key: basename(path), content, contentType, index: true });
  return file.id;
}

async function waitUntilIndexed(client: Client, id: string, path: string): Promise<void> {
  const started = Date.now();
  let last = { status: '', at: 0 };
  for (;;) {
    const { file }: { file: ShownFile } = await client.getFile({ id });
    const at = Date.now();
    if (process.stdout.isTTY || file.status !== last.status || at - last.at > lineMs) {
      const stage = file.indexing ? `  ${progressText(file.indexing)}` : '';
      progress(`${path}  ${file.status}${stage}  ${((at - started) / 1000).toFixed(1)} s`);
      last = { status: file.status, at };
    }
    if (file.status === 'indexing_completed') break;
    if (file.status === 'indexing_failed') throw new Error(`Indexing ${path} failed: ${file.failedStatusReason ?? ''}`);
    await sleep(pollMs);
  }
  process.stdout.write('\n');
}

/** Overwrites one line on a terminal; prints a new line elsewhere. */
function progress(text: string): void {
  if (process.stdout.isTTY) process.stdout.write(`\r\u001b[2K${text}`);
  else process.stdout.write(`${text}\n`);
}

async function printPassages(client: Client, id: string): Promise<void> {
  const passages = await client.list.filePassages({ id }).collect();
  for (const { content, meta } of passages.slice(0, shownPassages)) {
    process.stdout.write(`\n[${meta.position ?? 0}] ${meta.subtype ?? ''}\n${content.replaceAll(/^/gm, '    ')}\n`);
  }
  const more = passages.length - shownPassages;
  process.stdout.write(more > 0 ? `\n… and ${more} more passages\n\n` : '\n');
}

endWithReader();
demo(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
