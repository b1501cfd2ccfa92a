import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { retryBackoffMs } from '@parley/background/retry-backoff';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { Database, type Transaction } from '@parley/persistence/database';
import type { Reader } from '../../../files/src/store/file.entity';
import { FilesRepository } from '../../../files/src/store/files.repository';
import { IndexModelsRepository } from '../../../files/src/store/index-models.repository';
import { JobsRepository, type LeasedJob } from '../../../files/src/store/jobs.repository';
import type { ContentVersion } from '../../../files/src/store/passages.repository';
import { LeaseLost } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { cleanupQueue, cleanupsOf } from '../../../files/src/store/cleanup-queue';
import { ServerBusy, ServerRefused, ServerUnavailable } from '@parley/openai/server-errors';
import { ModelsAway } from '@parley/service/models.client';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { continueTrace, currentTraceparent, type SpanStart } from '@parley/tracing/tracing';
import { FilesWorkerConfig } from '../config';
import { IndexerService } from './indexer.service';
import { JobLease } from './job-lease';
import { DocumentWithoutText, UnreadableDocument } from '@parley/documents/block';
import { noFormat, readerVersions } from '@parley/documents/reader-versions';
import { OcrBusy, OcrService } from './ocr.service';
import { ReaderDied, ReaderFailed, ReaderStarved } from './reader-errors';

const ocrIsOff = 'This server reads no files by OCR: its operator has set OCR=off.';

const maxLoggedReason = 120;

/** Pause after a failure that does not count as an attempt: backpressure, a busy machine or an ApiError. */
const oursPauseMs = 2_000;
/** The document is read again after it. */
const modelsAwayPauseMs = 60_000;
/** Pause of a file that waits for OCR: many may wait, and a page takes seconds. */
const ocrPauseMs = 10_000;

/** Failures that do not count as an attempt. */
const ours = [ServerBusy, ModelsAway, ApiError, ReaderStarved];

/** Readers that may die of one document, in one attempt, before the document counts as unreadable. */
const mostReaderDeaths = 2;

interface Indexed {
  /** Models that have all points of the version. */
  models: string[];
  /** Reason why the passages are less than they could be. */
  warning?: string;
}

