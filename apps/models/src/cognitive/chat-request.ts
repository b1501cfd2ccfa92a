import { isRecord } from '@parley/contracts/is-record';
import type { GenerateText, ModelWarning } from '@parley/contracts/models/cognitive';
import type { ChatRequest } from '../generation/completion';
import { invalid, soundType } from '../generation/request-fields';

type Message = Record<string, unknown>;

const roles = ['user', 'assistant', 'system'];
const efforts = ['low', 'medium', 'high', 'none'];
const toolModes: Record<string, string> = { auto: 'auto', none: 'none', required: 'required', any: 'required' };

/** Request in OpenAI's format, and what of it cannot be expressed there. Throws InvalidPayload, which names the field. */
export function toChatRequest(input: GenerateText): { request: ChatRequest; warnings: ModelWarning[] } {
  const warnings: ModelWarning[] = [];
  const { systemPrompt, temperature, topP, reasoningEffort, search } = input;
  const system = systemPrompt ? [{ role: 'system', content: systemPrompt }] : [];
  const request: ChatRequest = {
    messages: [...system, ...input.messages.map((message, index) => toMessage(message, `messages[${index}]`))],
    ...(temperature != null && { temperature }),
    ...(topP != null && { top_p: topP }),
    ...stopsOf(input.stopSequences),
    ...formatOf(input.responseFormat),
    ...toolsOf(input),
    ...(efforts.includes(reasoningEffort ?? '') && { reasoning_effort: reasoningEffort }),
  };
  if (search)
    warnings.push({ type: 'parameter_ignored', message: 'search is ignored: the provider cannot search the web.' });
  return { request, warnings };
}

function toMessage(message: Message, path: string): Message {
  const { role, type, content } = message;
  if (typeof role !== 'string' || !roles.includes(role)) throw invalid(`${path}.role`, `one of ${roles.join(', ')}`);
  if (type === 'tool_calls')
    return { role: 'assistant', content: null, tool_calls: callsOf(message['toolCalls'], path) };
  if (type === 'tool_result') {
    const id = message['toolResultCallId'];
    if (typeof id !== 'string') throw invalid(`${path}.toolResultCallId`, 'the id of a tool call');
    return { role: 'tool', tool_call_id: id, content: textIn(content, path) };
  }
  if (content === null || content === undefined) return { role, content: '' };
  if (typeof content === 'string') return { role, content };
  if (!Array.isArray(content)) throw invalid(`${path}.content`, 'a text or a list of parts');
  return { role, content: content.map((part: unknown, index) => toPart(part, `${path}.content[${index}]`)) };
}

function toPart(part: unknown, path: string): Message {
  if (!isRecord(part)) throw invalid(path, 'an object');
  const { type, text, url } = part;
  if (type === 'text') {
    if (typeof text !== 'string') throw invalid(`${path}.text`, 'a text');
    return { type: 'text', text };
  }
  if (type !== 'image' && type !== 'audio') throw invalid(`${path}.type`, 'text, image or audio');
  if (typeof url !== 'string' || !/^(https?:|data:)/.test(url)) throw invalid(`${path}.url`, 'an http(s) or data URI');
  if (type === 'image') return { type: 'image_url', image_url: { url } };
  return { type: soundType, url };
}

function textIn(content: unknown, path: string): string {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return '';
  if (!Array.isArray(content)) throw invalid(`${path}.content`, 'a text or a list of parts');
  return content.map((part) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('\n');
}

function callsOf(calls: unknown, path: string): Message[] {
  if (!Array.isArray(calls) || calls.length === 0) throw invalid(`${path}.toolCalls`, 'a list of tool calls');
  return calls.map((call: unknown, index) => {
    const called = isRecord(call) ? call['function'] : undefined;
    if (!isRecord(call) || !isRecord(called) || typeof call['id'] !== 'string' || typeof called['name'] !== 'string')
      throw invalid(`${path}.toolCalls[${index}]`, '{ id, type: "function", function: { name, arguments } }');
    const given = called['arguments'] ?? {};
    const text = typeof given === 'string' ? given : JSON.stringify(given);
    return { id: call['id'], type: 'function', function: { name: called['name'], arguments: text } };
  });
}

function stopsOf(stops: unknown): object {
  if (stops === null || stops === undefined) return {};
  const list = [stops].flat();
  if (!list.every((stop) => typeof stop === 'string')) throw invalid('stopSequences', 'a text or a list of texts');
  return list.length > 0 ? { stop: list } : {};
}

function formatOf(format: unknown): object {
  const name = isRecord(format) ? format['type'] : format;
  if (name === null || name === undefined || name === 'text') return {};
  if (name === 'json' || name === 'json_object') return { response_format: { type: 'json_object' } };
  if (name === 'json_schema') return { response_format: format };
  throw invalid('responseFormat', 'text or json');
}

function toolsOf({ tools, toolControl, toolChoice }: GenerateText): object {
  if (tools === null || tools === undefined) return {};
  if (!Array.isArray(tools)) throw invalid('tools', 'a list of tools');
  if (tools.length === 0) return {};
  const control: Message = toolControl ?? toolChoice ?? {};
  const name = control['toolName'] ?? control['functionName'];
  const mode = control['mode'] ?? control['type'];
  const choice =
    mode === 'specific' && typeof name === 'string'
      ? { type: 'function', function: { name } }
      : toolModes[typeof mode === 'string' ? mode : 'auto'];
  if (choice === undefined) throw invalid('toolControl.mode', 'auto, none, required or specific, which needs toolName');
  return {
    tools: tools.map((tool: unknown, index) => toTool(tool, `tools[${index}]`)),
    tool_choice: choice,
    ...(typeof control['parallel'] === 'boolean' && { parallel_tool_calls: control['parallel'] }),
  };
}

function toTool(tool: unknown, path: string): Message {
  const given = isRecord(tool) && isRecord(tool['function']) ? tool['function'] : tool;
  if (!isRecord(given) || typeof given['name'] !== 'string') throw invalid(`${path}.name`, 'the name of the tool');
  const parameters = given['parameters'] ?? given['argumentsSchema'] ?? { type: 'object', properties: {} };
  const { name, description, strict } = given;
  return { type: 'function', function: { name, description, parameters, strict } };
}
