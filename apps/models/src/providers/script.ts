import { setTimeout as sleep } from 'node:timers/promises';
import { ArrayMinSize, IsInt, IsNumber, IsString, Max, Min } from 'class-validator';
import { ConfigError } from '@parley/config/config';
import { JsonObjects, ListOf, Optional, problemsOf, toInstance } from '@parley/contracts/fields';
import { isRecord } from '@parley/contracts/is-record';
import { parsedFile } from './json-file';
import type { UpstreamAnswer, UpstreamRequest } from './upstream';
import { UpstreamError } from './upstream-error';

const dimensions = 64;
/** PNG of one transparent pixel. */
const scriptedPicture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

class ScriptedAnswer {
  /** Regular expression over the text of all messages; every request fits one without. */
  @Optional() @IsString() when?: string;

  @Optional() @IsString() output?: string;

  /** `{ name, input }`. */
  @Optional() @JsonObjects({ minItems: 1, maxItems: 16 }) toolCalls?: Record<string, unknown>[];

  /** Status of a failure in place of an answer, such as 429. */
  @Optional() @IsInt() @Min(400) @Max(599) status?: number;

  /** Milliseconds before the answer. */
  @Optional() @IsNumber() @Min(0) @Max(60_000) delayMs?: number;
}

/** Fixed answers, for tests and tutorials: the first one that fits a request is its answer. */
export class Script {
  @ListOf(ScriptedAnswer) @ArrayMinSize(1) answers!: ScriptedAnswer[];
}

/** Throws ConfigError, which names the field. */
export function readScript(path: string): Script {
  const given = parsedFile(path, 'COMPLETIONS_SCRIPT_FILE');
  const script = toInstance(Script, given) as Script;
  const problems = isRecord(given) ? problemsOf(script) : ['it must be an object with "answers"'];
  for (const [index, { when }] of problems.length > 0 ? [] : script.answers.entries()) {
    try {
      new RegExp(when ?? '', 'su');
    } catch (error) {
      problems.push(`answers[${index}].when must be a regular expression: ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${path}: ${problem}.`));
  return script;
}

/** Deterministic: equal requests get equal answers. Counts four characters as a token. */
export async function answerByScript(script: Script, { path, body, signal }: UpstreamRequest): Promise<UpstreamAnswer> {
  if (path === 'models') return jsonAnswer({ data: [{ id: 'scripted' }] });
  if (path === 'embeddings') return jsonAnswer(embeddingsOf(body as { input: unknown }));
  if (path === 'audio/transcriptions')
    return jsonAnswer({ text: 'A scripted transcription.', usage: { type: 'duration', seconds: 1 } });
  if (path === 'images/generations') return jsonAnswer({ data: [{ b64_json: scriptedPicture }] });
  if (path === 'audio/speech') return bytesAnswer(silence());
  const request = body as { messages: Record<string, unknown>[]; stream?: boolean };
  const prompt = request.messages.map(({ content }) => textOf(content)).join('\n');
  const answer = script.answers.find(({ when }) => when === undefined || new RegExp(when, 'su').test(prompt));
  if (!answer)
    throw new UpstreamError('refused', 'The script has no answer to these messages: add one without "when".');
  if (answer.delayMs) await sleep(answer.delayMs, undefined, { signal });
  if (answer.status !== undefined)
    throw new UpstreamError(answer.status === 429 ? 'busy' : 'failed', `The script answers ${answer.status}.`);
  const { output = '' } = answer;
  const tool_calls = answer.toolCalls?.map(({ name, input }, index) => ({
    ...{ index, id: `call_${index + 1}`, type: 'function' },
    function: { name, arguments: JSON.stringify(input ?? {}) },
  }));
  const finish_reason = tool_calls ? 'tool_calls' : 'stop';
  const usage = { prompt_tokens: tokensOf(prompt), completion_tokens: tokensOf(output) };
  const about = { id: 'scripted', created: 0, model: 'scripted' };
  if (!request.stream)
    return jsonAnswer({
      ...about,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: output, tool_calls }, finish_reason }],
      usage,
    });
  const chunk = (choices: object[], rest: object = {}) =>
    JSON.stringify({ ...about, object: 'chat.completion.chunk', choices, ...rest });
  const words = output.match(/\S+\s*|\s+/g) ?? [];
  return streamAnswer([
    ...words.map((content) => chunk([{ index: 0, delta: { content }, finish_reason: null }])),
    chunk([{ index: 0, delta: { tool_calls }, finish_reason }]),
    chunk([], { usage }),
  ]);
}

/** One dimension for each bucket of words: texts with common words are near each other. */
function embeddingsOf({ input }: { input: unknown }): object {
  const texts = [input].flat().map((text) => (typeof text === 'string' ? text : JSON.stringify(text)));
  const data = texts.map((text, index) => {
    const embedding = Array.from({ length: dimensions }, () => 0);
    for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) embedding[bucketOf(word)]! += 1;
    const length = Math.hypot(...embedding) || 1;
    return { object: 'embedding', index, embedding: embedding.map((value) => value / length) };
  });
  return { object: 'list', model: 'scripted', data, usage: { prompt_tokens: tokensOf(texts.join('')) } };
}

function bucketOf(word: string): number {
  let hash = 0;
  for (const letter of word) hash = (hash * 31 + letter.codePointAt(0)!) % 65_521;
  return hash % dimensions;
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('\n');
}

function tokensOf(text: string): number {
  return Math.ceil(text.length / 4);
}

function jsonAnswer(body: object): UpstreamAnswer {
  return bytesAnswer(Buffer.from(JSON.stringify(body)));
}

function bytesAnswer(content: Buffer): UpstreamAnswer {
  return {
    isStream: false,
    text: () => Promise.resolve(content.toString()),
    events: () => listed([]),
    chunks: () => listed([content]),
  };
}

function streamAnswer(events: string[]): UpstreamAnswer {
  const batches = events.map((event) => [event]);
  return { isStream: true, text: () => Promise.resolve(''), events: () => listed(batches), chunks: () => listed([]) };
}

async function* listed<Item>(items: Item[]): AsyncGenerator<Item> {
  for (const item of items) yield await Promise.resolve(item);
}

/** WAV of a tenth of a second: 8 kHz, 8 bits. */
function silence(): Buffer {
  const samples = 800;
  const wav = Buffer.alloc(44 + samples, 0x80);
  wav.write('RIFF    WAVEfmt ', 0, 'latin1');
  wav.writeUInt32LE(36 + samples, 4);
  for (const [offset, value] of [
    [16, 16],
    [24, 8_000],
    [28, 8_000],
    [40, samples],
  ] as const)
    wav.writeUInt32LE(value, offset);
  for (const [offset, value] of [
    [20, 1],
    [22, 1],
    [32, 1],
    [34, 8],
  ] as const)
    wav.writeUInt16LE(value, offset);
  wav.write('data', 36, 'latin1');
  return wav;
}
