import { useEffect } from 'react';
import type { WebchatSettings } from './queries';

interface ElementProps {
  'webhook-id': string;
  mode: string;
  'chat-title'?: string;
  greeting?: string;
  'primary-color'?: string;
  'color-scheme'?: string;
}

declare module 'react' {
  // oxlint-disable-next-line typescript/no-namespace -- the only way to declare an element
  namespace JSX {
    interface IntrinsicElements {
      'parley-webchat': ElementProps;
    }
  }
}

const script = '/webchat/embed.js';

/** The widget itself, with settings that are not stored yet. It talks to the bot. */
export function Preview({ webhookId, settings }: { webhookId: string; settings: WebchatSettings }) {
  useEffect(loadWidget, []);
  return (
    <parley-webchat
      webhook-id={webhookId}
      mode="inline"
      chat-title={settings.title || undefined}
      greeting={settings.greeting ?? ''}
      primary-color={settings.primaryColor || undefined}
      color-scheme={settings.colorScheme ?? 'auto'}
    />
  );
}

/** The page loads the widget once; it stays defined. */
function loadWidget(): void {
  if (document.querySelector(`script[src="${script}"]`)) return;
  const element = document.createElement('script');
  element.type = 'module';
  element.src = script;
  document.head.append(element);
}
