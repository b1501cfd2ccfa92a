import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Texts } from '../texts/names';

export interface WidgetContext {
  texts: Texts;
  /** Sends the text; the label is what the visitor saw instead of it. */
  send: (text: string, label?: string) => void;
  /** Absent where the bot accepts no files. */
  sendFiles?: (files: FileList) => void;
}

export const Widget = createContext<WidgetContext | undefined>(undefined);

export function useWidget(): WidgetContext {
  return useContext(Widget)!;
}
