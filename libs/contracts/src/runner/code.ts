import { IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { Optional } from '../fields';
import { operation } from '../operation';

/** Characters of code in one answer. */
export const maxCodePartLength = 4_000_000;

/** Deployed code, for the runtime. */
export class CodeTarget {
  /** Changes with the code and with its secrets. */
  @IsString() revision!: string;

  /** Opens code and secrets for whoever prepares a runner for a call. Valid for some minutes. */
  @IsString() ticket!: string;
}

export class GetCodePart {
  @IsString() ticket!: string;

  /** Characters to skip. */
  @IsInt() offset!: number;
}

export class CodePart {
  @IsString() text!: string;

  /** Offset of the next part. Absent in the last one. */
  @Optional() @IsInt() nextOffset?: number;
}

/**
 * Part that begins at `offset`. Offsets are those of Postgres, which counts code points. JavaScript counts at least as many
 * characters, so that an empty part may follow the last one, but none is left out.
 */
export function codePart(text: string, offset: number): CodePart {
  return text.length < maxCodePartLength ? { text } : { text, nextOffset: offset + maxCodePartLength };
}

export class SealCodeSecrets {
  @IsString() ticket!: string;

  /** Key of a runner: only it opens the sealed text. */
  @IsString() publicKey!: string;
}

/** Sealed box, bound to the owner and the revision of the code, with some of the `CodeSecrets` as JSON. */
export class SealedCodeSecrets {
  @IsString() sealed!: string;
}

/** Decrypted: never logged, never sent unsealed, and never written to a disk. */
export interface CodeSecrets {
  /** API key with which the code calls the API. */
  token: string;
  /** Secrets by name. */
  secrets: Record<string, string>;
}

/** Operations of the service that owns the code. */
export function codeOperations(source: 'admin.botCode' | 'hub.integrationCode', owner: string) {
  return {
    getPart: operation({
      subject: `${source}.getPart`,
      summary: `Gets a part of the deployed code of ${owner}.`,
      access: service,
      input: GetCodePart,
      output: CodePart,
    }),
    sealSecrets: operation({
      subject: `${source}.sealSecrets`,
      summary: `Seals the secrets with which the code of ${owner} runs for a runner.`,
      access: service,
      input: SealCodeSecrets,
      output: SealedCodeSecrets,
    }),
  };
}
