import type { Command } from 'commander';
import { admin } from '@parley/contracts/admin/admin';
import { hub } from '@parley/contracts/hub/hub';
import { models } from '@parley/contracts/models/models';
import { runtime } from '@parley/contracts/runtime/runtime';
import type { sealedTextOperations } from '@parley/contracts/sealed-texts';
import { DataFolder } from '@parley/local-postgres/data-folder';
import { addKey } from '@parley/secrets/key-file';
import { CommandFailed, type Output, printResult } from '../output';
import { dataFolder, readKeptFile } from '../kept-file';
import { Operator } from '../operator';

type Operations = ReturnType<typeof sealedTextOperations>;

/** Services that store encrypted secrets, and the owners of these secrets. */
const keepers: { service: string; owners: string; operations: Operations }[] = [
  { service: 'admin', owners: 'bots', operations: admin.sealedTexts },
  { service: 'hub', owners: 'integrations', operations: hub.sealedTexts },
  { service: 'models', owners: 'providers of language models', operations: models.sealedTexts },
  { service: 'runtime', owners: 'webhook recordings', operations: runtime.sealedTexts },
];

const changeByHand =
  'PARLEY_SECRET_KEY is set, so the data folder holds no key. Set PARLEY_SECRET_KEY to a new key and PARLEY_FORMER_SECRET_KEYS to the current one.';

export function addSecretCommands(program: Command, output: Output): void {
  const secrets = program.command('secrets').description('rotation of the secret key');
  secrets
    .command('rotate')
    .description('encrypts all secrets again with the current secret key')
    .action(async () => printResult(output, await rotateSecrets(Operator.find(), output)));
  secrets
    .command('new-key')
    .description('creates a new secret key in the data folder of a stopped embedded mode; keeps the former one')
    .action(async () => printResult(output, await newKey()));
}

async function newKey(): Promise<string> {
  if (process.env['PARLEY_SECRET_KEY']) throw new CommandFailed(changeByHand);
  readKeptFile('secret.key', 'set PARLEY_DATA_DIR to its data folder');
  const folder = await DataFolder.claim(dataFolder());
  try {
    await addKey(folder.path);
  } finally {
    await folder.release();
  }
  return 'Created a new key and kept the former one. Start Parley, then run: npm run parley -- secrets rotate';
}

/** Encrypts all secrets with the current key. Resumes where a stopped run ended. */
async function rotateSecrets(operator: Operator, output: Output): Promise<string> {
  let count = 0;
  for (const { service, owners, operations } of keepers) {
    const { sealed, unreadable, left } = await sealAll(operator, operations);
    output.err(`${service}: ${sealed} secrets encrypted again\n`);
    count += sealed;
    if (unreadable.length > 0) throw new CommandFailed(unknownKey(owners, unreadable));
    if (left > 0)
      throw new CommandFailed(
        `A process still encrypts with a former key: it wrote ${left} secrets of ${service} meanwhile. ${oldProcess}`,
      );
  }
  return count === 0 && operator.knowsOneKey ? `\n${underOneKey}` : done;
}

async function sealAll(operator: Operator, { sealAnew }: Operations) {
  const unreadable: string[] = [];
  let sealed = 0;
  let after: string | undefined;
  for (;;) {
    const answer = await operator.call(sealAnew, { after });
    sealed += answer.sealed;
    unreadable.push(...answer.unreadable);
    if (answer.next === undefined) return { sealed, unreadable, left: answer.left ?? 0 };
    after = answer.next;
  }
}

const oldProcess = 'Restart every process with the current key as PARLEY_SECRET_KEY, then run this command again.';

const underOneKey = 'All secrets are encrypted with the current key, and there is no former key.';

const done = [
  '',
  'All secrets are encrypted with the current key. Former keys are still needed to verify their signatures:',
  '- content URLs: for at most one hour after the last process with a former key has stopped;',
  '- URLs of bot code: for 15 minutes;',
  '- keys of chat users: they do not expire. Without the former key, their users must be created again. Keys signed with',
  '  CHAT_ENCRYPTION_KEY or with the encryption key of a bot do not need it.',
  'Then remove PARLEY_FORMER_SECRET_KEYS, or all lines but the first of secret.key, and restart Parley.',
].join('\n');

function unknownKey(owners: string, ids: string[]): string {
  const shown = ids.slice(0, 10).join(', ');
  return `Secrets of these ${owners} are encrypted with an unknown key: ${shown}${ids.length > 10 ? ` and ${ids.length - 10} more` : ''}. Add the key to PARLEY_FORMER_SECRET_KEYS, restart Parley, then run this command again.`;
}
