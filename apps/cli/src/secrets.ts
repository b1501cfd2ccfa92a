import { admin } from '@parley/contracts/admin/admin';
import { hub } from '@parley/contracts/hub/hub';
import type { sealedTextOperations } from '@parley/contracts/sealed-texts';
import { DataFolder, DataFolderInUse } from '@parley/local-postgres/data-folder';
import { addKey } from '@parley/secrets/key-file';
import { CommandFailed } from './command-failed';
import { dataFolder, readKeptFile } from './kept-file';
import type { Operator } from './operator';

type Operations = ReturnType<typeof sealedTextOperations>;

/** What each service that keeps secrets calls those who have them. */
const keepers: { service: string; owners: string; operations: Operations }[] = [
  { service: 'admin', owners: 'bots', operations: admin.sealedTexts },
  { service: 'hub', owners: 'integrations', operations: hub.sealedTexts },
];

const changeByHand =
  'PARLEY_SECRET_KEY is set, so the key is not kept in the data folder: give it the new key, and PARLEY_FORMER_SECRET_KEYS the one before.';

/** A new current key in the data folder of an embedded mode that is stopped. */
export async function newKey(): Promise<string> {
  if (process.env['PARLEY_SECRET_KEY']) throw new CommandFailed(changeByHand);
  readKeptFile('secret.key', 'set PARLEY_DATA_DIR to its data folder');
  const folder = await DataFolder.claim(dataFolder()).catch((error: unknown) => {
    throw error instanceof DataFolderInUse ? new CommandFailed(error.message) : error;
  });
  await addKey(folder.path).finally(() => folder.release());
  return 'There is a new key, and the one before is kept. Start Parley, then run: npm run parley -- secrets rotate';
}

/** Seals all secrets anew under the current key. Begun again after a stop it goes on with what is left. */
export async function rotateSecrets(operator: Operator, write: (text: string) => void): Promise<string> {
  let count = 0;
  for (const { service, owners, operations } of keepers) {
    const { sealed, unreadable, left } = await sealAll(operator, operations);
    write(`${service}: ${sealed} secrets sealed anew\n`);
    count += sealed;
    if (unreadable.length > 0) throw new CommandFailed(unknownKey(owners, unreadable));
    if (left > 0)
      throw new CommandFailed(`${left} secrets of ${service} were sealed under a former key meanwhile: ${oldProcess}`);
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

const oldProcess = 'start every process with the current key as PARLEY_SECRET_KEY, then run this again.';

const underOneKey = 'Everything is sealed under the current key, and there is no former one.';

const done = [
  '',
  'Everything is sealed under the current key. Former keys, where there are any, are still needed for what they have signed:',
  '- URLs of contents, for at most an hour after the last process with such a key was stopped;',
  '- URLs of the code of bots, for 15 minutes;',
  '- keys of chat users, which do not expire: without the former key their users must be made again. Those that were',
  '  signed with CHAT_ENCRYPTION_KEY or with the encryption key of a bot do not need it.',
  'Then remove PARLEY_FORMER_SECRET_KEYS, or all lines but the first of secret.key, and start Parley anew.',
].join('\n');

function unknownKey(owners: string, ids: string[]): string {
  const shown = ids.slice(0, 10).join(', ');
  return `Secrets of these ${owners} are under a key that is not known: ${shown}${ids.length > 10 ? ` and ${ids.length - 10} more` : ''}. Add it to PARLEY_FORMER_SECRET_KEYS, start Parley anew, then run this again.`;
}