@Injectable()
export class IndexingJobService implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly jobs: JobsRepository,
    private readonly work: WorkQueue,
    private readonly models: IndexModelsRepository,
    private readonly indexer: IndexerService,
    private readonly ocr: OcrService,
    private readonly config: FilesWorkerConfig,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  onModuleInit(): Promise<void> {
    return this.jobs.endLeasesOf(this.platform.instance);
  }

  /**
   * Safe to repeat: one worker at a time holds the lease of a job, and each step checks that the content is still the
   * newest. Rejects with the signal's reason when it aborts, after giving the job back.
   */
  async run(job: LeasedJob, signal: AbortSignal): Promise<void> {
    const lease = new JobLease(this.jobs, job, this.platform, this.config.heartbeatMs, signal);
    try {
      const traceparent = job.traceparent ?? currentTraceparent();
      await continueTrace(traceparent, spanOf(job), () => this.index(job, lease));
    } catch (error) {
      await this.settle(job, error, signal, lease.format);
    } finally {
      lease.stop();
    }
  }

  private async index(job: LeasedJob, lease: JobLease): Promise<void> {
    const { indexingAttempts } = this.config;
    // Reached only when earlier attempts ended together with their process.
    if (job.attempt > indexingAttempts) {
      throw new UnreadableDocument(
        outOfAttempts(indexingAttempts, job.lastError ?? 'The worker process died each time.'),
      );
    }
    const { models, warning } = await this.indexWithAnyReader(job, lease);
    await lease.advance('switching');
    const reader = readerOf(job, lease.format);
    await this.end(job, (tx) => this.finish(tx, job.version, models, { warning, reader }));
  }

  /**
   * Replaces a reader that dies, and reads the plain text of a document whose reader fails. Throws UnreadableDocument when
   * the document kills the second reader too, or when no plain text can be had.
   */
  private async indexWithAnyReader(job: LeasedJob, lease: JobLease): Promise<Indexed> {
    const { version, file } = job;
    let deaths = 0;
    let failure: ReaderFailed | undefined;
    let ocr = this.ocr.languagesFor(file);
    for (;;) {
      try {
        const options = { asPlainText: failure !== undefined, ocr };
        const models = await this.ocr.inTurn(ocr, () => this.indexer.index(job, lease, options));
        return { models, warning: failure?.warning };
      } catch (error) {
        if (error instanceof DocumentWithoutText && error.hasPictures && !ocr) {
          ocr = this.ocr.languagesForScanned(file);
          if (!ocr) throw this.ocr.isOff ? new UnreadableDocument(`${error.message} ${ocrIsOff}`) : error;
        } else if (error instanceof ReaderDied) {
          this.platform.logger.warn({ ...version, deaths: ++deaths, err: error }, 'a document reader died');
          if (deaths === mostReaderDeaths) throw new UnreadableDocument(error.message);
        } else if (error instanceof ReaderFailed) {
          this.platform.logger.error({ ...version, err: error }, 'a document reader has a defect');
          if (failure || !error.hasPlainText) throw new UnreadableDocument((failure ?? error).reason);
          failure = error;
        } else if (failure && error instanceof UnreadableDocument) throw new UnreadableDocument(failure.reason);
        else throw error;
      }
    }
  }

  private async finish(
    tx: Transaction,
    version: ContentVersion,
    models: string[],
    outcome: { warning?: string; reader?: Reader },
  ): Promise<void> {
    if (!(await this.files.finishIndexing(tx, version.fileId, version.contentVersion, outcome))) return;
    if (await this.models.markWhole(tx, version, models)) return;
    throw unavailable(
      'The active embedding model has changed: restart this worker with the configuration of the new model.',
    );
  }

  /** Ends the job, or releases it for another attempt. Throws when the event should be redelivered. */
  private async settle(job: LeasedJob, error: unknown, signal: AbortSignal, format?: string): Promise<void> {
    const { version, attempt } = job;
    const { logger } = this.platform;
    if (error instanceof OcrBusy) {
      return this.jobs.postponeJob(job, { pauseMs: ocrPauseMs, error: error.message, counts: 'nothing' });
    }
    if (error instanceof LeaseLost) {
      await this.jobs.returnAttempt(version);
      return this.end(job);
    }
    if (error instanceof UnreadableDocument || error instanceof ServerRefused) {
      return this.fail(job, error.message, format);
    }

    const isOurs = signal.aborted || ours.some((kind) => error instanceof kind);
    const reason = publicReason(error);
    if (signal.aborted) logger.info(version, 'shutting down, the file is left to another worker');
    else logger.warn({ ...version, attempt, err: error }, 'an attempt to index a file failed');
    const attempts = isOurs ? 0 : await this.jobs.countAttempts(job);
    if (attempts && attempts >= this.config.indexingAttempts) {
      return this.fail(job, outOfAttempts(attempts, reason), format);
    }
    if (signal.aborted) {
      await this.jobs.giveBackJob(job, reason);
      // Redelivery: another process gets the event, and with it the job, at once.
      throw error;
    }
    // The sweeper announces the job when it is due.
    const pauseOfOurs = error instanceof ModelsAway ? modelsAwayPauseMs : oursPauseMs;
    const pauseMs = isOurs ? pauseOfOurs : retryBackoffMs(attempt);
    await this.jobs.postponeJob(job, { pauseMs, error: reason, counts: isOurs ? 'nothing' : 'attempt' });
  }

  private fail(job: LeasedJob, reason: string, format: string | undefined): Promise<void> {
    const { version } = job;
    // The rest is advice, which is stored with the file.
    const logged = reason.slice(0, maxLoggedReason);
    this.platform.logger.warn({ ...version, reason: logged }, 'a file cannot be indexed');
    const failure = { reason, reader: readerOf(job, format) };
    return this.end(job, (tx) => this.files.failIndexing(tx, version.fileId, version.contentVersion, failure));
  }

  /**
   * Ends the job, records its outcome and queues a cleanup, in one transaction. A worker that lost its lease changes no
   * outcome, but the data that it wrote is cleaned up.
   */
  private end(job: LeasedJob, decide?: (tx: Transaction) => Promise<unknown>): Promise<void> {
    return this.database.transaction(async (tx) => {
      const isHolder = await this.jobs.finishJob(tx, job);
      if (isHolder) await decide?.(tx);
      await this.work.add(tx, cleanupQueue, cleanupsOf(job.version));
    });
  }
}

/** Undefined for passages that were set. An attempt that did not come to the format counts for the former one. */
function readerOf({ file, source }: LeasedJob, format: string | undefined): Reader | undefined {
  if (source === 'passages') return undefined;
  const name = format ?? file.reader_format ?? noFormat;
  return { format: name, version: readerVersions[name] ?? 0 };
}

function spanOf({ version: { botId, fileId }, attempt }: LeasedJob): SpanStart {
  const attributes = { 'parley.bot.id': botId, 'parley.file.id': fileId, 'parley.attempt': attempt };
  return { name: 'index file', kind: 'consumer', attributes };
}

function outOfAttempts(attempts: number, reason: string): string {
  return `Indexing was tried ${attempts} times. ${reason}`;
}

/** Reason for the file's owner. Errors of unknown origin are replaced, since they could expose internals. */
function publicReason(error: unknown): string {
  const isPublic = [ServerUnavailable, ...ours].some((kind) => error instanceof kind);
  return isPublic ? (error as Error).message : 'Internal error: upload the file again later.';
}
