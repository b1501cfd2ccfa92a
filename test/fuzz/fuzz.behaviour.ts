import * as fc from 'fast-check';
import type { Operation } from '@parley/contracts/operation';
import { waitFor } from '@parley/testing/wait-for';
import { brokenPromises } from '../support/answers';
import { type Damage, damagesOf, longestText } from './inputs';
import {
  ask,
  disagreements,
  type Request,
  requestOf,
  routedOperations,
  senderOf,
  type WildRequest,
} from '../support/requests';
import { type Home, Tenant } from '../support/tenant';

/** Inputs that are not generated, with reasons. */
const exclusions = [
  `texts of more than ${longestText} characters: sending them would dominate the run time`,
  'operations without a route: only services call them, with input that the gateway has validated',
  'the content of files: it is not the input of an operation',
];

/** Fixed seed, so that a new failure comes from a change of the code. Other seeds are for manual runs. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1);
const cases = Number(process.env['FUZZ_CASES'] ?? 8);
/** Cases per tenant, then a new one is created: a request may create a table, and a bot may have at most 500. */
const casesOfTenant = 200;
const slowMs = 20_000;

/** Fuzz test: no input makes an operation fail; every response is a declared success or a declared error. */
export function describeFuzz(name: string, start: () => Promise<Home & { stop(): Promise<void> }>): void {
  describe(name, () => {
    let platform: Awaited<ReturnType<typeof start>>;
    let tenant: Tenant;

    beforeAll(async () => {
      process.stderr.write(
        [
          `fuzz, ${name}: FUZZ_SEED=${seed} FUZZ_CASES=${cases} for each of ${routedOperations.length} operations, except`,
          ...exclusions.map((exclusion) => `  ${exclusion}`),
          '',
        ].join('\n'),
      );
      platform = await start();
      tenant = await Tenant.create(platform);
    });

    // Some operations delete the account that calls them.
    beforeEach(async () => {
      if (!(await tenant.isWhole())) tenant = await Tenant.create(platform);
    });

    afterAll(() => platform?.stop(), 60_000);

    it('holds a request for every operation', () => {
      expect(disagreements()).toEqual([]);
    });

    it.each(routedOperations.map((operation) => [operation.subject, operation] as const))(
      'fails no request of %s with an internal error',
      async (_subject, operation) => {
        let asked = 0;
        const attempt = async (damage: Damage) => {
          asked += 1;
          if (asked % casesOfTenant === 0) tenant = await Tenant.create(platform);
          const request = spoil(await requestOf(operation, tenant), damage);
          const started = performance.now();
          const answer = await ask(platform.url, operation, request.as ?? senderOf(operation, tenant), request);
          const problems = brokenPromises(operation, answer);
          if (performance.now() - started > slowMs) problems.push(`it took more than ${slowMs} ms`);
          if (problems.length > 0) throw new Error(`${problems.join('; ')}: ${answer.status} ${answer.text}`);
        };
        const property = fc.asyncProperty(damagesOf(operation), (damage) => untilServed(() => attempt(damage)));

        const found = await fc.check(property, { seed, numRuns: cases });

        if (found.failed) throw new Error(report(operation, found));
      },
      120_000 + cases * 1_000,
    );

    it('serves a new tenant at the end', async () => {
      await expect(Tenant.create(platform)).resolves.toHaveProperty('tag');
    });
  });
}

/** Retries requests that were refused because of overload. */
async function untilServed(work: () => Promise<void>): Promise<void> {
  await waitFor(async () => {
    try {
      await work();
      return true;
    } catch (error) {
      if (!/Try again in a moment|Retry after \d+ s/.test(String(error))) throw error;
      process.stdout.write(`fuzz, retried: ${String(error)}\n`);
      return false;
    }
  });
}

function spoil(request: Request, damage: Damage): WildRequest {
  const query = new Map<string, string[]>();
  for (const [name, value] of damage.query) query.set(name, [...(query.get(name) ?? []), value]);
  return {
    ...request,
    path: { ...request.path, ...damage.path },
    query: { ...request.query, ...Object.fromEntries(query) },
    headers: { ...request.headers, ...damage.headers },
    ...spoiltBody(request.body, damage.body),
  };
}

function spoiltBody(body: unknown, damage: Damage['body']): Pick<WildRequest, 'body' | 'text'> {
  if (!damage) return { body };
  if ('whole' in damage) return { body: damage.whole };
  if ('text' in damage) return { text: damage.text, body: undefined };
  return { body: { ...(body as object | undefined), ...damage.fields } };
}

function report({ subject }: Operation, found: fc.RunDetails<[Damage]>): string {
  const shorten = (text: string) => (text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text);
  return [
    `${subject}: ${shorten((found.errorInstance as Error | null)?.message ?? '')}`,
    `case: ${shorten(fc.stringify(found.counterexample))}`,
    `again: FUZZ_SEED=${seed} FUZZ_CASES=${cases} npx jest fuzz -t ${subject}`,
  ].join('\n');
}
