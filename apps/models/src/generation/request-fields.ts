import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';

/** Type of a part with the address of a sound: HeardPartsService replaces it. */
export const soundType = 'sound';

/** Names of models, in order of preference. Throws InvalidPayload. */
export function wantedModels(model: unknown): string[] {
  const names = [model ?? 'auto'].flat();
  const isName = (name: unknown) => typeof name === 'string' && name.length > 0 && name.length <= 200;
  if (names.length > 0 && names.length <= 20 && names.every(isName)) return names as string[];
  // Clients of the legacy path send the reference of a model.
  const [reference] = names;
  if (isRecord(reference) && isName(reference['id'])) return [reference['id'] as string];
  throw invalid('model', 'the name of a model, or a list of 1 to 20 names');
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= 200 ? value : undefined;
}

export function invalid(field: string, right: string): ApiError {
  return new ApiError('InvalidPayload', `${field} must be ${right}.`);
}
