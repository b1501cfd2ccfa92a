import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { hasNatsServer } from '@parley/testing/nats-server';
import { Client } from 'pg';
import { describeBadClients } from './clients.behaviour';
import { Fleet } from './fleet';
import { describeHostileDocuments } from './indexing.behaviour';
import { describeBusMessages } from './messages.behaviour';
import type { SharedFleet } from './shared-fleet';
import { describeTableJobs } from './table-jobs.behaviour';
import { describeWorkerKills } from './worker-kills.behaviour';

jest.setTimeout(180_000);

(hasNatsServer() ? describe : describe.skip)('one process of each app survives', () => {
  let shared: SharedFleet | undefined;
  let tablesFolder: string;
  const sharedFleet = () => shared!;

  beforeAll(async () => {
    const embeddings = await EmbeddingServer.start();
    tablesFolder = await mkdtemp(join(tmpdir(), 'parley-jobs-'));
    const fleet = await Fleet.start({
      envOf: { tables: { TMPDIR: tablesFolder } },
      env: {
        EMBEDDINGS_URL: embeddings.url,
        SWEEP_INTERVAL_MS: '200',
        // One bot may use half of the upload slots: enough for 200 slow uploads and some more.
        CONTENT_MAX_UPLOADS: '420',
      },
    });
    const database = new Client({ connectionString: fleet.databaseUrl });
    await database.connect();
    shared = { fleet, embeddings, database };
  });

  afterAll(async () => {
    await shared?.database.end();
    await shared?.fleet.stop();
    await shared?.embeddings.stop();
    await rm(tablesFolder, { recursive: true, force: true });
  });

  describeWorkerKills(sharedFleet);
  describeHostileDocuments(sharedFleet);
  describeTableJobs(sharedFleet);
  describeBadClients(sharedFleet);
  // Last, because it leaves dead letters.
  describeBusMessages(sharedFleet);
});
