import { Injectable } from '@nestjs/common';
import { maxCodeBytes } from '@parley/contracts/code';
import type { ApiError } from '@parley/contracts/errors';
import type { Empty } from '@parley/contracts/paging';
import type { CodeSecrets } from '@parley/contracts/runner/code';
import { type InvokeCode, type Lacking, type PutCodePart, runnerError } from '@parley/contracts/runner/runner';
import { SealedBoxKey } from '@parley/secrets/sealed-box';
import { LRUCache } from 'lru-cache';

const maxCachedBytes = 128 * 2 ** 20;
/** Code whose next part does not arrive in this time is dropped: whoever handed it over has ended. */
const maxPauseMs = 60_000;

type Bundle = Pick<InvokeCode, 'ownerId' | 'codeRevision' | 'sealed'>;

/** Code with the environment that it runs in. */
export interface Program extends CodeSecrets {
  code: string;
}

interface Code {
  text: string;
  /** Offset of the next part. Absent once the code is whole. */
  nextOffset?: number;
}

/** Code and secrets as the runtime brings them. Keeps code in memory, and secrets nowhere. */
@Injectable()
export class CodeService {
  private readonly boxKey = new SealedBoxKey();
  private readonly known = new LRUCache<string, Code>({
    maxSize: maxCachedBytes,
    maxEntrySize: maxCodeBytes + 1,
    sizeCalculation: ({ text }) => text.length + 1,
    ttlAutopurge: true,
    ttlResolution: 0,
  });

  /** Idempotent: parts that are known already change nothing. Throws `unprepared` without the part before. */
  put({ ownerId, codeRevision, offset, text, nextOffset }: PutCodePart): Empty {
    const key = keyOf({ ownerId, codeRevision });
    const known = this.known.get(key) ?? { text: '', nextOffset: 0 };
    if (known.nextOffset === undefined || offset < known.nextOffset) return {};
    if (offset > known.nextOffset) throw this.unprepared(['code']);
    const ttl = nextOffset === undefined ? 0 : maxPauseMs;
    this.known.set(key, { text: known.text + text, nextOffset }, { ttl });
    return {};
  }

  /** Opens the secrets. Throws `unprepared` for a call without them, and without the whole code. */
  programOf({ ownerId, codeRevision, sealed }: Bundle): Program {
    const code = this.known.get(keyOf({ ownerId, codeRevision }));
    if (!code || code.nextOffset !== undefined) throw this.unprepared(sealed ? ['code'] : ['code', 'secrets']);
    if (!sealed) throw this.unprepared(['secrets']);
    const opened = sealed.map((text) => this.boxKey.open({ ownerId, revision: codeRevision }, text));
    const secrets = Object.assign({}, ...opened.map((text) => JSON.parse(text) as Partial<CodeSecrets>)) as CodeSecrets;
    return { code: code.text, ...secrets };
  }

  private unprepared(lacks: Lacking['lacks']): ApiError {
    const message = `The runner lacks ${lacks.join(' and ')}.`;
    return runnerError('unprepared', message, { lacks, publicKey: this.boxKey.publicKey });
  }
}

function keyOf({ ownerId, codeRevision }: Bundle): string {
  return `${ownerId}/${codeRevision}`;
}
