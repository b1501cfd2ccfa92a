import { Matches } from 'class-validator';

/** Foreign id: an application's own id of a user or conversation. Ids of the platform match it too. */
export const foreignId = /^[a-zA-Z0-9_\-\\/]{1,70}$/;
export const foreignIdForm = '1 to 70 characters of a-z, A-Z, 0-9, "_", "-", "\\" and "/"';

export function IsForeignId(): PropertyDecorator {
  return Matches(foreignId, { message: `$property must be ${foreignIdForm}` });
}
