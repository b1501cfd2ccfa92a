import 'reflect-metadata';

/** Reads the text of a variable, or says what would be right. */
export interface VariableType<T = unknown> {
  read(text: string): T | Rejected;
  /** What is accepted, for the error and the README: "an integer from 1 to 65535". */
  accepts: string;
}

export class Rejected {}
const rejected = new Rejected();

export interface VariableOptions<T> {
  /** Name of the environment variable. */
  env: string;
  type: VariableType<T>;
  /** One sentence for the README. */
  about: string;
  /** May be absent without having a default; otherwise a field without an initial value is required. */
  optional?: boolean;
  /** What the README shows as the default when it is worked out at start. */
  defaultText?: string;
}

export interface Variable extends VariableOptions<unknown> {
  field: string;
}

type ConfigClass<T extends object> = new () => T;
const variables = new Map<unknown, Variable[]>();

/** A field of a configuration class, filled from the environment; its initial value is the default. */
export function Env<T>(options: VariableOptions<T>): PropertyDecorator {
  return (target, property) => {
    const own = variables.get(target.constructor) ?? [];
    variables.set(target.constructor, [...own, { ...options, field: String(property) }]);
  };
}

/** The variables of a configuration class, those of its parents first. */
export function variablesOf(type: unknown): Variable[] {
  if (typeof type !== 'function') return [];
  return [...variablesOf(Object.getPrototypeOf(type)), ...(variables.get(type) ?? [])];
}

/** Every variable that is missing or wrong, each with what would be right. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/** Fills a configuration from the environment. An empty variable counts as absent. Throws ConfigError. */
export function readConfig<T extends object>(type: ConfigClass<T>, env: NodeJS.ProcessEnv = process.env): T {
  const config = new type() as Record<string, unknown>;
  const problems: string[] = [];
  for (const variable of variablesOf(type)) {
    const text = env[variable.env];
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

/** Fills several configurations. Throws one ConfigError with the problems of all of them. */
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
  // Several read the same variables.
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

/** Values separated by commas. */
export function list<T>(of: VariableType<T>): VariableType<T[]> {
  return {
    accepts: `${of.accepts}; several are separated by commas`,
    read: (value) => {
      const read = value.split(',').map((part) => of.read(part.trim()));
      const values = read.filter((part) => !(part instanceof Rejected));
      return values.length < read.length ? rejected : values;
    },
  };
}

/** The word, or what the other type takes. */
export function orWord(word: string, type: VariableType<string>): VariableType<string> {
  return {
    accepts: `\`${word}\` or ${type.accepts}`,
    read: (value) => (value === word ? value : type.read(value)),
  };
}

/** An absolute URL without a trailing slash. */
export function url(...protocols: string[]): VariableType<string> {
  return {
    accepts: `a URL that begins with ${protocols.map((protocol) => `${protocol}://`).join(' or ')}`,
    read: (value) =>
      URL.canParse(value) && protocols.includes(new URL(value).protocol.slice(0, -1))
        ? value.replace(/\/+$/, '')
        : rejected,
  };
}
