import type { WebchatSettings } from './queries';
import { Widget } from './widget';

/** The widget itself, with settings that are not stored yet. It talks to the bot. */
export function Preview({ webhookId, settings }: { webhookId: string; settings: WebchatSettings }) {
  return (
    <Widget
      webhookId={webhookId}
      chat-title={settings.title || undefined}
      greeting={settings.greeting ?? ''}
      primary-color={settings.primaryColor || undefined}
      color-scheme={settings.colorScheme ?? 'auto'}
    />
  );
}
