import { readdirSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';

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

/** Folder of a built page, which a newer build may replace while it is served. */
export class StaticFolder {
  private files = new Map<string, StaticFile>();
  private listedAt?: number;

  constructor(private readonly folder: string) {}

  /** False without a complete build, because the page is written last. */
  get isBuilt(): boolean {
    return this.builtAt() !== undefined;
  }

  page(): Promise<string> {
    return readFile(this.pagePath, 'utf8');
  }

  /** File of the last build that was listed. */
  find(name: string): StaticFile | undefined {
    return this.files.get(name);
  }

  findFirstIn(folder: string): StaticFile | undefined {
    return [...this.files].find(([name]) => name.startsWith(`${folder}/`))?.[1];
  }

  /** Lists the files first when there is a build that was not listed before. */
  findInNewest(name: string): StaticFile | undefined {
    const at = this.builtAt();
    if (at !== undefined && at !== this.listedAt) {
      this.files = listFiles(this.folder);
      this.listedAt = at;
    }
    return this.find(name);
  }

  private builtAt(): number | undefined {
    return statSync(this.pagePath, { throwIfNoEntry: false })?.mtimeMs;
  }

  private get pagePath(): string {
    return join(this.folder, 'index.html');
  }
}

/** Content of the file, in the smallest coding that the client accepts. Sets the headers of the response. */
export function sendFile(
  file: StaticFile,
  { headers }: FastifyRequest,
  reply: FastifyReply,
  cacheControl: string,
): Promise<Buffer> {
  const { path, encoding } = acceptedCopy(file, headers['accept-encoding']);
  void reply.type(file.contentType).header('vary', 'accept-encoding').header('cache-control', cacheControl);
  if (encoding) void reply.header('content-encoding', encoding);
  return readFile(path);
}

/** Files of the folder by their URL path. Requests can name these only, so no path leads out of the folder. */
function listFiles(folder: string): Map<string, StaticFile> {
  const names = new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => slashed(name)));
  const files = [...names].flatMap((name): [string, StaticFile][] => {
    const contentType = contentTypes[extname(name)];
    if (!contentType) return [];
    const encodings = (['br', 'gzip'] as const).filter((encoding) => names.has(`${name}${suffixes[encoding]}`));
    return [[name, { path: join(folder, name), contentType, encodings }]];
  });
  return new Map(files);
}

/** Path of the file or of its copy that the client accepts, and the content coding of the copy. */
function acceptedCopy({ path, encodings }: StaticFile, accepted = ''): { path: string; encoding?: Encoding } {
  const offered = accepted.split(',').map((offer) => offer.split(';')[0]!.trim());
  const encoding = encodings.find((candidate) => offered.includes(candidate));
  return encoding ? { path: `${path}${suffixes[encoding]}`, encoding } : { path };
}

function slashed(name: string): string {
  return name.replaceAll('\\', '/');
}
