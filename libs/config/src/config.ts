import { contradictionsIn } from './dropped-variables';
import 'reflect-metadata';

export interface VariableType<T = unknown> {
  read(text: string): T | Rejected;
  /** Accepted values, for errors and the README: "an integer from 1 to 65535". */
  accepts: string;
}

export class Rejected {}
const rejected = new Rejected();

export interface VariableOptions<T> {
  env: string;
  /** Another name, which comes first where both are set. */
  alias?: string;
  type: VariableType<T>;
  /** Description in one or two sentences, for the README and for errors. */
  about: string;
  /** Production installations set it always, others rarely; without a word, it may be set. Sections of the reference page. */
  need?: 'always' | 'rarely';
  /** May be absent. A field that is not optional and has no initial value is required. */
  optional?: boolean;
  /** Default in the README when it is computed at start. */
  defaultText?: string;
}

export interface Variable extends VariableOptions<unknown> {
  field: string;
}

type ConfigClass<T extends object> = new () => T;
const variables = new Map<unknown, Variable[]>();

/** Decorator for a configuration field that is read from the environment. Its initial value is the default. */
export function Env<T>(options: VariableOptions<T>): PropertyDecorator {
  return (target, property) => {
    const own = variables.get(target.constructor) ?? [];
    variables.set(target.constructor, [...own, { ...options, field: String(property) }]);
  };
}

export function variablesOf(type: unknown): Variable[] {
  if (typeof type !== 'function') return [];
  return [...variablesOf(Object.getPrototypeOf(type)), ...(variables.get(type) ?? [])];
}

/** Names of the variables of all classes that this process has loaded. */
export function loadedVariables(): string[] {
  return [...variables.values()].flat().map(({ env }) => env);
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: string[]) {
    super(`The configuration is invalid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/** Reads a configuration from the environment. An empty variable counts as absent. Throws ConfigError. */
export function readConfig<T extends object>(type: ConfigClass<T>, env: NodeJS.ProcessEnv = process.env): T {
  const config = new type() as Record<string, unknown>;
  const problems = contradictionsIn(env);
  for (const variable of variablesOf(type)) {
    const text = (variable.alias && env[variable.alias]) || env[variable.env];
    if (text === undefined || text === '') {
      if (config[variable.field] === undefined && !variable.optional) {
        problems.push(`${variable.env} is missing: it must be ${variable.type.accepts}. ${variable.about}`);
      }
      continue;
    }
    const value = variable.type.read(text);
    if (value instanceof Rejected) problems.push(`${variable.env} must be ${variable.type.accepts}.`);
    else config[variable.field] = value;
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config as T;
}

export function readConfigs<T extends Record<string, ConfigClass<object>>>(
  types: T,
  env: NodeJS.ProcessEnv = process.env,
): { [Name in keyof T]: InstanceType<T[Name]> } {
  const problems: string[] = [];
  const read = (type: ConfigClass<object>) => {
    try {
      return readConfig(type, env);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const configs = Object.entries(types).map(([name, type]) => [name, read(type)]);
  // Configurations share variables, so problems may repeat.
  if (problems.length > 0) throw new ConfigError([...new Set(problems)]);
  return Object.fromEntries(configs) as { [Name in keyof T]: InstanceType<T[Name]> };
}

export function text(accepts = 'a text', pattern?: RegExp): VariableType<string> {
  return { accepts, read: (value) => (!pattern || pattern.test(value) ? value : rejected) };
}

export function integer(min: number, max: number): VariableType<number> {
  return {
    accepts: `an integer from ${min} to ${max}`,
    read: (value) => (/^\d+$/.test(value) && Number(value) >= min && Number(value) <= max ? Number(value) : rejected),
  };
}

export const fraction: VariableType<number> = {
  accepts: 'a number from 0 to 1',
  read: (value) => (/^(\d+(\.\d*)?|\.\d+)$/.test(value) && Number(value) <= 1 ? Number(value) : rejected),
};

export function choice<T extends string>(...choices: T[]): VariableType<T> {
  return {
    accepts: `one of: ${choices.join(', ')}`,
    read: (value) => choices.find((candidate) => candidate === value) ?? rejected,
  };
}

export function list<T>(of: VariableType<T>): VariableType<T[]> {
  return {
    accepts: `${of.accepts}; separate several with commas`,
    read: (value) => {
      const read = value.split(',').map((part) => of.read(part.trim()));
      const values = read.filter((part) => !(part instanceof Rejected));
      return values.length < read.length ? rejected : values;
    },
  };
}

export function pair<T>(of: VariableType<T>): VariableType<[T, T]> {
  return {
    accepts: `two values, each ${of.accepts}, with a comma between them`,
    read: (value) => {
      const values = list(of).read(value);
      return values instanceof Rejected || values.length !== 2 || value.split(',').some((part) => part.trim() === '')
        ? rejected
        : [values[0]!, values[1]!];
    },
  };
}

export function orWord(word: string, type: VariableType<string>): VariableType<string> {
  return {
    accepts: `\`${word}\` or ${type.accepts}`,
    read: (value) => (value === word ? value : type.read(value)),
  };
}

/** Absolute URL; trailing slashes are removed. */
export function url(...protocols: string[]): VariableType<string> {
  return {
    accepts: `a URL that begins with ${protocols.map((protocol) => `${protocol}://`).join(' or ')}`,
    read: (value) =>
      URL.canParse(value) && protocols.includes(new URL(value).protocol.slice(0, -1))
        ? value.replace(/\/+$/, '')
        : rejected,
  };
}
