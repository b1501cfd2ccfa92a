import { Matches } from 'class-validator';

/** What an application of the chat may call its users and conversations. No id of the platform has another form either. */
export const foreignId = /^[a-zA-Z0-9_\-\\/]{1,70}$/;
export const foreignIdForm = '1 to 70 characters of a-z, A-Z, 0-9, "_", "-", "\\" and "/"';

export function IsForeignId(): PropertyDecorator {
  return Matches(foreignId, { message: `$property must be ${foreignIdForm}` });
}
