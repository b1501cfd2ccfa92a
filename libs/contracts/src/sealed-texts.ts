import { IsArray, IsInt, IsString, MaxLength } from 'class-validator';
import { operator } from './access';
import { Optional } from './fields';
import { operation } from './operation';

export class SealAnew {
  /** Cursor: `next` of the previous answer; absent in the first call. */
  @Optional() @IsString() @MaxLength(100) after?: string;
}

export class SealedAnew {
  /** Texts re-encrypted under the current key. */
  @IsInt() sealed!: number;

  /** Owners of texts that are encrypted under an unknown key. */
  @IsArray() @IsString({ each: true }) unreadable!: string[];

  /** Cursor of the next call; absent when all is done. */
  @Optional() @IsString() next?: string;

  /** In the last answer: texts that are under another key nevertheless, written by a process that still uses that key. */
  @Optional() @IsInt() left?: number;
}

/** Operation of each service that stores encrypted texts, for the command `parley secrets rotate`. */
export function sealedTextOperations(serviceName: string) {
  return {
    sealAnew: operation({
      subject: `${serviceName}.sealedTexts.sealAnew`,
      route: `POST /operator/${serviceName}/secrets/rotate`,
      summary: 'Re-encrypts a batch of the secrets of this service under the current secret key.',
      access: operator,
      input: SealAnew,
      output: SealedAnew,
      timeoutMs: 60_000,
    }),
  };
}
