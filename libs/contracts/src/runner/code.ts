import { IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { Optional } from '../fields';
import { operation } from '../operation';

/** Bytes of code (UTF-8) in one answer. */
export const maxCodePartBytes = 4_000_000;

/** Deployed code, for the runtime. */
export class CodeTarget {
  /** Changes with the code and with its secrets. */
  @IsString() revision!: string;

  /** Opens code and secrets for whoever prepares a runner for a call. Valid for some minutes. */
  @IsString() ticket!: string;
}

export class GetCodePart {
  @IsString() ticket!: string;

  /** Bytes of UTF-8 to skip. */
  @IsInt() offset!: number;
}

export class CodePart {
  @IsString() text!: string;

  /** Offset of the next part. Absent in the last one. */
  @Optional() @IsInt() nextOffset?: number;
}

/**
 * Code as its owner reads it: whole if it fits in one answer, otherwise the bytes from `offset` on, each as a character of
 * LATIN1. Postgres then counts no characters, and sends less than in hexadecimal.
 */
export type StoredCodePart = { whole: string; latin1: null } | { whole: null; latin1: string };

/** Part that begins at `offset`. Leaves its last character to the next part, since it may not be whole. */
export function codePart({ whole, latin1 }: StoredCodePart, offset: number, maxBytes = maxCodePartBytes): CodePart {
  if (latin1 === null) return { text: whole };
  const bytes = Buffer.from(latin1, 'latin1');
  if (bytes.length < maxBytes) return { text: bytes.toString() };
  let end = bytes.length - 1;
  while (isContinuation(bytes[end]!)) end -= 1;
  return { text: bytes.toString('utf8', 0, end), nextOffset: offset + end };
}

function isContinuation(byte: number): boolean {
  return (byte & 0b1100_0000) === 0b1000_0000;
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
