import { parseArgs } from 'node:util';
import { isUUID } from 'class-validator';
import { newKeys } from '@parley/bus/nats-keys';
import { ConfigError, readConfig } from '@parley/config/config';
import { admin } from '@parley/contracts/admin/admin';
import { chat } from '@parley/contracts/chat/chat';
import { files } from '@parley/contracts/files';
import { maxRetriedFiles, type RetriedFiles } from '@parley/contracts/indexing-work';
import type { CorrectedStorage } from '@parley/contracts/storage-counts';
import { hub } from '@parley/contracts/hub/hub';
import { tables } from '@parley/contracts/tables/tables';
import { newToken } from '@parley/secrets/token';
import { NatsConfig } from '@parley/service/config';
import { backUp } from './backup/backup';
import { restore } from './backup/restore';
import { asOperator } from './bus-operator';
import { CommandFailed, Misused } from './command-failed';
import { dataFolder } from './kept-file';
import { Operator } from './operator';
import { dropFormerModels, reindex, reindexTables } from './reindex';
import { newKey, rotateSecrets } from './secrets';

interface Command {
  usage: string;
  about: string;
  /** How many values it takes at most; none unless it says so. */
  takes?: number;
  options?: Record<string, { type: 'string' | 'boolean' }>;
  run(write: (text: string) => void, values: string[], options: Options): Promise<unknown>;
}

type Options = Record<string, string | boolean | undefined>;

/** The dead letters of each service that consumes events. */
const lettersOf = new Map([
  ['admin', admin.deadLetters],
  ['chat', chat.deadLetters],
  ['files', files.deadLetters],
  ['hub', hub.deadLetters],
  ['tables', tables.deadLetters],
]);
const services = [...lettersOf.keys()];
const shownLetters = 100;

