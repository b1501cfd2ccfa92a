import { chatPayloadTypes } from '@parley/contracts/chat/chat-payload';
import type { Class } from '@parley/contracts/operation';
import { type Field, fieldsOf, type Rule } from './contract-fields';
import { formOf, namesOf } from './text-forms';

/** Boundary values of a rule: accepted ones, and rejected ones with the expected message. */
export interface Edges {
  accepted?: unknown[];
  /** Empty words where another rule may report first. */
  rejected?: [value: unknown, words: string][];
}

type EdgesOfRule = (field: Field, rule: Rule) => Edges;

const edgesByRule: Record<string, EdgesOfRule> = {
  isString: () => ({ rejected: [[7, 'must be a string']] }),
  isBoolean: () => ({
    accepted: [true, false],
    rejected: [
      ['true', 'must be a boolean value'],
      [1, 'must be a boolean value'],
    ],
  }),
  isInt: () => ({
    rejected: [
      ['1', 'must be an integer number'],
      [1.5, 'must be an integer number'],
    ],
  }),
  isNumber: () => ({ rejected: [['1', 'must be a number']] }),
  min: (field, { constraints: [least] }) => ({
    accepted: [least],
    rejected: [[Number(least) - stepOf(field), `must not be less than ${String(least)}`]],
  }),
  max: (field, { constraints: [most] }) => ({
    accepted: [most],
    rejected: [[Number(most) + stepOf(field), `must not be greater than ${String(most)}`]],
  }),
  isIn: (_field, { constraints: [choices] }) => ({
    accepted: choices as unknown[],
    rejected: [['none of them', `must be one of the following values: ${(choices as unknown[]).join(', ')}`]],
  }),
  isLength: lengthEdges,
  maxLength: lengthEdges,
  maxBytes: (field, { context }) => {
    const { maxBytes } = context as { maxBytes: number };
    const words = `must be at most ${maxBytes} bytes`;
    return {
      accepted: [textOf(field, maxBytes)],
      rejected: [
        [textOf(field, maxBytes + 1), words],
        ['é'.repeat(maxBytes / 2 + 1), words],
      ],
    };
  },

  isArray: () => ({ rejected: ['x', {}].map((value) => [value, 'must be an array']) }),
  arrayUnique: (field) => ({
    accepted: [entriesOf(field, 2)],
    rejected: [[[entryOf(field, 0), entryOf(field, 0)], 'elements must be unique']],
  }),
  arrayMinSize: (field, { constraints: [least] }) => ({
    accepted: [entriesOf(field, least as number)],
    rejected: [[entriesOf(field, (least as number) - 1), `must contain at least ${String(least)} elements`]],
  }),
  arrayMaxSize: (field, { constraints: [most] }) => ({
    accepted: [entriesOf(field, most as number)],
    rejected: [
      [
        entriesOf(field, (most as number) + 1),
        rejectedByOthers[`${field.id} arrayMaxSize`] ?? `must contain no more than ${String(most)} elements`,
      ],
    ],
  }),

  isObject: () => ({ rejected: ['x', 1, []].map((value) => [value, 'must be an object']) }),
  listOf: (field, { context }) => ({
    accepted: [[], entriesOf(field, context.maxItems!)],
    rejected: [
      ...[{}, ['x'], [null], [[]]].map((value): [unknown, string] => [value, 'must be an array of objects']),
      [entriesOf(field, context.maxItems! + 1), `must have at most ${context.maxItems} entries`],
    ],
  }),
  mapOf: mapEdges,
  jsonObject: (_field, { context }) => {
    const { maxBytes } = context as { maxBytes: number };
    return {
      accepted: [{}, jsonOf(maxBytes)],
      rejected: [
        ['x', 'must be an object'],
        [[], 'must be an object'],
        [jsonOf(maxBytes + 1), `must be at most ${maxBytes} bytes of JSON`],
      ],
    };
  },
  jsonObjects: (_field, { context }) => {
    const { minItems, maxItems } = context as { minItems: number; maxItems: number };
    const objects = (count: number) => Array.from({ length: count }, () => ({}));
    const words = `must have ${minItems} to ${maxItems} entries`;
    return {
      accepted: [objects(minItems), objects(maxItems)],
      rejected: [
        ...[{}, ['x'], [[]]].map((value): [unknown, string] => [value, 'must be an array of objects']),
        [objects(minItems - 1), words],
        [objects(maxItems + 1), words],
      ],
    };
  },
  jsonValue: (_field, { context }) => {
    const { maxBytes } = context as { maxBytes: number };
    return {
      accepted: [null, true, 0, '', [], jsonOf(maxBytes)],
      rejected: [[jsonOf(maxBytes + 1), `must be at most ${maxBytes} bytes of JSON`]],
    };
  },
  checked: ({ id }) => checkedFields[id] ?? unknown(`No values are known for ${id}, whose rule is its own.`),
};

