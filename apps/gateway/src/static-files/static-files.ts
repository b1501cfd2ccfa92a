import { readdirSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { type Encoding, encodings, PreparedDocument } from './prepared-document';

const suffixes: Record<Encoding, string> = { br: '.br', gzip: '.gz' };
const contentTypes: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Folder of a built page, which a newer build may replace while it is served. */
export class StaticFolder {
  private files = new Map<string, PreparedDocument>();
  private listedAt?: number;
  private shown?: { builtAt: number; text: Promise<string> };

  constructor(private readonly folder: string) {}

  /** Page of the newest build, which is read once. Undefined without a complete build. */
  page(): Promise<string> | undefined {
    const builtAt = this.builtAt();
    if (builtAt === undefined) return undefined;
    if (this.shown?.builtAt !== builtAt) {
      const text = readFile(this.pagePath, 'utf8');
      const shown = { builtAt, text };
      this.shown = shown;
      // The next request tries again.
      text.catch(() => (this.shown = undefined));
    }
    return this.shown.text;
  }

  /** File of the last build that was listed. */
  find(name: string): PreparedDocument | undefined {
    return this.files.get(name);
  }

  findFirstIn(folder: string): PreparedDocument | undefined {
    return [...this.files].find(([name]) => name.startsWith(`${folder}/`))?.[1];
  }

  /** Lists the files first when there is a build that was not listed before. */
  findInNewest(name: string): PreparedDocument | undefined {
    const at = this.builtAt();
    if (at !== undefined && at !== this.listedAt) {
      this.files = listFiles(this.folder);
      this.listedAt = at;
    }
    return this.find(name);
  }

  /** Undefined without a complete build, because the page is written last. */
  private builtAt(): number | undefined {
    return statSync(this.pagePath, { throwIfNoEntry: false })?.mtimeMs;
  }

  private get pagePath(): string {
    return join(this.folder, 'index.html');
  }
}

/** Files of the folder by their URL path. Requests can name these only, so no path leads out of the folder. */
function listFiles(folder: string): Map<string, PreparedDocument> {
  const names = new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => slashed(name)));
  const reader = (name: string) => () => readFile(join(folder, name));
  const files = [...names].flatMap((name): [string, PreparedDocument][] => {
    const contentType = contentTypes[extname(name)];
    if (!contentType) return [];
    const copies = encodings
      .map((encoding) => [encoding, `${name}${suffixes[encoding]}`] as const)
      .filter(([, copy]) => names.has(copy));
    const encoded = Object.fromEntries(copies.map(([encoding, copy]) => [encoding, reader(copy)]));
    return [[name, new PreparedDocument(contentType, reader(name), encoded)]];
  });
  return new Map(files);
}

function slashed(name: string): string {
  return name.replaceAll('\\', '/');
}
