import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ParsingOptions } from '@parley/contracts/indexing-options';
import { files } from '@parley/contracts/files';
import { pdfOfPages, scanOf } from '@parley/documents/test/scan-of';
import { BotFiles } from '@parley/testing/bot-files';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { type RunningService, startService } from '@parley/testing/running-service';
import { FilesModule } from '../../../files/src/files.module';
import type { FileEntity } from '../../../files/src/store/file.entity';
import { FilesWorkerConfig } from '../config';
import { FilesWorkerModule } from '../files-worker.module';
import { OcrBusy, OcrService } from './ocr.service';

const configOf = (changes: Partial<FilesWorkerConfig>) => Object.assign(new FilesWorkerConfig(), changes);
const fileOf = (ocr?: boolean, key = 'a.pdf', content_type = 'application/pdf') =>
  ({ id: 'f', blob_version: 'b', key, content_type, indexing: { parsing: { ocr } } }) as unknown as FileEntity;

describe('the choice of files', () => {
  const english = [expect.objectContaining({ name: 'eng' })] as unknown[];

  it.each<[FilesWorkerConfig['ocr'], boolean | undefined, boolean, boolean]>([
    ['off', true, false, false],
    ['asked', undefined, false, false],
    ['asked', true, true, true],
    ['auto', undefined, false, true],
    ['auto', false, false, false],
    ['auto', true, true, true],
  ])(
    'reads by OCR=%s, and %s in the file, its pages without text: %s; the whole of it if it has none: %s',
    (ocr, asked, pages, whole) => {
      const service = new OcrService(configOf({ ocr }));

      expect(service.languagesFor(fileOf(asked))).toEqual(pages ? english : undefined);
      expect(service.languagesForScanned(fileOf(asked))).toEqual(whole ? english : undefined);
    },
  );

  it('remembers a content without text, which it reads by OCR at once when it comes again', () => {
    const service = new OcrService(configOf({ ocr: 'auto' }));

    service.languagesForScanned(fileOf());

    expect(service.languagesFor(fileOf())).toEqual(english);
    expect(service.languagesFor({ ...fileOf(), blob_version: 'c' })).toBeUndefined();
  });

  it('leaves files without pictures of pages to other readers', () => {
    expect(new OcrService(configOf({})).languagesFor(fileOf(true, 'a.txt', 'text/plain'))).toBeUndefined();
  });

  it('lets one file at a time be read, and others without OCR meanwhile', async () => {
    const service = new OcrService(configOf({}));
    const ocr = service.languagesFor(fileOf(true));
    let end!: () => void;
    const first = service.inTurn(ocr, () => new Promise<void>((resolve) => (end = resolve)));

    await expect(service.inTurn(ocr, () => Promise.resolve('second'))).rejects.toThrow(OcrBusy);
    expect(await service.inTurn(undefined, () => Promise.resolve('text'))).toBe('text');
    end();
    await first;
    expect(await service.inTurn(ocr, () => Promise.resolve('second'))).toBe('second');
  });
});

describe('languages', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-ocr-'));
    await writeFile(join(folder, 'deu.traineddata.gz'), 'data');
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('takes them from the folder, and English from the package', () => {
    const service = new OcrService(configOf({ ocrLanguages: 'deu+eng', ocrDataFolder: folder }));

    expect(service.languagesFor(fileOf(true))).toEqual([
      { name: 'deu', file: join(folder, 'deu.traineddata.gz') },
      { name: 'eng', file: expect.stringMatching(/eng\.traineddata\.gz$/) as string },
    ]);
  });

  it.each([
    ['fra', undefined, /OCR_LANGUAGES names "fra", which needs a file fra\.traineddata .*set OCR_DATA_FOLDER/],
    ['eng+fra', '/nowhere', /there is none at \/nowhere\/fra\.traineddata and \/nowhere\/fra\.traineddata\.gz/],
  ])('refuses to start with the languages %s in the folder %s', (ocrLanguages, ocrDataFolder, reason) => {
    expect(() => new OcrService(configOf({ ocrLanguages, ocrDataFolder }))).toThrow(reason);
  });

  it('asks for no language while OCR is off', () => {
    expect(new OcrService(configOf({ ocr: 'off', ocrLanguages: 'fra' })).isOff).toBe(true);
  });
});

describe('indexing', () => {
  let service: RunningService;
  let embeddings: EmbeddingServer;
  let blobsDir: string;
  let scan: Buffer;

  beforeAll(async () => {
    blobsDir = await mkdtemp(join(tmpdir(), 'parley-ocr-'));
    embeddings = await EmbeddingServer.start();
    scan = await scanOf(['Coal made up 61 % of the freight.'], { format: 'jpeg' });
    const shared = {
      databasePoolSize: 4,
      blobsDir,
      embeddingsUrl: embeddings.url,
      heartbeatMs: 50,
      ocr: 'auto' as const,
    };
    const ofFiles = { secretKey: 's'.repeat(32), sweepIntervalMs: 100 };
    service = await startService(
      (databaseUrl, platform, contentUrl) =>
        FilesModule.register(Object.assign(configOf(shared), ofFiles, { databaseUrl, contentUrl }) as never, platform),
      (databaseUrl, platform) => FilesWorkerModule.register(configOf({ ...shared, databaseUrl }), platform),
    );
  });
  afterAll(async () => {
    service?.apps[0]?.getHttpServer()?.closeAllConnections();
    await service?.stop();
    await embeddings?.stop();
    await rm(blobsDir, { recursive: true, force: true });
  });

  async function index(content: Buffer, key: string, parsing: ParsingOptions) {
    const bot = new BotFiles(service);
    const { id } = await bot.upload(key, content, { index: true, indexing: { configuration: { parsing } } });
    const file = await bot.settled(id, 60_000);
    const { passages: found } = await bot.ask(files.search, { query: 'freight' });
    return { file, passages: await bot.passages(id), found };
  }

  it('finds the text of a scanned page, and says that it was read by OCR', async () => {
    const { file, passages, found } = await index(pdfOfPages([scan]), 'scan.pdf', {});

    expect(file.status).toBe('indexing_completed');
    expect(passages).toMatchObject([
      { content: 'Coal made up 61 % of the freight.', meta: { type: 'chunk', pageNumber: 1, ocr: true, position: 0 } },
    ]);
    expect(found).toMatchObject([{ meta: { ocr: true } }]);
  });

  it('leaves a picture alone that asks for no OCR, and says how to ask', async () => {
    const { file } = await index(scan, 'scan.jpg', { ocr: false });

    expect(file).toMatchObject({
      status: 'indexing_failed',
      failedStatusReason: expect.stringContaining('index the file with `parsing.ocr: true`') as string,
    });
  });
});
