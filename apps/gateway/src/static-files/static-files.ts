import { readdirSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';

/** File of a built page. */
export interface StaticFile {
  path: string;
  contentType: string;
  /** Content codings with a compressed copy beside the file, the smallest first. */
  encodings: Encoding[];
}

type Encoding = 'br' | 'gzip';

const suffixes: Record<Encoding, string> = { br: '.br', gzip: '.gz' };
const contentTypes: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Files of the folder by their URL path. Requests can name these only, so no path leads out of the folder. */
export function listStaticFiles(folder: string): Map<string, StaticFile> {
  const names = new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => slashed(name)));
  const files = [...names].flatMap((name): [string, StaticFile][] => {
    const contentType = contentTypes[extname(name)];
    if (!contentType) return [];
    const encodings = (['br', 'gzip'] as const).filter((encoding) => names.has(`${name}${suffixes[encoding]}`));
    return [[name, { path: join(folder, name), contentType, encodings }]];
  });
  return new Map(files);
}

/** Time of the build in the folder; undefined without a complete one, because the page is written last. */
export function builtAt(folder: string): number | undefined {
  return statSync(join(folder, 'index.html'), { throwIfNoEntry: false })?.mtimeMs;
}

/** Path of the file or of its copy that the client accepts, and the content coding of the copy. */
export function acceptedCopy({ path, encodings }: StaticFile, accepted = ''): { path: string; encoding?: Encoding } {
  const offered = accepted.split(',').map((offer) => offer.split(';')[0]!.trim());
  const encoding = encodings.find((candidate) => offered.includes(candidate));
  return encoding ? { path: `${path}${suffixes[encoding]}`, encoding } : { path };
}

function slashed(name: string): string {
  return name.replaceAll('\\', '/');
}
