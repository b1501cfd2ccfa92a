/**
 * Program that plays the runner: it reads a plan from its standard input, runs the attacks in processes of bundles, and
 * writes what they got. Tests start it as several users and with several versions of Node.
 */
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { workerFile } from '@parley/background/worker-file';
import { type Attack, bundleOf, type Outcome } from '@parley/testing/harmful-code';
import { BundleOutput, type PrintedLine } from '../../logs/bundle-output';
import { BotChild, CodeFailed } from '../bot-child';
import { type Isolation, isolate, type IsolationMode } from '../isolation';
import { bubblewrapProblem } from '../isolation.service';
import { folderMb } from '../temporary-folder';

export interface Plan {
  mode: IsolationMode;
  /** Addresses on this machine: code may call the first one. */
  apiPort: number;
  otherPort: number;
  /** Path of a socket on this machine. */
  localSocket: string;
  attacks: Attack[];
}

export interface Report {
  outcomes: Record<string, Outcome>;
  /** Answer to a call of another process that waits while the attacks run. */
  siblingAnswer: string;
  /** Temporary folders that are left. */
  leftFolders: string[];
}

const program = workerFile(`${__dirname}/../../host`, 'host.child');
const memoryMb = 96;
const openFiles = 256;
/** Code gets little of the processors on a busy machine. */
const timeoutMs = 60_000;
const maxLines = 5;
/** Processes of attacks at once. */
const concurrency = 4;
const botId = 'bot_of_the_code';
const request = { method: 'POST', path: '/', query: '', headers: {}, body: '' };

class Target {
  private static place = 900;
  readonly lines: PrintedLine[] = [];
  private droppedLines = 0;
  readonly output = new BundleOutput(
    (line) => this.lines.push(line),
    (count) => (this.droppedLines += count),
    (waiting) => {
      while (waiting.printNext());
    },
  );
  readonly child: BotChild;
  readonly folder: string;

  private constructor(private readonly isolation: Isolation) {
    const { limits, env, folder } = isolation;
    this.folder = env['TMPDIR']!;
    this.child = new BotChild(
      { ...limits, env, heapMb: memoryMb, residentMb: 2 * memoryMb, openFiles, fileMb: folderMb },
      (printed) => this.output.take(printed),
    );
    this.child.watchFolder(folder);
  }

  static async start({ mode, apiPort }: Plan, code: string, env: Record<string, string> = {}): Promise<Target> {
    const target = new Target(await isolate(mode, program, (Target.place += 1)));
    await target.child.load({ code, env, allowedOrigins: [{ hostname: '127.0.0.1', port: apiPort }] });
    return target;
  }

  async call(body: object, limitMs = timeoutMs, onStart: (id: string) => void = () => undefined): Promise<string> {
    let id = '';
    const frame = {
      request: { ...request, body: JSON.stringify(body) },
      apiHeaders: {},
      functionName: 'bot',
      functionVersion: '1',
    };
    try {
      const { body: answer } = await this.child.invoke({ ...frame, memoryMb, timeoutMs: limitMs }, (given) => {
        this.output.begin((id = given), { botId });
        onStart(given);
      });
      return answer;
    } catch (error) {
      if (error instanceof CodeFailed) return `${error.failure}: ${error.message}`;
      throw error;
    } finally {
      this.output.end(id);
    }
  }

  outcome(result: string, next: string): Outcome {
    return {
      ...{ result, next, droppedLines: this.droppedLines },
      lines: this.lines.slice(0, maxLines),
      loggedCharacters: this.lines.reduce((sum, { message }) => sum + message.length, 0),
    };
  }

  async end(): Promise<void> {
    this.child.kill();
    await this.child.ended;
    await this.isolation.folder.remove();
  }
}

/** Answers its first call when it gets a second one. */
const patientBundle = `
  let release;
  exports.handler = () => {
    if (release) return release({ status: 200, body: 'of the sibling' });
    return new Promise((resolve) => { release = resolve });
  };`;

async function run(plan: Plan): Promise<Report> {
  const sibling = await Target.start(plan, patientBundle, { SECRET_KEY: 'of the sibling' });
  let siblingCall = '';
  const waiting = sibling.call({}, 60_000, (id) => (siblingCall = id));
  const { apiPort, otherPort, localSocket } = plan;
  const target = {
    ...{ apiPort, otherPort, localSocket, siblingCall },
    runnerPid: process.pid,
    siblingPid: sibling.child.pid,
  };
  const outcomes: Report['outcomes'] = {};
  const folders = [sibling.folder];

  const attack = async (victim: Target, { name, timeoutMs: limitMs }: Attack) => {
    const result = await victim.call({ name, target }, limitMs);
    outcomes[name] = victim.outcome(result, await victim.call({}));
  };
  const together = plan.attacks.filter(({ isAlone }) => !isAlone);
  const alone = plan.attacks.filter(({ isAlone }) => isAlone);
  const attackTogether = async () => {
    const shared = await Target.start(plan, bundleOf(together), { SECRET_KEY: 'of the code' });
    folders.push(shared.folder);
    for (const each of together) await attack(shared, each);
    await shared.end();
  };
  const attackAlone = async () => {
    for (let next = alone.shift(); next; next = alone.shift()) {
      const victim = await Target.start(plan, bundleOf([next]));
      folders.push(victim.folder);
      await attack(victim, next);
      await victim.end();
    }
  };
  await Promise.all([attackTogether(), ...Array.from({ length: concurrency - 1 }, attackAlone)]);
  await sibling.call({});
  const siblingAnswer = await waiting;
  await sibling.end();
  return { outcomes, siblingAnswer, leftFolders: plan.mode === 'process' ? folders.filter(existsSync) : [] };
}

async function main(): Promise<void> {
  const plan = JSON.parse(await text(process.stdin)) as Plan | 'is bubblewrap there';
  const report = plan === 'is bubblewrap there' ? { problem: (await bubblewrapProblem())?.text } : await run(plan);
  process.stdout.write(JSON.stringify(report));
}

void main();
