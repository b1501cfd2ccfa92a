import {
  growthSubjects,
  secondsOfInserts,
  type FilledPlatform,
  type GrowthQuery,
  type GrowthSubject,
} from './growth-subjects';
import { runLoad } from './load';
import { type LoadRound, newDatabase } from './operations';
import type { Result, Row } from './result';
import { type Side, alternate, compareSpeed, timed } from './rounds';
import { median } from './statistics';
import { openEmbedded, type Workbench } from './workbench';

const smallSizes = [10_000, 100_000];
const largeSize = 1_000_000;
const secondsOfReads = 1;

interface Candidate extends Side {
  query: GrowthQuery;
  size: number;
}

/**
 * Latency of each request, one at a time, for bots with 10,000, 100,000 and (if asked for) 1,000,000 rows, messages and
 * files. Each size has a platform and a database of its own, so that tables and indexes grow with it.
 */
export async function benchGrowth(bench: Workbench): Promise<Result[]> {
  const platforms: FilledPlatform[] = [];
  for (const size of [...smallSizes, ...(bench.options.large ? [largeSize] : [])]) {
    const { url: databaseUrl } = await newDatabase(bench);
    // The platforms share the connections of one Postgres.
    const platform = await openEmbedded(bench, { DATABASE_URL: databaseUrl, DATABASE_POOL_SIZE: '3' });
    platforms.push({ bench, platform, databaseUrl, size });
  }
  const results: Result[] = [];
  for (const subject of growthSubjects) results.push(await measure(bench, subject, platforms));
  return results;
}

async function measure(
  { session, options, postgresPid }: Workbench,
  { things, fill }: GrowthSubject,
  platforms: FilledPlatform[],
): Promise<Result> {
  const filled: Candidate[][] = [];
  for (const filledPlatform of platforms) {
    session.checkpoint();
    const { platform, size } = filledPlatform;
    const queries = await fill(filledPlatform);
    filled.push(
      queries.map((query) => ({
        name: `${query.name}, ${formatted(size)} ${things}`,
        url: platform.url,
        layers: { standalone: [platform.pids['standalone']!], postgres: [postgresPid] },
        processes: platform.pids,
        query,
        size,
      })),
    );
  }
  const queries = filled[0]!.map(({ query }) => query);
  // The sizes of one query are neighbours, since their rounds are compared.
  const sides = queries.flatMap((_query, i) => filled.map((candidates) => candidates[i]!));
  const measured = await alternate(session, sides, options.rounds, async (side) => {
    const { next, isInsert, prepare, clear } = side.query;
    const seconds = isInsert ? secondsOfInserts : Math.min(secondsOfReads, options.seconds);
    await prepare?.();
    const round = await timed(side, () => runLoad({ url: side.url, next, connections: 1, seconds }));
    await clear?.();
    return round;
  });

  const roundsOf = (query: number): LoadRound[][] =>
    measured.slice(query * platforms.length, (query + 1) * platforms.length);
  return {
    title: `Embedded mode: requests by the number of ${things}; one at a time, ${options.rounds} rounds`,
    rows: queries.map(({ name }, i): Row => ({
      name,
      figures: Object.fromEntries(
        roundsOf(i).map((rounds, j) => [
          `ms, ${formatted(platforms[j]!.size)}`,
          median(rounds.map(({ perSecond }) => 1000 / perSecond)),
        ]),
      ),
    })),
    aims: queries.flatMap(({ name, aim }, i) => {
      const rounds = roundsOf(i);
      // The ratio of latencies is the inverse ratio of speeds.
      return compareSpeed({ name: `${name}, largest / smallest`, below: aim }, rounds[0]!, rounds.at(-1)!);
    }),
    notes: [],
    errors: sides.flatMap(({ name }, i) =>
      measured[i]!.flatMap(({ firstError }) => (firstError ? [`${name}: ${firstError}`] : [])),
    ),
    rounds: Object.fromEntries(sides.map(({ name }, i) => [name, measured[i]!])),
  };
}

function formatted(count: number): string {
  return count.toLocaleString('en-US');
}
