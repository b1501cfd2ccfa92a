import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import { dirname } from 'node:path';
import { optionsOrExit } from '../test/faults/command-line';
import { hasChromium } from '@parley/testing/chromium';
import { benchBotDistributed, benchBotEmbedded, benchHub } from './administration';
import { benchBots } from './bots';
import { benchCodeDistributed, benchCodeEmbedded } from './code';
import { benchActionOfCode, benchColdCode, benchWebhooksOfCode } from './code-calls';
import { benchIdleCode, benchWarmCode } from './code-processes';
import { benchConsole } from './console';
import { benchChatDistributed, benchChatEmbedded } from './chat';
import { benchFairnessDistributed, benchFairnessEmbedded } from './fairness';
import { benchGrowth } from './growth';
import { benchHostileBots } from './hostile-bots';
import { benchIndexing } from './indexing';
import { benchIndexingFairnessDistributed, benchIndexingFairnessEmbedded } from './indexing-fairness';
import { benchListenDistributed, benchListenEmbedded } from './listen';
import { watchLoop, watchLoopOfAttacks } from './loop';
import { benchIndexingMemory } from './memory-indexing';
import { benchModelsDistributed, benchModelsEmbedded } from './models';
import { type Options, readOptions, usage } from './options';
import { benchParsing } from './parsing';
import { benchPassageIndex } from './passage-index';
import { benchPeers, missingPeers } from './peers';
import { benchDistributed, benchEmbedded } from './requests';
import type { Result } from './result';
import { benchQueue } from './queue';
import { benchRecovery } from './recovery';
import { benchRetrieval } from './retrieval';
import { benchScale } from './scale';
import { benchSearch } from './search';
import { Interrupted, Session } from './session';
import { benchMemory, benchStart } from './start';
import { printed } from './table';
import { benchTableImport } from './table-import';
import { benchTablesDistributed, benchTablesEmbedded } from './tables';
import { benchUpload } from './upload';
import { benchUploadMemory } from './upload-memory';
import { openWorkbench, type Workbench } from './workbench';

type Work = (bench: Workbench) => Promise<Result[]>;

function plan({ only, scene }: Options): { embedded: Work[]; distributed: Work[] } {
  const has = (...parts: Options['only']) => parts.some((part) => only.includes(part));
  const threadCounts = [...new Set([1, availableParallelism()])];
  return {
    embedded: [
      ...(has('read', 'write') ? [benchEmbedded] : []),
      ...(has('upload') ? [benchUpload] : []),
      ...(has('parsing') ? [benchParsing] : []),
      ...(has('indexing')
        ? threadCounts.map(
            (threads): Work =>
              (bench) =>
                benchIndexing(bench, threads),
          )
        : []),
      ...(has('loop') ? [watchLoop, watchLoopOfAttacks] : []),
      ...(has('start') ? [benchStart, (bench: Workbench) => benchMemory(bench, 'embedded')] : []),
      ...(has('bot') ? [benchBotEmbedded] : []),
      ...(has('hub') ? [benchHub] : []),
      ...(has('tables') ? [benchTablesEmbedded] : []),
      ...(has('growth') ? [benchGrowth] : []),
      ...(has('peers') ? [benchPeers] : []),
      ...(has('chat') ? [benchChatEmbedded] : []),
      ...(has('listen') ? [benchListenEmbedded] : []),
      ...(has('bots') ? [benchBots, benchHostileBots] : []),
      ...(has('code')
        ? [benchCodeEmbedded, benchColdCode, benchActionOfCode, benchWebhooksOfCode, benchWarmCode, benchIdleCode]
        : []),
      ...(has('models') ? [benchModelsEmbedded] : []),
      ...(has('retrieval') ? [benchRetrieval] : []),
      ...(has('search') ? [benchPassageIndex, benchSearch] : []),
      ...(has('queue') ? [benchQueue] : []),
      ...(has('console') && hasChromium ? [benchConsole] : []),
      ...(has('fairness') ? [benchFairnessEmbedded, ...(scene ? [] : [benchIndexingFairnessEmbedded])] : []),
    ],
    distributed: [
      ...(has('read', 'write') ? [benchDistributed] : []),
      ...(has('start') ? [(bench: Workbench) => benchMemory(bench, 'distributed')] : []),
      ...(has('upload') ? [benchUploadMemory] : []),
      ...(has('memory') ? [benchIndexingMemory] : []),
      ...(has('bot') ? [benchBotDistributed] : []),
      ...(has('tables') ? [benchTablesDistributed] : []),
      ...(has('import') ? [benchTableImport] : []),
      ...(has('chat') ? [benchChatDistributed] : []),
      ...(has('listen') ? [benchListenDistributed] : []),
      ...(has('code') ? [benchCodeDistributed] : []),
      ...(has('models') ? [benchModelsDistributed] : []),
      ...(has('recovery') ? [benchRecovery] : []),
      ...(has('scale') ? [benchScale] : []),
      ...(has('fairness') ? [benchFairnessDistributed, ...(scene ? [] : [benchIndexingFairnessDistributed])] : []),
    ],
  };
}

/** Returns whether all measurements finished without errors. */
async function main(options: Options): Promise<boolean> {
  if (options.profile) await mkdir(options.profile, { recursive: true });
  const { embedded, distributed } = plan(options);
  const hasNats = spawnSync('nats-server', ['--version']).status === 0;
  const isLeftOut = distributed.length > 0 && !hasNats;
  const skipped = [
    ...(isLeftOut ? ['The distributed mode was skipped: nats-server is not on the PATH.'] : []),
    ...(options.only.includes('console') && !hasChromium
      ? ['The part console was skipped: chromium is not on the PATH.']
      : []),
    ...(options.only.includes('peers') ? missingPeers(options.peers!) : []),
  ];

  const results: Result[] = [];
  const failures: string[] = [];
  const session = new Session();
  for (const work of [...embedded, ...(hasNats ? distributed : [])]) {
    try {
      const more = await work(await openWorkbench(session, options));
      results.push(...more);
      more.forEach((result) => console.log(printed(result)));
    } catch (error) {
      if (error instanceof Interrupted) throw error;
      console.error(error);
      failures.push(String(error));
    } finally {
      await session.stop();
    }
  }

  const errors = [...failures, ...results.flatMap((result) => result.errors)];
  const report = { ...circumstances(), options, skipped, errors, results };
  await mkdir(dirname(options.out), { recursive: true });
  await writeFile(options.out, `${JSON.stringify(report, null, 2)}\n`);
  skipped.forEach((reason) => console.log(reason));
  console.log(`All figures are in ${options.out}.`);
  if (errors.length > 0) console.log(`\nERRORS: the figures of this run are invalid.\n${errors.join('\n')}`);
  return errors.length === 0;
}

function circumstances() {
  const git = (...args: string[]) => spawnSync('git', args, { encoding: 'utf8' }).stdout?.trim();
  return {
    at: new Date().toISOString(),
    commit: git('rev-parse', 'HEAD'),
    isChanged: git('status', '--porcelain') !== '',
    node: process.version,
    cores: availableParallelism(),
    processor: cpus()[0]?.model,
  };
}

main(optionsOrExit(usage, readOptions)).then(
  (isGood) => (process.exitCode = isGood ? 0 : 1),
  (error: unknown) => {
    console.error(error instanceof Interrupted ? error.message : error);
    process.exitCode = 1;
  },
);
