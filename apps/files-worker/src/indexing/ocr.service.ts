import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { ConfigError } from '@parley/config/config';
import type { OcrLanguage } from '@parley/documents/text-recogniser';
import { LRUCache } from 'lru-cache';
import type { FileEntity } from '../../../files/src/store/file.entity';
import { FilesWorkerConfig } from '../config';

const bundled = 'eng';
/** Format of the data that tesseract's neural networks read fastest and in the least memory. */
const bundledFolder = '4.0.0_best_int';
const mostRemembered = 10_000;

/** All readers for OCR of this process are busy: the file waits, and occupies no reader meanwhile. */
export class OcrBusy extends Error {
  override readonly name = 'OcrBusy';

  constructor() {
    super('The file waits for its turn: other files are being read by OCR.');
  }
}

/** Decides which files are read by OCR, and when. */
@Injectable()
export class OcrService {
  private readonly languages: OcrLanguage[];
  /** Contents found to have no text: these are not read in vain each time that they have to wait. */
  private readonly scanned = new LRUCache<string, true>({ max: mostRemembered });
  private reading = 0;

  constructor(private readonly config: FilesWorkerConfig) {
    this.languages = config.ocr === 'off' ? [] : languagesOf(config);
  }

  get isOff(): boolean {
    return this.config.ocr === 'off';
  }

  /** Languages for a file that may have pages without text beside others. */
  languagesFor(file: FileEntity): OcrLanguage[] | undefined {
    const isAsked = file.indexing.parsing?.ocr === true && mayHavePictures(file);
    return !this.isOff && (isAsked || this.scanned.has(contentOf(file))) ? this.languages : undefined;
  }

  /** The same for a file that has been found to have no text. */
  languagesForScanned(file: FileEntity): OcrLanguage[] | undefined {
    const ocr = file.indexing.parsing?.ocr ?? this.config.ocr === 'auto';
    if (this.isOff || !ocr) return undefined;
    this.scanned.set(contentOf(file), true);
    return this.languages;
  }

  /** Throws OcrBusy while as many files as are allowed are read by OCR. */
  async inTurn<Result>(ocr: OcrLanguage[] | undefined, read: () => Promise<Result>): Promise<Result> {
    if (!ocr) return read();
    if (this.reading >= this.config.ocrReaders) throw new OcrBusy();
    this.reading++;
    try {
      return await read();
    } finally {
      this.reading--;
    }
  }
}

function contentOf({ id, blob_version }: FileEntity): string {
  return `${id} ${blob_version}`;
}

/** Other files with `parsing.ocr` are read without its memory. A vague type says nothing. */
function mayHavePictures({ content_type, key }: FileEntity): boolean {
  return (
    /^image\/|pdf|octet-stream/i.test(content_type) ||
    /\.(?:pdf|png|jpe?g|webp|tiff?)$/i.test(key) ||
    content_type === ''
  );
}

function languagesOf({ ocrLanguages, ocrDataFolder }: FilesWorkerConfig): OcrLanguage[] {
  const problems: string[] = [];
  const languages = [...new Set(ocrLanguages.split('+'))].map((name) => {
    const files = candidatesOf(name, ocrDataFolder);
    const file = files.find((candidate) => existsSync(candidate));
    if (!file) problems.push(missing(name, files));
    return { name, file: file ?? '' };
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return languages;
}

function candidatesOf(name: string, folder: string | undefined): string[] {
  const own = folder === undefined ? [] : ['', '.gz'].map((end) => join(folder, `${name}.traineddata${end}`));
  if (name !== bundled) return own;
  const inPackage = dirname(require.resolve('@tesseract.js-data/eng/package.json'));
  return [...own, join(inPackage, bundledFolder, `${name}.traineddata.gz`)];
}

function missing(name: string, files: string[]): string {
  const needs = `OCR_LANGUAGES names "${name}", which needs a file ${name}.traineddata or ${name}.traineddata.gz`;
  return files.length === 0
    ? `${needs} in a folder: set OCR_DATA_FOLDER.`
    : `${needs}: there is none at ${files.join(' and ')}. Files for many languages are at https://github.com/tesseract-ocr/tessdata_fast.`;
}