const commands: Record<string, Command> = {
  'account create': {
    usage: '<email>',
    about: 'makes an account with a workspace of its own',
    takes: 1,
    run: (_write, [email]) => {
      const input = { email: required(email, 'an email address') };
      return Operator.find().call(admin.accounts.create, input);
    },
  },
  'token create': {
    usage: '<email>',
    about: 'makes a personal access token for an account',
    takes: 1,
    run: async (_write, [email]) => {
      const input = { email: required(email, 'an email address') };
      return (await Operator.find().call(admin.accounts.createToken, input)).value;
    },
  },
  'token generate': {
    usage: '',
    about: 'prints a new token for PARLEY_BOOTSTRAP_TOKEN, without making it known to anybody',
    run: () => Promise.resolve(newToken('pat')),
  },
  'dead-letters list': {
    usage: `<${services.join('|')}>`,
    about: `lists the newest ${shownLetters} events that a consumer of the service gave up on`,
    takes: 1,
    run: async (write, [service]) => {
      const { list } = letters(service);
      const { deadLetters } = await Operator.find().call(list, { limit: shownLetters + 1 });
      if (deadLetters.length > shownLetters) write(`There are more: these are the newest ${shownLetters}.\n`);
      return deadLetters.slice(0, shownLetters);
    },
  },
  'dead-letters replay': {
    usage: `<${services.join('|')}> [id]`,
    about: 'hands one of them, or all, to their consumers again',
    takes: 2,
    run: (_write, [service, id]) => {
      const { replay } = letters(service);
      return Operator.find().call(replay, { id });
    },
  },
  reindex: {
    usage: '[--drop-old | --tables [bot id]]',
    about: 'fills the index of the next embedding model, drops those of former models, or indexes rows of tables again',
    takes: 1,
    options: { 'drop-old': { type: 'boolean' }, tables: { type: 'boolean' } },
    run: (write, [botId], { 'drop-old': isOldDropped, tables: isOfTables }) => {
      if (isOfTables ? isOldDropped : botId !== undefined)
        throw new Misused('Give --drop-old, --tables, --tables <bot id> or nothing.');
      if (isOfTables) return reindexTables(Operator.find(), write, botId);
      return isOldDropped ? dropFormerModels(Operator.find()) : reindex(Operator.find(), write);
    },
  },
  'files stuck': {
    usage: '[minutes]',
    about: 'lists files that wait to be indexed for longer than this (10), or were tried before',
    takes: 1,
    run: async (_write, [minutes]) => {
      const olderThanMinutes = minutes === undefined ? undefined : wholeNumber(minutes, 'minutes');
      const pages = await collect(Operator.find().pages(files.indexing.listStuck, { olderThanMinutes }));
      return pages.flatMap((page) => page.files);
    },
  },
  'files failed': {
    usage: '[bot id]',
    about: 'lists files that could not be indexed and why, newest first',
    takes: 1,
    run: async (_write, [bot]) => {
      const botId = bot && possibleBot(bot);
      const pages = await collect(Operator.find().pages(files.indexing.listFailed, { botId }));
      return pages.flatMap((page) => page.files);
    },
  },
  'files retry': {
    usage: '<file id…> | --bot <bot id> | --all-failed',
    about: 'indexes them again: these, or all that failed',
    takes: Infinity,
    options: { bot: { type: 'string' }, 'all-failed': { type: 'boolean' } },
    run: (_write, fileIds, options) => retry(fileIds, options),
  },
  'storage reconcile': {
    usage: '',
    about: 'counts anew what the files of all bots take, and lists the bots whose counts were wrong',
    run: () => reconcile(Operator.find()),
  },
  backup: {
    usage: '<file.tar.gz>',
    about: 'writes the data folder of the embedded mode to a new file, also while Parley runs on it',
    takes: 1,
    run: (write, [file]) =>
      stoppable((signal) => backUp(dataFolder(), required(file, 'the name of a file'), write, signal)),
  },
  restore: {
    usage: '<file.tar.gz> [--to <folder>]',
    about: 'makes a data folder of a backup: that of PARLEY_DATA_DIR, or another one that is empty or not there',
    takes: 1,
    options: { to: { type: 'string' } },
    run: (write, [file], { to = dataFolder() }) => {
      const from = required(file, 'the name of a file');
      return stoppable((signal) => restore(from, String(to), write, signal));
    },
  },
  'secrets rotate': {
    usage: '',
    about: 'seals all secrets anew under the current secret key, and says when former ones are not needed any more',
    run: (write) => rotateSecrets(Operator.find(), write),
  },
  'secrets new-key': {
    usage: '',
    about: 'makes a new secret key in the data folder of a stopped embedded mode, and keeps the one before',
    run: () => newKey(),
  },
  'nats keys': {
    usage: '',
    about: 'makes a key for each user of the NATS server, and says what goes where',
    run: () => Promise.resolve(newKeys()),
  },
  streams: {
    usage: '',
    about: 'shows the streams on NATS and how far each consumer is; `npm run streams` makes them',
    run: () => asOperator(natsConfig(), (upkeep) => upkeep.list()),
  },
  'bot leftovers': {
    usage: '<bot id>',
    about: 'counts what is still kept of a bot: all zero once a deleted bot is erased',
    takes: 1,
    run: async (_write, [botId]) => {
      const bot = { botId: required(botId, 'the id of a bot') };
      const operator = Operator.find();
      return {
        ...(await operator.call(files.countLeftovers, bot)),
        ...(await operator.call(tables.countLeftovers, bot)),
        ...(await operator.call(chat.countLeftovers, bot)),
      };
    },
  },
};

