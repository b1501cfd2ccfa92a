import { IsArray, IsInt, IsString, MaxLength } from 'class-validator';
import { operator } from './access';
import { Optional } from './fields';
import { operation } from './operation';

export class SealAnew {
  /** `next` of the answer before; from the first on when absent. */
  @Optional()
  @IsString()
  @MaxLength(100)
  after?: string;
}

export class SealedAnew {
  /** Texts that were under another key and are under the current one now. */
  @IsInt()
  sealed!: number;

  /** Whose texts are under a key that is not known. */
  @IsArray()
  @IsString({ each: true })
  unreadable!: string[];

  /** Where to go on; absent once all were looked at. */
  @Optional()
  @IsString()
  next?: string;

  /** Texts that are under another key all the same, at the end: who still has another key has sealed them. */
  @Optional()
  @IsInt()
  left?: number;
}

/** The same operation for each service that keeps sealed texts, for the `parley secrets rotate` command. */
export function sealedTextOperations(serviceName: string) {
  return {
    sealAnew: operation({
      subject: `${serviceName}.sealedTexts.sealAnew`,
      route: `POST /operator/${serviceName}/secrets/rotate`,
      summary: 'Seals some of the secrets of this service anew, under the current secret key.',
      access: operator,
      input: SealAnew,
      output: SealedAnew,
      timeoutMs: 60_000,
    }),
  };
}
