import { admin } from '@parley/contracts/admin/admin';
import type { Caller } from '@parley/contracts/caller';
import { allOperations } from '@parley/contracts/contracts';
import type { Operation } from '@parley/contracts/operation';
import { hashToken, tokenKind } from '@parley/secrets/token';
import type { FrontDoor } from '@parley/testing/front-door';
import { formerRelease, inputOfThen, misfits } from './test/former-release';
import { type Request, requestOf, type Sender, senderOf } from './test/requests';
import { Tenant } from './test/tenant';
import { startWholeDoor } from './test/whole-door';

let door: FrontDoor;
let tenant: Tenant;

beforeAll(async () => {
  door = await startWholeDoor();
  tenant = await Tenant.create(door);
});

// Some operations take the account that calls them away.
beforeEach(async () => {
  if (!(await tenant.isWhole())) tenant = await Tenant.create(door);
});

afterAll(() => door?.stop());

/** Whom a gateway of the former release would name to the services. */
async function callerOf({ access }: Operation, sender: Sender, request: Request): Promise<Caller> {
  const asker: Caller = { requestId: 'former', credential: 'none' };
  const userKey = request.headers?.['x-user-key'] ?? sender.userKey;
  if (access.actor === 'chat-user') return { ...asker, credential: 'user', userKey };
  if (access.actor === 'anyone' || access.actor === 'chat-visitor') return asker;

  const question = { tokenHash: hashToken(sender.token), kind: tokenKind(sender.token)! };
  const inWorkspace = ['workspace', 'bot'].includes(access.actor) ? { workspaceId: sender.workspaceId } : {};
  const inBot = access.actor === 'bot' ? { botId: sender.botId } : {};
  const identity = await door.call(admin.identity.identify, asker, { ...question, ...inWorkspace, ...inBot });

  expect(misfits(identity, formerRelease.operations['admin.identify']!.output)).toEqual([]);
  return { ...asker, ...identity.caller };
}

const asked = Object.entries(formerRelease.operations).filter(([, { route }]) => route);

it.each(asked)('a gateway of the last release asks %s of a service of this one', async (subject, then) => {
  const now = allOperations.find((one) => one.subject === subject)!;
  // What it answers is asked here, not how soon.
  const operation = { ...now, timeoutMs: 60_000 };
  const request = await requestOf(operation, tenant);
  const caller = await callerOf(operation, request.as ?? senderOf(operation, tenant), request);

  const answer = await door.call(operation, caller, inputOfThen(operation, request, then.input));

  expect(misfits(answer, then.output)).toEqual([]);
});
