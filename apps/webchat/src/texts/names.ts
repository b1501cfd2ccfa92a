import type { en } from './en';

/** Texts of the widget. `{…}` is replaced by a value. */
export type Texts = Record<keyof typeof en, string>;