/** Runs one command line and says how it went: 0 done, 1 failed, 2 misused. */
export async function runCommand(words: string[], write: (text: string) => void): Promise<number> {
  const asked = words.filter((word) => word !== '--help' && word !== '-h');
  const name = [2, 1].map((count) => asked.slice(0, count).join(' ')).find((prefix) => Object.hasOwn(commands, prefix));
  if (asked.length < words.length) {
    write(`${usage(name ?? asked[0])}\n`);
    return 0;
  }
  const command = commands[name ?? ''];
  if (!command) {
    write(words.length === 0 ? `${usage()}\n` : `${unknown(words)}\n\n${usage(words[0])}\n`);
    return 2;
  }
  try {
    const { values, options } = parse(command, words.slice(name!.split(' ').length));
    const result = await command.run(write, values, options);
    write(`${shown(result)}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    write(`${error.message}\n`);
    if (!(error instanceof Misused)) return 1;
    write(`\n${usage(name)}\n`);
    return 2;
  }
}

/** Refuses whatever the command does not know, before it does anything. */
function parse(command: Command, args: string[]): { values: string[]; options: Options } {
  const { values, options } = readWords(command, args);
  const [superfluous] = values.slice(command.takes ?? 0);
  if (superfluous !== undefined) throw new Misused(`"${superfluous}" is one word too many.`);
  return { values, options };
}

function readWords({ options = {} }: Command, args: string[]): { values: string[]; options: Options } {
  try {
    const read = parseArgs({ args, options, allowPositionals: true });
    return { values: read.positionals, options: read.values };
  } catch (error) {
    // What follows the first sentence is about a way of writing that nobody needs here.
    throw new Misused(`${(error as Error).message.split('. ')[0]}.`);
  }
}

function unknown([first, ...others]: string[]): string {
  const isGroup = namesIn(first).length < Object.keys(commands).length;
  if (isGroup && others.length === 0) return `"${first}" lacks what to do.`;
  return `There is no command "${isGroup ? `${first} ${others[0]}` : first}".`;
}

/** Ctrl-C ends the work as a failure of it would, so that nothing half done is left. */
async function stoppable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const stop = () => stopping.abort(new CommandFailed('Stopped.'));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work(stopping.signal);
  } catch (error) {
    stopping.signal.throwIfAborted();
    const { syscall, message } = error as NodeJS.ErrnoException;
    // A disk that is full or a file that may not be read: a stack would explain nothing.
    throw syscall ? new CommandFailed(message) : error;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

function natsConfig(): NatsConfig {
  try {
    return readConfig(NatsConfig);
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandFailed(error.message);
    throw error;
  }
}

/** Names of the commands that begin with these words; all when none does. */
function namesIn(words = ''): string[] {
  const all = Object.keys(commands);
  const some = all.filter((name) => name === words || name.startsWith(`${words} `));
  return some.length > 0 ? some : all;
}

function usage(words?: string): string {
  const lines = namesIn(words).map((name) => {
    const command = commands[name]!;
    return `  ${`${name} ${command.usage}`.padEnd(60)}${command.about}`;
  });
  return ['Usage: npm run parley -- <command>', '', ...lines].join('\n');
}

/** Fails when a file that was named is refused. */
async function retry(fileIds: string[], { bot, 'all-failed': isAll }: Options): Promise<RetriedFiles> {
  const given = [fileIds.length > 0, bot !== undefined, isAll === true].filter(Boolean);
  if (given.length !== 1) throw new Misused('Give ids of files, --bot <bot id> or --all-failed.');
  const botId = bot === undefined ? undefined : possibleBot(String(bot));
  const operator = Operator.find();
  if (fileIds.length > 0) {
    const done = await retryFiles(operator, fileIds);
    if (done.refused.length > 0) throw new CommandFailed(shown(done));
    return done;
  }

  const all: RetriedFiles = { retried: [], refused: [] };
  // What fails again meanwhile stands before the first page, so this comes to an end.
  for await (const page of operator.pages(files.indexing.listFailed, { botId })) {
    if (page.files.length === 0) break;
    const done = await retryFiles(
      operator,
      page.files.map(({ fileId }) => fileId),
    );
    all.retried.push(...done.retried);
    all.refused.push(...done.refused);
  }
  return all;
}

async function retryFiles(operator: Operator, fileIds: string[]): Promise<RetriedFiles> {
  const distinct = [...new Set(fileIds)];
  const all: RetriedFiles = { retried: [], refused: [] };
  for (let start = 0; start < distinct.length; start += maxRetriedFiles) {
    const part = { fileIds: distinct.slice(start, start + maxRetriedFiles) };
    const { retried, refused } = await operator.call(files.indexing.retry, part);
    all.retried.push(...retried);
    all.refused.push(...refused);
  }
  return all;
}

async function reconcile(operator: Operator): Promise<{ checked: number; corrected: CorrectedStorage[] }> {
  let checked = 0;
  const corrected: CorrectedStorage[] = [];
  let after: string | undefined;
  do {
    const page = await operator.call(files.storage.reconcile, { after });
    checked += page.checked;
    corrected.push(...page.corrected);
    after = page.next;
  } while (after !== undefined);
  return { checked, corrected };
}

async function collect<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) all.push(page);
  return all;
}

function shown(result: unknown): string {
  return typeof result === 'string' ? result : JSON.stringify(result, null, 2);
}

/** An id that no bot can have is told as one that none has: of a bot that is deleted, files may be left. */
function possibleBot(botId: string): string {
  if (!isUUID(botId)) throw new CommandFailed(`ResourceNotFound: There is no bot "${botId}" here.`);
  return botId;
}

function wholeNumber(text: string, what: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Misused(`Give ${what} as a whole number.`);
  return Number(text);
}

function letters(service: string | undefined) {
  const operations = lettersOf.get(service ?? '');
  if (!operations) throw new Misused(`Name the service, one of: ${services.join(', ')}.`);
  return operations;
}

function required(value: string | undefined, what: string): string {
  if (!value) throw new Misused(`Give ${what}.`);
  return value;
}
