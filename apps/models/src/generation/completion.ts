import { isRecord } from '@parley/contracts/is-record';
import type { StopReason } from '@parley/contracts/models/cognitive';

/** Request in the format of OpenAI's chat completions, without the model. */
export interface ChatRequest {
  messages: Record<string, unknown>[];
  tools?: unknown;
  [field: string]: unknown;
}

export interface CompletionToolCall {
  id: string;
  name: string;
  /** JSON text. */
  arguments: string;
}

export interface Usage {
  input: number;
  output: number;
}

/** Answer of a model. */
export interface Completion {
  output: string;
  reasoning: string;
  toolCalls: CompletionToolCall[];
  stopReason: StopReason;
  /** Absent if the provider has not counted. */
  usage?: Usage;
}

/** New part of an answer. */
export interface Delta {
  output: string;
  reasoning: string;
}

/** Characters of an answer, and its calls of tools. */
const maxLength = 8_000_000;
const maxCalls = 1_000;
/** No model answers or reads more at once. */
const maxTokens = 100_000_000;

const stops: Record<string, StopReason> = {
  stop: 'stop',
  length: 'max_tokens',
  content_filter: 'content_filter',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
};

/** Collects an answer from the parts of a stream, or from a whole one. */
export class CompletionReader {
  output = '';
  reasoning = '';
  private readonly calls = new Map<number, CompletionToolCall>();
  private finish?: string;
  private usage?: Usage;
  private length = 0;

  /** Limit that the answer exceeds. */
  get excess(): string | undefined {
    if (this.length > maxLength) return `more than ${maxLength} characters`;
    if (this.calls.size > maxCalls) return `more than ${maxCalls} calls of tools`;
    return undefined;
  }

  /** Whether the model has said why it ended. */
  get isFinished(): boolean {
    return this.finish !== undefined;
  }

  /** Reads one part, in which `message` or `delta` holds the text. Undefined for something else. */
  read(part: unknown): Delta | undefined {
    if (!isRecord(part)) return undefined;
    this.readUsage(part['usage']);
    const [choice] = Array.isArray(part['choices']) ? (part['choices'] as unknown[]) : [];
    if (!isRecord(choice)) return isRecord(part['usage']) ? { output: '', reasoning: '' } : undefined;
    const text = [choice['delta'], choice['message']].find(isRecord) ?? {};
    const output = typeof text['content'] === 'string' ? text['content'] : '';
    const thought = text['reasoning_content'] ?? text['reasoning'];
    const reasoning = typeof thought === 'string' ? thought : '';
    this.length += output.length + reasoning.length;
    this.output += output;
    this.reasoning += reasoning;
    if (Array.isArray(text['tool_calls'])) text['tool_calls'].forEach((call, index) => this.readCall(call, index));
    if (typeof choice['finish_reason'] === 'string') this.finish = choice['finish_reason'];
    return { output, reasoning };
  }

  get completion(): Completion {
    const { output, reasoning, usage } = this;
    const toolCalls = [...this.calls.values()];
    const stopReason =
      toolCalls.length > 0 && this.finish === 'stop' ? 'tool_calls' : (stops[this.finish ?? ''] ?? 'other');
    return { output, reasoning, toolCalls, stopReason, usage };
  }

  private readUsage(usage: unknown): void {
    if (!isRecord(usage)) return;
    const [input, output] = [usage['prompt_tokens'], usage['completion_tokens'] ?? 0];
    if (isCount(input) && isCount(output)) this.usage = { input, output };
  }

  private readCall(call: unknown, position: number): void {
    if (!isRecord(call)) return;
    const index = typeof call['index'] === 'number' ? call['index'] : position;
    const known = this.calls.get(index) ?? { id: '', name: '', arguments: '' };
    const given = isRecord(call['function']) ? call['function'] : {};
    if (typeof call['id'] === 'string' && call['id'] !== '') known.id = call['id'];
    const [name, text] = [given['name'], given['arguments']].map((each) => (typeof each === 'string' ? each : ''));
    known.name += name;
    known.arguments += text;
    this.length += name!.length + text!.length;
    this.calls.set(index, known);
  }
}

/** Number of tokens that a provider may have counted. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxTokens;
}
