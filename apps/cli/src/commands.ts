import { admin } from '@parley/contracts/admin/admin';
import { files } from '@parley/contracts/files';
import { hub } from '@parley/contracts/hub/hub';
import { tables } from '@parley/contracts/tables/tables';
import { newToken } from '@parley/secrets/token';
import { CommandFailed } from './command-failed';
import { Operator } from './operator';

interface Command {
  usage: string;
  about: string;
  run(...values: string[]): Promise<unknown>;
}

/** The dead letters of each service that consumes events. */
const lettersOf = new Map([
  ['admin', admin.deadLetters],
  ['files', files.deadLetters],
  ['hub', hub.deadLetters],
  ['tables', tables.deadLetters],
]);
const services = [...lettersOf.keys()];

const commands: Record<string, Command> = {
  'account create': {
    usage: '<email>',
    about: 'makes an account with a workspace of its own',
    run: (email) => Operator.find().call(admin.accounts.create, { email: required(email, 'an email address') }),
  },
  'token create': {
    usage: '<email>',
    about: 'makes a personal access token for an account',
    run: async (email) =>
      (await Operator.find().call(admin.accounts.createToken, { email: required(email, 'an email address') })).value,
  },
  'token generate': {
    usage: '',
    about: 'prints a new token for PARLEY_BOOTSTRAP_TOKEN, without making it known to anybody',
    run: () => Promise.resolve(newToken('pat')),
  },
  'dead-letters list': {
    usage: `<${services.join('|')}>`,
    about: 'lists the events that a consumer of the service gave up on',
    run: async (service) => (await Operator.find().call(letters(service).list, {})).deadLetters,
  },
  'dead-letters replay': {
    usage: `<${services.join('|')}> [id]`,
    about: 'hands one of them, or all, to their consumers again',
    run: (service, id) => Operator.find().call(letters(service).replay, { id }),
  },
  'bot leftovers': {
    usage: '<bot id>',
    about: 'counts what is still kept of a bot: all zero once a deleted bot is erased',
    run: async (botId) => {
      const bot = { botId: required(botId, 'the id of a bot') };
      const operator = Operator.find();
      return {
        ...(await operator.call(files.countLeftovers, bot)),
        ...(await operator.call(tables.countLeftovers, bot)),
      };
    },
  },
};

/** Runs one command line and says how it went: 0 done, 1 failed, 2 misused. */
export async function runCommand([noun, verb, ...values]: string[], write: (text: string) => void): Promise<number> {
  const command = commands[`${noun ?? ''} ${verb ?? ''}`];
  if (!command) {
    write(`${usage()}\n`);
    return 2;
  }
  try {
    const result = await command.run(...values);
    write(`${typeof result === 'string' ? result : JSON.stringify(result, null, 2)}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    write(`${error.message}\n`);
    return 1;
  }
}

function usage(): string {
  const lines = Object.entries(commands).map(
    ([name, command]) => `  ${`${name} ${command.usage}`.padEnd(40)}${command.about}`,
  );
  return ['Usage: npm run parley -- <command>', '', ...lines].join('\n');
}

function letters(service: string | undefined) {
  const operations = lettersOf.get(service ?? '');
  if (!operations) throw new CommandFailed(`Name the service, one of: ${services.join(', ')}.`);
  return operations;
}

function required(value: string | undefined, what: string): string {
  if (!value) throw new CommandFailed(`Give ${what}.`);
  return value;
}
