import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

/** Trained data of tesseract for a language: a file `<name>.traineddata`, or the same with `.gz`. */
export interface OcrLanguage {
  name: string;
  file: string;
}

/** The part of tesseract.js-core that is used. Strings that it returns are UTF-8 already. */
interface Core {
  FS: { writeFile(path: string, bytes: Uint8Array): void; unlink(path: string): void };
  TessBaseAPI: new () => TessBaseApi;
}

interface TessBaseApi {
  Init(folder: string | null, languages: string, engine: number, config?: string): number;
  SetPageSegMode(mode: number): void;
  /** 0 when the picture can be read. */
  SetImageFile(exifOrientation: number, radians: number): number;
  FindLines(): number;
  GetGradient(): number;
  Recognize(monitor: null): number;
  GetTSVText(page: number): string;
  Clear(): void;
}

const engineOfLstm = 1;
const automaticLayout = 3;
const upright = 1;
/** The name that SetImageFile reads. */
const picturePath = '/input';
/** Radians (0.3 degrees) from which lines are made level first: from five degrees on, most words are lost otherwise. */
const leastTilt = 0.005;
/** Radians. Where a page is tilted so far that no lines are found, one of the others is near enough to find them. */
const triedTilts = [0, 0.09, -0.09];
/** Mean confidence of a paragraph, of 100; what textures and drawings are taken for has less. */
const leastConfidence = 50;
const fewestCharacters = 3;
const wordLevel = '5';

/**
 * Text recognition (OCR) by tesseract in WebAssembly. Nothing is downloaded. It works on this thread and keeps its memory, so
 * it belongs into a child process.
 */
export class TextRecogniser {
  private constructor(
    private readonly core: Core,
    private readonly api: TessBaseApi,
  ) {}

  static async open(languages: OcrLanguage[]): Promise<TextRecogniser> {
    const require = createRequire(__filename);
    const program = require.resolve('tesseract.js-core/tesseract-core-simd-lstm.wasm');
    const load = require('tesseract.js-core/tesseract-core-simd-lstm.js') as (options: object) => Promise<Core>;
    const core = await load({ wasmBinary: await readFile(program), printErr: () => undefined });
    const paths = languages.map(({ name }) => `/${name}.traineddata`);
    for (const [i, { file }] of languages.entries()) core.FS.writeFile(paths[i]!, await trainedData(file));
    const api = new core.TessBaseAPI();
    const names = languages.map(({ name }) => name).join('+');
    if (api.Init(null, names, engineOfLstm) !== 0) {
      throw new Error(`tesseract cannot use ${languages.map(({ file }) => file).join(', ')}`);
    }
    for (const path of paths) core.FS.unlink(path);
    return new TextRecogniser(core, api);
  }

  /**
   * Paragraphs in reading order, with the lines of the picture. Undefined for a picture that cannot be read.
   * @param picture PNM or TIFF; others take far more memory here than in a canvas
   */
  recognise(picture: Uint8Array): string[] | undefined {
    this.core.FS.writeFile(picturePath, picture);
    try {
      for (const tilt of triedTilts) {
        if (this.api.SetImageFile(upright, tilt) !== 0) return undefined;
        const paragraphs = this.recogniseTilted(tilt);
        if (paragraphs.length > 0) return paragraphs;
      }
      return [];
    } finally {
      this.api.Clear();
      this.core.FS.unlink(picturePath);
    }
  }

  private recogniseTilted(tilt: number): string[] {
    this.api.SetPageSegMode(automaticLayout);
    this.api.FindLines();
    const more = this.api.GetGradient();
    if (Math.abs(more) >= leastTilt) this.api.SetImageFile(upright, tilt + more);
    this.api.Recognize(null);
    return paragraphsOf(this.api.GetTSVText(0));
  }
}

async function trainedData(file: string): Promise<Uint8Array> {
  const bytes = await readFile(file);
  return file.endsWith('.gz') ? promisify(gunzip)(bytes) : bytes;
}

/** Rows of tab-separated values: level, page, block, paragraph, line, word, four edges, confidence, text. */
function paragraphsOf(table: string): string[] {
  const paragraphs = new Map<string, { lines: Map<string, string[]>; confidence: number; words: number }>();
  for (const row of table.split('\n')) {
    const [level, , block, paragraph, line, , , , , , confidence, word = ''] = row.split('\t');
    if (level !== wordLevel || word.trim() === '') continue;
    const key = `${block} ${paragraph}`;
    const found = paragraphs.get(key) ?? { lines: new Map<string, string[]>(), confidence: 0, words: 0 };
    paragraphs.set(key, found);
    found.lines.set(line!, [...(found.lines.get(line!) ?? []), word]);
    found.confidence += Number(confidence);
    found.words++;
  }
  const texts = [...paragraphs.values()]
    .filter(({ confidence, words }) => confidence >= leastConfidence * words)
    .map(({ lines }) => joined([...lines.values()].map((words) => words.join(' '))));
  const characters = texts.join('').match(/[\p{L}\p{N}]/gu)?.length ?? 0;
  return characters < fewestCharacters ? [] : texts;
}

/** A word that is divided at the end of its line goes to that line. */
function joined(lines: string[]): string {
  return lines
    .join('\n')
    .replace(/(\p{L})[-\u2010]\n(\p{Ll}\S*) ?\n?/gu, '$1$2\n')
    .trimEnd();
}