const pages = 'must be a boolean or a list of at most 5000 page numbers, each from 1 to 5000';
const pageChoice: Edges = {
  accepted: [true, false, [], [1, 5000], Array.from({ length: 5000 }, (_, index) => index + 1)],
  rejected: ['all', 1, {}, [0], [5001], [1.5], ['1'], Array.from({ length: 5001 }, () => 1)].map((value) => [
    value,
    pages,
  ]),
};
const spoken = { type: 'text', text: 'hello' };

/** Fields with custom validation code. `chat-payload.spec.ts` covers the other payloads. */
const checkedFields: Record<string, Edges> = {
  'VisionOptions.transcribePages': pageChoice,
  'VisionOptions.indexPages': pageChoice,
  'CreateEmbeddings.input': {
    accepted: ['x', ['x'], [[1]]],
    rejected: [[], 1, {}].map((value) => [value, 'must be a text or a list of texts']),
  },
  'CreateChatMessage.payload': {
    accepted: [spoken, { ...spoken, text: 'x'.repeat(128 * 1024 - JSON.stringify({ ...spoken, text: '' }).length) }],
    rejected: [
      ['x', 'must be an object'],
      [{ type: 'song' }, `.type must be one of: ${chatPayloadTypes.join(', ')}`],
      [{ type: 'text' }, '.text is missing'],
      [{ ...spoken, text: 'x'.repeat(128 * 1024) }, 'must be at most 131072 bytes of JSON'],
    ],
  },
};

/** Rules that are never reported, with the message of the rule that rejects first. */
const rejectedByOthers: Record<string, string> = {
  // Two choices cannot give three different values.
  'UpsertFile.accessPolicies arrayMaxSize': 'elements must be unique',
  'UpdateFile.accessPolicies arrayMaxSize': 'elements must be unique',
};

export function edgesOf(field: Field, rule: Rule): Edges {
  const edges = edgesByRule[rule.name]?.(field, rule) ?? formEdges(rule);
  if (!edges) return unknown(`No values are known for the rule ${rule.name} of ${field.id}.`);
  const { accepted = [], rejected = [] } = edges;
  const wrap = (value: unknown) => (rule.each ? [value] : value);
  return {
    accepted: accepted.map(wrap),
    rejected: rejected.map(([value, words]) => [wrap(value), words && (rule.message ?? words)]),
  };
}

/** An object with every field, and one entry in each list and map. */
export function baseOf(type: Class<object>): Record<string, unknown> {
  return Object.fromEntries(fieldsOf(type).map((field) => [field.name, valueOf(field)]));
}

export function smallestOf(type: Class<object>): Record<string, unknown> {
  const required = fieldsOf(type).filter(({ isRequired }) => isRequired);
  return Object.fromEntries(required.map((field) => [field.name, valueOf(field)]));
}

function valueOf(field: Field): unknown {
  const { type } = ruleOf(field, 'isObject', 'listOf', 'mapOf')?.context ?? {};
  const entry = isClass(type) ? baseOf(type) : entryOf(field, 0);
  const ofMap = ruleOf(field, 'mapOf')?.context as MapLimits | undefined;
  if (ofMap) return { [entryName(0, ofMap.key)]: entry };
  if (ruleOf(field, 'isArray', 'listOf', 'jsonObjects')) return [entry];
  return entry;
}

