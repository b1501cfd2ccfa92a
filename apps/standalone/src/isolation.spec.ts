import type { Operation } from '@parley/contracts/operation';
import type { Answer, FrontDoor } from '@parley/testing/front-door';
import { brokenPromises } from './test/answers';
import { ask, disagreements, requestOf, routedOperations, type Sender, senderOf } from './test/requests';
import { storedRows } from './test/stored-rows';
import { Tenant } from './test/tenant';
import { startWholeDoor } from './test/whole-door';

jest.setTimeout(60_000);

/** Operations that answer everybody who asks for what its owner has made public, with the reason. */
const publicReads: Record<string, string> = {};

let door: FrontDoor;
let alice: Tenant;
let mallory: Tenant;

beforeAll(async () => {
  door = await startWholeDoor();
  alice = await Tenant.create(door);
});

// A new one for each operation: some take the account that calls them away.
beforeEach(async () => {
  mallory = await Tenant.create(door);
});

afterAll(() => door?.stop());

interface Holdings {
  rows: string[];
  /** Names, ids and tokens that only alice could tell. */
  marks: string[];
}

/** All that is stored of alice, in whichever service, and nothing that mallory has as well, such as a public integration. */
async function holdings(): Promise<Holdings> {
  const rows = await storedRows(door.sql);
  const mentioning = (marks: string[]) => rows.filter((row) => marks.some((mark) => row.includes(mark)));
  const shared = new Set(idsIn(mentioning(namesOf(mallory))));
  const idsOf = (marks: string[]) => idsIn(mentioning(marks)).filter((id) => !shared.has(id));
  const own = namesOf(alice);
  // Rows name their owner, or something that does.
  const marks = [...new Set([...own, ...idsOf([...own, ...idsOf(own)])])];
  return { rows: mentioning(marks), marks };
}

function namesOf({ tag, account, botId, botKey }: Tenant): string[] {
  return [tag, account.email, account.accountId, account.workspaceId, account.token, botId, botKey];
}

function idsIn(rows: string[]): string[] {
  return rows.flatMap(
    (row) => row.match(/\b[a-z]+_[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g) ?? [],
  );
}

/** Every way in which mallory can put the request of alice. */
function intrusions({ access }: Operation): [string, Sender][] {
  const headersOf = ({ account: { workspaceId }, botId }: Tenant) => ({ workspaceId, botId });
  const takesContext = access.actor === 'workspace' || access.actor === 'bot';
  const tokens: [string, string][] = [
    ['a personal token', mallory.account.token],
    ...(access.credentials.includes('bak') ? [['a bot key', mallory.botKey] as [string, string]] : []),
  ];
  return tokens.flatMap(([name, token]) => [
    [`${name} and headers of their own`, { token, ...headersOf(mallory) }] as [string, Sender],
    ...(takesContext
      ? [[`${name} and the headers of the other`, { token, ...headersOf(alice) }] as [string, Sender]]
      : []),
  ]);
}

/** Whether an answer refuses, in the words that are the same for what is foreign and for what is absent. */
function isRefusal({ status, json }: Answer): boolean {
  return status === 403 || status === 404 || (status === 400 && json?.type === 'ReferenceNotFound');
}

/** Alice's marks in an answer that the request did not name itself. */
function leaks({ text, headers }: Answer, sent: string, marks: string[]): string[] {
  const answered = `${JSON.stringify(headers)}${text}`;
  return marks.filter((mark) => answered.includes(mark) && !sent.includes(mark));
}

it('has a request for every operation', () => {
  expect(disagreements()).toEqual([]);
  expect(Object.keys(publicReads).filter((name) => !routedOperations.some(({ subject }) => subject === name))).toEqual(
    [],
  );
});

describe('another tenant', () => {
  it.each(routedOperations.map((operation) => [operation.subject, operation] as const))(
    'is refused by %s, or learns nothing of the first one, who is served as declared',
    async (subject, operation) => {
      const request = await requestOf(operation, alice);
      const before = await holdings();

      const answers: { intrusion: string; outcome: string; leaks: string[] }[] = [];
      for (const [intrusion, sender] of intrusions(operation)) {
        const sent = JSON.stringify([request, sender]);
        const answer = await ask(door.url, operation, sender, request);
        const isNamed = before.marks.some((mark) => sent.includes(mark)) && !(subject in publicReads);
        const outcome = !isNamed || isRefusal(answer) ? 'as it should be' : `${answer.status} ${answer.text}`;
        answers.push({ intrusion, outcome, leaks: leaks(answer, sent, before.marks) });
      }
      const after = await holdings();
      const served = await ask(door.url, operation, request.as ?? senderOf(operation, alice), request);

      expect(answers).toEqual(answers.map(({ intrusion }) => ({ intrusion, outcome: 'as it should be', leaks: [] })));
      expect(after.rows).toEqual(before.rows);
      expect(`${served.status} ${served.text}`).toMatch(new RegExp(`^${operation.status} `));
      expect(brokenPromises(operation, served)).toEqual([]);
    },
  );
});