function entryOf(field: Field, index: number): unknown {
  const checked = ruleOf(field, 'checked') && checkedFields[field.id];
  if (checked) return checked.accepted![0];
  if (ruleOf(field, 'jsonObject', 'jsonObjects', 'jsonValue')) return { a: index };
  const { type } = ruleOf(field, 'listOf', 'mapOf')?.context ?? {};
  if (isClass(type)) return smallestOf(type);
  if (type === Boolean || ruleOf(field, 'isBoolean')) return true;
  const choices = ruleOf(field, 'isIn')?.constraints[0] as unknown[] | undefined;
  if (choices) return choices[index % choices.length];
  if (ruleOf(field, 'isInt', 'isNumber')) return Number(ruleOf(field, 'min')?.constraints[0] ?? 1) + index;
  const [least] = (ruleOf(field, 'isLength')?.constraints ?? [0]) as number[];
  const form = field.rules.map(formOf).find((each) => each !== undefined);
  if (ruleOf(field, 'isArray') && form) return form.text(form.text(0).length + index);
  return ruleOf(field, 'isArray') ? String(index).padStart(least!, '0') : textOf(field, Math.max(1, least!));
}

function entriesOf(field: Field, count: number): unknown[] {
  return Array.from({ length: count }, (_, index) => entryOf(field, index));
}

/** A map key that the pattern accepts: all but those of a few fixed names accept this one. */
export function entryName(index: number, key?: RegExp): string {
  const name = `N${index}`;
  return !key || key.test(name) ? name : namesOf(key).fits[index]!;
}

export function isClass(type: unknown): type is Class<object> {
  return type !== undefined && type !== String && type !== Boolean;
}

function ruleOf(field: Field, ...names: string[]): Rule | undefined {
  return field.rules.find(({ name }) => names.includes(name));
}

function stepOf(field: Field): number {
  return ruleOf(field, 'isInt') ? 1 : 0.5;
}

function textOf({ rules }: Field, length: number): string {
  const form = rules.map(formOf).find((each) => each !== undefined);
  return form ? form.text(length) : 'x'.repeat(Math.max(0, length));
}

function lengthEdges(field: Field, { name, constraints }: Rule): Edges {
  const [least, most] = (name === 'isLength' ? constraints : [0, constraints[0]]) as [number, number];
  // The pattern may require more than the minimum length; a text that is too short then violates the pattern too.
  const short = textOf(field, least - 1);
  const below: [unknown, string] = short.length < least ? [short, `longer than or equal to ${least} `] : ['', ''];
  return {
    accepted: [textOf(field, least), textOf(field, most)],
    rejected: [...(least > 0 ? [below] : []), [textOf(field, most + 1), `shorter than or equal to ${most} characters`]],
  };
}

function formEdges(rule: Rule): Edges | undefined {
  const form = formOf(rule);
  return form && { accepted: form.fits, rejected: form.others.map((value) => [value, form.words]) };
}

function mapEdges(field: Field, { context }: Rule): Edges {
  const { type, maxEntries, maxLength, nullable, key } = context as MapLimits;
  const entry = entryOf(field, 0);
  const map = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [entryName(index, key), entry]));
  const first = entryName(0, key);
  const entryProblem = (words: string) => `has an entry "${first}" that ${words}`;
  const wrong = isClass(type) ? 'must be an object' : `must be a ${type === Boolean ? 'boolean' : 'string'}`;
  const names = key ? namesOf(key) : { fits: [], others: [] };
  /** Names of a fixed choice are fewer than the most entries. */
  const isChoice = first !== entryName(0);
  return {
    accepted: [
      {},
      map(isChoice ? names.fits.length : maxEntries),
      ...names.fits.map((name) => ({ [name]: entry })),
      ...(nullable ? [{ [first]: null }] : []),
      ...(maxLength ? [{ [first]: 'x'.repeat(maxLength) }] : []),
    ],
    rejected: [
      ['x', 'must be an object'],
      [[], 'must be an object'],
      ...(isChoice ? [] : [[map(maxEntries + 1), `must have at most ${maxEntries} entries`]]),
      ...names.others.map((name) => [{ [name]: entry }, 'has a name "']),
      [{ [first]: 7 }, entryProblem(wrong)],
      ...(nullable ? [] : [[{ [first]: null }, entryProblem(wrong)]]),
      ...(maxLength
        ? [[{ [first]: 'x'.repeat(maxLength + 1) }, entryProblem(`must be at most ${maxLength} characters`)]]
        : []),
    ] as [unknown, string][],
  };
}

interface MapLimits {
  type: unknown;
  maxEntries: number;
  maxLength?: number;
  nullable?: boolean;
  key?: RegExp;
}

function jsonOf(bytes: number): Record<string, unknown> {
  return { text: 'x'.repeat(bytes - JSON.stringify({ text: '' }).length) };
}

function unknown(text: string): never {
  throw new Error(`${text} Name some at their limits and beyond in apps/gateway/src/test/.`);
}
